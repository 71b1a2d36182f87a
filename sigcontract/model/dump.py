"""A dump: the graph signatures of one process, and the environment that they were read in."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from sigcontract.model.graph import GraphSignature
from sigcontract.model.record import Record, Text, UInt32
from sigcontract.model.rows import Row, node_row

__all__ = ["DeviceInfo", "Environment", "LabeledGraph", "LibraryVersion", "SignatureDump"]


class DeviceInfo(Record, frozen=True, kw_only=True):
    """One device visible to the process."""

    ordinal: Annotated[UInt32, Meta(description="CUdevice ordinal.")]
    name: Annotated[Text, Meta(description="cuDeviceGetName.")]
    compute_capability_major: Annotated[UInt32, Meta(description="Compute capability, major.")]
    compute_capability_minor: Annotated[UInt32, Meta(description="Compute capability, minor.")]


class LibraryVersion(Record, frozen=True, kw_only=True):
    """A library involved in the capture (torch, triton, cuda-bindings)."""

    name: Annotated[Text, Meta(description="Distribution name.")]
    version: Annotated[Text, Meta(description="Its version.")]


class Environment(Record, frozen=True, kw_only=True):
    """The environment that wrote a dump. Never part of a digest."""

    sigcontract_version: Annotated[Text, Meta(description="sigcontract release that wrote the dump.")]
    created_at: Annotated[Text, Meta(description="UTC, ISO 8601, to the second.")]
    hostname: Annotated[Text | None, Meta(description="Host name; null if omitted.")]
    process_id: Annotated[UInt32 | None, Meta(description="Process id; null if omitted.")]
    rank: Annotated[UInt32 | None, Meta(description="Rank in the job; null if none.")]
    world_size: Annotated[UInt32 | None, Meta(description="Number of ranks in the job; null if none.")]
    cuda_driver_version: Annotated[
        UInt32 | None, Meta(description="cuDriverGetVersion, such as 13000 for 13.0; null if unknown.")
    ]
    display_driver_version: Annotated[
        Text | None, Meta(description="Display driver version, such as 580.159.04; null if unknown.")
    ]
    devices: Annotated[tuple[DeviceInfo, ...], Meta(description="Devices visible to the process, by ordinal.")]
    libraries: Annotated[tuple[LibraryVersion, ...], Meta(description="Libraries involved in the capture, by name.")]


class LabeledGraph(Record, frozen=True, kw_only=True):
    """One graph of a dump, with the name that its owner gave it."""

    label: Annotated[Text, Meta(description="Label, such as decode/bs=4; unique in a dump to be compared.")]
    graph: Annotated[GraphSignature, Meta(description="Its signature.")]


class SignatureDump(Record, frozen=True, kw_only=True):
    """A file of graph signatures from one process, with its environment."""

    environment: Annotated[Environment, Meta(description="Environment that wrote the dump.")]
    profile: Annotated[
        Text | None, Meta(description="Id of the driver profile the graphs were read under; null if none.")
    ]
    complete: Annotated[
        bool, Meta(description="Whether the writer finished; false: graphs after the last write are missing.")
    ]
    graphs: Annotated[tuple[LabeledGraph, ...], Meta(description="Graphs, in the order they were read.")]
    extensions: Annotated[
        dict[Text, Any], Meta(description="Data of other tools; excluded from every digest and verdict.")
    ]

    def graph(self, label: str) -> GraphSignature:
        """Return the first graph with that label. Raises KeyError if there is none."""
        for entry in self.graphs:
            if entry.label == label:
                return entry.graph
        raise KeyError(label)

    # A dump is read like a mapping of labels to graphs. It has no length, and so is never false.

    def __getitem__(self, label: str) -> GraphSignature:
        """Return the first graph with that label. Raises KeyError if there is none."""
        return self.graph(label)

    def __iter__(self) -> Iterator[str]:
        """Yield the labels, in the order of the graphs."""
        return (entry.label for entry in self.graphs)

    def __contains__(self, label: object) -> bool:
        return any(entry.label == label for entry in self.graphs)

    def rows(self) -> Iterator[Row]:
        """Yield each node as a flat dictionary with the same keys, for tables: ``pandas.DataFrame(dump.rows())``.

        Nodes of child graphs and readable conditional bodies follow the node that holds them.

        Yields
        ------
        dict
            ``label`` of the graph, ``path`` of the node, ``type`` (``kernel``, ``memcpy``, ...). For kernel nodes
            also ``name``, ``kern``, ``func`` and ``context`` (process-local handles, 0 if none), ``grid_x`` to
            ``block_z``, ``cluster_x`` to ``cluster_z`` (the attribute; 0 if not set, None if not known),
            ``dynamic_shared_mem_bytes``, and ``registers`` per thread and ``code_sha256`` of the function. Other
            nodes have None for all of these.
        """
        for entry in self.graphs:
            for path, node in entry.graph.walk():
                row: Row = {"label": entry.label, "path": path}
                yield row | node_row(node)
