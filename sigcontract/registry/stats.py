"""The counters of a registry of executables."""

from typing import Annotated

from msgspec import Meta

from sigcontract.model import (
    Record,
    Size,
    Text,
    UInt32,
)

__all__ = ["RegistryStats"]


class RegistryStats(Record, frozen=True, kw_only=True):
    """The counters of a `GraphExecRegistry` at one time."""

    graphs: Annotated[UInt32, Meta(description="Graphs registered and not released.")]
    groups: Annotated[UInt32, Meta(description="Groups with entries.")]
    execs: Annotated[UInt32, Meta(description="Executables alive.")]
    instantiations: Annotated[Size, Meta(description="Executables instantiated so far (cuGraphInstantiate).")]
    updates: Annotated[Size, Meta(description="Updates that the driver accepted, at register and at replay.")]
    repoints: Annotated[Size, Meta(description="Updates at replay: the executable held another graph.")]
    refusals: Annotated[dict[Text, Size], Meta(description="Updates refused, by CUgraphExecUpdateResult.")]
    rebuilds: Annotated[Size, Meta(description="Executables instantiated again after a failed update.")]
    launches: Annotated[Size, Meta(description="Launches.")]
    fallbacks: Annotated[Size, Meta(description="Graphs refused at replay, which now have their own executable.")]
    evictions: Annotated[Size, Meta(description="Executables destroyed to stay within the registry's bounds.")]
    unverified: Annotated[
        Size, Meta(description="Updates that the driver accepted and stand-in kernels did not confirm.")
    ]
    merged: Annotated[
        Size, Meta(description="Executables that seal() destroyed, since others serve their graphs (share-updatable).")
    ]
    bytes_saved_estimate: Annotated[
        Size, Meta(description="Bytes: 10,240 for each node of each graph without its own executable.")
    ]
    device_bytes: Annotated[
        Size,
        Meta(
            description="Bytes of device memory that instantiation took, by cuMemGetInfo; 0 if it showed none: not "
            "measured, or taken from memory that the driver already held."
        ),
    ]
    bytes_saved_measured: Annotated[
        Size | None,
        Meta(description="Bytes: device_bytes per instantiated node, times the nodes saved; null: unknown."),
    ]
