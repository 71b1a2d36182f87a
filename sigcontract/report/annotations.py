"""Results as workflow commands of GitHub Actions, with file and line."""

from sigcontract.model import Verdict
from sigcontract.report.cases import cases_of
from sigcontract.report.github import command
from sigcontract.report.names import safe
from sigcontract.report.outcome import Case, Outcome, SourceLocation
from sigcontract.report.phrases import counted

__all__ = ["annotations"]

_ORDER = ("failed", "undetermined")
_LEVELS = {"failed": "error", "undetermined": "warning"}
_RESULTS = 6


def annotations(outcome: Outcome) -> str:
    """Return one line for each case that does not pass, the failed first, then remarks, and one on the whole.

    GitHub shows no more than ten annotations of a level per step; the order decides which.
    """
    found = cases_of(outcome)
    cases = sorted((case for case in found if case.answer != "passed"), key=lambda case: _ORDER.index(case.answer))
    lines = [_annotation(case) for case in cases]
    lines += [
        command("notice", safe(case.name), result.message, result.location or SourceLocation(""))
        for case in found
        for result in case.results
        if result.remark
    ]
    whole = f"{outcome.answer}: {len(cases)} of {len(found)} did not pass"
    stale = sum(result.passes and result.verdict == Verdict.STALE for case in found for result in case.results)
    whole += f"; {counted(stale, 'stale finding')} allowed" if stale else ""
    return "\n".join([*lines, command("notice", f"sigcontract {outcome.command}", whole)]) + "\n"


def _annotation(case: Case) -> str:
    kept = [result for result in case.results if not result.passes]
    lines = [f"{result.rule}: {result.message}" for result in kept[:_RESULTS]]
    if len(kept) > _RESULTS:
        lines.append(f"… and {len(kept) - _RESULTS} more")
    if case.note is not None and not any(case.note in line for line in lines):
        lines.append(case.note)
    location = next((result.location for result in kept if result.location is not None), None)
    related = next((result.related for result in kept if result.related is not None), None)
    if location is not None and location.line is None and related is not None:
        location = related
    return command(_LEVELS[case.answer], safe(case.name), "\n".join(lines), location or SourceLocation(""))
