"""sigcontract.dump version 1: the contract before identity.

It has kernel nodes only, with name, dimensions, shared memory and five launch attributes, and edges in sorted order. It
lacks function identity, the reason for a missing attribute, and the driver's order of dependencies.

It shares `Environment` and `Dim3` with the records; if these change, the frozen schema of version 1 fails, and this
module needs copies.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any

from msgspec import Meta

from sigcontract.errors import InvariantError, RecordError
from sigcontract.model import (
    Dim3,
    Record,
    SignatureDump,
    Text,
    UInt8,
    UInt32,
)
from sigcontract.wire.envelope import document_type, fields_of

__all__ = ["DumpDocument1", "Graph1", "KernelNode1", "problems"]

_Integer = Annotated[int, Meta(ge=-(2**31), le=2**32 - 1)] | None
_Edge = tuple[UInt32, UInt32, UInt8, UInt8, UInt8]


class KernelNode1(Record, frozen=True, kw_only=True):
    """A kernel launch. A null attribute was refused by the driver, or not queried."""

    name: Annotated[Text, Meta(description="Mangled name of the kernel. Different functions may share it.")]
    grid_dim: Annotated[Dim3, Meta(description="Blocks in the grid.")]
    block_dim: Annotated[Dim3, Meta(description="Threads per block.")]
    dynamic_shared_mem_bytes: Annotated[UInt32, Meta(description="Dynamic shared memory per block, in bytes.")]
    cooperative: Annotated[_Integer, Meta(description="Not 0: a cooperative launch.")]
    cluster_dim: Annotated[Dim3 | None, Meta(description="Blocks per cluster; all zero: no cluster.")]
    cluster_scheduling_policy_preference: Annotated[_Integer, Meta(description="CUclusterSchedulingPolicy.")]
    preferred_cluster_dim: Annotated[Dim3 | None, Meta(description="Preferred blocks per cluster.")]
    preferred_shared_mem_carveout: Annotated[_Integer, Meta(description="Percent of shared memory preferred.")]


class Graph1(Record, frozen=True, kw_only=True):
    """A graph of kernel nodes, with its label."""

    label: Annotated[Text, Meta(description="Label, such as decode/bs=4.")]
    nodes: Annotated[tuple[KernelNode1, ...], Meta(description="In the driver's order.")]
    edges: Annotated[
        tuple[_Edge, ...],
        Meta(description="[from, to, from_port, to_port, type], ascending, each once. Not the driver's order."),
    ]


DumpDocument1 = document_type(
    "DumpDocument1",
    "sigcontract.dump",
    1,
    "A file of graph signatures from one process: the contract before identity.",
    {
        **{name: kind for name, kind in fields_of(SignatureDump).items() if name in ("environment", "complete")},
        "graphs": Annotated[tuple[Graph1, ...], Meta(description="In the order read.")],
    },
)


def problems(document: Any) -> Iterator[RecordError]:
    """Yield contradictions in a decoded document."""
    for index, graph in enumerate(document.graphs):
        count = len(graph.nodes)
        for at, edge in enumerate(graph.edges):
            for end in edge[:2]:
                if end >= count:
                    msg = f"node {end} is not among the {count} nodes; drop the edge or add the node"
                    yield InvariantError(msg, path=f"$.graphs[{index}].edges[{at}]")
        for at, (previous, edge) in enumerate(pairwise(graph.edges), start=1):
            if edge <= previous:
                msg = f"edge {list(edge)} follows {list(previous)}; list each edge once, ascending"
                yield InvariantError(msg, path=f"$.graphs[{index}].edges[{at}]")
