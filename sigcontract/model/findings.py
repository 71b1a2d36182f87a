"""Differences as values: what was found, where, how it was known, and what an update would do with it."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta

from sigcontract.model.cuda import UpdateResult
from sigcontract.model.record import ExactInt, Record, Text, UInt32

__all__ = ["DumpDiff", "Evidence", "Finding", "GraphDiff", "UpdatePrediction", "Verdict"]


class Verdict(StrEnum):
    """What a difference means. The first five are ordered; ``undetermined`` stands outside of the order."""

    IDENTICAL = "identical"
    HARMLESS = "harmless"
    UPDATABLE = "updatable"
    REJECTED = "rejected"
    STALE = "stale"
    UNDETERMINED = "undetermined"

    @staticmethod
    def worst(verdicts: Iterable["Verdict"]) -> "Verdict":
        """Return the worst: stale over rejected, either over undetermined, undetermined over what is safe."""
        return max(verdicts, key=_BADNESS.__getitem__, default=Verdict.IDENTICAL)

    @property
    def badness(self) -> int:
        """Position in the order of `worst`, 0 for identical."""
        return _BADNESS[self]

    @property
    def safe(self) -> bool:
        """Whether an update is known to be taken and carried out in full."""
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

#: documented: NVIDIA says so; measured: by the profile named; reported: by a third party; assumed: by us.
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
    """What cuGraphExecUpdate would answer, and what the exec would then run."""

    verdict: Annotated[Verdict, Meta(description="The worst of the findings.")]
    result: Annotated[UpdateResult | None, Meta(description="CUgraphExecUpdateResult; null: undetermined.")]
    node: Annotated[
        Text | None, Meta(description="Path of the error node in the candidate, such as nodes[3]; null: none.")
    ]
    from_node: Annotated[
        Text | None, Meta(description="Path in the candidate of the mismatched dependency; null: none.")
    ]
    findings: Annotated[tuple[Finding, ...], Meta(description="Differences along the driver's pairing.")]


class GraphDiff(Record, frozen=True, kw_only=True):
    """Differences of one graph between two dumps."""

    label: Annotated[Text, Meta(description="Label; that of the new dump if both have one.")]
    old_label: Annotated[Text | None, Meta(description="Label in the old dump; null: the graph is new.")]
    new_label: Annotated[Text | None, Meta(description="Label in the new dump; null: the graph was removed.")]
    verdict: Annotated[Verdict, Meta(description="The worst of the findings.")]
    findings: Annotated[tuple[Finding, ...], Meta(description="In the order of the new graph's nodes.")]


class DumpDiff(Record, frozen=True, kw_only=True):
    """Differences between two dumps."""

    verdict: Annotated[Verdict, Meta(description="The worst over environment and graphs.")]
    profile: Annotated[
        Text | None, Meta(description="Id of the driver profile that the verdicts hold for; null: none.")
    ]
    environment: Annotated[tuple[Finding, ...], Meta(description="Differences of driver, device and versions.")]
    graphs: Annotated[tuple[GraphDiff, ...], Meta(description="One per pair, in the order of the new dump.")]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding, environment first."""
        return self.environment + tuple(finding for graph in self.graphs for finding in graph.findings)
