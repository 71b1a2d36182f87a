"""Many dumps held against each other, as values: who captured the same, who did not, and what is missing."""

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

#: agree: every rank is there and captured the same. deviate: some rank did not. undetermined: neither can be said.
FleetAnswer = Literal["agree", "deviate", "undetermined"]

#: What keeps an answer from being complete, in the order in which a report tells it.
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

_RANKS = "Ranks as ranges, 0-11,13-63; a dump that names no rank by its file."


class FleetDump(Record, frozen=True, kw_only=True):
    """One dump that was read, and which process of the job it says it is of."""

    file: Annotated[Text, Meta(description="Path as it was given or found.")]
    rank: Annotated[UInt32 | None, Meta(description="Rank in the job; null: the dump names none.")]
    world_size: Annotated[UInt32 | None, Meta(description="Ranks in the job; null: the dump does not say.")]
    hostname: Annotated[Text | None, Meta(description="Host, or null where it was left out.")]
    created_at: Annotated[Text, Meta(description="UTC, ISO 8601, to the second.")]


class FleetGap(Record, frozen=True, kw_only=True):
    """Something that is missing, unreadable, or of another run: it keeps the answer from being complete."""

    kind: Annotated[FleetGapKind, Meta(description="What it is.")]
    ranks: Annotated[Text, Meta(description=_RANKS)]
    detail: Annotated[Text, Meta(description="One sentence for a person.")]


class FleetChange(Record, frozen=True, kw_only=True):
    """One field that differs at every node of a cause."""

    field: Annotated[Text, Meta(description="Path below the node; empty: the node as a whole.")]
    old: Annotated[ExactInt | Text | None, Meta(description="The expected value; null: absent.")]
    new: Annotated[ExactInt | Text | None, Meta(description="The value of this class; null: absent.")]
    rule: Annotated[Text, Meta(description="Stable id of the rule; `sigcontract rules ID` explains it.")]
    verdict: Annotated[Verdict, Meta(description="What an update would make of it.")]


class FleetCause(Record, frozen=True, kw_only=True):
    """One distinct change, in all graphs and at all nodes where it is."""

    kind: Annotated[
        Literal["changed", "added", "removed", "graph", "unknown"], Meta(description="What happened to the nodes.")
    ]
    subject: Annotated[Text | None, Meta(description="The kernel's mangled name, or the node's type.")]
    changes: Annotated[tuple[FleetChange, ...], Meta(description="What differs, in the order of the record's fields.")]
    labels: Annotated[tuple[Text, ...], Meta(description="Graphs that have it.")]
    count: Annotated[UInt32, Meta(description="Nodes, over all of these graphs.")]
    paths: Annotated[tuple[Text, ...], Meta(description="The first of them, in the first of these graphs.")]


class FleetClass(Record, frozen=True, kw_only=True):
    """Ranks that captured the same graphs, by portable digest."""

    ranks: Annotated[Text, Meta(description=_RANKS)]
    dumps: Annotated[tuple[UInt32, ...], Meta(description="Rows of the report's dumps, ascending.")]
    digests: Annotated[tuple[Text, ...], Meta(description="Portable digests, one for each label.")]
    causes: Annotated[
        tuple[FleetCause, ...], Meta(description="What differs from the expected class, else from the first one.")
    ]


class FleetGraphs(Record, frozen=True, kw_only=True):
    """Graphs over which the ranks part alike, and the classes that they form there."""

    group: Annotated[Text | None, Meta(description="The group of ranks, where the comparison was split into groups.")]
    labels: Annotated[tuple[Text, ...], Meta(description="Labels of the graphs, in the order of the dumps.")]
    classes: Annotated[tuple[FleetClass, ...], Meta(description="The largest first, then by first rank.")]
    expected: Annotated[
        UInt32 | None,
        Meta(description="The class that the others deviate from; null: none holds more than half, a split."),
    ]


class FleetCell(Record, frozen=True, kw_only=True):
    """What some ranks have in one row of the table."""

    ranks: Annotated[Text, Meta(description=_RANKS)]
    values: Annotated[tuple[ExactInt | Text | None, ...], Meta(description="One for each field; null: absent.")]


class FleetRow(Record, frozen=True, kw_only=True):
    """One place where the ranks part: nodes of one graph that have the same values on each rank."""

    group: Annotated[Text | None, Meta(description="The group of ranks, where the comparison was split into groups.")]
    label: Annotated[Text, Meta(description="The graph.")]
    path: Annotated[Text, Meta(description="The first of the nodes, in the expected graph where it is there.")]
    count: Annotated[UInt32, Meta(description="Nodes.")]
    fields: Annotated[tuple[Text, ...], Meta(description="What differs; empty text: the node as a whole.")]
    cells: Annotated[tuple[FleetCell, ...], Meta(description="Distinct values, those of the expected class first.")]


class FleetReport(Record, frozen=True, kw_only=True):
    """What many dumps of one job say together."""

    answer: Annotated[
        FleetAnswer,
        Meta(description="agree: all are there and the same. deviate: some differ. undetermined: neither can be said."),
    ]
    reference: Annotated[Text | None, Meta(description="What was named as expected; null: the larger half decides.")]
    group_by: Annotated[Text | None, Meta(description="The pattern that makes groups; null: all are compared.")]
    world_size: Annotated[UInt32 | None, Meta(description="Ranks in the job; null: not said, or not by all alike.")]
    dumps: Annotated[tuple[FleetDump, ...], Meta(description="Dumps that could be read, by rank.")]
    graphs: Annotated[tuple[FleetGraphs, ...], Meta(description="All graphs, those that ranks part over first.")]
    rows: Annotated[tuple[FleetRow, ...], Meta(description="The table of what differs by rank.")]
    gaps: Annotated[tuple[FleetGap, ...], Meta(description="What keeps the answer from being complete.")]


class RankDiff(Record, frozen=True, kw_only=True):
    """How the dumps of some ranks differ between two runs: once for all ranks of which the same is to be said."""

    ranks: Annotated[Text, Meta(description=_RANKS)]
    old_file: Annotated[Text, Meta(description="The old dump that was compared.")]
    new_file: Annotated[Text, Meta(description="The new dump that was compared.")]
    diff: Annotated[DumpDiff, Meta(description="How they differ.")]


class RankDiffs(Record, frozen=True, kw_only=True):
    """Two folders of dumps compared rank by rank."""

    verdict: Annotated[Verdict, Meta(description="The worst of all; undetermined where a rank has no counterpart.")]
    diffs: Annotated[tuple[RankDiff, ...], Meta(description="By first rank.")]
    gaps: Annotated[tuple[FleetGap, ...], Meta(description="What could not be compared.")]


class FleetQueryResult(Record, frozen=True, kw_only=True):
    """The answer of an engine to a query on an exported data set."""

    query: Annotated[Text, Meta(description="Name of the query, or the file that it was read from.")]
    engine: Annotated[Text, Meta(description="The engine that answered.")]
    columns: Annotated[tuple[Text, ...], Meta(description="Names of the columns.")]
    rows: Annotated[tuple[tuple[ExactInt | Text | None, ...], ...], Meta(description="In the order of the query.")]
