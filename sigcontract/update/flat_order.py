"""The order in which one flat graph equals another, found by its nodes and edges, numbers of handles checked after.

Most graphs hold no graphs inside, and what they have in common nearly always shows without following each number that
stands for a function or a context. What that leaves open is for the search over all of them (`arrangement`).
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from sigcontract.model import GraphSignature
from sigcontract.update.structure import Edge, Shape, isomorphism, positions

__all__ = ["FlatAnswer", "FlatKey", "flat_order"]

#: Colours are shifted by so much to make room for an edge's label beside them.
_LABEL_BITS = 24

#: What a node is, numbers aside, and its numbers: path, kind, number.
FlatKey = tuple[bytes, tuple[tuple[str, str, int], ...]]


class FlatAnswer(NamedTuple):
    """Whether the question is decided, and for each node of the new graph the index of its counterpart, or None."""

    decided: bool
    order: tuple[int, ...] | None


def flat_order(
    graphs: tuple[GraphSignature, GraphSignature], keys: tuple[Sequence[FlatKey], Sequence[FlatKey]]
) -> FlatAnswer:
    """Return the order of the old graph's nodes in which two graphs without graphs inside are equal.

    Parameters
    ----------
    graphs
        The old and the new graph, of the same number of nodes, in portable form.
    keys
        For each of their nodes what it is, numbers aside, and its numbers: path, kind, number. Equal ones are one
        object.
    """
    starts = _starts(keys)
    if sorted(starts[0]) != sorted(starts[1]):
        return FlatAnswer(decided=True, order=None)
    labels: dict[Hashable, int] = {}
    shapes = _shape(graphs[0], labels), _shape(graphs[1], labels)
    if len(labels) >> _LABEL_BITS:
        return FlatAnswer(decided=False, order=None)
    colours = _coloured(_coloured(starts, shapes, upward=False), shapes, upward=True)
    if sorted(colours[0]) != sorted(colours[1]):
        return FlatAnswer(decided=True, order=None)
    partner, ended = isomorphism(colours, shapes)
    if partner is None:
        return FlatAnswer(decided=ended, order=None)
    if not _numbers_correspond(keys, partner):
        return FlatAnswer(decided=False, order=None)
    return FlatAnswer(decided=True, order=positions(partner))


def _starts(keys: tuple[Sequence[FlatKey], Sequence[FlatKey]]) -> tuple[list[int], list[int]]:
    """Return colours of nodes by themselves, and by which other nodes have the same numbers."""
    number: dict[Hashable, int] = {}
    found = []
    for side in keys:
        times = Counter(map(id, side))
        distinct = {id(key): key for key in side}
        holders: dict[tuple[str, int], Counter[tuple[bytes, str]]] = {}
        for at, (start, held) in distinct.items():
            for path, kind, value in held:
                holders.setdefault((kind, value), Counter())[start, path] += times[at]
        colour = {held: frozenset(count.items()) for held, count in holders.items()}
        of_key = {
            at: number.setdefault(
                (start, tuple((path, kind, colour[kind, value]) for path, kind, value in held)), len(number)
            )
            for at, (start, held) in distinct.items()
        }
        found.append([of_key[id(key)] for key in side])
    return found[0], found[1]


def _shape(graph: GraphSignature, labels: dict[Hashable, int]) -> Shape:
    before: list[list[Edge]] = []
    for edges in graph.dependencies:
        found: list[Edge] = []
        for position, edge in enumerate(edges):
            label = position, edge.from_port, edge.to_port, edge.type
            found.append((edge.node, labels.setdefault(label, len(labels))))
        before.append(found)
    return Shape(before)


def _coloured(
    starts: tuple[Sequence[int], Sequence[int]], shapes: tuple[Shape, Shape], *, upward: bool
) -> tuple[list[int], list[int]]:
    """Return colours that distinguish nodes by all that comes before them, or upward, by all that comes after."""
    number: dict[Hashable, int] = {}
    found: list[list[int]] = []
    for start, shape in zip(starts, shapes, strict=True):
        colour = [0] * len(start)
        near = shape.after if upward else shape.before
        for index in reversed(shape.order) if upward else shape.order:
            seen: Hashable
            edges = near[index]
            if len(edges) == 1:
                ((node, label),) = edges
                seen = start[index], colour[node] << _LABEL_BITS | label
            else:
                seen = (start[index], *sorted([colour[node] << _LABEL_BITS | label for node, label in edges]))
            colour[index] = number.setdefault(seen, len(number))
        found.append(colour)
    return found[0], found[1]


def _numbers_correspond(keys: tuple[Sequence[FlatKey], Sequence[FlatKey]], partner: Sequence[int]) -> bool:
    """Say whether the numbers of nodes that correspond do, each with one of the other graph."""
    old, new = keys
    there: dict[tuple[str, int], int] = {}
    back: dict[tuple[str, int], int] = {}
    pairs = {(id(old[index]), id(new[at])): (old[index], new[at]) for index, at in enumerate(partner)}
    for (_, held), (_, others) in pairs.values():
        for (path, kind, value), (other_path, other_kind, other) in zip(held, others, strict=True):
            if (path, kind) != (other_path, other_kind):
                return False
            if there.setdefault((kind, value), other) != other or back.setdefault((kind, other), value) != value:
                return False
    return True
