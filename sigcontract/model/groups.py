"""Groups of graphs that can share an executable, as values, and the differences between groups."""

from typing import Annotated

from msgspec import Meta

from sigcontract.model.findings import Finding
from sigcontract.model.record import Record, Size, Text, UInt32

__all__ = ["DumpGap", "GraphGroup", "GraphName", "GroupsReport", "NearestGraph", "PolicyGroups"]


class GraphName(Record, frozen=True, kw_only=True):
    """One graph of one of the dumps."""

    dump: Annotated[UInt32, Meta(description="Index of its dump, in the order given.")]
    label: Annotated[Text, Meta(description="Its label in that dump.")]


class DumpGap(Record, frozen=True, kw_only=True):
    """A dump that may lack graphs."""

    dump: Annotated[UInt32, Meta(description="Index of the dump.")]
    rule: Annotated[Text, Meta(description="Why: dump.incomplete or dump.empty.")]


class NearestGraph(Record, frozen=True, kw_only=True):
    """The closest match of a group in another group, of those compared."""

    graph: Annotated[GraphName, Meta(description="The graph.")]
    findings: Annotated[tuple[Finding, ...], Meta(description="Differences from the group's first graph.")]


class GraphGroup(Record, frozen=True, kw_only=True):
    """Graphs that are the same under a policy, or a single graph."""

    members: Annotated[tuple[GraphName, ...], Meta(description="The graphs, in the order of the dumps.")]
    alone: Annotated[tuple[Finding, ...], Meta(description="Why no other graph can join; empty if others can.")]
    nearest: Annotated[
        NearestGraph | None,
        Meta(description="Closest match of the first groups that others can join; null: not searched, or none."),
    ]


class PolicyGroups(Record, frozen=True, kw_only=True):
    """The groups of one policy. Memory is an estimate; under ``portable`` nothing is shared, and it is 0."""

    policy: Annotated[Text, Meta(description="The policy.")]
    graphs: Annotated[UInt32, Meta(description="Graphs of all dumps.")]
    executables: Annotated[UInt32, Meta(description="Executables needed.")]
    executables_saved: Annotated[UInt32, Meta(description="Graphs minus executables.")]
    memory_saved_bytes_low: Annotated[Size, Meta(description="Device memory saved, low estimate, in bytes.")]
    memory_saved_bytes_high: Annotated[Size, Meta(description="Device memory saved, high estimate, in bytes.")]
    groups: Annotated[tuple[GraphGroup, ...], Meta(description="In the order of their first graphs.")]


class GroupsReport(Record, frozen=True, kw_only=True):
    """Which graphs of dumps can share an executable, and what that saves."""

    dumps: Annotated[tuple[Text, ...], Meta(description="The files, as given.")]
    gaps: Annotated[tuple[DumpGap, ...], Meta(description="Dumps that may lack graphs.")]
    profile: Annotated[Text | None, Meta(description="Id of the driver profile; null: none.")]
    flags: Annotated[UInt32, Meta(description="CUgraphInstantiate_flags of the executables.")]
    memory_source: Annotated[Text, Meta(description="Source of the memory estimates.")]
    policies: Annotated[tuple[PolicyGroups, ...], Meta(description="The requested policies.")]
