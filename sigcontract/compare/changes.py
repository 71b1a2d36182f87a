"""Differences between two graphs, equal ones merged, with their nodes."""

from collections.abc import Hashable
from typing import Final, NamedTuple

from sigcontract.compare.edges import EdgeChange
from sigcontract.model import NodeSignature
from sigcontract.update import MAX_ALSO, Difference, by_rule, is_difference, subject_of

__all__ = ["CODE_UNKNOWN", "Change", "CollectedChanges", "NodeIndices"]

#: The rule for kernels with unknown machine code.
CODE_UNKNOWN: Final = "function.code-unknown"


#: Rules of what addresses lead to.
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


class CollectedChanges:
    """Collects changes; equal ones become one with all nodes."""

    def __init__(self) -> None:
        self._changes: dict[Hashable, Change] = {}

    def add(self, change: Change, indices: NodeIndices, times: int) -> None:
        """Add a difference of two corresponding nodes, with its indices and count."""
        node = f"nodes[{indices.at}]"
        # Unknowns have one cause for all kernels; functions are counted one by one.
        about = change.subject if change.known or change.difference.rule == CODE_UNKNOWN else None
        counted = change._replace(number=change.number * times)
        self._add(_key(change, about), counted, indices, [node + path for path in change.paths])

    def add_node(self, rule_id: str, node: NodeSignature, indices: NodeIndices, index: int) -> None:
        """Add a node without counterpart, with its recorded index."""
        subject = subject_of(node)
        difference = by_rule(rule_id, "", *((subject, None) if indices.new is None else (None, subject)))
        self._add((difference, subject), Change(difference, subject, [], [], 1), indices, [f"nodes[{index}]"])

    def add_edge(self, edge: EdgeChange, subject: str) -> None:
        """Add a difference in the dependencies of two corresponding nodes."""
        difference = by_rule(edge.rule, edge.field, edge.old, edge.new)
        # Indices differ between layers, distances do not.
        key = edge.rule, edge.field, edge.distance, subject
        indices = NodeIndices(edge.new_index, edge.old_index, edge.new_index)
        path = f"dependencies[{edge.new_index}]{edge.field}"
        self._add(key, Change(difference, subject, [], [], 1), indices, [path])

    def _add(self, key: Hashable, change: Change, indices: NodeIndices, paths: list[str]) -> None:
        known = self._changes.get(key)
        if known is None:
            self._changes[key] = change._replace(indices=[indices], paths=paths[: 1 + MAX_ALSO])
            return
        known.indices.append(indices)
        known.paths.extend(paths[: 1 + MAX_ALSO - len(known.paths)])
        subject = known.subject if known.subject == change.subject else None
        self._changes[key] = known._replace(number=known.number + change.number, subject=subject)

    def changes(self) -> list[Change]:
        """Return the changes by their first indices."""
        return sorted(self._changes.values(), key=lambda change: change.indices[0].at)
