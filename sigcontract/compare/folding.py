"""Which stretches of a sequence repeat one after another."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import groupby, islice
from operator import eq, sub

from msgspec import Struct

__all__ = ["Block", "FoldedBlock", "fold", "fold_with_tails"]

#: Repeat lengths that `fold` tries, those that most elements ask for first.
_PERIODS_TRIED = 16
#: How many later occurrences of an element may vote for a period: a layer often holds one kernel several times.
_OCCURRENCES_VOTING = 4


class Block(Struct, frozen=True, order=True):
    """``count`` times, one after another, the ``length`` elements that begin at ``start``."""

    start: int
    length: int
    count: int


def fold(keys: Sequence[Hashable]) -> list[Block]:
    """Return blocks that spell ``keys`` out exactly, repeated stretches as one block with their count.

    The repetition that saves most is taken first. A stretch without repetition is a block with count 1. The cost
    is linear in ``keys``, but for sorting the repetitions found.
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
    """A block, and how many elements of one more repetition follow it: less than all of it, or none."""

    block: Block
    tail: int

    @property
    def end(self) -> int:
        """The index after the last element."""
        return self.block.start + self.block.length * self.block.count + self.tail


def fold_with_tails(keys: Sequence[Hashable]) -> Iterator[FoldedBlock]:
    """Yield blocks as `fold` does, a repeated one with what follows it of one repetition more, if that is half of it.

    The last of many alike layers is often followed by something else before its own end.
    """
    position = 0
    for block in fold(keys):
        end = block.start + block.length * block.count
        if block.start < position or block.count == 1:
            # What a tail before it took is no part of it any more.
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
    """Return how many elements a repetition spares a reader, negative so that a heap gives the largest first."""
    return -((end - start) // period - 1) * period


def _repetitions(keys: Sequence[Hashable]) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, period) of stretches that repeat at least once, for the periods worth trying."""
    indices_of: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        indices_of.setdefault(key, []).append(index)
    votes: Counter[int] = Counter()
    for indices in indices_of.values():
        for ahead in range(1, min(_OCCURRENCES_VOTING, len(indices) - 1) + 1):
            votes.update(map(sub, islice(indices, ahead, None), indices))
    # Of equal votes the shorter period is tried, whatever the order in which keys first appear.
    for period, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))[:_PERIODS_TRIED]:
        position = 0
        for same, stretch in groupby(map(eq, keys, islice(keys, period, None))):
            run = sum(1 for _ in stretch)
            if same and run >= period:
                yield position, position + run + period, period
            position += run


class _Intervals:
    """Half-open intervals that do not overlap, in ascending order."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Add an interval that overlaps none."""
        index = bisect_right(self._starts, start)
        self._starts.insert(index, start)
        self._ends.insert(index, end)

    def free(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return what of the stretch no interval covers."""
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
