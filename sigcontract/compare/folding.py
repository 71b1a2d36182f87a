"""Fold consecutive repetitions in a sequence."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import groupby, islice
from operator import eq, sub

from msgspec import Struct

__all__ = ["Block", "FoldedBlock", "fold", "fold_with_tails"]

#: Most repeat lengths that `fold` tries, the most frequent first.
_PERIODS_TRIED = 16
#: Later occurrences of an element that vote for a period: a layer often has a kernel several times.
_OCCURRENCES_VOTING = 4


class Block(Struct, frozen=True, order=True):
    """``length`` elements from ``start``, repeated ``count`` times."""

    start: int
    length: int
    count: int


def fold(keys: Sequence[Hashable]) -> list[Block]:
    """Return blocks that expand to ``keys``, repeated slices as one block with their count.

    Repetitions that save most are taken first. A slice without repetition is a block with count 1. The cost is linear
    in ``keys``, except for sorting the repetitions found.
    """
    heap = [(_saving(start, end, period), period, start, end) for start, end, period in _repetitions(keys)]
    heapify(heap)
    taken = _Intervals()
    blocks: list[Block] = []
    while heap:
        _, period, start, end = heappop(heap)
        pieces = taken.free(start, end)
        if pieces == [(start, end)]:
            repeats = (end - start) // period
            blocks.append(Block(start, period, repeats))
            taken.add(start, start + repeats * period)
            continue
        for lower, upper in pieces:
            if upper - lower >= 2 * period:
                heappush(heap, (_saving(lower, upper, period), period, lower, upper))
    blocks += (Block(lower, upper - lower, 1) for lower, upper in taken.free(0, len(keys)))
    return sorted(blocks)


class FoldedBlock(Struct, frozen=True):
    """A block, and the number of elements of one more, partial repetition after it."""

    block: Block
    tail: int

    @property
    def end(self) -> int:
        """The index after the last element."""
        return self.block.start + self.block.length * self.block.count + self.tail


def fold_with_tails(keys: Sequence[Hashable]) -> Iterator[FoldedBlock]:
    """Yield blocks as `fold`, a repeated one with the partial repetition after it, if at least half.

    The last of many equal layers often ends differently.
    """
    position = 0
    for block in fold(keys):
        end = block.start + block.length * block.count
        if block.start < position or block.count == 1:
            # Without the elements that a previous tail took.
            if end > position:
                yield FoldedBlock(Block(position, end - position, 1), 0)
                position = end
            continue
        tail = 0
        while end + tail < len(keys) and keys[end + tail] == keys[end + tail - block.length]:
            tail += 1
        folded = FoldedBlock(block, tail if 2 * tail >= block.length else 0)
        yield folded
        position = folded.end


def _saving(start: int, end: int, period: int) -> int:
    """Return the elements saved by a repetition, negated for a heap of the largest first."""
    return -((end - start) // period - 1) * period


def _repetitions(keys: Sequence[Hashable]) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, period) of slices that repeat at least once, for the periods to try."""
    indices_of: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        indices_of.setdefault(key, []).append(index)
    votes: Counter[int] = Counter()
    for indices in indices_of.values():
        for ahead in range(1, min(_OCCURRENCES_VOTING, len(indices) - 1) + 1):
            votes.update(map(sub, islice(indices, ahead, None), indices))
    # On equal votes the shorter period is tried, whatever the order of keys.
    for period, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))[:_PERIODS_TRIED]:
        position = 0
        for same, stretch in groupby(map(eq, keys, islice(keys, period, None))):
            run = sum(1 for _ in stretch)
            if same and run >= period:
                yield position, position + run + period, period
            position += run


class _Intervals:
    """Disjoint half-open intervals, ascending."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Add a disjoint interval."""
        index = bisect_right(self._starts, start)
        self._starts.insert(index, start)
        self._ends.insert(index, end)

    def free(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the uncovered parts of an interval."""
        uncovered: list[tuple[int, int]] = []
        index = bisect_right(self._ends, start)
        while start < end:
            taken_from = self._starts[index] if index < len(self._starts) else end
            if taken_from > start:
                uncovered.append((start, min(taken_from, end)))
            if index >= len(self._starts):
                break
            start = self._ends[index]
            index += 1
        return uncovered
