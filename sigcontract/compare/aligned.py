"""Two graphs, and which of their nodes correspond."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from sigcontract.compare.alignment import Alignment, Match
from sigcontract.model import (
    ChildGraphNode,
    GraphSignature,
    NodeSignature,
)

__all__ = ["AlignedGraphs", "distinct_pairs", "edges_in_common", "order_of", "pairs_of", "unwrapped"]


class AlignedGraphs(NamedTuple):
    """Two graphs, which of their nodes correspond, and how often each distinct pair of nodes does.

    ``distinct`` counts pairs of node numbers (`Aligner.node`): 24 layers with equal changes are the pairs of one layer,
    24 times each.

    ``order`` is None if the old graph is in recorded order. Otherwise its nodes are in the order of their counterparts
    in the new graph, and ``order`` has the recorded index of each (`recorded`).
    """

    old: GraphSignature
    new: GraphSignature
    old_numbers: list[int]
    new_numbers: list[int]
    alignment: Alignment
    distinct: Counter[tuple[int, int]]
    order: list[int] | None = None

    def recorded(self, old_index: int) -> int:
        """Return the recorded index of an old node."""
        return old_index if self.order is None else self.order[old_index]

    def partner(self, old_index: int) -> int | None:
        """Return the new index of an old node, or None."""
        return _across(self.alignment.matches, old_index, 0)

    def counterpart(self, new_index: int) -> int | None:
        """Return the old index of a new node, or None."""
        return _across(self.alignment.matches, new_index, 1)

    def pairs_among(self, wanted: Container[tuple[int, int]]) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Yield old index, new index and node numbers of every wanted pair."""
        for start, new_start, length in self.alignment.matches:
            olds, news = self.old_numbers[start : start + length], self.new_numbers[new_start : new_start + length]
            for offset, pair in enumerate(zip(olds, news, strict=True)):
                if pair in wanted:
                    yield start + offset, new_start + offset, pair

    def first_pairs(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Return old and new index of the first of each distinct pair."""
        first: dict[tuple[int, int], tuple[int, int]] = {}
        for start, new_start, length in reversed(self.alignment.matches):
            olds, news = self.old_numbers[start : start + length], self.new_numbers[new_start : new_start + length]
            pairs = zip(reversed(olds), reversed(news), strict=True)
            backwards = range(start + length - 1, start - 1, -1), range(new_start + length - 1, new_start - 1, -1)
            first.update(zip(pairs, zip(*backwards, strict=True), strict=True))
        return first


def unwrapped(node: NodeSignature) -> tuple[int, NodeSignature]:
    """Return the innermost node of child graphs that hold one node each, and the number of these graphs."""
    depth = 0
    while isinstance(node, ChildGraphNode) and len(node.graph.nodes) == 1:
        (node,) = node.graph.nodes
        depth += 1
    return depth, node


def distinct_pairs(old_numbers: list[int], new_numbers: list[int], alignment: Alignment) -> Counter[tuple[int, int]]:
    """Count each pair of node numbers among corresponding nodes."""
    distinct: Counter[tuple[int, int]] = Counter()
    for start, new_start, length in alignment.matches:
        pairs = zip(old_numbers[start : start + length], new_numbers[new_start : new_start + length], strict=True)
        distinct.update(pairs)
    return distinct


def pairs_of(alignment: Alignment) -> Iterator[tuple[int, int]]:
    """Yield old and new index of corresponding nodes."""
    for start, new_start, length in alignment.matches:
        yield from zip(range(start, start + length), range(new_start, new_start + length), strict=True)


def order_of(pairs: Sequence[tuple[int, int]], length: int) -> list[int]:
    """Return all old nodes in the order of the pairs; one without counterpart stays after its previous node."""
    paired = {old for old, _ in pairs}
    lone: dict[int, list[int]] = {}
    before = -1
    for index in range(length):
        if index in paired:
            before = index
        else:
            lone.setdefault(before, []).append(index)
    order = lone.get(-1, [])
    for old, _ in pairs:
        order += [old, *lone.get(old, ())]
    return order


def edges_in_common(aligned: AlignedGraphs) -> int:
    """Count the edges between corresponding nodes, whatever their order and type."""
    partner = [-1] * len(aligned.old_numbers)
    for start, new_start, length in aligned.alignment.matches:
        partner[start : start + length] = range(new_start, new_start + length)
    common = 0
    for index, at in enumerate(partner):
        if at >= 0:
            news = {edge.node for edge in aligned.new.dependencies[at]}
            common += sum(partner[edge.node] in news for edge in aligned.old.dependencies[index])
    return common


def _across(matches: Sequence[Match], index: int, side: int) -> int | None:
    """Return the index on the other side of the match that covers an index."""
    position = bisect_right(matches, index, key=itemgetter(side)) - 1
    if position < 0 or index >= matches[position][side] + matches[position].length:
        return None
    return matches[position][1 - side] + index - matches[position][side]
