"""A dump: the graph signatures of one process, and the environment that they were read in."""

from typing import Annotated, Any

from msgspec import Meta

from sigcontract.model.graph import GraphSignature
from sigcontract.model.record import Record, Text, UInt32

__all__ = ["DeviceInfo", "Environment", "LabeledGraph", "LibraryVersion", "SignatureDump"]


class DeviceInfo(Record, frozen=True, kw_only=True):
    """One device that the process could see."""

    ordinal: Annotated[UInt32, Meta(description="CUdevice ordinal.")]
    name: Annotated[Text, Meta(description="cuDeviceGetName.")]
    compute_capability_major: Annotated[UInt32, Meta(description="Compute capability, major.")]
    compute_capability_minor: Annotated[UInt32, Meta(description="Compute capability, minor.")]


class LibraryVersion(Record, frozen=True, kw_only=True):
    """A library that had a part in the capture (torch, triton, cuda-bindings)."""

    name: Annotated[Text, Meta(description="Distribution name.")]
    version: Annotated[Text, Meta(description="Its version.")]


class Environment(Record, frozen=True, kw_only=True):
    """Where a dump comes from. Never part of a digest."""

    sigcontract_version: Annotated[Text, Meta(description="The release that wrote the dump.")]
    created_at: Annotated[Text, Meta(description="UTC, ISO 8601, to the second.")]
    hostname: Annotated[Text | None, Meta(description="Host, or null where it was left out.")]
    process_id: Annotated[UInt32 | None, Meta(description="Process, or null where it was left out.")]
    rank: Annotated[UInt32 | None, Meta(description="Rank in the job, or null where there is none.")]
    world_size: Annotated[UInt32 | None, Meta(description="Ranks in the job, or null where there is none.")]
    cuda_driver_version: Annotated[
        UInt32 | None, Meta(description="cuDriverGetVersion, as 13000 for 13.0; null: not known.")
    ]
    display_driver_version: Annotated[Text | None, Meta(description="As 580.159.04; null: not known.")]
    devices: Annotated[tuple[DeviceInfo, ...], Meta(description="Devices that the process could see, by ordinal.")]
    libraries: Annotated[tuple[LibraryVersion, ...], Meta(description="Libraries of the capture, by name.")]


class LabeledGraph(Record, frozen=True, kw_only=True):
    """One graph of a dump, with the name that its owner gave it."""

    label: Annotated[Text, Meta(description="As decode/bs=4; unique in a dump that is to be compared.")]
    graph: Annotated[GraphSignature, Meta(description="Its signature.")]


class SignatureDump(Record, frozen=True, kw_only=True):
    """A file of graph signatures from one process, with its environment."""

    environment: Annotated[Environment, Meta(description="Where the dump comes from.")]
    profile: Annotated[Text | None, Meta(description="Id of the driver profile that it was read under; null: none.")]
    complete: Annotated[
        bool, Meta(description="Whether the writer ended in order; false: what came after the last write is missing.")
    ]
    graphs: Annotated[tuple[LabeledGraph, ...], Meta(description="In the order in which they were read.")]
    extensions: Annotated[dict[Text, Any], Meta(description="For other tools; outside of every digest and verdict.")]

    def graph(self, label: str) -> GraphSignature:
        """Return the first graph with that label. Raises KeyError where there is none."""
        for entry in self.graphs:
            if entry.label == label:
                return entry.graph
        raise KeyError(label)
