"""The parts of two graphs around what differs: rows of nodes, three above and below a change, layers once."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from sigcontract.compare import (
    Change,
    GraphChanges,
    fold,
)
from sigcontract.model import (
    NodeSignature,
)

__all__ = ["Part", "Row", "is_note", "parts_of"]

#: Unchanged rows shown above and below a change.
_CONTEXT = 3
#: A repetition that spares a reader fewer rows than this is drawn in full.
_ROWS_SPARED = 4

Mark = Literal[" ", "~", "-", "+", "…"]


class Row(NamedTuple):
    """One node, or nodes left out between two changes (mark ``…``).

    Attributes
    ----------
    mark
        Unchanged, changed, removed, added, left out.
    place
        Index in the new graph; of a removed node in the old one.
    node
        The node, the new one where both graphs have it; None for nodes left out.
    changes
        What differs at the node.
    left_out
        How many nodes are left out.
    """

    mark: Mark
    place: int
    node: NodeSignature | None
    changes: tuple[Change, ...] = ()
    left_out: int = 0


class Part(NamedTuple):
    """Rows to draw, how often the nodes that they stand for repeat, and how many nodes one repetition has.

    ``last`` is the index of the last node of the last repetition.
    """

    rows: list[Row]
    times: int
    length: int
    last: int


def is_note(change: Change) -> bool:
    """Say whether a change is drawn at no node: it is of the graph as a whole, or says what is not known."""
    return not change.places or not change.known


def parts_of(found: GraphChanges) -> Iterator[Part]:
    """Yield what to draw of two graphs, in order; nothing where all that is to be said are notes."""
    changes_at: dict[tuple[int, bool, int], list[Change]] = {}
    for change in found.changes:
        if not is_note(change):
            for at, old, new in change.places:
                # A removed node stands before the new node at its place.
                changes_at.setdefault((at, new is not None, (old if new is None else new) or 0), []).append(change)
    if changes_at:
        yield from _Drawing(found, {place: tuple(changes_at[place]) for place in sorted(changes_at)}).parts()


class _Drawing:
    """The nodes of both graphs in one order: those of the new one, and removed ones where they were."""

    def __init__(self, found: GraphChanges, changes_at: dict[tuple[int, bool, int], tuple[Change, ...]]) -> None:
        self._found = found
        numbers = found.aligned.new_numbers
        #: Index in the new graph; of a removed node the complement of its index in the old one.
        self._indices: list[int] = []
        #: Equal for nodes that look the same, changes included: the key by which layers fold.
        self._keys: list[int] = []
        self._changed: dict[int, tuple[Change, ...]] = {}
        kinds: dict[object, int] = {}
        position = 0
        for (at, is_new, index), changes in changes_at.items():
            self._indices += range(position, at)
            self._keys += numbers[position:at]
            self._changed[len(self._indices)] = changes
            kind = (numbers[at] if is_new else found.aligned.old_numbers[index], is_new, tuple(map(id, changes)))
            self._indices.append(index if is_new else ~index)
            self._keys.append(-1 - kinds.setdefault(kind, len(kinds)))
            position = at + is_new
        self._indices += range(position, len(numbers))
        self._keys += numbers[position:]

    def parts(self) -> Iterator[Part]:
        """Yield repeated parts that change, and between them what does not repeat, or does not change."""
        changed = sorted(self._changed)
        start = 0
        for block in fold(self._keys) if len(changed) > 1 else ():
            if block.count > 1 and (block.count - 1) * block.length >= _ROWS_SPARED:
                within = [place for place in changed if block.start <= place < block.start + block.length]
                if within:
                    yield from self._plain(start, block.start, changed)
                    start = block.start + block.length * block.count
                    rows = list(self._rows(block.start, block.start + block.length, within))
                    yield Part(rows, block.count, block.length, self._index(start - 1))
        yield from self._plain(start, len(self._keys), changed)

    def _plain(self, start: int, end: int, changed: Sequence[int]) -> Iterator[Part]:
        within = [place for place in changed if start <= place < end]
        if end > start:
            yield Part(list(self._rows(start, end, within)), 1, end - start, self._index(end - 1))

    def _rows(self, start: int, end: int, changed: Sequence[int]) -> Iterator[Row]:
        """Yield rows for the places from ``start`` to ``end``, those far from every change as one."""
        position = start
        for place in changed:
            yield from self._unchanged(position, place, below=position > start, above=True)
            yield self._row(place)
            position = place + 1
        yield from self._unchanged(position, end, below=position > start, above=False)

    def _unchanged(self, start: int, end: int, *, below: bool, above: bool) -> Iterator[Row]:
        first = min(start + _CONTEXT * below, end)
        last = max(end - _CONTEXT * above, first)
        if last - first == 1:
            first = last = end  # the row itself is no longer than the one that would stand for it
        yield from map(self._row, range(start, first))
        if last > first:
            yield Row("…", self._index(first), None, left_out=last - first)
        yield from map(self._row, range(last, end))

    def _row(self, place: int) -> Row:
        index, changes = self._indices[place], self._changed.get(place, ())
        if index < 0:
            return Row("-", ~index, self._found.aligned.old.nodes[~index], changes)
        added = any(change.difference.rule == "node.added" for change in changes)
        mark: Mark = "+" if added else "~" if changes else " "
        return Row(mark, index, self._found.aligned.new.nodes[index], changes)

    def _index(self, place: int) -> int:
        index = self._indices[place]
        return ~index if index < 0 else index
