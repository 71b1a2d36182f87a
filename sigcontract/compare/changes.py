"""Differences between two graphs; equal ones are merged, with their nodes."""

from collections.abc import Hashable
from typing import Final, NamedTuple

from sigcontract.compare.edges import EdgeChange
from sigcontract.model import NodeSignature
from sigcontract.update import MAX_ALSO, Difference, by_rule, is_difference, subject_of

__all__ = ["CODE_UNKNOWN", "Change", "CollectedChanges", "NodeIndices"]

#: The rule for kernels with unknown machine code.
CODE_UNKNOWN: Final = "function.code-unknown"


#: Rules of what addresses point to.
_OF_ADDRESSES: Final = frozenset({"kernel.argument", "memory.target"})


class NodeIndices(NamedTuple):
    """Indices of a change in the two aligned graphs; None on a side without the node.

    ``at`` is its position in the order of the new graph. The old graph may be reordered (`AlignedGraphs.recorded`).
    """

    at: int
    old: int | None
    new: int | None


class Change(NamedTuple):
    """One difference and all its nodes.

    Attributes
    ----------
    difference
        The difference; its ``field`` is the path below the node.
    subject
        Kernel name, or another description of the node.
    indices
        Ascending; complete for a known difference. Empty for the whole graph.
    paths
        Full paths in the new graph (in the old one if removed), as many as are ever shown.
    number
        Number of nodes or edges, those inside child graphs counted one by one.
    """

    difference: Difference
    subject: str | None
    indices: list[NodeIndices]
    paths: list[str]
    number: int

    @property
    def known(self) -> bool:
        """Whether this is a known difference; otherwise it states an unknown, at the first nodes only."""
        return is_difference(self.difference.rule, self.difference.old, self.difference.new)

    @property
    def inside(self) -> bool:
        """Whether it is of a node nested in the node at its index."""
        return self.paths[0].count("nodes[") + self.paths[0].count("dependencies[") > 1


def _key(change: Change, about: str | None) -> Hashable:
    """Return what changes of one cause have in common."""
    difference = change.difference
    rule, field, verdict, _, old, new = difference
    if rule not in _OF_ADDRESSES:
        return difference, about
    if isinstance(old, int) and isinstance(new, int) and field.endswith(".offset_bytes"):
        # Where memory moved, each offset is another, and the distance one.
        return rule, field, verdict, new - old, about
    if ".allocation." in field:
        # One allocation is used by many nodes, at many offsets.
        return rule, verdict, field.rpartition(".")[2], "nodes[" in field, old, new
    return difference, about


class _Merged:
    """Equal changes while they are collected."""

    __slots__ = ("difference", "indices", "number", "paths", "subject")

    def __init__(self, difference: Difference, subject: str | None) -> None:
        self.difference = difference
        self.subject = subject
        self.indices: list[NodeIndices] = []
        self.paths: list[str] = []
        self.number = 0

    def change(self) -> Change:
        return Change(self.difference, self.subject, self.indices, self.paths, self.number)


class CollectedChanges:
    """Collects changes; equal ones become one with all nodes."""

    def __init__(self) -> None:
        self._merged: dict[Hashable, _Merged] = {}

    def add(self, change: Change, indices: NodeIndices, times: int, *, known: bool) -> None:
        """Add a difference of two corresponding nodes, with its indices and count; ``known`` is as of the change."""
        # Unknowns have one cause for all kernels; functions are counted one by one.
        about = change.subject if known or change.difference.rule == CODE_UNKNOWN else None
        merged = self._add(_key(change, about), change.difference, change.subject, indices, change.number * times)
        room = 1 + MAX_ALSO - len(merged.paths)
        if room > 0:
            merged.paths += [f"nodes[{indices.at}]{path}" for path in change.paths[:room]]

    def add_node(self, rule_id: str, node: NodeSignature, indices: NodeIndices, index: int) -> None:
        """Add a node without counterpart, with its recorded index."""
        subject = subject_of(node)
        difference = by_rule(rule_id, "", *((subject, None) if indices.new is None else (None, subject)))
        self._add_path(self._add((difference, subject), difference, subject, indices), f"nodes[{index}]")

    def add_edge(self, edge: EdgeChange, subject: str) -> None:
        """Add a difference in the dependencies of two corresponding nodes."""
        difference = by_rule(edge.rule, edge.field, edge.old, edge.new)
        # Indices differ between layers, distances do not.
        key = edge.rule, edge.field, edge.distance, subject
        indices = NodeIndices(edge.new_index, edge.old_index, edge.new_index)
        path = f"dependencies[{edge.new_index}]{edge.field}"
        self._add_path(self._add(key, difference, subject, indices), path)

    def _add(
        self, key: Hashable, difference: Difference, subject: str | None, indices: NodeIndices, number: int = 1
    ) -> _Merged:
        merged = self._merged.get(key)
        if merged is None:
            merged = self._merged[key] = _Merged(difference, subject)
        elif merged.subject != subject:
            merged.subject = None
        merged.indices.append(indices)
        merged.number += number
        return merged

    @staticmethod
    def _add_path(merged: _Merged, path: str) -> None:
        if len(merged.paths) <= MAX_ALSO:
            merged.paths.append(path)

    def changes(self) -> list[Change]:
        """Return the changes by their first indices."""
        return sorted((merged.change() for merged in self._merged.values()), key=lambda change: change.indices[0].at)
