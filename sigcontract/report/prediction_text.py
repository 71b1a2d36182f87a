"""A prediction of one update as text: the driver's answer and where it stops, what the exec then runs, and why."""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from types import MappingProxyType
from typing import Final

from sigcontract.model import Finding, GraphPrediction, UpdatePrediction, UpdateResult, Verdict
from sigcontract.report.names import NameCuts, safe
from sigcontract.report.page import Page
from sigcontract.report.phrases import change_of, path_of
from sigcontract.update import RULES

__all__ = ["render_prediction"]

_MEANING: Final[Mapping[Verdict, str]] = MappingProxyType(
    {
        Verdict.IDENTICAL: "the update changes nothing",
        Verdict.HARMLESS: "the update succeeds and does not affect results",
        Verdict.UPDATABLE: "the update succeeds and takes effect",
        Verdict.REJECTED: "the update is rejected and the executable is unchanged: instantiate a new one",
        Verdict.STALE: "the driver reports SUCCESS but keeps launching old values: instantiate a new executable",
        Verdict.UNDETERMINED: "what the executable would run is unknown: instantiate a new one",
    }
)
#: Findings that are shown; a graph that differs everywhere is not a screen to read.
_FINDINGS: Final = 30
_NAME: Final = 56
#: Columns beside a value that has a line of its own.
_BESIDE: Final = 16


def render_prediction(found: GraphPrediction, *, width: int = 120) -> str:
    """Return a prediction for a person, its lines no longer than ``width``."""
    prediction = found.prediction
    page = Page(color=False, width=width)
    lines = [f"{safe(found.held)} → {safe(found.candidate)}: {prediction.verdict}: {_MEANING[prediction.verdict]}"]
    if found.fixed is not None:
        lines.append(f"first launched with {safe(found.fixed)}, whose values can stay stale")
    lines.append(f"cuGraphExecUpdate: {_answer(prediction)}")
    if found.profile is None:
        lines.append("without a driver profile, effects that need a measurement are undetermined (--profile)")
    else:
        lines.append(f"verdicts hold for driver profile {safe(found.profile)}")
    worst_first = sorted(prediction.findings, key=lambda finding: -finding.verdict.badness)
    names = NameCuts(finding.subject for finding in worst_first if finding.subject)
    lines += ["", *(_line(finding, names, page) for finding in worst_first[:_FINDINGS])] if worst_first else []
    if len(worst_first) > _FINDINGS:
        lines.append(f"  and {len(worst_first) - _FINDINGS} more; --format json lists them")
    lines += _reasons(prediction, width)
    return "".join(f"{part}\n" for line in lines for part in page.wrapped(line))


def _answer(prediction: UpdatePrediction) -> str:
    if prediction.result is None:
        refused = prediction.verdict is Verdict.REJECTED
        return "rejected, result unknown" if refused else "result unknown"
    text = f"{UpdateResult(prediction.result).name} ({int(prediction.result)})"
    if prediction.node is not None:
        text += f", error node {safe(prediction.node)}"
    if prediction.from_node is not None:
        text += f", from node {safe(prediction.from_node)}"
    return text


def _line(finding: Finding, names: NameCuts, page: Page) -> str:
    about = f" ({names(finding.subject, page.room(_NAME, _BESIDE))})" if finding.subject else ""
    change = change_of(finding.old, finding.new, width=page.room(60, _BESIDE))
    return f"  {path_of(finding)}{about}  {change}  {finding.verdict}  {finding.rule}"


def _reasons(prediction: UpdatePrediction, width: int) -> Iterator[str]:
    reasons = {finding.rule: finding for finding in prediction.findings if not finding.verdict.safe}
    for rule_id, finding in reasons.items():
        yield ""
        yield f"{rule_id}: {finding.verdict}, {finding.evidence}"
        yield from wrap(RULES[rule_id].why, width - 2, initial_indent="  ", subsequent_indent="  ")
