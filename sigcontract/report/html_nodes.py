"""Nodes, functions and rows of graphs as the tables that the page's script draws from: each distinct thing once."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

import msgspec

from sigcontract.compare import CauseChange, Change, GraphChanges, fold_with_tails
from sigcontract.model import (
    GraphSignature,
    KernelNodeSignature,
    NodeSignature,
    Record,
    graph_fields,
)
from sigcontract.report.alike import alike_key, family
from sigcontract.report.argument_rows import ArgumentWords, argument_lines, node_arguments
from sigcontract.report.change_words import change_words, node_index
from sigcontract.report.cuda_words import HANDLE_FIELDS, value_word
from sigcontract.report.html_page import shown
from sigcontract.report.names import demangle, shortened
from sigcontract.report.node_rows import FunctionNumbers, NodeRow, attribute_text, rows

__all__ = ["DrawnGraph", "NodeTables"]

#: Rows of all graphs of a page. More would not open; the rest is counted as left out.
_MOST_ROWS: Final = 300_000
#: Characters of a name in a row; the detail of a node has all of it.
_NAME: Final = 120
_VALUE: Final = 200
SAME, CHANGED, ADDED, REMOVED = range(4)
_NO_NODE: Final = -1


class _Row(NamedTuple):
    """One row: nodes that correspond, or a node of one side.

    Its fields are those of the script's array, in this order; ``old`` and ``new`` are rows of the table of nodes.
    """

    old: int
    new: int
    old_at: str
    new_at: str
    mark: int
    depth: int
    after: int
    changes: list[int]


class DrawnGraph(NamedTuple):
    """A graph, or two that correspond, for the script; and the row of each node by its path."""

    data: dict[str, Any]
    row_of: dict[str, int]


class NodeTables:
    """Collects what the graphs of a page have in common, and draws graphs against it.

    Parameters
    ----------
    graphs
        Every graph that will be drawn: functions that share a name are numbered over all of them.
    old
        Of a comparison, the graphs of the other side, numbered by themselves: their handles are of another process.
    """

    def __init__(self, graphs: Sequence[GraphSignature] = (), old: Sequence[GraphSignature] = ()) -> None:
        self.number(graphs, old)
        self._nodes: list[Any] = []
        self._node_of: dict[int, tuple[int, NodeSignature]] = {}
        self._functions: dict[bytes, tuple[int, Any]] = {}
        self._attributes: dict[int, tuple[int, Any]] = {}
        self._texts: dict[str, int] = {"": 0}
        self._words = ArgumentWords()
        self._left = _MOST_ROWS

    def number(self, graphs: Sequence[GraphSignature], old: Sequence[GraphSignature] = ()) -> None:
        """Begin a numbering of functions for the graphs that are drawn next: a handle is of one process only."""
        self._numbers = FunctionNumbers(graphs)
        self._old_numbers = FunctionNumbers(old)

    def data(self) -> dict[str, Any]:
        """Return the tables; after all graphs were drawn."""
        return {
            "local": sorted(HANDLE_FIELDS),
            "nodes": self._nodes,
            "functions": [entry for _, entry in self._functions.values()],
            "attributes": [entry for _, entry in self._attributes.values()],
            "texts": [*self._texts],
        }

    def one(self, label: str, graph: GraphSignature) -> DrawnGraph:
        """Draw one graph."""
        drawn, keys = [], []
        kinds = count(1)
        number_of: dict[Hashable, int] = {}
        for row, node in _walked(graph, self._numbers):
            drawn.append(self._single(row, node, old=False, mark=SAME))
            keys.append(number_of.setdefault((row.alike, row.depth), next(kinds)))
        return self._drawn(label, drawn, keys, [])

    def two(self, label: str, found: GraphChanges) -> DrawnGraph:
        """Draw two graphs side by side, changed nodes marked."""
        findings: list[dict[str, Any]] = []
        drawn, keys = [], []
        for row, key in self._paired(found, findings, "", 0):
            drawn.append(row)
            keys.append(key)
        return self._drawn(label, drawn, keys, findings)

    def _drawn(self, label: str, drawn: list[_Row], keys: list[Any], findings: list[dict[str, Any]]) -> DrawnGraph:
        data: dict[str, Any] = {"label": shown(label), "findings": shown(findings), "total": len(drawn)}
        if len(drawn) > self._left:
            return DrawnGraph(data | {"rows": [], "blocks": []}, {})
        self._left -= len(drawn)
        blocks = [(each.block.start, each.block.length, each.block.count, each.tail) for each in fold_with_tails(keys)]
        row_of: dict[str, int] = {}
        for number, row in enumerate(drawn):
            row_of.setdefault(f"-{row.old_at}" if row.mark == REMOVED else row.new_at, number)
        return DrawnGraph(data | {"rows": drawn, "blocks": blocks}, row_of)

    def _single(
        self, row: NodeRow, node: NodeSignature, *, old: bool, mark: int, base: tuple[str, int] = ("", 0)
    ) -> _Row:
        at, number = node_index(base[0] + row.path), self._node(node, row)
        sides = (number, _NO_NODE, at, "") if old else (_NO_NODE, number, "", at)
        return _Row(*sides, mark, base[1] + row.depth, self._text(row.after), [])

    def _paired(
        self, found: GraphChanges, findings: list[dict[str, Any]], at: str, depth: int
    ) -> Iterator[tuple[_Row, Hashable]]:
        """Yield the rows of two graphs in the order of the new one, each with what rows that look alike share."""
        aligned = found.aligned
        changes = _by_node(found.changes, findings)
        old_rows, new_rows = (
            dict(_outer(graph, numbers))
            for graph, numbers in ((aligned.old, self._old_numbers), (aligned.new, self._numbers))
        )
        old_at = new_at = 0
        ends = (len(aligned.old.nodes), len(aligned.new.nodes), 0)
        for start, new_start, length in [*aligned.alignment.matches, ends]:
            for index in range(old_at, start):
                yield from self._alone(
                    old_rows[index], changes.get((True, index), []), at, depth, recorded=aligned.recorded(index)
                )
            for index in range(new_at, new_start):
                yield from self._alone(new_rows[index], changes.get((False, index), []), at, depth)
            for offset in range(length):
                old, new = start + offset, new_start + offset
                mine = changes.get((False, new), [])
                (old_row, old_node), (new_row, new_node) = old_rows[old][0], new_rows[new][0]
                row = _Row(
                    self._node(old_node, old_row),
                    self._node(new_node, new_row),
                    node_index(f"{at}nodes[{aligned.recorded(old)}]"),
                    node_index(f"{at}nodes[{new}]"),
                    CHANGED if mine else SAME,
                    depth,
                    self._text(new_row.after),
                    [number for number, _ in mine],
                )
                yield row, (alike_key(old_node), alike_key(new_node), depth, *(alike for _, alike in mine))
                if graph_fields(type(new_node)) and graph_fields(type(old_node)):
                    for below, inner in found.inside(old, new):
                        yield from self._paired(inner, findings, f"{at}nodes[{new}]{below}", depth + 1)
            old_at, new_at = start + length, new_start + length

    def _alone(
        self,
        held: list[tuple[NodeRow, NodeSignature]],
        mine: list[tuple[int, Hashable]],
        at: str,
        depth: int,
        recorded: int | None = None,
    ) -> Iterator[tuple[_Row, Hashable]]:
        """Yield a node of one side, and the nodes inside of it; of the old side with its recorded index."""
        mark = ADDED if recorded is None else REMOVED
        for row, node in held:
            made = self._single(row, node, old=recorded is not None, mark=mark, base=(at, depth))
            if recorded is not None and row.depth == 0:
                made = made._replace(old_at=node_index(f"{at}nodes[{recorded}]"))
            numbers = [number for number, _ in mine] if row.depth == 0 else []
            yield made._replace(changes=numbers), (mark, row.alike, depth + row.depth)

    def _node(self, node: NodeSignature, row: NodeRow) -> int:
        known = self._node_of.get(id(node))
        if known is not None:
            return known[0]
        if isinstance(node, KernelNodeSignature):
            own = {"grid_dim": row.grid, "block_dim": row.block, "dynamic_shared_mem_bytes": row.shared}
            entry = [row.type, "", self._function(node, row.function), self._attribute_set(node), *own.values()]
            if node.arguments is not None:
                lines = (line.partition(": ") for line in argument_lines(node_arguments(node, self._words)))
                entry.append([[shown(where), shown(what)] for where, _, what in lines])
        else:
            entry = [row.type, shown(row.subject), -1, -1, list(map(list, _fields(node)))]
        self._nodes.append(entry)
        self._node_of[id(node)] = len(self._nodes) - 1, node
        return len(self._nodes) - 1

    def _function(self, node: KernelNodeSignature, mark: str) -> int:
        facts_number = self._numbers.records.of(node.function)
        key = msgspec.msgpack.encode((mark, node.name, node.kern, node.func, node.context, facts_number))
        known = self._functions.get(key)
        if known is None:
            fields = [("name", node.name), ("demangled", demangle(node.name))]
            fields += [(name, str(value_word(name, getattr(node, name)))) for name in ("kern", "func", "context")]
            if node.function is not None:
                facts = node.function
                if facts.parameters is not None:
                    sizes = ", ".join(f"{each.size_bytes} B at {each.offset_bytes}" for each in facts.parameters)
                    fields.append(("function.parameters", sizes or "none"))
                fields += [
                    (f"function.{name}", value)
                    for name, value in _fields(facts)
                    if facts.parameters is None or not name.startswith("parameters")
                ]
            short = f"{shortened(node.name, _NAME)} {mark}".rstrip()
            known = self._functions[key] = len(self._functions), [short, shown(fields)]
        return known[0]

    def _attribute_set(self, node: KernelNodeSignature) -> int:
        number = self._numbers.records.of(node.attributes)
        known = self._attributes.get(number)
        if known is None:
            texts = (
                (entry.name, attribute_text(entry).removeprefix(entry.name).lstrip("= ")) for entry in node.attributes
            )
            known = self._attributes[number] = len(self._attributes), [list(pair) for pair in texts]
        return known[0]

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))


def _walked(graph: GraphSignature, numbers: FunctionNumbers) -> Iterator[tuple[NodeRow, NodeSignature]]:
    return zip(rows(graph, numbers), (node for _, node in graph.walk()), strict=True)


def _outer(
    graph: GraphSignature, numbers: FunctionNumbers
) -> Iterator[tuple[int, list[tuple[NodeRow, NodeSignature]]]]:
    """Yield, by the index of each node of the graph itself, its row and those of the nodes inside of it."""
    index = -1
    held: list[tuple[NodeRow, NodeSignature]] = []
    for row, node in _walked(graph, numbers):
        if row.depth == 0:
            if held:
                yield index, held
            index, held = index + 1, []
        held.append((row, node))
    if held:
        yield index, held


def _by_node(
    changes: list[Change], findings: list[dict[str, Any]]
) -> dict[tuple[bool, int], list[tuple[int, Hashable]]]:
    """Add what differs to the findings; return, by side and index of a node, their numbers and what looks alike."""
    found: dict[tuple[bool, int], list[tuple[int, Hashable]]] = {}
    for change in changes:
        rule, field, verdict, evidence, old, new = change.difference
        change_at = CauseChange(field.lstrip("."), old, new, rule, verdict)
        words = change_words(change_at, _VALUE)
        finding = {"rule": rule, "verdict": str(verdict), "evidence": evidence, "words": words}
        values = (family(value) if isinstance(value, str) else value for value in (old, new))
        alike = (rule, field, verdict, *values)
        for nodes in change.indices:
            removed = nodes.new is None
            index = nodes.old if nodes.new is None else nodes.new
            found.setdefault((removed, index or 0), []).append((len(findings), alike))
        findings.append(finding)
    return found


def _fields(record: Record) -> Iterator[tuple[str, str]]:
    """Yield path and value of every field of a record, graphs in it left out."""
    held = graph_fields(type(record))
    for name in record.__struct_fields__:
        if name not in held:
            yield from _pairs(msgspec.to_builtins(getattr(record, name)), name)


def _pairs(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _pairs(part, f"{path}.{name}")
    elif isinstance(value, list | tuple) and value:
        for index, part in enumerate(value):
            yield from _pairs(part, f"{path}[{index}]")
    else:
        yield path, "unknown" if value is None else str(value_word(path, value))
