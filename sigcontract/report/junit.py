"""Results as JUnit XML: every case is a test case, so that a dashboard of tests shows them."""

from itertools import groupby
from xml.etree import ElementTree as ET

from sigcontract.report.cases import cases_of
from sigcontract.report.names import safe
from sigcontract.report.outcome import Case, Outcome

__all__ = ["junit"]

#: What is not known is an error and no failure: the case could not be decided.
_ELEMENTS = {"failed": "failure", "undetermined": "error"}
_LINES = 40


def junit(outcome: Outcome) -> str:
    """Return the results of a run as one suite for each group of cases."""
    cases = cases_of(outcome)
    root = ET.Element("testsuites", {"name": f"sigcontract {outcome.command}"} | _counts(cases))
    for group, members in groupby(cases, key=lambda case: case.group):
        listed = list(members)
        suite = ET.SubElement(root, "testsuite", {"name": safe(group)} | _counts(listed))
        for case in listed:
            _case(suite, case, outcome.command)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="UTF-8"?>\n', "\n")
    )


def _counts(cases: list[Case]) -> dict[str, str]:
    numbers = {
        "tests": len(cases),
        "failures": sum(case.answer == "failed" for case in cases),
        "errors": sum(case.answer == "undetermined" for case in cases),
    }
    return {name: str(number) for name, number in numbers.items()}


def _case(suite: ET.Element, case: Case, command: str) -> None:
    element = ET.SubElement(suite, "testcase", name=safe(case.name), classname=f"sigcontract.{command}")
    kept = [result for result in case.results if not result.passes]
    if case.answer != "passed":
        lines = [f"{result.rule}: {line}" for result in kept for line in result.message.split("\n")]
        more = [f"… {len(lines) - _LINES} more lines; --output json=FILE lists all"] if len(lines) > _LINES else []
        message = kept[0].message.split("\n")[0] if kept else case.note or case.answer
        rules = ", ".join(dict.fromkeys(result.rule for result in kept)) or case.answer
        detail = ET.SubElement(element, _ELEMENTS[case.answer], type=rules, message=safe(message))
        detail.text = "\n".join(map(safe, [*lines[:_LINES], *more, *([case.note] if case.note else [])]))
    allowed = [result for result in case.results if result.passes]
    if allowed:
        detail = ET.SubElement(element, "system-out")
        detail.text = "\n".join(
            safe(
                f"passes: {result.rule}: {result.message}"
                + (f": {result.justification}" if result.justification else "")
            )
            for result in allowed[:_LINES]
        )
        if len(allowed) > _LINES:
            detail.text += f"\n… {len(allowed) - _LINES} more; --output json=FILE lists all"
