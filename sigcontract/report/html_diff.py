"""Diffs as one HTML page: environment, distinct changes, both graphs side by side, every node in full."""

from xml.etree import ElementTree as ET

from sigcontract.compare import DumpComparison
from sigcontract.model import Finding, RankDiff, RankDiffs
from sigcontract.report.html_comparisons import (
    Comparisons,
    changes_section,
    environment_table,
    gaps_section,
    rules_list,
    unchanged,
)
from sigcontract.report.html_filter import filter_bar
from sigcontract.report.html_page import badge, element, page, section, table
from sigcontract.report.left_out import left_out
from sigcontract.report.phrases import profile_of, summary
from sigcontract.report.ranks_text import ranks_head

__all__ = ["RanksPage", "diff_html"]


def diff_html(comparison: DumpComparison) -> str:
    """Return a diff as one HTML page that loads nothing.

    Graphs with the same findings are drawn once. What is seen without its script: summary, environment, the distinct
    changes and the rules. Every name is text, control characters in it are shown.
    """
    result = comparison.diff
    drawn = Comparisons()
    drawn.add(comparison)
    findings = result.findings
    body = [
        element(
            "header",
            element("h1", "sigcontract diff ", badge(result.verdict)),
            element("p", summary(result)),
            element("p", profile_of(result) if findings else left_out(result), class_="note"),
        ),
    ]
    if findings:
        body.append(filter_bar(findings))
    if result.environment:
        body.append(section("Environment", environment_table(result.environment), name="environment"))
    body += changes_section(drawn)
    body.append(section("Graphs", *drawn.graphs, *unchanged(result), name="graphs"))
    if findings:
        body.append(section("Rules", rules_list(findings), name="rules"))
    return page(f"sigcontract diff: {summary(result)}", body, drawn.data())


class RanksPage:
    """Draws two folders of dumps compared rank by rank, one pair after the other: no comparison is kept."""

    def __init__(self) -> None:
        self._drawn = Comparisons()
        self._rows: list[ET.Element] = []
        self._environment: list[ET.Element] = []
        self._unchanged: list[ET.Element] = []
        self._findings: list[Finding] = []

    def add(self, each: RankDiff, comparison: DumpComparison) -> None:
        """Draw one pair of dumps, which stands for all ranks that have the same two."""
        who = f"{'rank' if each.ranks.isdecimal() else 'ranks'} {each.ranks}"
        result = comparison.diff
        self._drawn.add(comparison, f"{who}: ")
        self._rows.append(_pair(who, each))
        if result.environment:
            self._environment += (element("h3", who), environment_table(result.environment))
        self._unchanged += unchanged(result, f"{who}: ")
        self._findings += result.findings

    def html(self, found: RankDiffs) -> str:
        """Return the page; after every pair was drawn."""
        head = ranks_head(found)
        body = [
            element("header", element("h1", "sigcontract diff ", badge(found.verdict)), element("p", head)),
            *([filter_bar(self._findings)] if self._findings else []),
            *gaps_section(found.gaps),
            section("Ranks", table(("verdict", "ranks", "dumps", "what", "profile"), self._rows), name="ranks"),
            *([section("Environment", *self._environment, name="environment")] if self._environment else []),
            *changes_section(self._drawn),
            section("Graphs", *self._drawn.graphs, *self._unchanged, name="graphs"),
            *([section("Rules", rules_list(self._findings), name="rules")] if self._findings else []),
        ]
        return page(f"sigcontract diff: {head}", body, self._drawn.data())


def _pair(who: str, each: RankDiff) -> ET.Element:
    texts = (who, f"{each.old_file} → {each.new_file}", summary(each.diff), profile_of(each.diff))
    cells = [element("td", badge(each.diff.verdict)), *(element("td", text) for text in texts)]
    return element("tr", *cells, data_text=" ".join(texts).lower())
