"""A comparison of many dumps, as values: classes of ranks, deviations, gaps."""

from typing import Annotated, Literal

from msgspec import Meta

from sigcontract.model.findings import DumpDiff, Verdict
from sigcontract.model.record import ExactInt, Record, Text, UInt32

__all__ = [
    "FleetAnswer",
    "FleetCause",
    "FleetCell",
    "FleetChange",
    "FleetClass",
    "FleetDump",
    "FleetGap",
    "FleetGapKind",
    "FleetGraphs",
    "FleetQueryResult",
    "FleetReport",
    "FleetRow",
    "RankDiff",
    "RankDiffs",
]

#: agree: all ranks are present and captured the same. deviate: some rank did not. undetermined: neither is known.
FleetAnswer = Literal["agree", "deviate", "undetermined"]

#: What prevents a complete answer, in the order of a report.
FleetGapKind = Literal[
    "unreadable",
    "changed",
    "incomplete",
    "empty",
    "label-repeated",
    "rank-unknown",
    "rank-repeated",
    "rank-missing",
    "alone",
    "world-size-unknown",
    "world-size",
    "run",
    "driver",
    "device",
    "libraries",
    "profile",
    "version",
    "graph-missing",
    "graph-added",
    "code-unknown",
    "value-unknown",
    "not-compared",
]

_RANKS = "Ranks as ranges, 0-11,13-63; a dump without a unique rank by its file."


class FleetDump(Record, frozen=True, kw_only=True):
    """One dump and the process that wrote it."""

    file: Annotated[Text, Meta(description="Path as given or found.")]
    rank: Annotated[UInt32 | None, Meta(description="Rank in the job; null: not in the dump.")]
    world_size: Annotated[UInt32 | None, Meta(description="Ranks in the job; null: not in the dump.")]
    hostname: Annotated[Text | None, Meta(description="Host name; null: omitted.")]
    created_at: Annotated[Text, Meta(description="UTC, ISO 8601, to the second.")]


class FleetGap(Record, frozen=True, kw_only=True):
    """A dump or fact that is missing, unreadable or of another run, which prevents a complete answer."""

    kind: Annotated[FleetGapKind, Meta(description="Kind of gap.")]
    ranks: Annotated[Text, Meta(description=_RANKS)]
    detail: Annotated[Text, Meta(description="One sentence for a person.")]


class FleetChange(Record, frozen=True, kw_only=True):
    """One field that differs at every node of a cause."""

    field: Annotated[Text, Meta(description="Path below the node; empty: the whole node.")]
    old: Annotated[ExactInt | Text | None, Meta(description="The expected value; null: absent.")]
    new: Annotated[ExactInt | Text | None, Meta(description="The value of this class; null: absent.")]
    rule: Annotated[Text, Meta(description="Stable id of the rule; `sigcontract rules ID` explains it.")]
    verdict: Annotated[Verdict, Meta(description="What an update does about it.")]


class FleetCause(Record, frozen=True, kw_only=True):
    """One distinct change, with its graphs and nodes."""

    kind: Annotated[
        Literal["changed", "added", "removed", "graph", "unknown"], Meta(description="How the nodes differ.")
    ]
    subject: Annotated[Text | None, Meta(description="The kernel's mangled name, or the node's type.")]
    changes: Annotated[tuple[FleetChange, ...], Meta(description="Changed fields, in the order of the record.")]
    labels: Annotated[tuple[Text, ...], Meta(description="Graphs with this change.")]
    count: Annotated[UInt32, Meta(description="Nodes in all of these graphs.")]
    paths: Annotated[tuple[Text, ...], Meta(description="Paths of the first nodes, in the first of these graphs.")]


class FleetClass(Record, frozen=True, kw_only=True):
    """Ranks that captured the same graphs, by portable digest."""

    ranks: Annotated[Text, Meta(description=_RANKS)]
    dumps: Annotated[tuple[UInt32, ...], Meta(description="Rows of the report's dumps, ascending.")]
    digests: Annotated[tuple[Text, ...], Meta(description="Portable digests, one per label.")]
    causes: Annotated[
        tuple[FleetCause, ...],
        Meta(description="Differences from the expected class; in a split, from the first."),
    ]


class FleetGraphs(Record, frozen=True, kw_only=True):
    """Graphs that split the ranks into the same classes, and those classes."""

    group: Annotated[Text | None, Meta(description="The group; null: no groups.")]
    labels: Annotated[tuple[Text, ...], Meta(description="Labels of the graphs, in the order of the dumps.")]
    classes: Annotated[tuple[FleetClass, ...], Meta(description="The largest first, then by the first rank.")]
    expected: Annotated[
        UInt32 | None,
        Meta(description="Index of the expected class; null: a split, no class has more than half."),
    ]


class FleetCell(Record, frozen=True, kw_only=True):
    """The values of some ranks in one row of the table."""

    ranks: Annotated[Text, Meta(description=_RANKS)]
    values: Annotated[tuple[ExactInt | Text | None, ...], Meta(description="One value per field; null: absent.")]


class FleetRow(Record, frozen=True, kw_only=True):
    """One difference between ranks: nodes of one graph that differ equally."""

    group: Annotated[Text | None, Meta(description="The group; null: no groups.")]
    label: Annotated[Text, Meta(description="The graph.")]
    path: Annotated[
        Text,
        Meta(description="Path of the first node, in the expected graph; +nodes[I]: added, index in the other graph."),
    ]
    count: Annotated[UInt32, Meta(description="Nodes.")]
    fields: Annotated[tuple[Text, ...], Meta(description="Fields that differ; empty: the whole node.")]
    cells: Annotated[tuple[FleetCell, ...], Meta(description="Distinct values, those of the expected class first.")]


class FleetReport(Record, frozen=True, kw_only=True):
    """The comparison of many dumps of one job."""

    answer: Annotated[
        FleetAnswer,
        Meta(description="agree: all present and equal. deviate: some differ. undetermined: neither is known."),
    ]
    reference: Annotated[Text | None, Meta(description="The reference; null: the majority.")]
    group_by: Annotated[Text | None, Meta(description="The pattern of the groups; null: no groups.")]
    world_size: Annotated[UInt32 | None, Meta(description="Ranks in the job; null: not recorded, or not consistent.")]
    dumps: Annotated[tuple[FleetDump, ...], Meta(description="Readable dumps, by rank.")]
    graphs: Annotated[tuple[FleetGraphs, ...], Meta(description="All graphs, differing ones first.")]
    rows: Annotated[tuple[FleetRow, ...], Meta(description="Table of differences by rank.")]
    gaps: Annotated[tuple[FleetGap, ...], Meta(description="What prevents a complete answer.")]


class RankDiff(Record, frozen=True, kw_only=True):
    """Differences between two runs for ranks with equal dumps."""

    ranks: Annotated[Text, Meta(description=_RANKS)]
    old_file: Annotated[Text, Meta(description="The old dump.")]
    new_file: Annotated[Text, Meta(description="The new dump.")]
    diff: Annotated[DumpDiff, Meta(description="How they differ.")]


class RankDiffs(Record, frozen=True, kw_only=True):
    """A comparison of two directories of dumps, rank by rank."""

    verdict: Annotated[Verdict, Meta(description="The worst verdict; undetermined if a rank is missing in either run.")]
    diffs: Annotated[tuple[RankDiff, ...], Meta(description="By first rank.")]
    gaps: Annotated[tuple[FleetGap, ...], Meta(description="What could not be compared.")]


class FleetQueryResult(Record, frozen=True, kw_only=True):
    """The result of a query on an exported data set."""

    query: Annotated[Text, Meta(description="Name of the query, or its file.")]
    engine: Annotated[Text, Meta(description="The engine that ran it.")]
    columns: Annotated[tuple[Text, ...], Meta(description="Names of the columns.")]
    rows: Annotated[tuple[tuple[ExactInt | Text | None, ...], ...], Meta(description="In the order of the query.")]
