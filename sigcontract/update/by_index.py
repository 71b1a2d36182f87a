"""Differences of two graphs whose nodes are compared by index: node order is part of the record."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from sigcontract.model import Dependency, GraphSignature, NodeSignature
from sigcontract.update.attributes import Difference, by_rule
from sigcontract.update.field_rules import field_differences
from sigcontract.update.located import LocatedDifference
from sigcontract.update.pairing import body_pairs, subject_of

__all__ = ["STRUCTURE", "Changes", "differences_by_index", "recorded"]

#: Rules of differences by index that do not apply to the driver's pairs.
STRUCTURE: Final = frozenset(
    {"node.type", "node.opaque", "topology.dependency", "topology.dependency-count", "edge.data"}
)

#: Returns the differences of two nodes.
Changes = Callable[[NodeSignature, NodeSignature], Iterable[Difference]]


def differences_by_index(
    a: GraphSignature, b: GraphSignature, changes: Changes, at: str = ""
) -> Iterator[LocatedDifference]:
    """Yield the differences between nodes of equal index: node order is part of the record."""
    if a is b or a == b:
        return
    if len(a.nodes) != len(b.nodes):
        yield _located("topology.node-count", f"{at}nodes", None, len(a.nodes), len(b.nodes))
        return
    for index, (old, new) in enumerate(zip(a.nodes, b.nodes, strict=True)):
        path, subject = f"{at}nodes[{index}]", subject_of(new)
        if old is not new and old != new:
            for difference in changes(old, new):
                yield difference, path, subject
            for below, old_body, new_body in body_pairs(old, new):
                yield from differences_by_index(old_body, new_body, changes, path + below)
        yield from _edges(a.dependencies[index], b.dependencies[index], f"{at}dependencies[{index}]", subject)


def _edges(
    old: tuple[Dependency, ...], new: tuple[Dependency, ...], at: str, subject: str
) -> Iterator[LocatedDifference]:
    if old == new:
        return
    if len(old) != len(new):
        yield _located("topology.dependency-count", at, subject, len(old), len(new))
        return
    for index, (before, after) in enumerate(zip(old, new, strict=True)):
        for difference in field_differences(before, after):
            yield difference, f"{at}[{index}]", subject


def _located(rule_id: str, path: str, subject: str | None, old: int | str, new: int | str) -> LocatedDifference:
    return by_rule(rule_id, "", old, new), path, subject


def recorded(changes: Iterable[Difference]) -> list[Difference]:
    """Return the changes without equal unknown fields."""
    return [c for c in changes if c.old != c.new or c.rule in ("kernel.attribute-origin", "function.facts-unknown")]
