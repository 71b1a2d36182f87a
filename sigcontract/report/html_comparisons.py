"""Parts of a page that shows comparisons: distinct changes, both graphs side by side, environment, rules."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final
from xml.etree import ElementTree as ET

from sigcontract.compare import Cause, DumpComparison, GraphChanges, causes_of
from sigcontract.model import DumpDiff, Finding, FleetGap, GraphDiff
from sigcontract.report.change_words import change_words, index_words
from sigcontract.report.html_nodes import DrawnGraph, NodeTables
from sigcontract.report.html_page import badge, element, section, table
from sigcontract.report.names import shortened
from sigcontract.report.phrases import change_in, counted, label_of, like_graphs
from sigcontract.update import RULES

__all__ = ["Comparisons", "changes_section", "environment_table", "gaps_section", "rules_list", "unchanged"]

_NAME: Final = 160
_VALUE: Final = 160
#: Labels written out of graphs that changed alike, and of graphs that did not.
_LABELS: Final = 12
#: Distinct changes of one graph in the table; the graph itself has all.
_CAUSES: Final = 1000


class Comparisons:
    """Draws comparisons for one page. Nodes that several have in common are in its data once."""

    def __init__(self) -> None:
        self._tables = NodeTables()
        self._data: list[dict[str, Any]] = []
        #: Rows of the table of distinct changes, and the graphs.
        self.causes: list[ET.Element] = []
        self.graphs: list[ET.Element] = []

    def add(self, comparison: DumpComparison, of: str = "") -> None:
        """Draw the graphs of a comparison that differ; graphs with the same findings once.

        Parameters
        ----------
        comparison
            The comparison.
        of
            What comes before the labels of its graphs; empty where the page has one comparison.
        """
        result = comparison.diff
        changes_of = {id(graph): found for graph, found in zip(result.graphs, comparison.changes, strict=True)}
        groups = [(graphs, changes_of[id(graphs[0])]) for graphs in like_graphs(result.graphs)]
        aligned = [found.aligned for _, found in groups if found is not None]
        self._tables.number([each.new for each in aligned], [each.old for each in aligned])
        for graphs, found in groups:
            label = f"{of}{_labels(graphs)}"
            drawn = None if found is None else self._tables.two(label, found)
            number = len(self._data)
            nothing: dict[str, Any] = {"label": label, "findings": [], "rows": [], "blocks": [], "total": 0}
            data = nothing if drawn is None else drawn.data
            # Under `exact` handles are compared as the numbers that they are.
            self._data.append(data | {"verdict": str(graphs[0].verdict), "exact": comparison.policy == "exact"})
            self.causes += _cause_rows(number, label, graphs, found, drawn)
            self.graphs.append(_graph(number, label, graphs, found))

    def data(self) -> dict[str, Any]:
        """Return what the script draws from."""
        return {"kind": "diff", "graphs": self._data, **self._tables.data()}


def changes_section(drawn: Comparisons) -> list[ET.Element]:
    """Return the section of distinct changes, where there are any."""
    heads = ("verdict", "graph", "node", "change", "count", "where")
    rows = drawn.causes
    return [section("Distinct changes", table(heads, rows, name="causes"), name="changes")] if rows else []


def environment_table(findings: Iterable[Finding]) -> ET.Element:
    """Return what two environments differ in."""
    rows = [
        element(
            "tr",
            element("td", badge(finding.verdict)),
            element("td", finding.path.removeprefix("environment.")),
            element("td", change_in(finding, width=_VALUE)),
            element("td", element("code", finding.rule)),
        )
        for finding in findings
    ]
    return table(("verdict", "what", "change", "rule"), rows)


def unchanged(result: DumpDiff, of: str = "") -> Iterator[ET.Element]:
    """Yield a line that names the graphs without differences, where there are any."""
    alike = [graph for graph in result.graphs if not graph.findings]
    if alike:
        yield element("p", f"no differences: {of}{_labels(alike)}", class_="note")


def gaps_section(gaps: Sequence[FleetGap]) -> list[ET.Element]:
    """Return the section of gaps, where there are any."""
    rows = [
        element("tr", element("td", element("code", gap.kind)), element("td", gap.ranks), element("td", gap.detail))
        for gap in gaps
    ]
    title = f"Gaps: {counted(len(gaps), 'gap')}"
    return [section(title, table(("gap", "ranks", "what"), rows), name="gaps")] if gaps else []


def rules_list(findings: Iterable[Finding]) -> ET.Element:
    """Return what the rules of findings say."""
    seen = dict.fromkeys((finding.rule, finding.evidence) for finding in findings)
    parts = [
        part
        for rule, evidence in seen
        for part in (
            element("dt", element("code", rule), f" ({evidence})"),
            element("dd", RULES[rule].why if rule in RULES else "a rule unknown to this release"),
        )
    ]
    return element("dl", *parts)


def _labels(graphs: list[GraphDiff]) -> str:
    shown = ", ".join(map(label_of, graphs[:_LABELS]))
    return f"{shown} and {counted(len(graphs) - _LABELS, 'more graph')}" if len(graphs) > _LABELS else shown


def _cause_rows(
    number: int, label: str, graphs: list[GraphDiff], found: GraphChanges | None, drawn: DrawnGraph | None
) -> Iterator[ET.Element]:
    """Yield a row for each distinct change of graphs that changed alike."""
    if found is None or drawn is None:
        for finding in graphs[0].findings:
            summary = f"{finding.rule}: {change_in(finding)}"
            yield _row((badge(finding.verdict), label, "", summary, "", ""), str(finding.verdict), finding.rule, label)
        return
    causes = causes_of(found)
    for cause in causes[:_CAUSES]:
        rules = " ".join(dict.fromkeys(change.rule for change in cause.changes))
        name = cause.subject or "several nodes"
        cells = (
            badge(cause.verdict),
            label,
            shortened(name, _NAME),
            _what(cause),
            str(cause.count),
            _where(cause, number, drawn),
        )
        yield _row(cells, str(cause.verdict), rules, f"{label} {name}")
    if len(causes) > _CAUSES:
        yield element("tr", element("td", f"and {len(causes) - _CAUSES} more distinct changes of {label}", colspan=6))


def _row(cells: Iterable[ET.Element | str], verdict: str, rules: str, text: str) -> ET.Element:
    made = [element("td", cell) for cell in cells]
    return element("tr", *made, data_verdict=verdict, data_rules=rules, data_text=text.lower())


def _what(cause: Cause) -> str:
    kinds = {"added": "added", "removed": "removed"}
    if cause.kind in kinds:
        return kinds[cause.kind]
    words = ", ".join(change_words(change, _VALUE) for change in cause.changes)
    return f"unknown: {words}" if cause.kind == "unknown" else words


def _where(cause: Cause, number: int, drawn: DrawnGraph) -> ET.Element:
    """Return the nodes of a cause, with a button that shows the first one."""
    where = index_words(cause.paths, cause.count) if cause.paths and cause.paths[0] else "the graph"
    first = index_words(cause.paths[:1], 1) if cause.paths else ""
    removed = cause.kind == "removed"
    where = f"old {where}" if removed else where
    row = drawn.row_of.get(f"-{first}" if removed else first)
    if row is None:
        return element("span", where)
    return element("button", where, type="button", class_="link", data_graph=number, data_row=row)


def _graph(number: int, label: str, graphs: list[GraphDiff], found: GraphChanges | None) -> ET.Element:
    title = element("summary", badge(graphs[0].verdict), f" {label} ", element("small", _sizes(found)))
    if found is None:
        text = ", ".join(f"{finding.rule}: {change_in(finding)}" for finding in graphs[0].findings)
        return element("details", title, element("p", text, class_="note"), class_="plain")
    return element("details", title, element("div", class_="drawing"), class_="graph", data_graph=number)


def _sizes(found: GraphChanges | None) -> str:
    if found is None:
        return ""
    old, new = len(found.aligned.old.nodes), len(found.aligned.new.nodes)
    return counted(new, "node") if old == new else f"{old} → {counted(new, 'node')}"
