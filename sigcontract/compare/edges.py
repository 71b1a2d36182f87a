"""Edge differences of two aligned graphs, except those implied by added and removed nodes."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from sigcontract.compare.alignment import Alignment
from sigcontract.model import (
    Dependency,
    GraphSignature,
)

__all__ = ["EdgeChange", "edge_changes"]

_Edges = tuple[Dependency, ...]
#: Most edges of added or removed nodes followed from one node, and per edge of a graph from all nodes; beyond, nodes
#: count as unreached.
_DETOUR_EDGES = 1000
_DETOURS_PER_EDGE = 16
#: Nodes per bulk comparison of edges.
_CHUNK_NODES = 256
_DATA = ("from_port", "to_port", "type")


class EdgeChange(NamedTuple):
    """One difference in the dependencies of two corresponding nodes.

    Attributes
    ----------
    rule
        Id of the rule.
    old_index, new_index
        The dependent nodes.
    field
        Path below ``dependencies[new_index]``.
    old, new
        The two values: indices in their own graphs, counts, ports or types.
    distance
        Indices as distances from the node, equal in every layer with the same change.
    """

    rule: str
    old_index: int
    new_index: int
    field: str
    old: int | str
    new: int | str
    distance: tuple[int | str, int | str]


def edge_changes(old: GraphSignature, new: GraphSignature, alignment: Alignment) -> Iterator[EdgeChange]:
    """Yield the differences in the dependencies of corresponding nodes.

    An edge to an added or removed node belongs to that addition or removal; so does an edge that such a node replaces.
    Every other difference counts.
    """
    partner = _partners(len(old.nodes), alignment)
    detours = _Detours(old, new, alignment, partner)
    for start, new_start, length in alignment.matches:
        for offset in range(0, length, _CHUNK_NODES):
            size = min(_CHUNK_NODES, length - offset)
            old_at, new_at = start + offset, new_start + offset
            befores, afters = old.dependencies[old_at : old_at + size], new.dependencies[new_at : new_at + size]
            if not _equal(befores, afters, partner):
                for position, (before, after) in enumerate(zip(befores, afters, strict=True)):
                    if not _equal((before,), (after,), partner):
                        yield from _changes(old_at + position, new_at + position, before, after, detours)


def _equal(befores: Sequence[_Edges], afters: Sequence[_Edges], partner: Sequence[int]) -> bool:
    """Whether edges are equal and lead to corresponding nodes; whole blocks pass, as most edges are equal."""
    if list(map(len, befores)) != list(map(len, afters)):
        return False
    old, new = list(chain.from_iterable(befores)), list(chain.from_iterable(afters))
    return (
        [partner[edge.node] for edge in old] == [edge.node for edge in new]
        and [edge.type for edge in old] == [edge.type for edge in new]
        and [edge.from_port for edge in old] == [edge.from_port for edge in new]
        and [edge.to_port for edge in old] == [edge.to_port for edge in new]
    )


def _partners(old_length: int, alignment: Alignment) -> list[int]:
    """Return, for each old node, its new index, or -1."""
    partner = [-1] * old_length
    for start, new_start, length in alignment.matches:
        partner[start : start + length] = range(new_start, new_start + length)
    return partner


class _Detours:
    """For the few nodes with unequal edges: the nodes reached through added and removed ones."""

    def __init__(self, old: GraphSignature, new: GraphSignature, alignment: Alignment, partner: Sequence[int]) -> None:
        self.partner = partner
        self._old, self._new = old.dependencies, new.dependencies
        self._left = _DETOURS_PER_EDGE * (
            _DETOUR_EDGES + sum(len(side) + sum(map(len, side)) for side in (self._old, self._new))
        )
        self._added: set[int] = set()
        for _, _, start, end in alignment.gaps(len(old.nodes), len(new.nodes)):
            self._added.update(range(start, end))

    def added(self, node: int) -> bool:
        """Whether a new node has no counterpart."""
        return node in self._added

    def through_added(self, edges: _Edges) -> set[int]:
        """Return the nodes (new indices) that these edges reach through added nodes only."""
        return self._reached(edges, self._new, self.added)

    def through_removed(self, edges: _Edges) -> set[int]:
        """Return the nodes (new indices) that these edges reach through removed nodes only."""
        reached = self._reached(edges, self._old, lambda node: self.partner[node] < 0)
        return {self.partner[node] for node in reached}

    def _reached(self, edges: _Edges, dependencies: Sequence[_Edges], passable: Callable[[int], bool]) -> set[int]:
        """Return the first impassable node on every path back from the edges, up to a limit."""
        reached: set[int] = set()
        waiting = [edge.node for edge in edges if passable(edge.node)]
        seen = set(waiting)
        followed = 0
        while waiting and followed < _DETOUR_EDGES and self._left > 0:
            node = waiting.pop()
            followed += 1 + len(dependencies[node])
            self._left -= 1 + len(dependencies[node])
            for edge in dependencies[node]:
                if not passable(edge.node):
                    reached.add(edge.node)
                elif edge.node not in seen:
                    seen.add(edge.node)
                    waiting.append(edge.node)
        return reached


def _changes(old: int, new: int, before: _Edges, after: _Edges, detours: _Detours) -> Iterator[EdgeChange]:
    partner = detours.partner
    kept = [(partner[edge.node], edge) for edge in before if partner[edge.node] >= 0]
    direct = [(position, edge) for position, edge in enumerate(after) if not detours.added(edge.node)]
    new_nodes = Counter(edge.node for _, edge in direct)
    old_nodes = Counter(node for node, _ in kept)
    through_added, through_removed = detours.through_added(after), detours.through_removed(before)
    lost = [(node, edge) for node, edge in kept if node not in new_nodes and node not in through_added]
    elsewhere = through_removed.union(old_nodes)
    gained = [(position, edge) for position, edge in direct if edge.node not in elsewhere]
    if len(lost) != len(gained):
        yield EdgeChange("topology.dependency-count", old, new, "", len(before), len(after), (len(before), len(after)))
        return
    for (_, was), (position, now) in zip(lost, gained, strict=True):
        distance = was.node - old, now.node - new
        yield EdgeChange("topology.dependency", old, new, f"[{position}].node", was.node, now.node, distance)
    common_old = [(node, edge) for node, edge in kept if node in new_nodes]
    common_new = [(position, edge) for position, edge in direct if edge.node in old_nodes]
    order = [node for node, _ in common_old], [edge.node for _, edge in common_new]
    if sorted(order[0]) != sorted(order[1]):
        yield EdgeChange("topology.dependency-count", old, new, "", len(before), len(after), (len(before), len(after)))
        return
    if order[0] != order[1]:
        texts = ", ".join(str(edge.node) for _, edge in common_old), ", ".join(map(str, order[1]))
        distance_texts = tuple(", ".join(str(node - new) for node in nodes) for nodes in order)
        yield EdgeChange("topology.dependency", old, new, "", *texts, (distance_texts[0], distance_texts[1]))
        common_old.sort(key=lambda item: item[0])
        common_new.sort(key=lambda item: item[1].node)
    for (_, was), (position, now) in zip(common_old, common_new, strict=True):
        fields = [field for field in _DATA if getattr(was, field) != getattr(now, field)]
        if len(fields) == 1:
            values = getattr(was, fields[0]), getattr(now, fields[0])
            yield EdgeChange("edge.data", old, new, f"[{position}].{fields[0]}", *values, values)
        elif fields:
            # Between full and programmatic, port and type change together: one difference.
            texts = _data_text(was), _data_text(now)
            yield EdgeChange("edge.data", old, new, f"[{position}]", *texts, texts)


def _data_text(edge: Dependency) -> str:
    return ", ".join(f"{field} {getattr(edge, field)}" for field in _DATA)
