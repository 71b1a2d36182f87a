"""Isomorphism of two graphs in portable form, independent of node order.

The vertices of one acyclic graph are all nodes, nested ones included, and the objects behind their numbers (functions,
contexts, events, allocations, devices). A node comes after the node around it, its dependencies, and its numbers. A
vertex's colour is a digest of everything before and after it, so isomorphic graphs have one key. The work is linear
except for sorting.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Any, NamedTuple

import msgspec

from sigcontract.model import (
    GraphSignature,
    Identities,
    NodeSignature,
    Renumbering,
    graph_fields,
    inner_graphs,
    local_fields,
    with_inner_graphs,
)
from sigcontract.update.flat_order import FlatKey, flat_order
from sigcontract.update.shared_layouts import node_content
from sigcontract.update.structure import Edge, Shape, is_chain, isomorphism, may_be_one_structure, positions, reordered
from sigcontract.wire import portable_digest, portable_form

__all__ = ["NodeOrder", "StructureUndecided", "compact_portable_form", "portable_order", "structure_key"]

#: Most nodes, nested ones included, for which another order is searched.
_MAX_NODES = 200_000
_DIGEST_BYTES = 16
_STRUCTURE = b"sigcontract.structure-key/1\n"


class StructureUndecided(Exception):  # noqa: N818  control flow inside this package, no error of a user
    """The search for an isomorphism reached its bound."""


class NodeOrder(NamedTuple):
    """The order in which a graph's nodes match those of another graph.

    Attributes
    ----------
    order
        For each node of the other graph, the index of its counterpart.
    inside
        The same for the readable graphs nested in each of these nodes.
    """

    order: tuple[int, ...]
    inside: tuple[tuple["NodeOrder", ...], ...]

    @property
    def moved(self) -> bool:
        """Whether any node, nested ones included, has another index than its counterpart."""
        return self.moved_here or any(order.moved for orders in self.inside for order in orders)

    @property
    def moved_here(self) -> bool:
        """Whether any node of this graph has, nested ones excluded."""
        return any(index != position for position, index in enumerate(self.order))

    @property
    def inverse(self) -> "NodeOrder":
        """The inverse order."""
        at = positions(self.order)
        return NodeOrder(at, tuple(tuple(order.inverse for order in self.inside[position]) for position in at))

    def applied(self, graph: GraphSignature) -> GraphSignature:
        """Return the graph with its nodes, nested ones included, in this order."""
        if not self.moved:
            return graph
        ordered = reordered(graph, self.order) if self.moved_here else graph
        nodes = tuple(_inside_applied(node, orders) for node, orders in zip(ordered.nodes, self.inside, strict=True))
        return GraphSignature(nodes=nodes, dependencies=ordered.dependencies)


def structure_key(graph: GraphSignature) -> str:
    """Return ``sha256:`` and a digest, equal for isomorphic graphs and almost never for others.

    The graph is in portable form. Beyond a size that no capture reaches, node order is part of the key.
    """
    vertices = _Vertices.of(graph)
    if vertices is None:
        return portable_digest(graph)
    return "sha256:" + sha256(_STRUCTURE + b"".join(sorted(vertices.colours))).hexdigest()


def compact_portable_form(graph: GraphSignature) -> GraphSignature:
    """Return the portable form of a graph, equal nodes as one object, so work is per distinct node."""
    return portable_form(_shared(graph, {}))


def _shared(graph: GraphSignature, first: dict[bytes, NodeSignature]) -> GraphSignature:
    nodes = []
    of_object: dict[int, NodeSignature] = {}
    for node in graph.nodes:
        known = of_object.get(id(node))
        if known is None:
            if graph_fields(type(node)):
                known = with_inner_graphs(node, lambda inner: _shared(inner, first))
            else:
                known = first.setdefault(node_content(node), node)
            of_object[id(node)] = known
        nodes.append(known)
    return GraphSignature(nodes=tuple(nodes), dependencies=graph.dependencies)


def portable_order(old: GraphSignature, new: GraphSignature) -> NodeOrder | None:
    """Return the order of the old graph's nodes that makes the two equal, or None.

    Parameters
    ----------
    old, new
        Two graphs in portable form. The dependencies of each node are compared in the driver's order.

    Raises
    ------
    StructureUndecided
        Such an order may exist, but the search reached its bound.
    """
    if len(old.nodes) != len(new.nodes) or _is_one_chain(old, new):
        return None
    if not any(graph_fields(type(node)) for node in (*old.nodes, *new.nodes)):
        decided, order = flat_order((old, new), _flat_keys(old, new))
        if decided:
            return None if order is None else NodeOrder(order, ((),) * len(order))
    both = _Vertices.of(old), _Vertices.of(new)
    if both[0] is None or both[1] is None:
        raise StructureUndecided
    shapes = both[0].shape, both[1].shape
    if not may_be_one_structure((both[0].starts, both[1].starts), shapes):
        return None
    if sorted(both[0].colours) != sorted(both[1].colours):
        return None
    partner, ended = isomorphism((both[0].colours, both[1].colours), shapes)
    if partner is None:
        if ended:
            return None
        raise StructureUndecided
    old_at = positions(partner)
    return both[1].root.order(both[0].local, old_at)


def _flat_keys(old: GraphSignature, new: GraphSignature) -> tuple[list[FlatKey], list[FlatKey]]:
    """Return what each node is, numbers aside, and its numbers."""
    vertices = _Vertices()
    objects = {id(node): node for node in (*old.nodes, *new.nodes)}
    key = {at: vertices.node(node) for at, node in objects.items()}
    return [key[id(node)] for node in old.nodes], [key[id(node)] for node in new.nodes]


def _is_one_chain(old: GraphSignature, new: GraphSignature) -> bool:
    """Whether only one node order is possible: both are chains without nested graphs."""
    return (
        is_chain(old.dependencies)
        and is_chain(new.dependencies)
        and not any(graph_fields(type(node)) for node in (*old.nodes, *new.nodes))
    )


class _Use(NamedTuple):
    """One use of a graph: its nodes are the vertices from ``first`` on, with nested uses by vertex."""

    first: int
    size: int
    inside: dict[int, list["_Use"]]

    def order(self, local: Sequence[int], old_at: Sequence[int]) -> NodeOrder:
        indices = range(self.first, self.first + self.size)
        inside = self.inside
        return NodeOrder(
            tuple(local[old_at[vertex]] for vertex in indices),
            tuple(tuple(use.order(local, old_at) for use in inside.get(vertex, ())) for vertex in indices),
        )


class _Vertices:
    """The vertices of a graph in portable form.

    Attributes
    ----------
    starts
        The initial colour of each vertex.
    local
        Index of each node in its own graph.
    """

    def __init__(self) -> None:
        self.starts: list[bytes] = []
        self.local: list[int] = []
        self._before: list[list[Edge]] = []
        self._numbers: dict[tuple[str, int], int] = {}
        self._unnumbered = Renumbering(lambda _kind: lambda _number: 1)
        self._identities = Identities()
        #: By id of a node, which the graph keeps alive.
        self._known: dict[int, FlatKey] = {}
        self.root = _Use(0, 0, {})

    @classmethod
    def of(cls, form: GraphSignature) -> "_Vertices | None":
        """Return the vertices of a graph; None for one that is too large."""
        found = cls()
        try:
            found.root = found._use(form, None)
        except StructureUndecided:
            return None
        return found

    @cached_property
    def shape(self) -> Shape:
        """Their edges."""
        return Shape(self._before)

    @cached_property
    def colours(self) -> list[bytes]:
        """Digests of each vertex with everything before and after it."""
        shape, text_of = self.shape, _Labels()
        before = _passed(self.starts, shape.order, shape.before, text_of)
        both = _passed(before, shape.order[::-1], shape.after, text_of)
        # Once more: a number is identified by what comes after it, and by the nodes that hold it.
        return _passed(both, shape.order, shape.before, text_of)

    def _use(self, graph: GraphSignature, holder: Edge | None) -> _Use:
        first = len(self.starts)
        if first + len(graph.nodes) > _MAX_NODES:
            raise StructureUndecided
        use = _Use(first, len(graph.nodes), {})
        for index, (node, edges) in enumerate(zip(graph.nodes, graph.dependencies, strict=True)):
            start, _ = self.node(node)
            self.starts.append(start)
            self.local.append(index)
            found = [
                (first + edge.node, (position, edge.from_port, edge.to_port, edge.type))
                for position, edge in enumerate(edges)
            ]
            self._before.append(found if holder is None else [*found, holder])
        for index, node in enumerate(graph.nodes):
            vertex = first + index
            self._before[vertex] += [(self._number(kind, number), (path,)) for path, kind, number in self.node(node)[1]]
            if graph_fields(type(node)):
                use.inside[vertex] = [
                    self._use(inner, (vertex, (at,))) for at, inner in inner_graphs(node) if inner is not None
                ]
        return use

    def _number(self, kind: str, number: int) -> int:
        """Return the vertex of a number."""
        vertex = self._numbers.get((kind, number))
        if vertex is None:
            vertex = self._numbers[kind, number] = len(self.starts)
            self.starts.append(kind.encode())
            self.local.append(-1)
            self._before.append([])
        return vertex

    def node(self, node: NodeSignature) -> FlatKey:
        """Return what a node is by itself, and its numbers: path, kind, number."""
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = self._start(node), tuple(self._identities.of(node))
        return known

    def _start(self, node: NodeSignature) -> bytes:
        kind = type(node)
        graphs = graph_fields(kind)
        if not graphs:
            return _digest(node_content(self._unnumbered.record(node)))
        dropped = {*graphs, *(name for name, _ in local_fields(kind).handles)}
        own = [getattr(node, name) for name in kind.__struct_fields__ if name not in dropped]
        # None, an unreadable graph, differs from no graph.
        absent = [getattr(node, name) is None for name in graphs]
        readable = [(at, inner and len(inner.nodes)) for at, inner in inner_graphs(node)]
        return _digest(msgspec.msgpack.encode((kind.__struct_config__.tag, own, absent, readable)))


class _Labels(dict[tuple[Any, ...], bytes]):
    """Encoded edge labels."""

    def __missing__(self, label: tuple[Any, ...]) -> bytes:
        self[label] = found = msgspec.msgpack.encode(label)
        return found


def _passed(
    starts: Sequence[bytes], order: Sequence[int], near: Sequence[Sequence[Edge]], text_of: _Labels
) -> list[bytes]:
    """Return colours that distinguish vertices by everything before them in an order."""
    colours = [b""] * len(starts)
    for vertex in order:
        edges = [colours[node] + text_of[label] for node, label in near[vertex]]
        if len(edges) > 1:
            edges.sort()
        colours[vertex] = blake2b(starts[vertex] + b"".join(edges), digest_size=_DIGEST_BYTES).digest()
    return colours


def _inside_applied(node: NodeSignature, orders: Sequence[NodeOrder]) -> NodeSignature:
    if not any(order.moved for order in orders):
        return node
    waiting: Iterator[NodeOrder] = iter(orders)
    return with_inner_graphs(node, lambda graph: next(waiting).applied(graph))


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()
