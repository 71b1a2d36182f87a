"""Differences as values: what was found, where, how it was known, and what an update would do with it."""

from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import Annotated, Literal

from msgspec import Meta

from sigcontract.model.record import ExactInt, Record, Text, UInt32

__all__ = [
    "DumpDiff",
    "Evidence",
    "Finding",
    "GraphDiff",
    "GraphPrediction",
    "UpdatePrediction",
    "UpdateResult",
    "Verdict",
]


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

    @staticmethod
    def of_update(verdicts: Iterable["Verdict"]) -> "Verdict":
        """Return what an update is that shows all of these: where it is refused, nothing goes stale; else the worst."""
        found = frozenset(verdicts)
        return Verdict.REJECTED if Verdict.REJECTED in found else Verdict.worst(found)

    @property
    def badness(self) -> int:
        """Place in the order of `worst`, from 0 for identical."""
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


class UpdateResult(IntEnum):
    """CUgraphExecUpdateResult (unchanged from CUDA 12.0 to 13.5)."""

    SUCCESS = 0
    ERROR = 1
    ERROR_TOPOLOGY_CHANGED = 2
    ERROR_NODE_TYPE_CHANGED = 3
    ERROR_FUNCTION_CHANGED = 4
    ERROR_PARAMETERS_CHANGED = 5
    ERROR_NOT_SUPPORTED = 6
    ERROR_UNSUPPORTED_FUNCTION_CHANGE = 7
    ERROR_ATTRIBUTES_CHANGED = 8

    @classmethod
    def name_of(cls, result: int) -> str:
        """Return the name of a driver's answer, ``RESULT_9`` for one that no header names."""
        try:
            return cls(result).name
        except ValueError:
            return f"RESULT_{result}"


class Finding(Record, frozen=True, kw_only=True):
    """One difference."""

    rule: Annotated[Text, Meta(description="Stable id of the rule; `sigcontract rules ID` explains it.")]
    path: Annotated[Text, Meta(description="Where, in the new graph (in the old one where it was removed).")]
    verdict: Annotated[Verdict, Meta(description="What the difference means.")]
    evidence: Annotated[Evidence, Meta(description="How that is known.")]
    old: Annotated[ExactInt | Text | None, Meta(description="The old value; null: absent.")]
    new: Annotated[ExactInt | Text | None, Meta(description="The new value; null: absent.")]
    subject: Annotated[Text | None, Meta(description="The kernel's name, or what else tells a person the place.")]
    count: Annotated[UInt32, Meta(description="Places with this same difference, this one included.")]
    also: Annotated[tuple[Text, ...], Meta(description="Their other paths, the first few.")]


class UpdatePrediction(Record, frozen=True, kw_only=True):
    """What cuGraphExecUpdate would answer, and what the exec would then run."""

    verdict: Annotated[Verdict, Meta(description="The worst of the findings.")]
    result: Annotated[UpdateResult | None, Meta(description="CUgraphExecUpdateResult; null: cannot be told.")]
    node: Annotated[Text | None, Meta(description="Path in the candidate of the error node, as nodes[3]; null: none.")]
    from_node: Annotated[Text | None, Meta(description="Path in the candidate of the dependency that does not match.")]
    findings: Annotated[tuple[Finding, ...], Meta(description="Differences along the driver's pairing.")]


class GraphPrediction(Record, frozen=True, kw_only=True):
    """What cuGraphExecUpdate would answer for two graphs of dumps, by their labels."""

    held: Annotated[Text, Meta(description="Label of the graph that the executable holds.")]
    candidate: Annotated[Text, Meta(description="Label of the graph to update it to.")]
    fixed: Annotated[Text | None, Meta(description="Label of the graph of its first launch; null: the one held.")]
    flags: Annotated[UInt32, Meta(description="CUgraphInstantiate_flags of the executable.")]
    profile: Annotated[Text | None, Meta(description="Id of the driver profile that was judged by; null: none.")]
    prediction: Annotated[UpdatePrediction, Meta(description="The answer.")]


class GraphDiff(Record, frozen=True, kw_only=True):
    """How one graph differs between two dumps."""

    label: Annotated[Text, Meta(description="The label, of the new dump where both have one.")]
    old_label: Annotated[Text | None, Meta(description="Its label in the old dump; null: the graph is new.")]
    new_label: Annotated[Text | None, Meta(description="Its label in the new dump; null: the graph is gone.")]
    verdict: Annotated[Verdict, Meta(description="The worst of the findings.")]
    findings: Annotated[tuple[Finding, ...], Meta(description="In the order of the new graph's nodes.")]


class DumpDiff(Record, frozen=True, kw_only=True):
    """How two dumps differ."""

    verdict: Annotated[Verdict, Meta(description="The worst over environment and graphs.")]
    profile: Annotated[Text | None, Meta(description="Id of the driver profile that the verdicts hold for.")]
    environment: Annotated[tuple[Finding, ...], Meta(description="Differences of driver, device and versions.")]
    graphs: Annotated[tuple[GraphDiff, ...], Meta(description="One per pair, in the order of the new dump.")]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding, environment first."""
        return self.environment + tuple(finding for graph in self.graphs for finding in graph.findings)
