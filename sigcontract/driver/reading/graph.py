"""Read a live CUgraph as a `GraphSignature`."""

from collections.abc import Callable, Sequence

from sigcontract.driver.cuda import (
    EDGE_DATA_BYTES,
    LaunchObservations,
    ReadApi,
    default_driver,
    graph_handle,
)
from sigcontract.driver.reading.allocations import AllocationTable, AllocatorBlocks
from sigcontract.driver.reading.arguments import ArgumentReader
from sigcontract.driver.reading.kernel_nodes import KernelNodeReader
from sigcontract.driver.reading.node_readers import NODE_READERS, add_graph_memory, body_graphs, hex64, with_targets
from sigcontract.errors import DriverCallError, GraphReadError
from sigcontract.model import (
    ChildGraphNode,
    ConditionalNode,
    Dependency,
    GraphSignature,
    KernelNodeSignature,
    NodeSignature,
    OpaqueNode,
)
from sigcontract.wire import (
    MAX_GRAPH_DEPTH,
)

__all__ = ["read_graph"]


def read_graph(
    graph: object,
    *,
    driver: ReadApi | None = None,
    observations: LaunchObservations | None = None,
    arguments: bool = False,
    blocks: AllocatorBlocks | None = None,
) -> GraphSignature:
    """Read a live CUDA graph, without changing it or memory owned by the driver.

    Parameters
    ----------
    graph
        An int, ``CUgraph``, ``cudaGraph_t``, ``torch.cuda.CUDAGraph(keep_graph=True)`` or cuda.core graph
        definition. Do not change or destroy it during the read.
    driver
        The driver to query; by default this process's own.
    observations
        Observed launches that created the graph; they supply attributes that nodes do not return.
    arguments
        Whether to read what each kernel is passed: every byte of its scalars and structs, which may hold secrets, and
        the allocations that its pointers, copies and memsets lead into. A kernel's ``arguments`` stay None if its
        function reports no parameter layout (before CUDA 12.4), if the node's buffer does not fit that layout, or if
        the driver refuses to answer for a word of it. Allocations are asked for once per read: one that
        is freed or made by another thread meanwhile may be reported as it was before.
    blocks
        Blocks of a framework's allocator, joined to the pointers, such as `torch_blocks`; unused without `arguments`.

    Returns
    -------
    GraphSignature
        Nodes in the order of cuGraphGetNodes, each with its dependencies in the order of
        cuGraphNodeGetDependencies; child graphs included, and bodies of conditionals from CUDA 13.2 on.

    Raises
    ------
    DriverUnavailableError
        The driver is unavailable; see ``.reason``.
    GraphReadError
        The argument is not a graph or was destroyed, changed during the read, or is nested too deeply for a dump.
    DriverCallError
        The driver failed.
    """
    handle = graph_handle(graph)
    api = driver if driver is not None else default_driver()
    table = AllocationTable(api, blocks) if arguments else None
    return _GraphReader(api, observations, table).read(handle, 0)


class _GraphReader:
    """One read; properties of functions are reused in child graphs."""

    def __init__(self, api: ReadApi, observations: LaunchObservations | None, table: AllocationTable | None) -> None:
        self._api = api
        self._table = table
        self._kernels = KernelNodeReader(api, observations, None if table is None else ArgumentReader(table))

    def read(self, graph: int, depth: int) -> GraphSignature:
        if depth > MAX_GRAPH_DEPTH:
            msg = f"graphs are nested more than {MAX_GRAPH_DEPTH} deep, the limit of a dump; flatten the innermost"
            raise GraphReadError(msg)
        try:
            handles = self._api.graph_nodes(graph)
        except DriverCallError as error:
            msg = f"the driver does not know graph {graph:#x} ({error}); read it before it is destroyed"
            raise GraphReadError(msg) from error
        types = self._api.node_types(handles) if handles else []
        kernel_indices = [index for index, node_type in enumerate(types) if node_type == KernelNodeSignature.node_type]
        nodes: list[NodeSignature | None] = [None] * len(handles)
        if self._table is not None:
            add_graph_memory(self._api, zip(handles, types, strict=True), self._table)
        kernels = self._kernels.read([handles[index] for index in kernel_indices])
        for index, kernel in zip(kernel_indices, kernels, strict=True):
            nodes[index] = kernel
        read = tuple(
            node if node is not None else self._node(handle, node_type, depth)
            for node, handle, node_type in zip(nodes, handles, types, strict=True)
        )
        return GraphSignature(nodes=read, dependencies=self._dependencies(graph, handles))

    def _node(self, handle: int, node_type: int, depth: int) -> NodeSignature:
        if node_type == ChildGraphNode.node_type:
            return ChildGraphNode(graph=self.read(self._api.child_graph(handle), depth + 1))
        if node_type == ConditionalNode.node_type:
            return self._conditional(handle, depth)
        read = NODE_READERS.get(node_type)
        node = OpaqueNode(type=node_type) if read is None else read(self._api, handle)
        return node if self._table is None else with_targets(node, self._table)

    def _conditional(self, handle: int, depth: int) -> ConditionalNode:
        params = self._api.conditional_params(handle)
        if params is None:
            return ConditionalNode(kind=None, handle=None, bodies=None)
        bodies = tuple(self.read(body, depth + 1) if body else None for body in body_graphs(params))
        return ConditionalNode(kind=params.type, handle=hex64(params.handle), bodies=bodies)

    def _dependencies(self, graph: int, handles: Sequence[int]) -> tuple[tuple[Dependency, ...], ...]:
        """Return each node's dependencies. One call returns all; nodes with several need one more for the order."""
        edges = self._api.graph_edges(graph)
        index_of = dict(zip(handles, range(len(handles)), strict=True)).__getitem__
        dependencies: list[tuple[Dependency, ...]] = [()] * len(handles)
        several: set[int] = set()
        try:
            targets = map(index_of, edges.to_nodes)
            for target, dependency in zip(targets, _edges(edges.from_nodes, edges.data, index_of), strict=True):
                if dependencies[target]:
                    several.add(target)
                else:
                    dependencies[target] = (dependency,)
            for target in several:
                nodes, data = self._api.node_dependencies(handles[target])
                dependencies[target] = tuple(_edges(nodes, data, index_of))
        except KeyError as error:
            msg = f"an edge of graph {graph:#x} leads outside it; do not change a graph while it is read"
            raise GraphReadError(msg) from error
        return tuple(dependencies)


def _edges(nodes: Sequence[int], data: bytes, index_of: Callable[[int], int]) -> "map[Dependency]":
    def edge(node: int, start: int) -> Dependency:
        return Dependency(node=index_of(node), from_port=data[start], to_port=data[start + 1], type=data[start + 2])

    return map(edge, nodes, range(0, len(data), EDGE_DATA_BYTES))
