"""Real CUDA graphs from descriptions: node by node with cuGraphAdd*Node, or by stream capture."""

import ctypes
import struct
from dataclasses import dataclass, field
from typing import Any

from cuda.bindings import driver

from examples.recording.calls import check
from tests.gpu.rig import HOST_SPACES, Rig
from tests.gpu.specs import (
    Alloc,
    BatchMemOps,
    Child,
    Conditional,
    Edge,
    Empty,
    EventRecord,
    EventWait,
    Free,
    GraphSpec,
    Host,
    Kernel,
    Memcpy,
    MemOp,
    Memset,
    NodeSpec,
)

__all__ = ["BuiltGraph", "build", "destroy", "node_paths"]

_ATTRIBUTE = driver.CUlaunchAttributeID
_MEMORY = driver.CUmemorytype
_PITCH = 256
ALLOCATED_BYTES = 4096  # filled and copied of an allocation, which may be larger
_SET_DEPENDENCIES = 1  # CU_STREAM_SET_CAPTURE_DEPENDENCIES


@dataclass
class BuiltGraph:
    """A CUgraph, the nodes in creation order, the body graphs by conditional node, and its allocation's address."""

    handle: Any
    nodes: list[Any] = field(default_factory=list)
    bodies: dict[int, list[Any]] = field(default_factory=dict)
    allocation: int = 0


def build(rig: Rig, spec: GraphSpec) -> BuiltGraph:
    """Build the graph, captured where the description says so. The caller destroys it."""
    built = BuiltGraph(check(driver.cuGraphCreate(0)))
    try:
        if spec.captured:
            _capture(rig, spec, built)
        else:
            _add_all(rig, spec, built)
    except BaseException:
        if not spec.captured:  # a failed capture takes its graph along: destroying that crashed now and then
            driver.cuGraphDestroy(built.handle)  # the first error is the one to tell
        raise
    return built


def destroy(built: BuiltGraph) -> None:
    """Destroy the graph."""
    check(driver.cuGraphDestroy(built.handle))


def node_paths(built: BuiltGraph) -> dict[int, str]:
    """Return the path of every node handle as signatures write it, child graphs' and bodies' nodes included."""
    paths: dict[int, str] = {}
    _collect_paths(built.handle, "", built.bodies, paths)
    return paths


def _collect_paths(graph: Any, prefix: str, bodies: dict[int, list[Any]], paths: dict[int, str]) -> None:
    _, count = check(driver.cuGraphGetNodes(graph, 0))
    nodes = check(driver.cuGraphGetNodes(graph, count))[0] if count else []
    for index, node in enumerate(nodes):
        path = f"{prefix}nodes[{index}]"
        paths[int(node)] = path
        kind = check(driver.cuGraphNodeGetType(node))
        if kind == driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_GRAPH:
            child = check(driver.cuGraphChildGraphNodeGetGraph(node))
            _collect_paths(child, f"{path}.graph.", bodies, paths)
        for branch, body in enumerate(bodies.get(int(node), ())):
            _collect_paths(body, f"{path}.bodies[{branch}].", bodies, paths)


def _add_all(rig: Rig, spec: GraphSpec, built: BuiltGraph) -> None:
    for node in spec.nodes:
        handle = _add(rig, built, node)
        built.nodes.append(handle)
        if isinstance(node, Kernel):
            for identity, raw in _attributes(rig, node, captured=False):
                value = driver.CUkernelNodeAttrValue()
                value.pad = raw.ljust(64, b"\0")
                check(driver.cuGraphKernelNodeSetAttribute(handle, identity, value))
    for index, edges in enumerate(spec.dependencies):
        if edges:
            sources = [built.nodes[edge.node] for edge in edges]
            targets = [built.nodes[index]] * len(edges)
            data = [_edge_data(edge) for edge in edges]
            check(driver.cuGraphAddDependencies(built.handle, sources, targets, data, len(edges)))


def _add(rig: Rig, built: BuiltGraph, node: NodeSpec) -> Any:  # noqa: C901, PLR0911, PLR0912  one case per kind
    """Add a node without dependencies."""
    graph = built.handle
    match node:
        case Kernel():
            return _add_kernel(rig, built, node)
        case Memset():
            return check(driver.cuGraphAddMemsetNode(graph, [], 0, _memset_params(rig, built, node), rig.context))
        case Memcpy():
            return check(driver.cuGraphAddMemcpyNode(graph, [], 0, _memcpy_params(rig, built, node), rig.context))
        case Host():
            params = driver.CUDA_HOST_NODE_PARAMS()
            params.fn = driver.CUhostFn(rig.host_functions[node.function])
            params.userData = rig.semaphore(node.slot, alternate=node.alternate)
            return check(driver.cuGraphAddHostNode(graph, [], 0, params))
        case Empty():
            return check(driver.cuGraphAddEmptyNode(graph, [], 0))
        case EventRecord():
            return check(driver.cuGraphAddEventRecordNode(graph, [], 0, rig.events[node.event]))
        case EventWait():
            return check(driver.cuGraphAddEventWaitNode(graph, [], 0, rig.events[node.event]))
        case BatchMemOps():
            batch = driver.CUDA_BATCH_MEM_OP_NODE_PARAMS()
            batch.ctx = rig.context
            batch.count = len(node.operations)
            batch.paramArray = [_mem_op(rig, operation) for operation in node.operations]
            return check(driver.cuGraphAddBatchMemOpNode(graph, [], 0, batch))
        case Alloc():
            handle, built.allocation = _add_alloc(graph, node)
            return handle
        case Free():
            return check(driver.cuGraphAddMemFreeNode(graph, [], 0, built.allocation))
        case Child():
            child = build(rig, node.graph)
            try:
                return check(driver.cuGraphAddChildGraphNode(graph, [], 0, child.handle))
            finally:
                destroy(child)
        case Conditional():
            return _add_conditional(rig, built, node)


def _add_kernel(rig: Rig, built: BuiltGraph, node: Kernel) -> Any:
    arguments = _Arguments(rig, built, node)
    params = driver.CUDA_KERNEL_NODE_PARAMS()
    function = rig.functions[node.function]
    if isinstance(function, driver.CUkernel):
        params.kern = function
    else:
        params.func = function
    params.gridDimX, params.gridDimY, params.gridDimZ = node.grid
    params.blockDimX, params.blockDimY, params.blockDimZ = node.block, 1, 1
    params.sharedMemBytes = node.shared_bytes
    params.kernelParams = arguments.address
    return check(driver.cuGraphAddKernelNode(built.handle, [], 0, params))


class _Arguments:
    """The arguments of a reporting kernel, in memory that lives as long as this object."""

    def __init__(self, rig: Rig, built: BuiltGraph, node: Kernel) -> None:
        through = built.allocation if node.through_allocation else 0
        self._values = (
            ctypes.c_uint64(rig.report(node.slot)),
            ctypes.c_uint32(node.value),
            ctypes.c_uint64(through),  # read by rep3 alone
        )
        self._array = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in self._values))

    @property
    def address(self) -> int:
        return ctypes.addressof(self._array)


def _attributes(rig: Rig, node: Kernel, *, captured: bool) -> list[tuple[Any, bytes]]:
    """Return the attributes that the description sets, as CUlaunchAttributeValue bytes."""
    given: list[tuple[Any, bytes | None]] = [
        (
            _ATTRIBUTE.CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
            None
            if node.window is None
            else struct.pack("<QQfii", rig.spaces["device"].base, node.window[0], node.window[1], node.window[2], 0),
        ),
        (_ATTRIBUTE.CU_LAUNCH_ATTRIBUTE_COOPERATIVE, struct.pack("<i", 1) if node.cooperative else None),
        (_ATTRIBUTE.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, node.cluster and struct.pack("<III", *node.cluster)),
        (_ATTRIBUTE.CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, _int32(node.scheduling_policy)),
        (_ATTRIBUTE.CU_LAUNCH_ATTRIBUTE_PRIORITY, _int32(node.priority)),
        (
            _ATTRIBUTE.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
            node.sync_domain_map and struct.pack("<BB", *node.sync_domain_map),
        ),
        (_ATTRIBUTE.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, _int32(node.sync_domain)),
        (
            _ATTRIBUTE.CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
            struct.pack("<i4xQ", 1, 0) if node.device_updatable else None,
        ),
        (_ATTRIBUTE.CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, _int32(node.carveout_percent)),
    ]
    if captured and node.preferred_cluster is not None:
        raw = struct.pack("<III", *node.preferred_cluster)
        given.append((_ATTRIBUTE.CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, raw))
    return [(identity, raw) for identity, raw in given if raw is not None]


def _int32(value: int | None) -> bytes | None:
    return None if value is None else struct.pack("<i", value)


def _edge_data(edge: Edge) -> Any:
    data = driver.CUgraphEdgeData()
    data.from_port = edge.from_port
    data.type = int(edge.from_port != 0)
    return data


def _memset_params(rig: Rig, built: BuiltGraph, node: Memset) -> Any:
    params = driver.CUDA_MEMSET_NODE_PARAMS()
    if node.space == "alloc":
        params.dst, params.value, params.elementSize = built.allocation, node.value & 0xFF, 1
        params.width, params.height = ALLOCATED_BYTES, 1
        return params
    params.dst = rig.spaces[node.space].part(node.slot, alternate=node.alternate)
    params.value = node.value
    params.elementSize = node.element_bytes
    params.width = node.width
    params.height = node.height
    params.pitch = _PITCH if node.height > 1 else 0
    return params


def _memcpy_params(rig: Rig, built: BuiltGraph, node: Memcpy) -> Any:
    copy = driver.CUDA_MEMCPY3D()
    target = rig.spaces[node.target].part(node.slot, alternate=node.target_alternate)
    if node.source == "array":
        copy.srcMemoryType = _MEMORY.CU_MEMORYTYPE_ARRAY
        copy.srcArray = rig.arrays[node.source_alternate]
    else:
        if node.source == "alloc":
            source = built.allocation
        else:
            source = rig.spaces[node.source].pattern(alternate=node.source_alternate)
        if node.source in HOST_SPACES:
            copy.srcMemoryType = _MEMORY.CU_MEMORYTYPE_HOST
            copy.srcHost = source
        else:
            copy.srcMemoryType = _MEMORY.CU_MEMORYTYPE_DEVICE
            copy.srcDevice = source
        copy.srcPitch, copy.srcHeight = _PITCH, node.height
    if node.unified:
        copy.dstMemoryType = _MEMORY.CU_MEMORYTYPE_UNIFIED
        copy.dstDevice = target
    elif node.target in HOST_SPACES:
        copy.dstMemoryType = _MEMORY.CU_MEMORYTYPE_HOST
        copy.dstHost = target
    else:
        copy.dstMemoryType = _MEMORY.CU_MEMORYTYPE_DEVICE
        copy.dstDevice = target
    copy.dstPitch, copy.dstHeight = _PITCH, node.height
    copy.WidthInBytes, copy.Height, copy.Depth = node.width, node.height, node.depth
    return copy


def _mem_op(rig: Rig, operation: MemOp) -> Any:
    params = driver.CUstreamBatchMemOpParams()
    space = rig.spaces["device"]
    types = driver.CUstreamBatchMemOpType
    if operation.kind.startswith("wait"):
        params.operation = types.CU_STREAM_MEM_OP_WAIT_VALUE_32
        params.waitValue.operation = types.CU_STREAM_MEM_OP_WAIT_VALUE_32
        params.waitValue.address = space.zeros(operation.slot + (64 if operation.alternate else 0))
        params.waitValue.value = 0
        params.waitValue.flags = 1 if operation.kind == "wait_eq" else 0
        return params
    wide = operation.kind == "write64"
    kind = types.CU_STREAM_MEM_OP_WRITE_VALUE_64 if wide else types.CU_STREAM_MEM_OP_WRITE_VALUE_32
    params.operation = kind
    params.writeValue.operation = kind
    params.writeValue.address = space.part(operation.slot, alternate=operation.alternate)
    if wide:
        params.writeValue.value64 = operation.value
    else:
        params.writeValue.value = operation.value
    return params


def _add_alloc(graph: Any, node: Alloc) -> tuple[Any, int]:
    params = driver.CUDA_MEM_ALLOC_NODE_PARAMS()
    params.poolProps.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    params.poolProps.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    params.poolProps.location.id = 0
    params.bytesize = node.size_bytes
    handle = check(driver.cuGraphAddMemAllocNode(graph, [], 0, params))
    return handle, int(params.dptr)


def _add_conditional(rig: Rig, built: BuiltGraph, node: Conditional) -> Any:
    params = driver.CUgraphNodeParams()
    params.type = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
    params.conditional.handle = check(driver.cuGraphConditionalHandleCreate(built.handle, rig.context, node.default, 1))
    params.conditional.type = driver.CUgraphConditionalNodeType(node.kind)
    params.conditional.size = len(node.bodies)
    params.conditional.ctx = rig.context
    handle = check(driver.cuGraphAddNode(built.handle, None, None, 0, params))
    bodies = [driver.CUgraph(int(body)) for body in params.conditional.phGraph_out]
    built.bodies[int(handle)] = bodies
    for body, spec in zip(bodies, node.bodies, strict=True):
        inner = BuiltGraph(body)
        _add_all(rig, spec, inner)
        built.bodies.update(inner.bodies)
    return handle


def _capture(rig: Rig, spec: GraphSpec, built: BuiltGraph) -> None:
    """Capture the nodes one after the other on one stream whose dependencies are set before each."""
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    check(driver.cuStreamBeginCaptureToGraph(rig.stream, built.handle, None, None, 0, mode))
    try:
        _enqueue_all(rig, spec, built)
    except BaseException:
        driver.cuStreamEndCapture(rig.stream)  # the first error is the one to tell; this only frees the stream
        raise
    check(driver.cuStreamEndCapture(rig.stream))


def _enqueue_all(rig: Rig, spec: GraphSpec, built: BuiltGraph) -> None:
    for node, edges in zip(spec.nodes, spec.dependencies, strict=True):
        sources = [built.nodes[edge.node] for edge in edges]
        data = [_edge_data(edge) for edge in edges]
        check(driver.cuStreamUpdateCaptureDependencies(rig.stream, sources, data, len(sources), _SET_DEPENDENCIES))
        if _put_on_stream(rig, built, node):
            leaves = check(driver.cuStreamGetCaptureInfo(rig.stream))[3]
            built.nodes.append(leaves[0])
        else:
            handle = _add(rig, built, node)
            built.nodes.append(handle)
            if sources:
                targets = [handle] * len(sources)
                check(driver.cuGraphAddDependencies(built.handle, sources, targets, data, len(sources)))


def _put_on_stream(rig: Rig, built: BuiltGraph, node: NodeSpec) -> bool:
    """Enqueue the node's operation; False for what is no operation of a stream."""
    match node:
        case Kernel():
            _launch(rig, built, node)
        case Memset(height=1) if node.space != "alloc":
            fill = {1: driver.cuMemsetD8Async, 2: driver.cuMemsetD16Async, 4: driver.cuMemsetD32Async}
            target = rig.spaces[node.space].part(node.slot, alternate=node.alternate)
            check(fill[node.element_bytes](target, node.value, node.width, rig.stream))
        case Memcpy() if not HOST_SPACES & {node.source, node.target}:
            check(driver.cuMemcpy3DAsync(_memcpy_params(rig, built, node), rig.stream))
        case Host():
            _launch_host(rig, node)
        case EventRecord():
            check(driver.cuEventRecordWithFlags(rig.events[node.event], rig.stream, 1))
        case EventWait():
            check(driver.cuStreamWaitEvent(rig.stream, rig.events[node.event], 1))
        case BatchMemOps():
            operations = [_mem_op(rig, operation) for operation in node.operations]
            check(driver.cuStreamBatchMemOp(rig.stream, len(operations), operations, 0))
        case Alloc():
            built.allocation = int(check(driver.cuMemAllocAsync(node.size_bytes, rig.stream)))
        case Free():
            check(driver.cuMemFreeAsync(built.allocation, rig.stream))
        case _:
            return False
    return True


def _launch_host(rig: Rig, node: Host) -> None:
    """Call the driver directly: cuda-bindings frees its wrapper's data when the node first runs (seen in 13.3.1)."""
    call = rig.driver_library.cuLaunchHostFunc
    call.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    argument = rig.semaphore(node.slot, alternate=node.alternate)
    check((driver.CUresult(call(int(rig.stream), rig.host_functions[node.function], argument)),))


def _launch(rig: Rig, built: BuiltGraph, node: Kernel) -> None:
    attributes = []
    for identity, raw in _attributes(rig, node, captured=True):
        attribute = driver.CUlaunchAttribute()
        attribute.id = identity
        value = driver.CUlaunchAttributeValue()
        value.pad = raw.ljust(64, b"\0")
        attribute.value = value
        attributes.append(attribute)
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = node.grid
    config.blockDimX, config.blockDimY, config.blockDimZ = node.block, 1, 1
    config.sharedMemBytes = node.shared_bytes
    config.hStream = rig.stream
    config.attrs = attributes
    config.numAttrs = len(attributes)
    function = driver.CUfunction(int(rig.functions[node.function]))
    arguments = _Arguments(rig, built, node)
    check(driver.cuLaunchKernelEx(config, function, arguments.address, 0))
