"""Results as SARIF 2.1.0, for GitHub code scanning and other readers."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec

from sigcontract import __version__
from sigcontract.report.cases import cases_of
from sigcontract.report.outcome import Case, CaseResult, Outcome, SourceLocation
from sigcontract.update import RULES
from sigcontract.wire import printable_json

__all__ = ["sarif"]

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_EXITS: Final = {"passed": 0, "failed": 1, "undetermined": 3}
#: Characters of a message. GitHub refuses a file with a larger one, without a visible error.
_MOST_MESSAGE: Final = 1000


def sarif(outcome: Outcome) -> str:
    """Return the results of a run as a SARIF log of one run.

    What passes is left out, but for what a suppression lets pass, a suppressed result, and for what is worth a look.
    """
    found = [(case, result) for case in cases_of(outcome) for result in case.results]
    kept = [
        (case, result)
        for case, result in found
        if not result.passes or result.remark or result.justification is not None
    ]
    rules = {rule: index for index, rule in enumerate(dict.fromkeys(result.rule for _, result in kept))}
    run = {
        "tool": {
            "driver": {
                "name": "sigcontract",
                "version": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "automationDetails": {"id": f"sigcontract/{outcome.command}/"},
        "invocations": [{"executionSuccessful": True, "exitCode": _EXITS[outcome.answer]}],
        "columnKind": "unicodeCodePoints",
        "properties": {"answer": outcome.answer},
        "results": [_result(case, result, rules[result.rule]) for case, result in kept],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return printable_json(msgspec.json.format(msgspec.json.encode(log), indent=2)).decode() + "\n"


def _rule(rule: str) -> dict[str, Any]:
    known = RULES.get(rule)
    if known is None:
        return {"id": rule, "shortDescription": {"text": rule}}
    return {
        "id": rule,
        "shortDescription": {"text": f"{rule}: {known.verdict}, {known.evidence}"},
        "fullDescription": {"text": _text(known.why)},
        "help": {"text": _text(f"{known.why} Source: {known.source}")},
    }


def _result(case: Case, result: CaseResult, rule: int) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "ruleId": result.rule,
        "ruleIndex": rule,
        "level": result.level,
        "message": {"text": _text(result.message)},
        "partialFingerprints": {"sigcontract/v1": _fingerprint(case, result)},
        "properties": {"verdict": result.verdict, "kernel": _cut(result.subject or "") or None},
    }
    if result.location is not None:
        location: dict[str, Any] = {"physicalLocation": _physical(result.location)}
        if result.logical is not None:
            location["logicalLocations"] = [{"fullyQualifiedName": result.logical}]
        fields["locations"] = [location]
    if result.related is not None and result.related != result.location:
        fields["relatedLocations"] = [{"physicalLocation": _physical(result.related)}]
    if result.justification is not None:
        fields["suppressions"] = [{"kind": "external", "justification": _text(result.justification)}]
    return fields


def _text(text: str) -> str:
    """Return a text without links, cut and marked as cut if it is too long."""
    # ``[text](1)`` is an embedded link, whatever a kernel's name means by it.
    return _cut(text.replace("](", "]\\("))


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_MESSAGE else f"{text[: _MOST_MESSAGE - 15]}… (shortened)"


def _fingerprint(case: Case, result: CaseResult) -> str:
    """Return what stays the same of a result while other results come and go."""
    about = "\0".join((case.group, case.name, result.rule, result.logical or "", result.subject or ""))
    return sha256(about.encode("utf-8", "surrogatepass")).hexdigest()


def _physical(location: SourceLocation) -> dict[str, Any]:
    # GitHub shows nothing without a line.
    return {"artifactLocation": {"uri": _uri(location.file)}, "region": {"startLine": location.line or 1}}


def _uri(file: str) -> str:
    path = Path(file)
    if path.is_absolute():
        here = Path.cwd()
        if not path.is_relative_to(here):
            return "file://" + quote(os.fsencode(file))
        path = path.relative_to(here)
    return quote(os.fsencode(path.as_posix()))
