"""The distinct changes between two graphs: each once, with its count and nodes.

If an autotuner chose another kernel in 24 equal layers, that is one cause, not 24 findings.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from sigcontract.compare.changes import Change
from sigcontract.compare.graphs import GraphChanges
from sigcontract.model import CauseKind, DiffCause, Finding, Verdict
from sigcontract.update import is_difference

__all__ = ["Cause", "CauseChange", "causes_of", "causes_of_findings"]

_KINDS: dict[str, CauseKind] = {"node.added": "added", "node.removed": "removed"}


class CauseChange(NamedTuple):
    """One change at every node of a cause.

    Attributes
    ----------
    field
        Path below the node, without a leading dot: ``grid_dim``; below the graph for edges: ``dependencies``. Empty for
        the whole node.
    old, new
        The two values; of an edge, of the first node of the cause.
    rule
        Id of the rule.
    verdict
        What an update does about it.
    """

    field: str
    old: int | str | None
    new: int | str | None
    rule: str
    verdict: Verdict


class Cause(Struct, frozen=True):
    """One distinct change of one or more nodes.

    Attributes
    ----------
    kind
        How the nodes differ.
    subject
        The kernel's mangled name, or the node's type; None if not the same for all nodes.
    changes
        The changes at each node, in the order of the record's fields.
    count
        Number of nodes, those inside child graphs counted one by one.
    paths
        Paths of the nodes in the new graph (of removed nodes in the old one), ascending: ``nodes[3].graph.nodes[0]``.
        Complete for nodes of the outermost graph; for nested nodes and unknowns only the first few.
    """

    kind: CauseKind
    subject: str | None
    changes: tuple[CauseChange, ...]
    count: int
    paths: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of the changes."""
        return Verdict.worst(change.verdict for change in self.changes)


def causes_of(found: GraphChanges) -> tuple[Cause, ...]:
    """Return the distinct changes of two graphs, in the order of their first nodes, unknowns last."""
    return _collected(_parts_of_changes(found.changes))


def causes_of_findings(findings: Sequence[Finding]) -> tuple[DiffCause, ...]:
    """Return the distinct changes behind a graph's findings: those shared by the same nodes.

    Findings list only their first paths, so ``paths`` has the first few, and ``count`` all.
    """
    joined: dict[Hashable, tuple[DiffCause, list[int]]] = {}
    for index, finding in enumerate(findings):
        nodes = tuple(dict.fromkeys(_node_of(path)[0] for path in (finding.path, *finding.also)))
        kind = _kind(finding.rule, known=is_difference(finding.rule, finding.old, finding.new))
        cause = DiffCause(kind=kind, subject=finding.subject, findings=(), count=finding.count, paths=nodes)
        joined.setdefault((kind, finding.subject, nodes, finding.count), (cause, []))[1].append(index)
    causes = [replace(cause, findings=tuple(indices)) for cause, indices in joined.values()]
    return tuple(sorted(causes, key=lambda cause: cause.kind == "unknown"))


class _Part(NamedTuple):
    """One change, its listed nodes, and their number."""

    kind: CauseKind
    subject: str | None
    change: CauseChange
    paths: tuple[str, ...]
    times: int


def _collected(parts: Iterator[_Part]) -> tuple[Cause, ...]:
    """Merge changes shared by the same nodes, then nodes with the same changes."""
    joined: dict[Hashable, Cause] = {}
    for kind, subject, change, paths, times in parts:
        key = kind, subject, paths, times
        known = joined.get(key)
        changes = (change,) if known is None else (*known.changes, change)
        joined[key] = Cause(kind, subject, changes, times, paths)
    return tuple(sorted(joined.values(), key=lambda cause: cause.kind == "unknown"))


def _parts_of_changes(changes: list[Change]) -> Iterator[_Part]:
    """Yield each change per set of nodes with the same changes."""
    # Nodes of one change may also have another: they are a separate cause.
    at: dict[tuple[bool, str | None, str], tuple[int, ...]] = {}
    nodes = list(map(_nodes_of, changes))
    for number, change in enumerate(changes):
        for path in nodes[number]:
            key = change.known, change.subject, path
            at[key] = (*at.get(key, ()), number)
    sets: dict[tuple[str | None, tuple[int, ...]], list[str]] = {}
    for (_, subject, path), numbers in at.items():
        sets.setdefault((subject, numbers), []).append(path)
    for (subject, numbers), paths in sets.items():
        for number in numbers:
            change = changes[number]
            whole = len(paths) == len(nodes[number])
            count = change.number if whole else len(paths)
            yield _Part(
                _kind(change.difference.rule, known=change.known), subject, _cause_change(change), tuple(paths), count
            )


def _nodes_of(change: Change) -> list[str]:
    """Return the paths of a change's nodes: all if known, else those listed."""
    inner = change.paths[0].count("nodes[") > 1
    if inner or not change.known or not change.indices:
        return list(dict.fromkeys(_node_of(path)[0] for path in change.paths))
    return [f"nodes[{at.old if at.new is None else at.new}]" for at in change.indices]


def _cause_change(change: Change) -> CauseChange:
    difference = change.difference
    field = _node_of(change.paths[0])[1]
    return CauseChange(field, difference.old, difference.new, difference.rule, difference.verdict)


def _kind(rule: str, *, known: bool) -> CauseKind:
    if not known:
        return "unknown"
    return _KINDS.get(rule, "graph" if rule.startswith("graph.") else "changed")


def _node_of(path: str) -> tuple[str, str]:
    """Split a path into that of its innermost node, and the field below it.

    An edge's path names the node that depends: ``nodes[3].graph.dependencies[1][0]`` is of ``nodes[3].graph.nodes[1]``.
    """
    head, edge, tail = path.rpartition("dependencies[")
    if edge:
        index, _, field = tail.partition("]")
        return f"{head}nodes[{index}]", f"dependencies{field}"
    head, node, tail = path.rpartition("nodes[")
    if not node:
        return "", path
    index, _, field = tail.partition("]")
    return f"{head}nodes[{index}]", field.removeprefix(".")
