"""Convert version 1 dumps to current records, and back.

Each older version converts directly to the current records.
"""

from itertools import pairwise
from typing import Any

from sigcontract.errors import InvariantError
from sigcontract.model import (
    AttributeId,
    AttributeValue,
    ClusterDim,
    Dependency,
    Dim3,
    GraphSignature,
    KernelNodeSignature,
    LabeledGraph,
    LaunchAttribute,
    SignatureDump,
)
from sigcontract.wire.arguments import refuse_arguments
from sigcontract.wire.v1 import DumpDocument1, Graph1, KernelNode1

__all__ = ["downgraded_to_1", "upgraded_from_1"]

#: Attributes of version 1 by id, ascending.
_ATTRIBUTES = {
    AttributeId.COOPERATIVE: "cooperative",
    AttributeId.CLUSTER_DIMENSION: "cluster_dim",
    AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE: "cluster_scheduling_policy_preference",
    AttributeId.PREFERRED_CLUSTER_DIMENSION: "preferred_cluster_dim",
    AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT: "preferred_shared_mem_carveout",
}


def upgraded_from_1(document: Any) -> SignatureDump:
    """Return the dump of a version 1 document without `problems`, with every function unknown.

    Handles are 0 and function facts null, so no policy can prove two kernels to be one function. Dependencies are in
    the order of the sorted edges, as the driver's order is unknown.

    Raises
    ------
    InvariantError
        Edges form a cycle.
    """
    graphs = []
    for number, graph in enumerate(document.graphs):
        dependencies: list[list[Dependency]] = [[] for _ in graph.nodes]
        for from_node, to_node, from_port, to_port, kind in graph.edges:
            edge = Dependency(node=from_node, from_port=from_port, to_port=to_port, type=kind)
            dependencies[to_node].append(edge)
        try:
            signature = GraphSignature(
                nodes=tuple(_kernel_of(node) for node in graph.nodes),
                dependencies=tuple(tuple(edges) for edges in dependencies),
            )
        except InvariantError as error:
            raise InvariantError(error.reason, path=f"$.graphs[{number}].edges") from error
        graphs.append(LabeledGraph(label=graph.label, graph=signature))
    return SignatureDump(
        environment=document.environment,
        profile=None,
        complete=document.complete,
        graphs=tuple(graphs),
        extensions={},
    )


def _kernel_of(node: KernelNode1) -> KernelNodeSignature:
    return KernelNodeSignature(
        name=node.name,
        kern=0,
        func=0,
        context=0,
        grid_dim=node.grid_dim,
        block_dim=node.block_dim,
        dynamic_shared_mem_bytes=node.dynamic_shared_mem_bytes,
        attributes=tuple(_attribute(number, getattr(node, name)) for number, name in _ATTRIBUTES.items()),
        function=None,
    )


def _attribute(number: int, found: int | Dim3 | None) -> LaunchAttribute:
    if found is None:
        return LaunchAttribute(id=number, state="unreadable", origin="node", value=None)
    value = ClusterDim(x=found.x, y=found.y, z=found.z) if isinstance(found, Dim3) else found
    return LaunchAttribute(id=number, state="value", origin="node", value=value)


def downgraded_to_1(dump: SignatureDump) -> Any:
    """Return a dump as a version 1 document.

    Omits what version 1 lacks: handles, function facts, other attributes, the profile, extensions, and the driver's
    order of dependencies. Attributes observed at the launch are written as null, since version 1 holds only values
    read from nodes.

    Raises
    ------
    InvariantError
        A node is not a kernel node, an edge is repeated, or the dump has arguments (code ``arguments``).
    """
    refuse_arguments(dump, 1)
    graphs = []
    for number, entry in enumerate(dump.graphs):
        path = f"$.graphs[{number}].graph"
        nodes = []
        for index, node in enumerate(entry.graph.nodes):
            if not isinstance(node, KernelNodeSignature):
                msg = f"version 1 has kernel nodes only, not {type(node).__name__}; write version 2"
                raise InvariantError(msg, path=f"{path}.nodes[{index}]")
            nodes.append(_kernel_wire(node))
        edges = sorted(
            (edge.node, to_node, edge.from_port, edge.to_port, edge.type)
            for to_node, dependencies in enumerate(entry.graph.dependencies)
            for edge in dependencies
        )
        for previous, edge in pairwise(edges):
            if edge == previous:
                msg = "version 1 holds each edge once, but this node has one twice; write version 2"
                raise InvariantError(msg, path=f"{path}.dependencies[{edge[1]}]")
        graphs.append(Graph1(label=entry.label, nodes=tuple(nodes), edges=tuple(edges)))
    return DumpDocument1(
        document="sigcontract.dump",
        version=1,
        environment=dump.environment,
        complete=dump.complete,
        graphs=tuple(graphs),
    )


def _kernel_wire(node: KernelNodeSignature) -> KernelNode1:
    return KernelNode1(
        name=node.name,
        grid_dim=node.grid_dim,
        block_dim=node.block_dim,
        dynamic_shared_mem_bytes=node.dynamic_shared_mem_bytes,
        cooperative=_integer(node, AttributeId.COOPERATIVE),
        cluster_dim=_dim(node, AttributeId.CLUSTER_DIMENSION),
        cluster_scheduling_policy_preference=_integer(node, AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE),
        preferred_cluster_dim=_dim(node, AttributeId.PREFERRED_CLUSTER_DIMENSION),
        preferred_shared_mem_carveout=_integer(node, AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT),
    )


def _answer(node: KernelNodeSignature, number: AttributeId) -> AttributeValue | None:
    entry = node.attribute(number)
    return entry.value if entry is not None and entry.origin == "node" else None


def _integer(node: KernelNodeSignature, number: AttributeId) -> int | None:
    value = _answer(node, number)
    return value if isinstance(value, int) else None


def _dim(node: KernelNodeSignature, number: AttributeId) -> Dim3 | None:
    value = _answer(node, number)
    return Dim3(x=value.x, y=value.y, z=value.z) if isinstance(value, ClusterDim) else None
