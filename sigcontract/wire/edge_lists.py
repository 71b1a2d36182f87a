"""Lists of edges as dependencies, equal ones made once."""

from sigcontract.model import Dependency
from sigcontract.wire.distinct_rows import row_key
from sigcontract.wire.rows import Edge

__all__ = ["EdgeLists"]


class EdgeLists:
    """Lists of edges as dependencies, equal ones made once.

    By bytes, or by the index that an edge leads to: Python's hash of numbers is predictable, so a file could hold
    edges that all collide.
    """

    def __init__(self) -> None:
        #: Of all nodes of a graph, as layers and batch sizes repeat.
        self._of_graph: dict[bytes, tuple[tuple[Dependency, ...], ...]] = {}
        self._of_node: dict[bytes, tuple[Dependency, ...]] = {}
        #: By the index of a node, the default edge from it, as most nodes have one.
        self._default: list[tuple[Dependency] | None] = []

    def of(self, dependencies: tuple[tuple[Edge, ...], ...]) -> tuple[tuple[Dependency, ...], ...]:
        """Return the dependencies of all nodes of a graph."""
        key = row_key(dependencies)
        known = self._of_graph.get(key)
        if known is None:
            default = self._default
            default += [None] * (len(dependencies) - len(default))
            size = len(default)
            found: list[tuple[Dependency, ...]] = []
            for edges in dependencies:
                if len(edges) == 1 and type(edges[0]) is int and edges[0] < size:
                    found.append(default[edges[0]] or self._made(edges[0]))
                else:
                    found.append(self._list(edges))
            known = self._of_graph[key] = tuple(found)
        return known

    def _list(self, edges: tuple[Edge, ...]) -> tuple[Dependency, ...]:
        key = row_key(edges)
        known = self._of_node.get(key)
        if known is None:
            known = self._of_node[key] = tuple([self._made(edge)[0] for edge in edges])
        return known

    def _made(self, edge: Edge) -> tuple[Dependency]:
        if type(edge) is not int:
            return (Dependency(node=edge.node, from_port=edge.from_port, to_port=edge.to_port, type=edge.type),)
        made = self._default[edge] if edge < len(self._default) else None
        if made is None:
            made = (Dependency(node=edge, from_port=0, to_port=0, type=0),)
            if edge < len(self._default):  # else it leads to no node, which the graph reports
                self._default[edge] = made
        return made
