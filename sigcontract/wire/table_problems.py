"""Contradictions that tables of versions 2 and 3 of the dump can both have."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sigcontract.errors import InvariantError, LimitError, RecordError
from sigcontract.model import check_attribute_order
from sigcontract.wire.limits import (
    MAX_ATTRIBUTES,
    MAX_EXPANDED_EDGES,
    MAX_EXPANDED_NODES,
    MAX_GRAPH_DEPTH,
    MAX_HELD_EDGES,
    MAX_HELD_NODES,
    MAX_PARAMETERS,
)
from sigcontract.wire.rows import ChildGraphRow

__all__ = [
    "check_attribute_set",
    "check_parameter_count",
    "dangling",
    "dangling_nodes",
    "held_graphs",
    "nesting",
    "unused",
]


def check_attribute_set(ids: list[int], path: str) -> Iterator[RecordError]:
    """Yield what is wrong with the ids of an attribute set, at ``path``."""
    if len(ids) > MAX_ATTRIBUTES:
        msg = f"{len(ids)} launch attributes on one node; the limit is {MAX_ATTRIBUTES}"
        yield LimitError(msg, path=path, code="attributes")
    try:
        check_attribute_order(ids, path)
    except InvariantError as error:
        yield error


def check_parameter_count(count: int, path: str) -> Iterator[RecordError]:
    """Yield that a kernel has too many parameters, at ``path``, where it does."""
    if count > MAX_PARAMETERS:
        msg = f"{count} parameters of one kernel; at most {MAX_PARAMETERS} are read"
        yield LimitError(msg, path=path, code="parameters")


def nesting(  # noqa: C901  one pass, one way out per limit
    graphs: Sequence[Any], held: dict[int, tuple[int, ...]], entry_graphs: Sequence[int]
) -> Iterator[RecordError]:
    """Yield the first fault of nested graphs: wrong order, too deep, or too many nodes in all.

    Each node's nested graphs are processed once, however many graphs use the node.
    """
    depths: list[int] = []  # by graph
    own: list[int] = []  # by graph: its nodes
    own_edges: list[int] = []
    held_sizes: list[int] = []  # by graph: nodes, and graphs held, in the graphs that its nodes hold
    held_edges: list[int] = []
    rows = 1 + max(held, default=-1)
    # By node: what it holds, and depth, size and edges of that.
    nested = [held.get(node) for node in range(rows)]
    inside: list[tuple[int, int, int] | None] = [None] * rows
    for number, graph in enumerate(graphs):
        in_graph = []
        for node in graph.nodes if rows else ():
            children = nested[node] if node < rows else None
            if children is None:
                continue
            known = inside[node]
            if known is not None:
                in_graph.append(known)
                continue
            late = max(children, default=-1)
            if late >= number:
                yield InvariantError(
                    f"node {node} holds graph {late}, which is not before graph {number}: a graph cannot "
                    "hold itself, and held graphs come first",
                    path=f"$.graphs[{number}].nodes[{graph.nodes.index(node)}]",
                )
                return
            depth = 1 + max((depths[child] for child in children), default=-1)
            size = sum(1 + own[child] + held_sizes[child] for child in children)
            inside[node] = found = depth, size, sum(own_edges[child] + held_edges[child] for child in children)
            in_graph.append(found)
        depths.append(max((depth for depth, _, _ in in_graph), default=0))
        own.append(len(graph.nodes))
        own_edges.append(sum(map(len, graph.dependencies)))
        held_sizes.append(sum(size for _, size, _ in in_graph))
        held_edges.append(sum(edges for _, _, edges in in_graph))
        if depths[number] > MAX_GRAPH_DEPTH or held_sizes[number] > MAX_HELD_NODES:
            yield LimitError(
                f"graph {number} is nested {depths[number]} deep and holds {held_sizes[number]} nodes and graphs; "
                f"the limits are {MAX_GRAPH_DEPTH} and {MAX_HELD_NODES}",
                path=f"$.graphs[{number}]",
            )
            return
        if held_edges[number] > MAX_HELD_EDGES:
            msg = f"graph {number} holds graphs of {held_edges[number]} edges; the limit is {MAX_HELD_EDGES}"
            yield LimitError(msg, path=f"$.graphs[{number}]")
            return
    edges_held = sum(held_edges[entry] for entry in entry_graphs)
    if edges_held > MAX_HELD_EDGES:
        yield LimitError(f"nodes hold graphs of {edges_held} edges in all; the limit is {MAX_HELD_EDGES}")
    edges = edges_held + sum(own_edges[entry] for entry in entry_graphs)
    if edges > MAX_EXPANDED_EDGES:
        yield LimitError(f"{edges} edges; the limit is {MAX_EXPANDED_EDGES}")
    in_all = sum(held_sizes[entry] for entry in entry_graphs)
    if in_all > MAX_HELD_NODES:
        yield LimitError(f"nodes hold {in_all} nodes and graphs in all; the limit is {MAX_HELD_NODES}")
    total = in_all + sum(own[entry] for entry in entry_graphs)
    if total > MAX_EXPANDED_NODES:
        yield LimitError(f"{total} nodes and held graphs; the limit is {MAX_EXPANDED_NODES}")


def held_graphs(row: Any) -> tuple[int, ...]:
    """Return the rows of the graphs that a node holds, those of unreadable bodies left out."""
    if type(row) is ChildGraphRow:
        return (row.graph,)
    return tuple(body for body in row.bodies or () if body is not None)


def dangling_nodes(graphs: Sequence[Any], length: int) -> Iterator[RecordError]:
    """Yield each reference of a graph to a node that is not among ``length``."""
    for number, graph in enumerate(graphs):
        for at, node in enumerate(graph.nodes if max(graph.nodes, default=-1) >= length else ()):
            if node >= length:
                yield dangling(f"$.graphs[{number}].nodes[{at}]", node, "nodes", length)


def dangling(path: str, reference: int, table: str, length: int) -> InvariantError:
    """Return the fault of a reference, at ``path``, to a row that a table does not have."""
    return InvariantError(f"row {reference} of {table} is missing; the table has {length}", path=path)


def unused(table: str, used: Iterable[int], length: int) -> Iterator[RecordError]:
    """Yield the fault of the first row of a table that nothing refers to.

    By flags and not as a set: a file can have very many numbers that meet in one slot of a hash table.
    """
    flags = bytearray(length)
    for row in used:
        if row < length:
            flags[row] = 1
    missing = flags.find(0)
    if missing >= 0:
        yield InvariantError("unused row: its reference was lost", path=f"$.{table}[{missing}]")
