"""Join the nodes and edges of tables into graphs."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from sigcontract.errors import InvariantError
from sigcontract.model import ChildGraphNode, ConditionalNode, GraphSignature
from sigcontract.wire.decoder_errors import below
from sigcontract.wire.edge_lists import EdgeLists
from sigcontract.wire.rows import ChildGraphRow, Edge
from sigcontract.wire.table_problems import held_graphs

__all__ = ["joined"]


def joined(
    nodes: list[Any],
    holders: dict[int, Any],
    rows: Iterable[tuple[tuple[int, ...], tuple[tuple[Edge, ...], ...]]],
) -> list[GraphSignature]:
    """Return the graph of each row, of nodes by row, those of ``holders`` still missing, and lists of edges.

    Raises
    ------
    InvariantError
        Edges of a graph lead to a missing node or form a cycle.
    """
    #: Node rows with nested graphs, by the last of these graphs.
    waiting: dict[int, list[int]] = defaultdict(list)
    for index, row in holders.items():
        waiting[max(held_graphs(row), default=-1)].append(index)
    lists = EdgeLists()
    graphs: list[GraphSignature] = []
    for number, (refers_to, dependencies) in enumerate(rows):
        for index in waiting.pop(number - 1, ()):
            nodes[index] = _holding(holders[index], graphs)
        try:
            graph = GraphSignature(
                nodes=tuple(map(nodes.__getitem__, refers_to)),
                dependencies=lists.of(dependencies),
            )
        except InvariantError as error:
            raise below(f"$.graphs[{number}]", error) from error
        graphs.append(graph)
    return graphs


def _holding(row: Any, graphs: list[GraphSignature]) -> ChildGraphNode | ConditionalNode:
    if type(row) is ChildGraphRow:
        return ChildGraphNode(graph=graphs[row.graph])
    bodies = row.bodies
    if bodies is not None:
        bodies = tuple(None if body is None else graphs[body] for body in bodies)
    return ConditionalNode(kind=row.kind, handle=row.handle, bodies=bodies)
