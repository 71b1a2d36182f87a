"""The stretches of two graphs around their changes: rows of nodes with context, each layer once."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Literal, NamedTuple

from sigcontract.compare import (
    Block,
    Change,
    GraphChanges,
    fold_with_tails,
)
from sigcontract.model import (
    KernelNodeSignature,
    NodeSignature,
)
from sigcontract.report.alike import alike_key, common_name, family

__all__ = ["CONTEXT", "Row", "Stretch", "is_note", "stretches_of"]

#: Unchanged rows shown above and below a change.
CONTEXT = 3
#: A repetition that spares a reader fewer rows than this is drawn in full.
_ROWS_SPARED = 12

Mark = Literal[" ", "~", "-", "+", "…"]


class Row(NamedTuple):
    """One node, or nodes left out between two changes (mark ``…``).

    Attributes
    ----------
    mark
        Unchanged, changed, removed, added, left out.
    at
        Index in the new graph; of a removed node as recorded in the old one.
    node
        The node, the new one where both graphs have it; None for nodes left out.
    changes
        What differs at the node.
    left_out
        How many nodes are left out.
    again
        How many of those changed as a node that was shown before.
    pair
        Indices of the node in the two aligned graphs, where both have it.
    name
        Where the row stands for several kernels, what their names have in common.
    """

    mark: Mark
    at: int
    node: NodeSignature | None
    changes: tuple[Change, ...] = ()
    left_out: int = 0
    again: int = 0
    pair: tuple[int, int] | None = None
    name: str | None = None


class Stretch(NamedTuple):
    """Rows to draw, how often the nodes that they stand for repeat, and how many nodes one repetition has.

    ``first`` and ``last`` are the indices of the first node, and of the last one of the last repetition, which has only
    ``tail`` nodes where that is not 0.
    """

    rows: list[Row]
    times: int
    length: int
    first: int
    last: int
    tail: int = 0


def is_note(change: Change) -> bool:
    """Whether a change is drawn at no node: it is of the whole graph, or is an unknown."""
    return not change.indices or not change.known


def stretches_of(found: GraphChanges, context: int = CONTEXT, *, once: bool = False) -> Iterator[Stretch]:
    """Yield what to draw of two graphs, in order; nothing where there are only notes.

    Parameters
    ----------
    found
        How the graphs differ.
    context
        Unchanged rows shown above and below a change.
    once
        Whether a node that changed as one before it is left out as if it had not changed.
    """
    changes_at: dict[tuple[int, bool, int], list[Change]] = {}
    for change in found.changes:
        if not is_note(change):
            for at, old, new in change.indices:
                # A removed node stands before the new node at its index.
                changes_at.setdefault((at, new is not None, (old if new is None else new) or 0), []).append(change)
    if changes_at:
        changed = {spot: tuple(changes_at[spot]) for spot in sorted(changes_at)}
        yield from _Drawing(found, changed, context, once=once).stretches()


class _Drawing:
    """The nodes of both graphs in one order: those of the new one, and removed ones where they were."""

    def __init__(
        self,
        found: GraphChanges,
        changes_at: dict[tuple[int, bool, int], tuple[Change, ...]],
        context: int,
        *,
        once: bool,
    ) -> None:
        self._found = found
        self._context = context
        #: What was shown: None where it is shown each time.
        self._shown: set[Hashable] | None = set() if once else None
        aligned = found.aligned
        #: Index in the new graph; of a removed node the complement of its index in the old one.
        self._indices: list[int] = []
        self._changed: dict[int, tuple[Change, ...]] = {}
        #: Equal for nodes that look alike, changes included: the key by which layers fold.
        self._keys: list[int] = []
        kinds: dict[Hashable, int] = {}
        of_number: dict[int, int] = {}

        def plain(start: int, end: int) -> Iterator[int]:
            for index in range(start, end):
                number = aligned.new_numbers[index]
                if number not in of_number:
                    of_number[number] = kinds.setdefault(alike_key(aligned.new.nodes[index]), len(kinds))
                yield of_number[number]

        position = 0
        for (at, is_new, index), changes in changes_at.items():
            self._indices += range(position, at)
            self._keys += plain(position, at)
            self._changed[len(self._indices)] = changes
            node = aligned.new.nodes[at] if is_new else aligned.old.nodes[index]
            kind = is_new, alike_key(node), tuple(map(_alike_change, changes))
            self._indices.append(index if is_new else ~index)
            self._keys.append(kinds.setdefault(kind, len(kinds)))
            position = at + is_new
        self._indices += range(position, len(aligned.new_numbers))
        self._keys += plain(position, len(aligned.new_numbers))

    def stretches(self) -> Iterator[Stretch]:
        """Yield repeated stretches that change, and between them what does not repeat, or does not change."""
        changed = sorted(self._changed)
        start = 0
        for folded in fold_with_tails(self._keys) if len(changed) > 1 else ():
            block, tail = folded.block, folded.tail
            within = [at for at in changed if block.start <= at < block.start + block.length]
            if block.count == 1 or not within or (block.count - 1) * self._height(block, within) < _ROWS_SPARED:
                continue
            yield from self._plain(start, block.start, changed)
            start = folded.end
            fresh = self._fresh(within)
            if fresh:
                rows = list(self._rows(block.start, block.start + block.length, fresh, block.count))
                first, last = self._index(block.start), self._index(start - 1)
                yield Stretch(rows, block.count + (tail > 0), block.length, first, last, tail)
            else:
                left_out = start - block.start
                row = Row("…", self._index(block.start), None, left_out=left_out, again=len(within) * block.count)
                yield Stretch([row], 1, left_out, self._index(block.start), self._index(start - 1))
        yield from self._plain(start, len(self._keys), changed)

    def _height(self, block: Block, changed: Sequence[int]) -> int:
        """Return how many rows one repetition takes."""
        near = {at + off for at in changed for off in range(-self._context, self._context + 1)}
        return sum(block.start <= at < block.start + block.length for at in near)

    def _fresh(self, changed: Sequence[int]) -> list[int]:
        """Return the nodes that changed as none before, and remember them."""
        if self._shown is None:
            return list(changed)
        fresh: list[int] = []
        for at in changed:
            if not self._shown.issuperset(map(id, self._changed[at])):
                fresh.append(at)
                self._shown.update(map(id, self._changed[at]))
        return fresh

    def _plain(self, start: int, end: int, changed: Sequence[int]) -> Iterator[Stretch]:
        within = self._fresh([at for at in changed if start <= at < end])
        if end > start:
            rows = list(self._rows(start, end, within))
            yield Stretch(rows, 1, end - start, self._index(start), self._index(end - 1))

    def _rows(self, start: int, end: int, changed: Sequence[int], times: int = 1) -> Iterator[Row]:
        """Yield rows for the positions from ``start`` to ``end``, those far from every change as one."""
        length = end - start
        position = start
        for at in changed:
            yield from self._unchanged(position, at, length, times, below=position > start, above=True)
            yield self._row(at, length, times)
            position = at + 1
        yield from self._unchanged(position, end, length, times, below=position > start, above=False)

    def _unchanged(  # noqa: PLR0913  a stretch, the one it is part of, and what stands around it
        self, start: int, end: int, length: int, times: int, *, below: bool, above: bool
    ) -> Iterator[Row]:
        first = min(start + self._context * below, end)
        last = max(end - self._context * above, first)
        if last - first == 1:
            first = last = end  # the row itself is no longer than the one that would stand for it
        yield from (self._row(at, length, times) for at in range(start, first))
        if last > first:
            again = sum(at in self._changed for at in range(first, last))
            yield Row("…", self._index(first), None, left_out=last - first, again=again)
        yield from (self._row(at, length, times) for at in range(last, end))

    def _row(self, at: int, length: int, times: int) -> Row:
        changes = self._changed.get(at, ())
        node = self._node(at)
        alike = [self._node(at + length * turn) for turn in range(times)] if times > 1 else []
        names = [other.name for other in alike if isinstance(other, KernelNodeSignature)]
        name = common_name(names) if names else None
        if self._indices[at] < 0:
            return Row("-", self._index(at), node, changes, name=name)
        own = [change for change in changes if not change.inside]
        added = any(change.difference.rule == "node.added" for change in own)
        mark: Mark = "+" if added else "~" if changes else " "
        old = self._found.aligned.counterpart(self._indices[at]) if mark == "~" else None
        pair = None if old is None else (old, self._indices[at])
        return Row(mark, self._index(at), node, changes, pair=pair, name=name)

    def _node(self, at: int) -> NodeSignature:
        index = self._indices[at]
        aligned = self._found.aligned
        return aligned.old.nodes[~index] if index < 0 else aligned.new.nodes[index]

    def _index(self, at: int) -> int:
        index = self._indices[at]
        return self._found.aligned.recorded(~index) if index < 0 else index


def _alike_change(change: Change) -> Hashable:
    """Return what is equal for changes that look alike: of names only the family counts."""
    rule, field, verdict, _, old, new = change.difference
    if change.inside or change.paths[0].startswith("dependencies"):
        return id(change)
    values = (family(value) if isinstance(value, str) else value for value in (old, new))
    return rule, field, verdict, *values
