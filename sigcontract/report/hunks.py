"""The parts of two graphs around what differs: rows of nodes, three above and below a change, repetitions folded."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from sigcontract.compare.alignment import Block, fold
from sigcontract.compare.graph_changes import Change, GraphChanges
from sigcontract.compare.pairing import subject_of
from sigcontract.compare.unknowns import is_difference
from sigcontract.model.graph import NodeSignature
from sigcontract.model.nodes import KernelNodeSignature

__all__ = ["Hunks", "Row", "hunks_of", "is_note"]

#: Unchanged rows shown above and below a change.
_CONTEXT = 3
#: Changed places that are drawn; graphs that differ everywhere are shown by their first ones.
_PLACES_DRAWN = 5000

Mark = Literal[" ", "~", "-", "+", "…"]


class Row(NamedTuple):
    """One node, or the unchanged nodes left out between two parts (mark ``…``).

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
    changes: tuple[Change, ...]
    left_out: int = 0

    @property
    def shown(self) -> tuple[object, ...]:
        """All but the place: the key by which rows fold."""
        node = self.node
        look = (node.name, node.grid_dim, node.block_dim) if isinstance(node, KernelNodeSignature) else None
        kind = None if node is None else subject_of(node)
        return self.mark, kind, look, tuple(map(id, self.changes)), self.left_out


class Hunks(NamedTuple):
    """Rows to draw, the blocks that they fold into, and how many changed places are not among them."""

    rows: list[Row]
    blocks: list[Block]
    places_left_out: int


def is_note(change: Change) -> bool:
    """Say whether a change is drawn at no node: it is of the graph as a whole, or says what is not known."""
    difference = change.difference
    return not change.places or not is_difference(difference.rule, difference.old, difference.new)


def hunks_of(found: GraphChanges) -> Hunks:
    """Return what to draw of two graphs; nothing where all that is to be said are notes."""
    changes_at: dict[tuple[int, bool, int], list[Change]] = {}
    for change in found.changes:
        if not is_note(change):
            for place in change.places:
                removed = place.new is None
                index = place.old if removed else place.new
                # A removed node stands before the new node at its place.
                changes_at.setdefault((place.at, not removed, index or 0), []).append(change)
    places = sorted(changes_at)
    drawn = places[:_PLACES_DRAWN]
    rows = list(_rows(found, {place: tuple(changes_at[place]) for place in drawn}))
    return Hunks(rows, fold([row.shown for row in rows]), len(places) - len(drawn))


def _rows(found: GraphChanges, changes_at: dict[tuple[int, bool, int], tuple[Change, ...]]) -> Iterator[Row]:
    old_nodes, new_nodes = found.aligned.old.nodes, found.aligned.new.nodes
    if not changes_at:
        return
    position, below = 0, 0  # the next new node to draw, and up to which it still stands below a change
    for (at, is_new, index), changes in changes_at.items():
        yield from _unchanged(new_nodes, position, below, at - _CONTEXT, at)
        if is_new:
            added = any(change.difference.rule == "node.added" for change in changes)
            yield Row("+" if added else "~", index, new_nodes[index], changes)
        else:
            yield Row("-", index, old_nodes[index], changes)
        position = at + is_new
        below = position + _CONTEXT
    yield from _unchanged(new_nodes, position, below, len(new_nodes), len(new_nodes))


def _unchanged(nodes: tuple[NodeSignature, ...], start: int, below: int, above: int, end: int) -> Iterator[Row]:
    """Yield rows of nodes ``start`` to ``end``, those from ``below`` to ``above`` as one row where that saves any."""
    below, above = min(max(below, start), end), max(above, start)
    if above - below <= 1:
        below = above = end
    yield from (Row(" ", i, nodes[i], ()) for i in range(start, below))
    if above > below:
        yield Row("…", below, None, (), above - below)
        yield from (Row(" ", i, nodes[i], ()) for i in range(above, end))
