"""Assertions about a graph's structure. A failed one raises AssertionError and shows the graph."""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Final, NamedTuple

from sigcontract.errors import UsageError
from sigcontract.model import DependencyType, GraphSignature, KernelNodeSignature, NodeSignature, inner_graphs
from sigcontract.report import counted, demangle, graph_lines, node_index, safe, shortened

__all__ = ["GraphStructure", "Nodes"]

#: Most indices in a message, and columns of a kernel's demangled name.
_LISTED: Final = 12
_WHOLE_NAME: Final = 1 << 20
_BODY: Final = re.compile(r"\.bodies\[(\d+)\]\.$")


class Nodes(NamedTuple):
    """Nodes of a graph that a pattern matched.

    Attributes
    ----------
    pattern
        The pattern.
    paths
        Their paths in the driver's order: ``nodes[3].graph.nodes[0]``.
    nodes
        Their records.
    """

    pattern: str
    paths: tuple[str, ...]
    nodes: tuple[NodeSignature, ...]


class GraphStructure:
    """Assertions about a graph. A method raises AssertionError if its assertion fails.

    A pattern is a shell pattern (``*``, ``?``, ``[…]``), matched with case against a kernel's mangled name, its
    demangled name, and that without return type and parameters (demangling: extra ``report``); for other nodes against
    the type, such as ``memcpy``. Nodes of child graphs and conditional bodies count.

    Parameters
    ----------
    graph
        The graph.
    label
        Its name in messages.
    """

    def __init__(self, graph: GraphSignature, label: str = "graph") -> None:
        self.graph: Final = graph
        self.label: Final = label

    def __repr__(self) -> str:
        return f"<GraphStructure {self.label!r}: {self.graph.summary}>"

    def kernels(self, pattern: str = "*", count: int | None = None) -> Nodes:
        """Assert that kernels match the pattern, exactly ``count`` if given, and return them."""
        __tracebackhide__ = True
        return self._counted(pattern, count, [KernelNodeSignature], "kernel node")

    def nodes(self, pattern: str = "*", count: int | None = None) -> Nodes:
        """Assert that nodes match the pattern by type or name, exactly ``count`` if given, and return them."""
        __tracebackhide__ = True
        return self._counted(pattern, count, [], "node")

    def counts(self, **kinds: int) -> dict[str, int]:
        """Assert node counts by type (``kernel=264, memcpy=0``), and return the counts of all types."""
        __tracebackhide__ = True
        found = Counter(str(node.__struct_config__.tag) for _, node in self._walked)
        for kind, count in kinds.items():
            if found[kind] != count:
                listed = ", ".join(f"{name}={number}" for name, number in sorted(found.items()))
                self._fail(f"expected {kind}={count}, found {listed or 'no nodes'}")
        return dict(found)

    def path(self, a: str, b: str) -> tuple[str, ...]:
        """Assert that a node matching ``b`` depends on one matching ``a``; return a shortest path."""
        __tracebackhide__ = True
        starts, ends = self.nodes(a), self.nodes(b)
        way = self._order.shortest(starts.paths, ends.paths)
        if not way:
            other = self._order.shortest(ends.paths, starts.paths)
            instead = f"; there is a path in the opposite direction: {_listed(other)}" if other else ""
            self._fail(f"no path leads from {_found(starts)} to {_found(ends)}{instead}")
        return way

    def parallel(self, a: str, b: str) -> None:
        """Assert that no node matching ``a`` depends on one matching ``b``, nor vice versa."""
        __tracebackhide__ = True
        first, second = self.nodes(a), self.nodes(b)
        both = set(first.paths) & set(second.paths)
        if both:
            raise UsageError(f"{a!r} and {b!r} match the same nodes: {_listed(sorted(both))}; use narrower patterns")
        for starts, ends in ((first, second), (second, first)):
            way = self._order.shortest(starts.paths, ends.paths)
            if way:
                self._fail(f"{_found(starts)} and {_found(ends)} are not parallel: {_listed(way)} is a path")
        branches = self._order.exclusive(first.paths, second.paths)
        if branches:
            self._fail(f"{_listed(branches)} are in different branches of a conditional node, of which only one runs")

    def programmatic_edges(self, count: int | None = None) -> tuple[tuple[str, str], ...]:
        """Return the programmatic edges (PDL), each as two node paths; assert their number if given."""
        __tracebackhide__ = True
        found = tuple(self._programmatic(self.graph, ""))
        if count is not None and len(found) != count:
            listed = ", ".join(f"{node_index(a)} → {node_index(b)}" for a, b in found[:_LISTED])
            self._fail(f"expected {counted(count, 'programmatic edge')}, found {len(found)}{listed and f': {listed}'}")
        return found

    @cached_property
    def _walked(self) -> tuple[tuple[str, NodeSignature], ...]:
        return tuple(self.graph.walk())

    @cached_property
    def _order(self) -> "_Order":
        return _Order(self.graph)

    def _counted(self, pattern: str, count: int | None, kinds: Sequence[type[NodeSignature]], noun: str) -> Nodes:
        __tracebackhide__ = True
        nodes = [(path, node) for path, node in self._walked if not kinds or isinstance(node, tuple(kinds))]
        matching = {text: fnmatchcase(text, pattern) for _, node in nodes for text in _texts(node)}
        found = [(path, node) for path, node in nodes if any(map(matching.__getitem__, _texts(node)))]
        matched = Nodes(pattern, tuple(path for path, _ in found), tuple(node for _, node in found))
        if not found if count is None else len(found) != count:
            expected = f"at least one {noun}" if count is None else counted(count, noun)
            where = f" (nodes {_listed(matched.paths)})" if found else ""
            self._fail(f"expected {expected} matching {pattern!r}, found {len(found)}{where}")
        return matched

    def _programmatic(self, graph: GraphSignature, at: str) -> Iterator[tuple[str, str]]:
        for index, (node, edges) in enumerate(zip(graph.nodes, graph.dependencies, strict=True)):
            for edge in edges:
                if edge.type == DependencyType.PROGRAMMATIC:
                    yield f"{at}nodes[{edge.node}]", f"{at}nodes[{index}]"
            for below, inner in inner_graphs(node):
                if inner is not None:
                    yield from self._programmatic(inner, f"{at}nodes[{index}]{below}")

    def _fail(self, reason: str) -> None:
        __tracebackhide__ = True
        head, *table = graph_lines(self.graph)
        lines = [f"{safe(self.label)}: {safe(reason)}", "", head, *(f"  {line}" for line in table)]
        raise AssertionError("\n".join(lines))


class _Order:
    """Order of nodes, through child graphs and bodies.

    Every node has a start vertex; one that holds graphs also has an end vertex.
    """

    def __init__(self, graph: GraphSignature) -> None:
        self._after: list[list[int]] = []
        self._begin: dict[str, int] = {}
        self._end: dict[str, int] = {}
        self._path_of: list[str] = []
        self._add(graph, "")

    def _vertex(self, path: str) -> int:
        self._after.append([])
        self._path_of.append(path)
        return len(self._after) - 1

    def _add(self, graph: GraphSignature, at: str) -> tuple[list[int], list[int]]:
        """Add a graph; return the start vertices of its sources and the end vertices of its sinks."""
        paths = [f"{at}nodes[{index}]" for index in range(len(graph.nodes))]
        for path, node in zip(paths, graph.nodes, strict=True):
            self._begin[path] = self._end[path] = self._vertex(path)
            bodies = [(f"{path}{below}", inner) for below, inner in inner_graphs(node) if inner is not None]
            if bodies:
                self._end[path] = self._vertex(path)
                self._after[self._begin[path]].append(self._end[path])
            for inside, inner in bodies:
                sources, sinks = self._add(inner, inside)
                self._after[self._begin[path]] += sources
                for sink in sinks:
                    self._after[sink].append(self._end[path])
        for path, edges in zip(paths, graph.dependencies, strict=True):
            for edge in edges:
                self._after[self._end[paths[edge.node]]].append(self._begin[path])
        sources = [self._begin[path] for path, edges in zip(paths, graph.dependencies, strict=True) if not edges]
        return sources, [self._end[paths[index]] for index in graph.sinks]

    def shortest(self, starts: Iterable[str], ends: Iterable[str]) -> tuple[str, ...]:
        """Return the nodes of a shortest path from a start to an end; empty if none."""
        wanted = {self._begin[path] for path in ends}
        came_from = {self._end[path]: -1 for path in starts}
        waiting = deque(came_from)
        while waiting:
            vertex = waiting.popleft()
            for after in self._after[vertex]:
                if after in wanted:
                    return self._way(came_from, vertex, after)
                if after not in came_from:
                    came_from[after] = vertex
                    waiting.append(after)
        return ()

    def _way(self, came_from: dict[int, int], vertex: int, last: int) -> tuple[str, ...]:
        way = [last]
        while vertex >= 0:
            way.append(vertex)
            vertex = came_from[vertex]
        return tuple(dict.fromkeys(self._path_of[one] for one in reversed(way)))

    def exclusive(self, a: Iterable[str], b: Iterable[str]) -> tuple[str, ...]:
        """Return two nodes in different branches of one conditional node; empty if none."""
        branches: dict[str, dict[str, str]] = {}
        for path in a:
            for node, body in _branches(path):
                branches.setdefault(node, {}).setdefault(body, path)
        for path in b:
            for node, body in _branches(path):
                other = next((one for own, one in branches.get(node, {}).items() if own != body), None)
                if other is not None:
                    return other, path
        return ()


def _branches(path: str) -> Iterator[tuple[str, str]]:
    """Yield each conditional node around a node, and the branch."""
    at = path.rfind("nodes[")
    while at > 0:
        body = _BODY.search(path[:at])
        if body is not None:
            yield path[: body.start()], body[1]
        at = path.rfind("nodes[", 0, at)


def _texts(node: NodeSignature) -> tuple[str, ...]:
    if isinstance(node, KernelNodeSignature):
        return node.name, demangle(node.name), shortened(node.name, _WHOLE_NAME)
    return (str(node.__struct_config__.tag),)


def _found(nodes: Nodes) -> str:
    """Return the number and paths of a pattern's nodes."""
    where = f" (nodes {_listed(nodes.paths)})" if nodes.paths else ""
    return f"{len(nodes.paths)} of {nodes.pattern!r}{where}"


def _listed(paths: Sequence[str]) -> str:
    shown = ", ".join(map(node_index, paths[:_LISTED]))
    return f"{shown} and {len(paths) - _LISTED} more" if len(paths) > _LISTED else shown
