"""CUDA graphs from descriptions, node by node with cuGraphAdd*Node. What is captured instead is in `lab.capture`."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, SupportsInt

from lab.memory import HOST_SPACES, Space
from lab.specs import (
    LIBRARY,
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
from sigcontract.driver.cuda.driver import CudaDriver
from sigcontract.driver.cuda.layouts import MemcpyParams, StreamBatchMemOpParams
from sigcontract.model.cuda import AttributeId
from tests.driver.build import Edge as BuilderEdge, GraphBuilder

__all__ = [
    "BuiltGraph",
    "Ground",
    "add",
    "add_all",
    "arguments_of",
    "attributes_of",
    "edges_of",
    "mem_op",
    "memcpy_params",
    "node_paths",
]

_HOST, _DEVICE, _ARRAY, _UNIFIED = 1, 2, 3, 4  # CUmemorytype
_CHILD = 4  # CUgraphNodeType
_WAIT_VALUE_32, _WRITE_VALUE_32, _WRITE_VALUE_64 = 1, 2, 5  # CUstreamBatchMemOpType
_PITCH = 256
_ALLOCATED_BYTES = 4096  # filled and copied of an allocation, which may be larger


class Ground(Protocol):
    """What described graphs stand on: a driver, and memory, functions and events of it."""

    @property
    def driver(self) -> CudaDriver:
        """The driver, real or fake."""
        ...

    @property
    def spaces(self) -> Mapping[str, Space]:
        """Every kind of memory."""
        ...

    @property
    def functions(self) -> Mapping[str, SupportsInt]:
        """CUfunctions, and CUkernels where the name ends so."""
        ...

    @property
    def host_functions(self) -> Mapping[str, int]:
        """Addresses of host functions."""
        ...

    @property
    def events(self) -> Sequence[SupportsInt]:
        """CUevents."""
        ...

    @property
    def arrays(self) -> Sequence[SupportsInt]:
        """Two CUarrays."""
        ...

    def report(self, slot: int) -> int:
        """Address of a slot's report."""
        ...

    def semaphore(self, slot: int, *, alternate: bool) -> int:
        """Address of one of a slot's two semaphores."""
        ...


@dataclass
class BuiltGraph:
    """A CUgraph, the nodes in creation order, the body graphs by conditional node, and its allocation's address."""

    builder: GraphBuilder
    nodes: list[int] = field(default_factory=list)
    bodies: dict[int, list[int]] = field(default_factory=dict)
    allocation: int = 0

    @property
    def handle(self) -> int:
        """The CUgraph."""
        return self.builder.graph


def node_paths(built: BuiltGraph) -> dict[int, str]:
    """Return the path of every node handle as signatures write it, child graphs' and bodies' nodes included."""
    paths: dict[int, str] = {}
    _collect_paths(built.builder.driver, built.handle, "", built.bodies, paths)
    return paths


def _collect_paths(
    driver: CudaDriver, graph: int, prefix: str, bodies: dict[int, list[int]], paths: dict[int, str]
) -> None:
    nodes = driver.graph_nodes(graph)
    for index, (node, kind) in enumerate(zip(nodes, driver.node_types(nodes), strict=True)):
        path = paths[node] = f"{prefix}nodes[{index}]"
        if kind == _CHILD:
            _collect_paths(driver, driver.child_graph(node), f"{path}.graph.", bodies, paths)
        for branch, body in enumerate(bodies.get(node, ())):
            _collect_paths(driver, body, f"{path}.bodies[{branch}].", bodies, paths)


def add_all(ground: Ground, spec: GraphSpec, built: BuiltGraph) -> None:
    """Add every node, then every dependency: one may lead to a node that is created later."""
    for node in spec.nodes:
        handle = add(ground, built, node)
        built.nodes.append(handle)
        if isinstance(node, Kernel):
            for attribute_id, value in attributes_of(ground, node).items():
                ground.driver.set_kernel_attribute(handle, attribute_id, value)
    for handle, edges in zip(built.nodes, spec.dependencies, strict=True):
        built.builder.depend(handle, edges_of(built, edges))


def edges_of(built: BuiltGraph, edges: Sequence[Edge]) -> list[BuilderEdge]:
    """Return dependencies as a builder takes them: node, from_port, CUgraphDependencyType."""
    return [(built.nodes[edge.node], edge.from_port, int(edge.from_port != 0)) for edge in edges]


def add(ground: Ground, built: BuiltGraph, node: NodeSpec) -> int:  # noqa: C901, PLR0911, PLR0912  one case per kind
    """Add a node without dependencies."""
    builder = built.builder
    match node:
        case Kernel():
            is_library = node.function.endswith(LIBRARY)
            return builder.kernel(
                int(ground.functions[node.function]),
                is_library_kernel=is_library,
                grid=node.grid,
                block=(node.block, 1, 1),
                shared=node.shared_bytes,
                arguments=arguments_of(ground, built, node),
            )
        case Memset(space="alloc"):
            return builder.memset(built.allocation, value=node.value & 0xFF, width=_ALLOCATED_BYTES)
        case Memset():
            return builder.memset(
                ground.spaces[node.space].part(node.slot, alternate=node.alternate),
                value=node.value,
                width=node.width,
                height=node.height,
                element_size=node.element_bytes,
                pitch=_PITCH if node.height > 1 else 0,
            )
        case Memcpy():
            return builder.copy(memcpy_params(ground, built, node))
        case Host():
            argument = ground.semaphore(node.slot, alternate=node.alternate)
            return builder.host(ground.host_functions[node.function], argument)
        case Empty():
            return builder.empty()
        case EventRecord():
            return builder.record(int(ground.events[node.event]))
        case EventWait():
            return builder.wait(int(ground.events[node.event]))
        case BatchMemOps():
            return builder.batch([mem_op(ground, operation) for operation in node.operations])
        case Alloc():
            handle, built.allocation = builder.alloc(node.size_bytes, accessible=False)
            return handle
        case Free():
            return builder.free(built.allocation)
        case Child():
            child = BuiltGraph(GraphBuilder(ground.driver))
            try:
                add_all(ground, node.graph, child)
                return builder.child(child.handle)
            finally:
                child.builder.destroy()
        case Conditional():
            return _add_conditional(ground, built, node)


def _add_conditional(ground: Ground, built: BuiltGraph, node: Conditional) -> int:
    handle, builders = built.builder.conditional(node.kind, len(node.bodies), default=node.default)
    built.bodies[handle] = [builder.graph for builder in builders]
    for builder, spec in zip(builders, node.bodies, strict=True):
        inner = BuiltGraph(builder)
        add_all(ground, spec, inner)
        built.bodies.update(inner.bodies)
    return handle


def arguments_of(ground: Ground, built: BuiltGraph, node: Kernel) -> tuple[bytes, ...]:
    """Return the arguments of a reporting kernel; the third is read by rep3 alone."""
    through = built.allocation if node.through_allocation else 0
    return struct.pack("<Q", ground.report(node.slot)), struct.pack("<I", node.value), struct.pack("<Q", through)


def attributes_of(ground: Ground, node: Kernel) -> dict[int, bytes]:
    """Return the attributes that the description sets and a node takes, as the 64 bytes of CUlaunchAttributeValue."""
    window = node.window and struct.pack("<QQfii", ground.spaces["device"].base, *node.window, 0)
    given: dict[int, bytes | None] = {
        AttributeId.ACCESS_POLICY_WINDOW: window,
        AttributeId.COOPERATIVE: _int32(1) if node.cooperative else None,
        AttributeId.CLUSTER_DIMENSION: node.cluster and struct.pack("<III", *node.cluster),
        AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE: _int32(node.scheduling_policy),
        AttributeId.PRIORITY: _int32(node.priority),
        AttributeId.MEM_SYNC_DOMAIN_MAP: node.sync_domain_map and struct.pack("<BB", *node.sync_domain_map),
        AttributeId.MEM_SYNC_DOMAIN: _int32(node.sync_domain),
        AttributeId.DEVICE_UPDATABLE_KERNEL_NODE: struct.pack("<i4xQ", 1, 0) if node.device_updatable else None,
        AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT: _int32(node.carveout_percent),
    }
    return {int(number): raw.ljust(64, b"\0") for number, raw in given.items() if raw is not None}


def _int32(value: int | None) -> bytes | None:
    return None if value is None else struct.pack("<i", value)


def memcpy_params(ground: Ground, built: BuiltGraph, node: Memcpy) -> MemcpyParams:
    """Return CUDA_MEMCPY3D of a copy."""
    copy = MemcpyParams()
    target = ground.spaces[node.target].part(node.slot, alternate=node.target_alternate)
    if node.source == "array":
        copy.srcMemoryType, copy.srcArray = _ARRAY, int(ground.arrays[node.source_alternate])
    else:
        if node.source == "alloc":
            source = built.allocation
        else:
            source = ground.spaces[node.source].pattern(alternate=node.source_alternate)
        if node.source in HOST_SPACES:
            copy.srcMemoryType, copy.srcHost = _HOST, source
        else:
            copy.srcMemoryType, copy.srcDevice = _DEVICE, source
        copy.srcPitch, copy.srcHeight = _PITCH, node.height
    if node.unified:
        copy.dstMemoryType, copy.dstDevice = _UNIFIED, target
    elif node.target in HOST_SPACES:
        copy.dstMemoryType, copy.dstHost = _HOST, target
    else:
        copy.dstMemoryType, copy.dstDevice = _DEVICE, target
    copy.dstPitch, copy.dstHeight = _PITCH, node.height
    copy.WidthInBytes, copy.Height, copy.Depth = node.width, node.height, node.depth
    return copy


def mem_op(ground: Ground, operation: MemOp) -> StreamBatchMemOpParams:
    """Return CUstreamBatchMemOpParams of a write, or of a wait that is always satisfied."""
    params = StreamBatchMemOpParams()
    space = ground.spaces["device"]
    if operation.kind.startswith("wait"):
        params.value.operation = _WAIT_VALUE_32
        params.value.address = space.zeros(operation.slot + (64 if operation.alternate else 0))
        params.value.flags = 1 if operation.kind == "wait_eq" else 0
        return params
    params.value.operation = _WRITE_VALUE_64 if operation.kind == "write64" else _WRITE_VALUE_32
    params.value.address = space.part(operation.slot, alternate=operation.alternate)
    params.value.value64 = operation.value
    return params
