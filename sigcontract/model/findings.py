"""Differences as values: rule, path, evidence, and what an update does about each."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta

from sigcontract.model.cuda import UpdateResult
from sigcontract.model.record import ExactInt, Record, Text, UInt32

__all__ = [
    "CauseKind",
    "DiffCause",
    "DumpDiff",
    "Evidence",
    "Finding",
    "GraphDiff",
    "GraphPrediction",
    "GraphSize",
    "UpdatePrediction",
    "Verdict",
]


class Verdict(StrEnum):
    """What a difference means. The first five are ordered; ``undetermined`` is outside the order."""

    IDENTICAL = "identical"
    HARMLESS = "harmless"
    UPDATABLE = "updatable"
    REJECTED = "rejected"
    STALE = "stale"
    UNDETERMINED = "undetermined"

    @staticmethod
    def worst(verdicts: Iterable["Verdict"]) -> "Verdict":
        """Return the worst: stale, then rejected, then undetermined, then the safe ones."""
        return max(verdicts, key=_BADNESS.__getitem__, default=Verdict.IDENTICAL)

    @staticmethod
    def of_update(verdicts: Iterable["Verdict"]) -> "Verdict":
        """Return the verdict on an update with all of these: rejected if any is, else the worst."""
        found = frozenset(verdicts)
        return Verdict.REJECTED if Verdict.REJECTED in found else Verdict.worst(found)

    @property
    def badness(self) -> int:
        """Position in the order of `worst`, 0 for identical."""
        return _BADNESS[self]

    @property
    def safe(self) -> bool:
        """Whether an update is known to succeed and to take full effect."""
        return self in _SAFE


_BADNESS = {
    Verdict.IDENTICAL: 0,
    Verdict.HARMLESS: 1,
    Verdict.UPDATABLE: 2,
    Verdict.UNDETERMINED: 3,
    Verdict.REJECTED: 4,
    Verdict.STALE: 5,
}
_SAFE = frozenset({Verdict.IDENTICAL, Verdict.HARMLESS, Verdict.UPDATABLE})

#: documented: by NVIDIA; measured: in the named profile; reported: by a third party; assumed: by sigcontract.
Evidence = Literal["documented", "measured", "reported", "assumed"]


class Finding(Record, frozen=True, kw_only=True):
    """One difference."""

    rule: Annotated[Text, Meta(description="Stable id of the rule; `sigcontract rules ID` explains it.")]
    path: Annotated[Text, Meta(description="Path in the new graph; in the old one if removed.")]
    verdict: Annotated[Verdict, Meta(description="Meaning of the difference.")]
    evidence: Annotated[Evidence, Meta(description="How the verdict is known.")]
    old: Annotated[ExactInt | Text | None, Meta(description="Old value; null: absent.")]
    new: Annotated[ExactInt | Text | None, Meta(description="New value; null: absent.")]
    subject: Annotated[Text | None, Meta(description="Kernel name, or what else identifies the node.")]
    count: Annotated[UInt32, Meta(description="Number of nodes or edges with this difference, this one included.")]
    also: Annotated[tuple[Text, ...], Meta(description="Paths of the first few others.")]


class UpdatePrediction(Record, frozen=True, kw_only=True):
    """The predicted result of cuGraphExecUpdate, and what the exec then launches."""

    verdict: Annotated[Verdict, Meta(description="The worst of the findings.")]
    result: Annotated[UpdateResult | None, Meta(description="CUgraphExecUpdateResult; null: undetermined.")]
    node: Annotated[
        Text | None, Meta(description="Path of the error node in the candidate, such as nodes[3]; null: none.")
    ]
    from_node: Annotated[
        Text | None, Meta(description="Path in the candidate of the mismatched dependency; null: none.")
    ]
    findings: Annotated[tuple[Finding, ...], Meta(description="Differences along the driver's pairing.")]


class GraphPrediction(Record, frozen=True, kw_only=True):
    """The predicted result of cuGraphExecUpdate for two graphs of dumps, by label."""

    held: Annotated[Text, Meta(description="Label of the graph the executable holds.")]
    candidate: Annotated[Text, Meta(description="Label of the graph to update it to.")]
    fixed: Annotated[Text | None, Meta(description="Label of the graph of the first launch; null: the held one.")]
    flags: Annotated[UInt32, Meta(description="CUgraphInstantiate_flags of the executable.")]
    profile: Annotated[Text | None, Meta(description="Id of the driver profile; null: none.")]
    prediction: Annotated[UpdatePrediction, Meta(description="The answer.")]


#: How the nodes of a cause differ.
CauseKind = Literal["changed", "added", "removed", "graph", "unknown"]


class DiffCause(Record, frozen=True, kw_only=True):
    """One distinct change of one or more nodes: the findings they all share."""

    kind: Annotated[
        CauseKind,
        Meta(
            description="changed: nodes of both graphs; added, removed: nodes of one; graph: the graph as a whole; "
            "unknown: undetermined."
        ),
    ]
    subject: Annotated[Text | None, Meta(description="Kernel name or node type; null: not the same for all nodes.")]
    findings: Annotated[tuple[UInt32, ...], Meta(description="Indices in the findings of the graph, ascending.")]
    count: Annotated[UInt32, Meta(description="Number of nodes, those inside child graphs counted one by one.")]
    paths: Annotated[tuple[Text, ...], Meta(description="Paths of the first few nodes; removed ones in the old graph.")]


class GraphSize(Record, frozen=True, kw_only=True):
    """Size of a graph without nested graphs."""

    nodes: Annotated[UInt32, Meta(description="Nodes.")]
    edges: Annotated[UInt32, Meta(description="Edges.")]
    programmatic_edges: Annotated[UInt32, Meta(description="Programmatic edges among them (PDL).")]


class GraphDiff(Record, frozen=True, kw_only=True):
    """Differences of one graph between two dumps."""

    label: Annotated[Text, Meta(description="Label; that of the new dump if both have one.")]
    old_label: Annotated[Text | None, Meta(description="Label in the old dump; null: the graph is new.")]
    new_label: Annotated[Text | None, Meta(description="Label in the new dump; null: the graph was removed.")]
    verdict: Annotated[
        Verdict,
        Meta(
            description="identical: no findings. Within one capture, the verdict on an update from old to new graph; "
            "else rejected if any finding is, since nothing goes stale then, or the worst of the findings."
        ),
    ]
    old_size: Annotated[
        GraphSize | None, Meta(description="Size of the old graph; null: no such graph, or not recorded.")
    ]
    new_size: Annotated[
        GraphSize | None, Meta(description="Size of the new graph; null: no such graph, or not recorded.")
    ]
    causes: Annotated[
        tuple[DiffCause, ...], Meta(description="Distinct changes, by their first finding, unknowns last.")
    ]
    findings: Annotated[tuple[Finding, ...], Meta(description="In the order of the new graph's nodes.")]


class DumpDiff(Record, frozen=True, kw_only=True):
    """Differences between two dumps."""

    verdict: Annotated[Verdict, Meta(description="The worst over environment and graphs.")]
    policy: Annotated[Text | None, Meta(description="Policy: what counts as a difference; null: not recorded.")]
    one_capture: Annotated[
        bool | None,
        Meta(description="Whether both dumps are of one process and time, so handles compare; null: not recorded."),
    ]
    not_compared: Annotated[tuple[Text, ...], Meta(description="What the policy does not compare.")]
    profile: Annotated[Text | None, Meta(description="Id of the driver profile behind the verdicts; null: none.")]
    environment: Annotated[tuple[Finding, ...], Meta(description="Differences of driver, device and versions.")]
    graphs: Annotated[tuple[GraphDiff, ...], Meta(description="One per pair, in the order of the new dump.")]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding, environment first."""
        return self.environment + tuple(finding for graph in self.graphs for finding in graph.findings)
