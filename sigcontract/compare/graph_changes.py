"""Differences between two graphs as values, including changes of a graph as a whole."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from sigcontract.compare.aligned import AlignedGraphs
from sigcontract.compare.changes import CODE_UNKNOWN, Change
from sigcontract.model import DriverProfile, Finding, NodeSignature, Verdict
from sigcontract.update import MAX_ALSO, by_rule, finding_of

__all__ = ["NODE_ORDER", "GraphChanges", "code_unknown_as_one", "of_graph", "other_order", "wrapped_text"]

#: What the driver may take all the same, because it pairs nodes by order and not by similarity.
NODE_ORDER: Final = "topology.node-order"
#: Indices named of an order.
_LISTED: Final = 8


class GraphChanges(NamedTuple):
    """Two graphs, which nodes correspond, and what differs.

    Attributes
    ----------
    aligned
        The graphs.
    changes
        What differs, by the first node.
    one_capture
        Whether both were read by one process in one moment, so that one may be an update of the other.
    inside
        Gives, for the old and the new index of two nodes that correspond, the path below the node of each graph inside
        of both, and what differs there.
    """

    aligned: AlignedGraphs
    changes: list[Change]
    one_capture: bool
    inside: Callable[[int, int], list[tuple[str, "GraphChanges"]]]

    @property
    def update(self) -> Verdict:
        """The worst that an update makes of any change."""
        return Verdict.worst(change.difference.verdict for change in self.changes)

    def findings(self, profile: DriverProfile | None) -> tuple[Finding, ...]:
        """Return each change as one finding."""
        return tuple(
            finding_of(change.difference, change.paths, change.subject, change.number, profile)
            for change in self.changes
        )


def code_unknown_as_one(changes: list[Change]) -> list[Change]:
    """Say once how many functions there are whose machine code is not known, and not for each."""
    unknown = [change for change in changes if change.difference.rule == CODE_UNKNOWN]
    if not unknown:
        return changes
    functions = {(change.subject, *change.difference[-2:]): change for change in reversed(unknown)}
    first = unknown[0]
    one = Change(
        first.difference._replace(old=None, new=None),
        first.subject if len(functions) == 1 else None,
        [],
        [change.paths[0] for change in reversed(functions.values())][: 1 + MAX_ALSO],
        len(functions),
    )
    return [*(change for change in changes if change.difference.rule != CODE_UNKNOWN), one]


def wrapped_text(depth: int, node: NodeSignature) -> str:
    """Return a node inside of so many child graphs, in words."""
    return "graph of " * depth + str(node.__struct_config__.tag)


def other_order(aligned: AlignedGraphs) -> Iterator[Change]:
    """Yield the one change that the old graph's nodes were recorded in another order than their counterparts."""
    if aligned.order is None:
        return
    first = next(at for at, index in enumerate(aligned.order) if index != at)
    shown = aligned.order[first : first + _LISTED]
    more = ", …" if len(aligned.order) > first + _LISTED else ""
    here = range(first, first + len(shown))
    texts = (f"nodes {', '.join(map(str, indices))}{more}" for indices in (shown, here))
    yield Change(by_rule(NODE_ORDER, "", *texts), None, [], ["nodes"], 1)


def of_graph(rule_id: str) -> Change:
    """Return a change of a graph as a whole."""
    return Change(by_rule(rule_id, "", None, None), None, [], ["nodes"], 1)
