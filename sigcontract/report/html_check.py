"""The check of a dump against a contract, as one HTML page: failed checks, differences, both graphs side by side."""

from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from msgspec.structs import replace

from sigcontract.compare import DumpComparison
from sigcontract.model import CheckedFinding, CheckReport, ClauseCheck, SuppressionUse, Verdict
from sigcontract.report.contract_text import check_head, clause_where
from sigcontract.report.html_comparisons import Comparisons, changes_section, rules_list
from sigcontract.report.html_filter import filter_bar, name_bar
from sigcontract.report.html_page import badge, element, page, section, table
from sigcontract.report.names import shortened
from sigcontract.report.phrases import change_in, path_of

__all__ = ["check_html"]

_ORDER: Final = ("failed", "undetermined", "passed")
#: The badge of an answer.
_BADGES: Final = {"passed": Verdict.IDENTICAL, "failed": Verdict.REJECTED, "undetermined": Verdict.UNDETERMINED}
_STATES: Final = {"used": Verdict.HARMLESS, "unused": Verdict.UNDETERMINED, "expired": Verdict.REJECTED}
_NAME: Final = 120
_VALUE: Final = 160
#: Rows of a table. The page counts what it leaves out.
_ROWS: Final = 5000


def check_html(report: CheckReport, comparisons: Sequence[tuple[str, DumpComparison]] = ()) -> str:
    """Return a report on a contract as one HTML page that loads nothing.

    Parameters
    ----------
    report
        What `sigcontract.contract.check_dump` found.
    comparisons
        Each golden dump and the comparison with it, as that function hands them out: their graphs are drawn.
    """
    drawn = Comparisons()
    several = len({golden for golden, _ in comparisons}) > 1
    seen: set[int] = set()
    for golden, comparison in comparisons:
        drawn.add(_unseen(comparison, seen), f"{golden}: " if several else "")
    head = check_head(report)
    checks = sorted(report.clauses, key=lambda check: _ORDER.index(check.answer))
    found = [(check, each) for check in checks for each in check.findings]
    found.sort(key=lambda pair: (_ORDER.index(pair[1].answer), -pair[1].finding.verdict.badness))
    findings = [each.finding for _, each in found]
    body = [
        element(
            "header",
            element("h1", "sigcontract check ", _answer(report.answer)),
            element("p", head),
            element("p", f"{report.dump} against {report.contract}, on {report.checked_on} UTC"),
            element("p", f"driver profile: {report.profile or 'the one that both dumps name'}", class_="note"),
        ),
        filter_bar(findings) if findings else name_bar(),
        section("Checks", *_table(_CHECKS, [_check(check, report) for check in checks], "checks"), name="clauses"),
    ]
    if report.suppressions:
        rows = [_suppression(use, report.contract) for use in report.suppressions]
        body.append(section("Suppressions", *_table(_SUPPRESSIONS, rows), name="suppressions"))
    if found:
        rows = [_finding(check, each, report) for check, each in found]
        body.append(section("Differences from golden graphs", *_table(_FINDINGS, rows, "differences"), name="findings"))
    body += changes_section(drawn)
    if drawn.graphs:
        body.append(section("Graphs", *drawn.graphs, name="graphs"))
    if findings:
        body.append(section("Rules", rules_list(findings), name="rules"))
    return page(f"sigcontract check: {head}", body, drawn.data())


_CHECKS: Final = ("answer", "what", "graph", "agreed", "found", "where")
_FINDINGS: Final = ("answer", "verdict", "graph", "node", "change", "rule", "decided by")
_SUPPRESSIONS: Final = ("state", "rule", "last day", "reason", "lets pass", "stale kept", "where")


def _unseen(comparison: DumpComparison, seen: set[int]) -> DumpComparison:
    """Return a comparison with the graphs that no earlier clause has had drawn."""
    kept = [
        (graph, changes)
        for graph, changes in zip(comparison.diff.graphs, comparison.changes, strict=True)
        if id(graph) not in seen
    ]
    seen.update(id(graph) for graph, _ in kept)
    diff = replace(comparison.diff, graphs=tuple(graph for graph, _ in kept))
    return comparison._replace(diff=diff, changes=tuple(changes for _, changes in kept))


def _table(head: tuple[str, ...], rows: list[ET.Element], name: str | None = None) -> Iterator[ET.Element]:
    yield table(head, rows[:_ROWS], name=name)
    if len(rows) > _ROWS:
        yield element("p", f"and {len(rows) - _ROWS} more rows in the JSON form", class_="note")


def _check(check: ClauseCheck, report: CheckReport) -> ET.Element:
    advice = None if check.advice is None or check.answer == "passed" else element("p", check.advice, class_="note")
    cells = (_answer(check.answer), element("code", check.rule), check.graph or "", check.expected)
    made = [element("td", cell) for cell in cells]
    text = f"{check.answer} {check.rule} {check.graph or ''} {check.expected} {check.found}"
    return element(
        "tr",
        *made,
        element("td", check.found, advice),
        element("td", clause_where(check, report.contract)),
        data_text=text.lower(),
    )


def _finding(check: ClauseCheck, each: CheckedFinding, report: CheckReport) -> ET.Element:
    finding = each.finding
    graph = check.graph or "environment"
    name = f" ({shortened(finding.subject, _NAME)})" if finding.subject else ""
    by: str = each.decided_by
    if each.suppression is not None:
        use = report.suppressions[each.suppression]
        by = f"suppressed until {use.expires}: {use.reason}"
    cells = (
        _answer(each.answer),
        badge(finding.verdict),
        graph,
        f"{path_of(finding)}{name}",
        change_in(finding, width=_VALUE),
        element("code", finding.rule),
        by,
    )
    return element(
        "tr",
        *(element("td", cell) for cell in cells),
        data_verdict=str(finding.verdict),
        data_rules=finding.rule,
        data_text=f"{graph} {finding.subject or ''} {finding.path}".lower(),
    )


def _suppression(use: SuppressionUse, contract: str) -> ET.Element:
    where = f"{contract}{'' if use.line is None else f':{use.line}'} {use.clause}"
    state = element("span", use.state, class_=f"badge {_STATES[use.state]}")
    cells = (state, element("code", use.rule), use.expires, use.reason, str(use.hidden), str(use.stale_kept), where)
    return element("tr", *(element("td", cell) for cell in cells), data_text=f"{use.rule} {use.reason}".lower())


def _answer(answer: str) -> ET.Element:
    return element("span", answer, class_=f"badge {_BADGES[answer]}")
