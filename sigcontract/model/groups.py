"""Graphs that could share an executable, as values: the groups of each policy, and what keeps them apart."""

from typing import Annotated

from msgspec import Meta

from sigcontract.model.findings import Finding
from sigcontract.model.record import Record, Size, Text, UInt32

__all__ = ["DumpGap", "GraphGroup", "GraphName", "GroupsReport", "NearestGraph", "PolicyGroups"]


class GraphName(Record, frozen=True, kw_only=True):
    """One graph of one of the dumps."""

    dump: Annotated[UInt32, Meta(description="Index of its dump, in the order in which they were given.")]
    label: Annotated[Text, Meta(description="Its label in that dump.")]


class DumpGap(Record, frozen=True, kw_only=True):
    """A dump that cannot speak for its process."""

    dump: Annotated[UInt32, Meta(description="Index of the dump.")]
    rule: Annotated[Text, Meta(description="Why: dump.incomplete or dump.empty.")]


class NearestGraph(Record, frozen=True, kw_only=True):
    """The graph of another group that a group comes nearest to, of those that were compared."""

    graph: Annotated[GraphName, Meta(description="The graph.")]
    findings: Annotated[tuple[Finding, ...], Meta(description="What keeps the group's first graph and it apart.")]


class GraphGroup(Record, frozen=True, kw_only=True):
    """Graphs that are the same under a policy, or one graph that is the same as no other."""

    members: Annotated[tuple[GraphName, ...], Meta(description="The graphs, in the order of the dumps.")]
    alone: Annotated[tuple[Finding, ...], Meta(description="Why no other graph can ever join; empty where others can.")]
    nearest: Annotated[
        NearestGraph | None,
        Meta(description="Searched for the first groups that others can join; null: not searched, or no other group."),
    ]


class PolicyGroups(Record, frozen=True, kw_only=True):
    """The groups of one policy. Memory is an estimate; under ``portable`` nothing is shared, and it is 0."""

    policy: Annotated[Text, Meta(description="The policy.")]
    graphs: Annotated[UInt32, Meta(description="Graphs of all dumps.")]
    executables: Annotated[UInt32, Meta(description="Executables that they need.")]
    executables_saved: Annotated[UInt32, Meta(description="How many fewer than graphs.")]
    memory_saved_bytes_low: Annotated[Size, Meta(description="Device memory saved, low estimate, in bytes.")]
    memory_saved_bytes_high: Annotated[Size, Meta(description="Device memory saved, high estimate, in bytes.")]
    groups: Annotated[tuple[GraphGroup, ...], Meta(description="In the order of their first graphs.")]


class GroupsReport(Record, frozen=True, kw_only=True):
    """Which graphs of dumps could share an executable, and what that would save."""

    dumps: Annotated[tuple[Text, ...], Meta(description="The files, as they were named.")]
    gaps: Annotated[tuple[DumpGap, ...], Meta(description="Dumps that may lack graphs.")]
    profile: Annotated[Text | None, Meta(description="Id of the driver profile that was judged by; null: none.")]
    flags: Annotated[UInt32, Meta(description="CUgraphInstantiate_flags of the executables.")]
    memory_source: Annotated[Text, Meta(description="Where the estimates of memory come from.")]
    policies: Annotated[tuple[PolicyGroups, ...], Meta(description="The policies that were asked for.")]
