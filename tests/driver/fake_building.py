"""Making graphs on the fake driver, by hand and by capture; and what a launch runs."""

from ctypes import (
    addressof,
    c_uint64,
    c_void_p,
    create_string_buffer,
    memmove,
    string_at,
)
from typing import Any

from sigcontract.driver.cuda.layouts import (
    BatchMemOpNodeParams,
    GraphNodeParams,
    HostNodeParams,
    KernelNodeParams,
    LaunchAttribute,
    LaunchConfig,
    MemAccessDesc,
    MemAllocNodeParams,
    MemcpyParams,
    MemsetNodeParams,
    StreamBatchMemOpParams,
)
from sigcontract.driver.reading.attribute_values import ATTRIBUTE_CUDA_VERSION
from tests.driver.fake_base import (
    ALLOC,
    CHILD,
    CONDITIONAL,
    EMPTY,
    FREE,
    HOST,
    INVALID_HANDLE,
    INVALID_VALUE,
    KEPT,
    LAUNCH_ONLY,
    MEM_OP,
    MEMCPY,
    MEMSET,
    NOT_SUPPORTED,
    READABLE,
    RECORD,
    SINGLE_INSTANCE,
    WAIT,
    Capture,
    FakeBase,
    Refused,
    entry,
    put,
)
from tests.driver.fake_state import KERNEL, FakeEdge, FakeFunction, FakeGraph, FakeLaunch, FakeNode

__all__ = ["FakeBuilding"]


class FakeBuilding(FakeBase):
    """Graphs, nodes, captures and launches."""

    def add_node(self, graph: int, node_type: int, **params: Any) -> int:
        """Add a node of any CUgraphNodeType, also one that the adapter does not know; returns its handle."""
        node = FakeNode(self._handle(), node_type, params=params)
        return self._add(self._graph(graph), node, 0, 0, None)

    # Captures and launches

    @entry("cuStreamBeginCapture")
    def _begin_capture(self, stream: int, _mode: int) -> None:
        self._captures[stream] = Capture(FakeGraph(self._handle()))

    @entry("cuStreamEndCapture")
    def _end_capture(self, stream: int, out: int) -> None:
        if stream not in self._captures:
            raise Refused(INVALID_VALUE)
        graph = self._captures[stream].graph
        self._captures = {one: capture for one, capture in self._captures.items() if capture.graph is not graph}
        self.graphs[graph.handle] = graph
        put(c_void_p, out, graph.handle)

    @entry("cuLaunchKernelEx")
    def _launch_kernel(self, config: int, func: int, parameters: int | None, extra: int | None) -> None:
        self._context()
        asked = LaunchConfig.from_address(config)
        carried = (LaunchAttribute * asked.numAttrs).from_address(asked.attrs) if asked.numAttrs else ()
        attributes = {one.id: bytes(one.value) for one in carried}
        if any(not self._takes(attribute_id) for attribute_id in attributes):
            raise Refused(INVALID_VALUE)
        node = self._kernel_node(func, asked, parameters, extra)
        node.attributes = {one: value for one, value in attributes.items() if one not in LAUNCH_ONLY}
        if node.function is not None and any(node.function.required_cluster):
            # A captured launch shows the compiled cluster as its attribute; a node added by hand does not (measured).
            dims = node.function.required_cluster
            node.attributes[4] = b"".join(extent.to_bytes(4, "little") for extent in dims).ljust(64, b"\0")
        if asked.hStream not in self._captures:
            node.runs_function, node.stored_cluster = node.function, node.cluster
            self._run(0, node)
            return
        capture = self._captures[asked.hStream]
        node.dependencies = capture.pending
        if any(attributes.get(6, b"")[:4]):
            node.dependencies = [FakeEdge(edge.node, (1, 0, 1)) for edge in capture.pending]
        capture.graph.nodes.append(node)
        capture.pending = [FakeEdge(node)]
        self.nodes[node.handle] = node
        for attribute_id, port in ((7, 1), (12, 2)):
            if attribute_id in attributes:
                event = int.from_bytes(attributes[attribute_id][:8], "little")
                self._event_edges[event] = (capture.graph, FakeEdge(node, (port, 0, 1)))

    def _takes(self, attribute_id: int) -> bool:
        """Whether a launch may carry the attribute: the driver knows it, and the device what it asks for."""
        if attribute_id in (4, 11) and self.compute_capability < (9, 0):
            return False
        known = ATTRIBUTE_CUDA_VERSION.get(attribute_id, self.version + 1) <= self.version
        return known and attribute_id in READABLE | KEPT | LAUNCH_ONLY

    @entry("cuEventRecord")
    def _event_record(self, event: int, stream: int) -> None:
        if stream in self._captures:
            capture = self._captures[stream]
            self._event_edges[event] = (capture.graph, capture.pending[0])

    @entry("cuStreamWaitEvent")
    def _stream_wait_event(self, stream: int, event: int, _flags: int) -> None:
        if event in self._event_edges:
            graph, edge = self._event_edges[event]
            self._captures.setdefault(stream, Capture(graph)).pending.append(edge)

    def _kernel_node(
        self, func: int, asked: LaunchConfig | KernelNodeParams, parameters: int | None, extra: int | None
    ) -> FakeNode:
        function = self._function(func)
        grid = (asked.gridDimX, asked.gridDimY, asked.gridDimZ)
        block = (asked.blockDimX, asked.blockDimY, asked.blockDimZ)
        if not all(grid) or not all(block):
            raise Refused(INVALID_VALUE)
        node = FakeNode(self._handle(), KERNEL, function=function)
        node.preferred_clusters = self.compute_capability >= (10, 0)
        node.params = {"grid": grid, "block": block, "shared": asked.sharedMemBytes}
        if parameters is None and extra is not None:
            self._pack(node, function, extra)
            return node
        pointers = (c_uint64 * max(len(function.parameters), 1)).from_address(parameters or 0)
        arguments = tuple(
            string_at(address, size) for address, (_offset, size) in zip(pointers, function.parameters, strict=False)
        )
        node.params["arguments"] = arguments
        # One packed copy that an array of pointers leads into (lab/results/pointer-attributes-h200-2026-12-03.json).
        packed = create_string_buffer(max((offset + size for offset, size in function.parameters), default=1))
        starts = [addressof(packed) + offset for offset, _size in function.parameters]
        for start, argument in zip(starts, arguments, strict=False):
            memmove(start, argument, len(argument))
        node.memory = [(c_void_p * max(len(starts), 1))(*starts), packed]
        return node

    def _pack(self, node: FakeNode, function: FakeFunction, extra: int) -> None:
        """Copy what CU_LAUNCH_PARAM_BUFFER_POINTER and CU_LAUNCH_PARAM_BUFFER_SIZE name, in this order."""
        _pointer, buffer, _size, size_address, _end = (c_uint64 * 5).from_address(extra)
        size = c_uint64(c_uint64.from_address(size_address).value)
        packed = create_string_buffer(string_at(buffer, size.value), size.value)
        node.extra = (c_uint64 * 5)(1, addressof(packed), 2, addressof(size), 0)
        node.memory = [packed, size]
        node.params["arguments"] = tuple(packed.raw[offset : offset + length] for offset, length in function.parameters)

    def _run(self, executable: int, node: FakeNode) -> None:
        function = node.runs_function
        if function is None:
            return
        launch = FakeLaunch(
            exec=executable,
            name=function.name.decode(),
            function=function.handle,
            code=function.code,
            grid_dim=node.params["grid"],
            block_dim=node.params["block"],
            dynamic_shared_mem_bytes=node.params["shared"],
            cluster_dim=node.runs_cluster,
            arguments=node.params["arguments"],
            carveout=node.runs_carveout,
            attributes=dict(node.attributes),
        )
        self.launches.append(launch)
        if function.run is not None:
            function.run(launch)

    # Making graphs

    @entry("cuGraphCreate")
    def _graph_create(self, out: int, _flags: int) -> None:
        graph = FakeGraph(self._handle())
        self.graphs[graph.handle] = graph
        put(c_void_p, out, graph.handle)

    @entry("cuGraphDestroy")
    def _graph_destroy(self, handle: int) -> None:
        if handle in self.graphs and self.graphs[handle].owned:
            raise Refused(INVALID_VALUE)
        graph = self.graphs.get(handle)
        self._forget("graph", self.graphs, handle)
        if graph is not None:
            self._forget_nodes(graph)

    def _forget_nodes(self, graph: FakeGraph) -> None:
        for node in graph.nodes:
            self.nodes.pop(node.handle, None)
            for child in node.children:
                self.graphs.pop(child.handle, None)
                self._forget_nodes(child)

    def _own(self, graph: FakeGraph) -> FakeGraph:
        """Make a node's graph, and all in it, known by its handles."""
        graph.owned = True
        self.graphs[graph.handle] = graph
        for node in graph.nodes:
            self.nodes[node.handle] = node
            for child in node.children:
                self._own(child)
        return graph

    def _add(self, graph: FakeGraph, node: FakeNode, dependencies: int, count: int, out: int | None) -> int:
        handles = (c_uint64 * count).from_address(dependencies) if count else ()
        node.dependencies = [FakeEdge(self._node(handle)) for handle in handles]
        graph.nodes.append(node)
        self.nodes[node.handle] = node
        if out is not None:
            put(c_void_p, out, node.handle)
        return node.handle

    @entry("cuGraphAddKernelNode")
    def _add_kernel(self, out: int, graph: int, dependencies: int, count: int, params: int) -> None:
        asked = KernelNodeParams.from_address(params)
        func = asked.func or asked.kern
        if asked.func in self.kernels:  # a CUkernel cast to a CUfunction is for launches alone (measured)
            raise Refused(INVALID_HANDLE)
        node = self._kernel_node(func, asked, asked.kernelParams, asked.extra)
        self._add(self._graph(graph), node, dependencies, count, out)

    @entry("cuGraphKernelNodeSetAttribute")
    def _set_attribute(self, node: int, attribute: int, value: int) -> int:
        unknown_to_device = attribute == 11 and self.compute_capability < (10, 0)  # refused on an H200
        if attribute in LAUNCH_ONLY or unknown_to_device or not self._takes(attribute):
            return INVALID_VALUE
        self._node(node, KERNEL).attributes[attribute] = string_at(value, 64)
        return 0

    @entry("cuGraphAddMemsetNode")
    def _add_memset(self, out: int, graph: int, dependencies: int, count: int, params: int, _context: int) -> None:
        asked = MemsetNodeParams.from_address(params)
        node = FakeNode(self._handle(), MEMSET)
        node.params = {
            "address": asked.dst,
            "pitch": asked.pitch,
            "value": asked.value,
            "element_size": asked.elementSize,
            "width": asked.width,
            "height": asked.height,
        }
        self._add(self._graph(graph), node, dependencies, count, out)

    @entry("cuGraphAddMemcpyNode")
    def _add_memcpy(self, out: int, graph: int, dependencies: int, count: int, params: int, _context: int) -> None:
        asked = MemcpyParams.from_address(params)
        node = FakeNode(self._handle(), MEMCPY)
        node.params = {
            "source_type": asked.srcMemoryType,
            "destination_type": asked.dstMemoryType,
            "height": asked.Height,
            "depth": asked.Depth,
            "raw": bytes(asked),
        }
        self._add(self._graph(graph), node, dependencies, count, out)

    @entry("cuGraphAddHostNode")
    def _add_host(self, out: int, graph: int, dependencies: int, count: int, params: int) -> None:
        node = FakeNode(self._handle(), HOST, params={"raw": bytes(HostNodeParams.from_address(params))})
        self._add(self._graph(graph), node, dependencies, count, out)

    @entry("cuGraphAddEmptyNode")
    def _add_empty(self, out: int, graph: int, dependencies: int, count: int) -> None:
        self._add(self._graph(graph), FakeNode(self._handle(), EMPTY), dependencies, count, out)

    @entry("cuGraphAddChildGraphNode")
    def _add_child(self, out: int, graph: int, dependencies: int, count: int, child: int) -> int:
        inner = self._graph(child)
        if any(node.type in SINGLE_INSTANCE for node in inner.walk()):
            return NOT_SUPPORTED
        node = FakeNode(self._handle(), CHILD, children=[self._own(inner.copy(self._handle))])
        self._add(self._graph(graph), node, dependencies, count, out)
        return 0

    @entry("cuGraphAddEventRecordNode")
    def _add_record(self, out: int, graph: int, dependencies: int, count: int, event: int) -> None:
        node = FakeNode(self._handle(), RECORD, params={"event": event})
        self._add(self._graph(graph), node, dependencies, count, out)

    @entry("cuGraphAddEventWaitNode")
    def _add_wait(self, out: int, graph: int, dependencies: int, count: int, event: int) -> None:
        node = FakeNode(self._handle(), WAIT, params={"event": event})
        self._add(self._graph(graph), node, dependencies, count, out)

    @entry("cuGraphAddMemAllocNode")
    def _add_alloc(self, out: int, graph: int, dependencies: int, count: int, params: int) -> None:
        asked = MemAllocNodeParams.from_address(params)
        accesses = (MemAccessDesc * asked.accessDescCount)()
        memmove(accesses, asked.accessDescs, asked.accessDescCount * 12)
        asked.dptr = 0x7E00_0000_0000 + 0x40 * (self._handle() & 0xFFFF_FFFF)
        node = FakeNode(self._handle(), ALLOC, memory=[accesses])
        kept = MemAllocNodeParams.from_buffer_copy(asked)
        kept.accessDescs = addressof(accesses)
        node.params = {"raw": bytes(kept)}
        self._add(self._graph(graph), node, dependencies, count, out)

    @entry("cuGraphAddMemFreeNode")
    def _add_free(self, out: int, graph: int, dependencies: int, count: int, address: int) -> None:
        node = FakeNode(self._handle(), FREE, params={"address": address})
        self._add(self._graph(graph), node, dependencies, count, out)

    @entry("cuGraphAddBatchMemOpNode")
    def _add_mem_op(self, out: int, graph: int, dependencies: int, count: int, params: int) -> None:
        asked = BatchMemOpNodeParams.from_address(params)
        operations = (StreamBatchMemOpParams * asked.count)()
        memmove(operations, asked.paramArray, asked.count * 48)
        kept = BatchMemOpNodeParams(asked.ctx, asked.count, addressof(operations), asked.flags)
        node = FakeNode(self._handle(), MEM_OP, params={"raw": bytes(kept)}, memory=[operations])
        self._add(self._graph(graph), node, dependencies, count, out)

    @entry("cuGraphConditionalHandleCreate")
    def _conditional_handle(self, out: int, graph: int, _context: int, _value: int, _flags: int) -> None:
        self._graph(graph)
        put(c_uint64, out, 0x8000_0000_0000_0001)

    @entry("cuGraphAddNode")
    def _add_node(self, out: int, graph: int, dependencies: int, _data: int, count: int, params: int) -> int:
        asked = GraphNodeParams.from_address(params)
        if asked.type != CONDITIONAL:
            return NOT_SUPPORTED
        wanted = asked.conditional
        bodies = [self._own(FakeGraph(self._handle())) for _ in range(wanted.size)]
        handles = (c_uint64 * wanted.size)(*(body.handle for body in bodies))
        wanted.phGraph_out = addressof(handles)
        node = FakeNode(self._handle(), CONDITIONAL, children=bodies, memory=[handles])
        node.params = {"kind": wanted.type, "size": wanted.size, "handle": wanted.handle}
        self._add(self._graph(graph), node, dependencies, count, out)
        return 0

    @entry("cuGraphAddDependencies")
    def _add_dependencies(self, graph: int, sources: int, targets: int, data: int, count: int) -> None:
        self._graph(graph)
        for index in range(count):
            source = self._node(c_uint64.from_address(sources + 8 * index).value)
            target = self._node(c_uint64.from_address(targets + 8 * index).value)
            from_port, to_port, kind = string_at(data + 8 * index, 3) if data else (0, 0, 0)
            target.dependencies.append(FakeEdge(source, (from_port, to_port, kind)))
