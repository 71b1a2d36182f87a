"""A diff as one HTML page: environment, distinct changes, both graphs side by side, every node in full."""

from collections.abc import Iterable, Iterator
from typing import Final
from xml.etree import ElementTree as ET

from sigcontract.compare import Cause, DumpComparison, GraphChanges, causes_of
from sigcontract.model import DumpDiff, Finding, GraphDiff
from sigcontract.report.change_words import change_words, index_words
from sigcontract.report.html_filter import filter_bar
from sigcontract.report.html_nodes import DrawnGraph, NodeTables
from sigcontract.report.html_page import badge, element, page, section, table
from sigcontract.report.left_out import left_out
from sigcontract.report.names import shortened
from sigcontract.report.phrases import change_in, counted, label_of, like_graphs, profile_of, summary
from sigcontract.update import RULES

__all__ = ["diff_html"]

_NAME: Final = 160
_VALUE: Final = 160
#: Labels written out of graphs that changed alike, and of graphs that did not.
_LABELS: Final = 12
#: Distinct changes of one graph in the table; the graph itself has all.
_CAUSES: Final = 1000


def diff_html(comparison: DumpComparison) -> str:
    """Return a diff as one HTML page that loads nothing.

    Graphs with the same findings are drawn once. What is seen without its script: summary, environment, the distinct
    changes and the rules. Every name is text, control characters in it are shown.
    """
    result = comparison.diff
    changes_of = {id(graph): found for graph, found in zip(result.graphs, comparison.changes, strict=True)}
    groups = [(graphs, changes_of[id(graphs[0])]) for graphs in like_graphs(result.graphs)]
    aligned = [found.aligned for _, found in groups if found is not None]
    tables = NodeTables([each.new for each in aligned], [each.old for each in aligned])
    drawn = [None if found is None else tables.two(_labels(graphs), found) for graphs, found in groups]
    rows = [
        row
        for number, ((graphs, found), each) in enumerate(zip(groups, drawn, strict=True))
        for row in _cause_rows(number, graphs, found, each)
    ]
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
        body.append(section("Environment", _environment(result.environment), name="environment"))
    if rows:
        heads = ("verdict", "graph", "node", "change", "count", "where")
        body.append(section("Distinct changes", table(heads, rows, name="causes"), name="changes"))
    body.append(section("Graphs", *_graphs(groups, drawn), *_unchanged(result), name="graphs"))
    if findings:
        body.append(section("Rules", _rules(findings), name="rules"))
    graphs = [_of_group(graphs, each) for (graphs, _), each in zip(groups, drawn, strict=True)]
    # Under `exact` handles are compared as the numbers that they are.
    local: dict[str, object] = {"local": []} if comparison.policy == "exact" else {}
    return page(
        f"sigcontract diff: {summary(result)}", body, {"kind": "diff", "graphs": graphs, **tables.data(), **local}
    )


def _labels(graphs: list[GraphDiff]) -> str:
    shown = ", ".join(map(label_of, graphs[:_LABELS]))
    return f"{shown} and {counted(len(graphs) - _LABELS, 'more graph')}" if len(graphs) > _LABELS else shown


def _of_group(graphs: list[GraphDiff], drawn: DrawnGraph | None) -> dict[str, object]:
    nothing: dict[str, object] = {"label": _labels(graphs), "findings": [], "rows": [], "blocks": [], "total": 0}
    return (nothing if drawn is None else drawn.data) | {"verdict": str(graphs[0].verdict)}


def _environment(findings: Iterable[Finding]) -> ET.Element:
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


def _cause_rows(
    number: int, graphs: list[GraphDiff], found: GraphChanges | None, drawn: DrawnGraph | None
) -> Iterator[ET.Element]:
    """Yield a row for each distinct change of graphs that changed alike."""
    label = _labels(graphs)
    if found is None or drawn is None:
        for finding in graphs[0].findings:
            said = f"{finding.rule}: {change_in(finding)}"
            yield _row((badge(finding.verdict), label, "", said, "", ""), str(finding.verdict), finding.rule, label)
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


def _graphs(
    groups: list[tuple[list[GraphDiff], GraphChanges | None]], drawn: list[DrawnGraph | None]
) -> Iterator[ET.Element]:
    for number, ((graphs, found), each) in enumerate(zip(groups, drawn, strict=True)):
        title = element("summary", badge(graphs[0].verdict), f" {_labels(graphs)} ", element("small", _sizes(found)))
        if each is None:
            text = ", ".join(f"{finding.rule}: {change_in(finding)}" for finding in graphs[0].findings)
            yield element("details", title, element("p", text, class_="note"), class_="plain")
            continue
        yield element("details", title, element("div", class_="drawing"), class_="graph", data_graph=number)


def _sizes(found: GraphChanges | None) -> str:
    if found is None:
        return ""
    old, new = len(found.aligned.old.nodes), len(found.aligned.new.nodes)
    return counted(new, "node") if old == new else f"{old} → {counted(new, 'node')}"


def _unchanged(result: DumpDiff) -> Iterator[ET.Element]:
    alike = [graph for graph in result.graphs if not graph.findings]
    if alike:
        yield element("p", f"no differences: {_labels(alike)}", class_="note")


def _rules(findings: Iterable[Finding]) -> ET.Element:
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
