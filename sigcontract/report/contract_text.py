"""The check of a dump against a contract, as text: failed checks first, each with its line, then suppressions."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from sigcontract.model import CheckedFinding, CheckReport, ClauseCheck, Finding, Verdict
from sigcontract.report.names import safe, shortened
from sigcontract.report.phrases import change_in, counted, path_of
from sigcontract.update import RULES

__all__ = ["check_head", "check_text", "clause_where", "finding_words", "suppression_words"]

_FINDINGS = 12
_CLAUSES = 60
_LABELS = 6
_COLORS = {"passed": "\x1b[32m", "failed": "\x1b[31m", "undetermined": "\x1b[35m"}
_PLAIN = "\x1b[0m"
_ORDER = ("failed", "undetermined", "passed")


def check_text(report: CheckReport, *, color: bool = False, width: int = 120) -> str:
    """Return a report on a contract for a person at a terminal.

    Parameters
    ----------
    report
        What `sigcontract.contract.check_dump` found.
    color
        Whether to use ANSI colours.
    width
        Columns that a line should keep to.
    """
    return "\n".join(line.rstrip() for line in _lines(report, color=color, width=width)) + "\n"


def check_head(report: CheckReport) -> str:
    """Return one sentence: the answer, of how many clauses, and how many stale findings pass."""
    counts = [sum(check.answer == answer for check in report.clauses) for answer in _ORDER]
    counted_answers = [f"{number} {answer}" for number, answer in zip(counts, _ORDER, strict=True) if number]
    stale = sum(
        each.answer == "passed" and each.finding.verdict is Verdict.STALE
        for check in report.clauses
        for each in check.findings
    )
    allowed = f"; {counted(stale, 'stale finding')} allowed" if stale else ""
    return f"{report.answer}: {counted(len(report.clauses), 'check')}, {', '.join(counted_answers)}{allowed}"


def clause_where(check: ClauseCheck, contract: str) -> str:
    """Return file and line of a clause, and the clause."""
    line = "" if check.line is None else f":{check.line}"
    return safe(f"{contract}{line}{f' {check.clause}' if check.clause else ''}")


def finding_words(found: CheckedFinding, width: int = 60) -> str:
    """Return one difference in one line."""
    finding = found.finding
    subject = f" ({shortened(finding.subject, width)})" if finding.subject else ""
    return f"{finding.verdict}  {finding.rule}  {path_of(finding)}{subject}: {change_in(finding, width=width)}"


def suppression_words(row: int, report: CheckReport) -> str:
    """Return what became of a suppression, in one line."""
    use = report.suppressions[row]
    state: str = use.state
    if use.state == "used":
        findings = (each for check in report.clauses for each in check.findings if each.suppression == row)
        stale = sum(each.finding.verdict is Verdict.STALE for each in findings)
        state += f", lets {counted(use.hidden, 'finding')} pass{f', {stale} of them stale' if stale else ''}"
    if use.stale_kept:
        state += (
            f"; {counted(use.stale_kept, 'stale finding')} it matches do not pass: add stale = true to include them"
        )
    return safe(f"{use.rule} until {use.expires}: {state} ({use.reason})")


def _lines(report: CheckReport, *, color: bool, width: int) -> Iterator[str]:
    head = check_head(report)
    yield f"{_COLORS[report.answer]}{head}{_PLAIN}" if color else head
    yield safe(f"{report.dump} against {report.contract}")
    by_rule: dict[str, Finding] = {}
    alike: dict[tuple[str, ...], list[ClauseCheck]] = {}
    for check in (check for answer in _ORDER[:2] for check in report.clauses if check.answer == answer):
        alike.setdefault((check.answer, check.rule, check.clause, *_body(check, width)), []).append(check)
        by_rule |= {each.finding.rule: each.finding for each in _kept(check) if not each.finding.verdict.safe}
    for checks in list(alike.values())[:_CLAUSES]:
        yield ""
        yield from _clause(checks, report, width, color=color)
    if len(alike) > _CLAUSES:
        yield ""
        yield f"… {counted(len(alike) - _CLAUSES, 'more kind')} of check; --format json lists all"
    yield from _suppressions(report, width)
    for rule in sorted(by_rule & RULES.keys()):
        yield ""
        yield f"{rule}: {by_rule[rule].verdict}, {by_rule[rule].evidence}"
        yield from wrap(RULES[rule].why, width, initial_indent="  ", subsequent_indent="  ")


def _clause(checks: Sequence[ClauseCheck], report: CheckReport, width: int, *, color: bool) -> Iterator[str]:
    """Yield what one clause found; graphs with equal findings are named together."""
    check = checks[0]
    answer = f"{_COLORS[check.answer]}{check.answer}{_PLAIN}" if color else check.answer
    labels = [each.graph for each in checks if each.graph is not None]
    graphs = "".join(f"  {safe(label)}" for label in labels[:_LABELS])
    more = f"  and {counted(len(labels) - _LABELS, 'more graph')}" if len(labels) > _LABELS else ""
    yield f"{answer}  {check.rule}{graphs}{more}  ({clause_where(check, report.contract)})"
    yield from _body(check, width)
    if check.golden is not None and _kept(check):
        line = "" if check.golden_line is None else f":{check.golden_line}"
        yield f"  golden: {safe(check.golden)}{line}"
    if check.advice is not None:
        yield from _wrapped(check.advice, width)


def _body(check: ClauseCheck, width: int) -> Iterator[str]:
    yield from _wrapped(f"agreed: {safe(check.expected)}", width)
    yield from _wrapped(f"found: {safe(check.found)}", width)
    kept = _kept(check)
    for each in kept[:_FINDINGS]:
        yield from wrap(
            finding_words(each), width, initial_indent="    ", subsequent_indent="      ", break_long_words=False
        )
    if len(kept) > _FINDINGS:
        yield f"    … {counted(len(kept) - _FINDINGS, 'more difference')}; --format json lists all"


def _kept(check: ClauseCheck) -> list[CheckedFinding]:
    """Return the findings that do not pass, the worst first."""
    kept = [each for each in check.findings if each.answer != "passed"]
    return sorted(kept, key=lambda each: -each.finding.verdict.badness)


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_long_words=False)


def _suppressions(report: CheckReport, width: int) -> Iterator[str]:
    if report.suppressions:
        yield ""
        yield "suppressions"
    for row, use in enumerate(report.suppressions):
        line = "" if use.line is None else f":{use.line}"
        yield from _wrapped(f"{safe(report.contract)}{line}  {suppression_words(row, report)}", width)
