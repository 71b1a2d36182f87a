"""What a registry of executables counted."""
# ruff: noqa: SLF001  a group is a view that users read and only the registry looks into

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta

from sigcontract.model import (
    EXEC_BYTES_PER_NODE,
    Record,
    Size,
    Text,
    UInt32,
)
from sigcontract.registry.entries import ExecGroup
from sigcontract.registry.lifetimes import ExecTable
from sigcontract.registry.shared import Counts

__all__ = ["RegistryStats", "summed"]


class RegistryStats(Record, frozen=True, kw_only=True):
    """The counters of a `GraphExecRegistry`, at one moment."""

    graphs: Annotated[UInt32, Meta(description="Graphs registered and not released.")]
    groups: Annotated[UInt32, Meta(description="Groups that they fall into.")]
    execs: Annotated[UInt32, Meta(description="Executables alive.")]
    instantiations: Annotated[Size, Meta(description="Executables made so far (cuGraphInstantiate).")]
    updates: Annotated[Size, Meta(description="Updates that the driver took, at register and at replay.")]
    repoints: Annotated[Size, Meta(description="Those at replay: the executable was turned to another graph.")]
    refusals: Annotated[dict[Text, Size], Meta(description="Updates refused, by CUgraphExecUpdateResult.")]
    rebuilds: Annotated[Size, Meta(description="Executables made anew after an update failed outright.")]
    launches: Annotated[Size, Meta(description="Launches.")]
    fallbacks: Annotated[Size, Meta(description="Graphs refused at replay that got an executable of their own.")]
    bytes_saved_estimate: Annotated[
        Size, Meta(description="Bytes: 10,240 for each node of each graph that has no executable of its own.")
    ]
    device_bytes: Annotated[
        Size,
        Meta(
            description="Bytes of device memory that instantiation took, as cuMemGetInfo told; 0 where it could not "
            "tell: not measured, or taken from memory that the driver held already."
        ),
    ]
    bytes_saved_measured: Annotated[
        Size | None,
        Meta(description="Bytes: device_bytes per node instantiated, times the nodes saved; null: not known."),
    ]


def summed(groups: Iterable[ExecGroup], gone: Counts, table: ExecTable, fallbacks: int) -> RegistryStats:
    """Add up what the executables of these groups did, and those that are gone.

    Each number is right; between two of them another thread may have gone on.
    """
    counts = Counts()
    counts.add(gone)
    graphs = occupied = saved = 0
    for group in groups:
        occupied += 1
        graphs += len(group)
        for shared in tuple(group._execs):
            counts.add(shared.counts)
            saved += max(0, shared.members - 1) * shared.first.node_count
    measured = table.device_bytes * saved // table.nodes if table.device_bytes and table.nodes else None
    return RegistryStats(
        graphs=graphs,
        groups=occupied,
        execs=len(table),
        instantiations=table.instantiations,
        updates=counts.updates,
        repoints=counts.repoints,
        refusals=dict(sorted(counts.refusals.items())),
        rebuilds=counts.rebuilds,
        launches=counts.launches,
        fallbacks=fallbacks,
        bytes_saved_estimate=saved * EXEC_BYTES_PER_NODE,
        device_bytes=table.device_bytes,
        bytes_saved_measured=measured,
    )
