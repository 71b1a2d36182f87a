"""The check of a dump against a contract, as Markdown: for a pull request or a job summary."""

from collections.abc import Iterator

from sigcontract.model import CheckReport, ClauseCheck
from sigcontract.report.contract_text import check_head, clause_where, finding_words, suppression_words
from sigcontract.report.markdown import code_span, plain
from sigcontract.report.phrases import counted

__all__ = ["check_markdown"]

#: Rows, and checks whose differences are listed: GitHub refuses a job's summary of more than 1 MiB.
_ROWS = 200
_DETAILS = 40
_FINDINGS = 20
_ORDER = ("failed", "undetermined", "passed")


def check_markdown(report: CheckReport) -> str:
    """Return a report on a contract as Markdown, every name that comes out of a file inert."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: CheckReport) -> Iterator[str]:
    yield f"## sigcontract check: {plain(check_head(report))}"
    yield from ("", f"{code_span(report.dump)} against {code_span(report.contract)}", "")
    yield from ("| answer | what | graph | agreed | found |", "|---|---|---|---|---|")
    clauses = sorted(report.clauses, key=lambda check: _ORDER.index(check.answer))
    for check in clauses[:_ROWS]:
        graph = "" if check.graph is None else code_span(check.graph)
        cells = (f"**{check.answer}**", code_span(check.rule), graph, plain(check.expected), plain(check.found))
        yield f"| {' | '.join(cells)} |"
    if len(clauses) > _ROWS:
        yield from ("", f"{counted(len(clauses) - _ROWS, 'more check')} in the JSON form.")
    wrong = [check for check in clauses if check.answer != "passed"]
    for check in wrong[:_DETAILS]:
        yield from _details(check, report)
    if len(wrong) > _DETAILS:
        yield from ("", f"Differences of {counted(len(wrong) - _DETAILS, 'more check')} in the JSON form.")
    if report.suppressions:
        yield from ("", "### Suppressions", "")
        yield from (f"- {plain(suppression_words(row, report))}" for row in range(len(report.suppressions[:_ROWS])))
        if len(report.suppressions) > _ROWS:
            yield f"- {counted(len(report.suppressions) - _ROWS, 'more suppression')} in the JSON form"


def _details(check: ClauseCheck, report: CheckReport) -> Iterator[str]:
    kept = [each for each in check.findings if each.answer != "passed"]
    if not kept and check.advice is None:
        return
    of = "" if check.graph is None else f": {code_span(check.graph)}"
    yield from (
        "",
        f"### {code_span(check.rule)}{of}",
        "",
        f"At {code_span(clause_where(check, report.contract))}.",
        "",
    )
    yield from (f"- {plain(finding_words(each))}" for each in kept[:_FINDINGS])
    if len(kept) > _FINDINGS:
        yield f"- {counted(len(kept) - _FINDINGS, 'more difference')} in the JSON form"
    if check.advice is not None:
        yield from ("", plain(check.advice))
