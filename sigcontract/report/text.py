"""A diff as text for people: what differs, in its place, repeated parts once, and why it matters."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from textwrap import wrap
from typing import NamedTuple

from sigcontract.compare import (
    Change,
    DumpComparison,
    GraphChanges,
)
from sigcontract.model import (
    Finding,
    GraphDiff,
    KernelNodeSignature,
    NodeSignature,
    Verdict,
)
from sigcontract.report.hunks import Part, Row, is_note, parts_of
from sigcontract.report.left_out import left_out
from sigcontract.report.names import safe, shortened
from sigcontract.report.phrases import change_of, counted, label_of, like_graphs, profile_of, summary
from sigcontract.update import (
    RULES,
)

__all__ = ["diff_text"]

_ATTRIBUTE = re.compile(r"attributes\[(\w+)\]")
#: Lines drawn of one graph; a graph that differs everywhere is not a screen to read.
_LINES = 60
_LABELS = 4
_NAME = 56
_VALUE = 44
_DETAILS = 90
_REASON = 110
_FIELDS_SHOWN = 3
#: What is cut to fit a narrow page keeps at least this much.
_LEAST = 20
#: What stands on a line besides two values: indent, field, arrow, verdict.
_BESIDE_VALUES = 32
#: What stands on a line besides the changes of a node: indent, verdict.
_BESIDE_DETAILS = 24

_COLORS = {
    Verdict.STALE: "\x1b[1;31m",
    Verdict.REJECTED: "\x1b[31m",
    Verdict.UNDETERMINED: "\x1b[35m",
    Verdict.UPDATABLE: "\x1b[33m",
    Verdict.HARMLESS: "\x1b[36m",
    Verdict.IDENTICAL: "\x1b[32m",
}
_MARK_COLORS = {"+": "\x1b[32m", "-": "\x1b[31m", "~": "\x1b[33m", "…": "\x1b[2m", " ": ""}
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class _Page(NamedTuple):
    """What the text is written on: how wide, and whether in colour."""

    color: bool
    width: int

    def __call__(self, text: str, color: str) -> str:
        return f"{color}{text}{_PLAIN}" if self.color and color and text else text

    def room(self, most: int, beside: int) -> int:
        """Return how long something may be that shares its line with so much else."""
        return min(most, max(_LEAST, self.width - beside))

    def verdict(self, verdict: Verdict) -> str:
        """Return the verdict's word in its colour."""
        return self(str(verdict), _COLORS[verdict])


def diff_text(comparison: DumpComparison, *, color: bool = False, width: int = 120) -> str:
    """Return a diff for a person at a terminal.

    Graphs with the same findings are drawn once. Names are demangled where the extra ``report`` is installed, cut to
    fit a line, and free of control characters.

    Parameters
    ----------
    comparison
        What `compare_dumps` found.
    color
        Whether to use ANSI colours.
    width
        Columns that a line should keep to: reasons are wrapped to it, names and values cut.
    """
    page = _Page(color, width)
    lines = list(_lines(comparison, page))
    return "\n".join(lines) + "\n"


def _lines(comparison: DumpComparison, page: _Page) -> Iterator[str]:
    result = comparison.diff
    verdict, _, rest = summary(result).partition(":")
    yield f"{page.verdict(result.verdict)}:{rest}" if rest else verdict
    yield profile_of(result) if result.findings else left_out(comparison.policy)
    if result.environment:
        yield ""
        yield page("environment", _BOLD)
        yield from (f"  {_plain_line(finding, page)}" for finding in result.environment)
    changes_of = {id(graph): found for graph, found in zip(result.graphs, comparison.changes, strict=True)}
    for graphs in like_graphs(result.graphs):
        first = graphs[0]
        found = changes_of[id(first)]
        yield ""
        yield f"{page(_labels(graphs), _BOLD)}: {page.verdict(first.verdict)}{_sizes(found)}"
        if found is None:
            yield from (f"  {_plain_line(finding, page)}" for finding in first.findings)
            continue
        yield from _limited(_drawn(list(parts_of(found)), page))
        yield from _notes([change for change in found.changes if is_note(change)], page)
    yield from _reasons(result.findings, page)


def _labels(graphs: Sequence[GraphDiff]) -> str:
    shown = ", ".join(map(label_of, graphs[:_LABELS]))
    return f"{shown} and {counted(len(graphs) - _LABELS, 'more graph')}" if len(graphs) > _LABELS else shown


def _sizes(found: GraphChanges | None) -> str:
    if found is None:
        return ""
    old, new = len(found.aligned.old.nodes), len(found.aligned.new.nodes)
    return f", {counted(new, 'node')}" if old == new else f", {old} → {counted(new, 'node')}"


def _plain_line(finding: Finding, page: _Page) -> str:
    path = finding.path.removeprefix("environment.")
    return f"{safe(path)}  {change_of(finding.old, finding.new)}  {page.verdict(finding.verdict)}  {finding.rule}"


def _limited(lines: Iterator[str]) -> Iterator[str]:
    yield from islice(lines, _LINES)
    if next(lines, None) is not None:
        yield f"  … cut after {_LINES} lines; --format json has every finding"


def _drawn(parts: Sequence[Part], page: _Page) -> Iterator[str]:
    width = max((len(str(part.last)) for part in parts), default=1)
    for part in parts:
        if part.times > 1:
            nodes = counted(part.length, "node")
            yield page(f"  {part.times} times these {nodes}, up to [{part.last}]:", _BOLD)
        for row in part.rows:
            yield from _row(row, width, page)


def _row(row: Row, width: int, page: _Page) -> Iterator[str]:
    mark_color = _MARK_COLORS[row.mark]
    if row.node is None:
        yield page(f"  … {counted(row.left_out, 'node')} as before", mark_color)
        return
    rules = ""
    if row.mark in "+-":
        difference = row.changes[0].difference
        rules = f"  {page.verdict(difference.verdict)}  {difference.rule}"
    place = f"  {row.mark} [{row.place:>{width}}] "
    yield page(place + _node(row.node, page.width - len(place)), mark_color) + rules
    if row.mark == "~":
        yield from (f"      {'':{width}}{line}" for line in _details(row.changes, page))


def _node(node: NodeSignature, width: int) -> str:
    kind = str(node.__struct_config__.tag)
    if not isinstance(node, KernelNodeSignature):
        return kind
    launch = f"<<<{node.grid_dim}, {node.block_dim}>>>"
    name = shortened(node.name, min(_NAME, max(_LEAST, width - len(kind) - len(launch) - 3)))
    return f"{kind} {name}  {launch}"


def _details(changes: Sequence[Change], page: _Page) -> Iterator[str]:
    """Yield the changes of one node; those of one safe verdict share lines, the others name their rule."""
    line, verdict = "", Verdict.IDENTICAL
    value = page.room(2 * _VALUE, _BESIDE_VALUES) // 2
    for change in changes:
        difference = change.difference
        text = f"{safe(_fields(change))} {change_of(difference.old, difference.new, width=value)}"
        if line and (difference.verdict is not verdict or len(line) + len(text) > page.room(_DETAILS, _BESIDE_DETAILS)):
            yield f"{line}  {page.verdict(verdict)}"
            line = ""
        if _is_explained(difference.verdict, difference.rule):
            yield f"{text}  {page.verdict(difference.verdict)}  {difference.rule}"
            continue
        line, verdict = (f"{line}, {text}" if line else text), difference.verdict
    if line:
        yield f"{line}  {page.verdict(verdict)}"


def _field(change: Change) -> str:
    """Return the path below the node, as a person would say it."""
    field = change.paths[0] if change.paths[0].startswith("dependencies") else change.difference.field
    return _ATTRIBUTE.sub(r"\1", field).removeprefix(".")


def _fields(change: Change) -> str:
    """Return the path below the node of a known difference, and how many more there are in the node itself."""
    more = change.number // len(change.places) - 1
    return f"{_field(change)} and {more} more" if more else _field(change)


def _notes(changes: Sequence[Change], page: _Page) -> Iterator[str]:
    """Yield a line for each rule: what is not known, and of how much."""
    by_rule: dict[tuple[str, Verdict], list[Change]] = {}
    for change in changes:
        by_rule.setdefault((change.difference.rule, change.difference.verdict), []).append(change)
    for (rule, verdict), same in by_rule.items():
        extent = f"{rule}{_extent(rule, same)}"
        room = page.room(_NAME, len(f"  ? {verdict}  {extent} ()"))
        about = f" ({shortened(same[0].subject, room)})" if len(same) == 1 and same[0].subject else ""
        yield f"  ? {page.verdict(verdict)}  {extent}{about}"


def _extent(rule: str, changes: Sequence[Change]) -> str:
    """Return of what and of how much something is not known."""
    if rule == "node.alignment":
        return ""
    nodes: Counter[str] = Counter()
    for change in changes:
        nodes[_field(change)] += change.number
    count = max(nodes.values())
    if rule == "function.code-unknown":
        return f": {counted(count, 'function')}"
    fields = list(nodes)
    more = f" and {len(fields) - _FIELDS_SHOWN} more" if len(fields) > _FIELDS_SHOWN else ""
    return f": {safe(', '.join(fields[:_FIELDS_SHOWN]))}{more} of {counted(count, 'node')}"


def _is_explained(verdict: Verdict, rule: str) -> bool:
    """Whether a rule is named beside its change and explained: where it is not plainly safe, and where it is of code.

    An update carries another function, so that verdict is safe; that one name stands for two kernels is news all the
    same.
    """
    return not verdict.safe or rule == "function.code"


def _reasons(findings: Sequence[Finding], page: _Page) -> Iterator[str]:
    """Yield, once for each rule that is explained, why its verdict is what it is and how that is known."""
    told = {
        finding.rule: finding
        for finding in findings
        if _is_explained(finding.verdict, finding.rule) and finding.rule in RULES
    }
    for rule_id, finding in told.items():
        rule = RULES[rule_id]
        yield ""
        yield f"{page(rule_id, _BOLD)}: {page.verdict(finding.verdict)}, {finding.evidence}"
        yield from wrap(rule.why, page.room(_REASON, 0), initial_indent="  ", subsequent_indent="  ")
