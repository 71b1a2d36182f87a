"""Nodes that are neither kernels nor graphs: one reader per CUgraphNodeType."""

from collections.abc import Callable, Iterable
from ctypes import c_uint64
from typing import Any

from msgspec.structs import replace

from sigcontract.driver.cuda import (
    ConditionalNodeParams,
    MemAccessDesc,
    MemcpyParams,
    ReadApi,
    StreamBatchMemOpParams,
)
from sigcontract.driver.reading.allocations import AllocationTable
from sigcontract.driver.reading.attribute_values import exact
from sigcontract.model import (
    BatchMemOpNode,
    EmptyNode,
    EventRecordNode,
    EventWaitNode,
    ExtSemasSignalNode,
    ExtSemasWaitNode,
    HostNode,
    MemAccess,
    MemAllocNode,
    MemcpyNode,
    MemcpyOperand,
    MemFreeNode,
    MemLocationType,
    MemOp,
    MemoryType,
    MemsetNode,
    OpaqueNode,
    PointerFacts,
    StreamMemOp,
)

__all__ = ["NODE_READERS", "PlainNode", "add_graph_memory", "body_graphs", "hex64", "with_targets"]

PlainNode = (
    MemcpyNode
    | MemsetNode
    | HostNode
    | EmptyNode
    | EventWaitNode
    | EventRecordNode
    | ExtSemasSignalNode
    | ExtSemasWaitNode
    | MemAllocNode
    | MemFreeNode
    | BatchMemOpNode
    | OpaqueNode
)

# ATOMIC_REDUCTION (8) has an operation and a data type that no record represents.
_32_BIT = frozenset({StreamMemOp.WAIT_VALUE_32, StreamMemOp.WRITE_VALUE_32})
_WITH_VALUE = _32_BIT | {StreamMemOp.WAIT_VALUE_64, StreamMemOp.WRITE_VALUE_64}
_WITH_FLAGS = frozenset({StreamMemOp.FLUSH_REMOTE_WRITES, StreamMemOp.BARRIER})
#: The suffix of the CUDA_MEMCPY3D member with an operand's address; Device unless listed.
_MEMBERS: dict[int, str] = {MemoryType.HOST: "Host", MemoryType.ARRAY: "Array"}


def hex64(value: int) -> str:
    """Return a 64-bit value as hexadecimal text, as in records."""
    return f"{value:#018x}"


def body_graphs(params: ConditionalNodeParams) -> list[int]:
    """Return the CUgraph of each branch of a conditional; 0 if the driver returned none."""
    if not params.phGraph_out:
        return [0] * params.size
    return list((c_uint64 * params.size).from_address(params.phGraph_out))


def add_graph_memory(api: ReadApi, nodes: Iterable[tuple[int, int]], table: AllocationTable) -> None:
    """Make the memory known that nodes allocate, before others that use it are read; nodes with their types."""
    for handle, node_type in nodes:
        node = _mem_alloc(api, handle) if node_type == MemAllocNode.node_type else None
        if isinstance(node, MemAllocNode):
            on_device = node.location_type == MemLocationType.DEVICE
            table.add_graph_memory(node.address, node.size_bytes, node.location_id if on_device else None)


def with_targets(node: PlainNode, table: AllocationTable) -> PlainNode:
    """Return a node with the allocations that its operands are in."""

    def targeted(pointer: PointerFacts | None, address: int) -> PointerFacts | None:
        return None if pointer is None else replace(pointer, target=table.target(address))

    if isinstance(node, MemsetNode):
        return replace(node, pointer=targeted(node.pointer, node.destination))
    if isinstance(node, MemcpyNode):
        source, destination = node.source, node.destination
        return replace(
            node,
            source=replace(source, pointer=targeted(source.pointer, source.address)),
            destination=replace(destination, pointer=targeted(destination.pointer, destination.address)),
        )
    return node


def _memcpy(api: ReadApi, node: int) -> MemcpyNode:
    params = api.memcpy_params(node)
    return MemcpyNode(
        source=_operand(api, params, "src"),
        destination=_operand(api, params, "dst"),
        width_bytes=exact(params.WidthInBytes, "WidthInBytes"),
        height=exact(params.Height, "Height"),
        depth=exact(params.Depth, "Depth"),
    )


def _operand(api: ReadApi, params: MemcpyParams, side: str) -> MemcpyOperand:
    memory_type: int = getattr(params, f"{side}MemoryType")
    member = _MEMBERS.get(memory_type, "Device")

    def field(name: str) -> int:
        return exact(getattr(params, side + name) or 0, side + name)

    return MemcpyOperand(
        memory_type=memory_type,
        address=field(member),
        x_bytes=field("XInBytes"),
        y=field("Y"),
        z=field("Z"),
        lod=field("LOD"),
        pitch_bytes=field("Pitch"),
        height_rows=field("Height"),
        pointer=None if memory_type == MemoryType.ARRAY else _pointer(api, field(member)),
    )


def _pointer(api: ReadApi, address: int) -> PointerFacts:
    found = api.pointer_attributes(address)
    if found is None:
        return PointerFacts(memory_type=None, device_ordinal=None, context=None, managed=None)
    return PointerFacts(
        memory_type=found.memory_type,
        device_ordinal=found.device_ordinal,
        context=exact(found.context, "CU_POINTER_ATTRIBUTE_CONTEXT"),
        managed=found.managed,
    )


def _memset(api: ReadApi, node: int) -> MemsetNode:
    params = api.memset_params(node)
    address = exact(params.dst or 0, "dst")
    return MemsetNode(
        destination=address,
        pointer=_pointer(api, address),
        value=params.value,
        element_size_bytes=params.elementSize,
        width=exact(params.width, "width"),
        height=exact(params.height, "height"),
        pitch_bytes=exact(params.pitch, "pitch"),
    )


def _host(api: ReadApi, node: int) -> HostNode:
    params = api.host_params(node)
    return HostNode(
        function_address=exact(params.fn or 0, "CUhostFn"), user_data=exact(params.userData or 0, "userData")
    )


def _empty(_api: ReadApi, _node: int) -> EmptyNode:
    return EmptyNode()


def _event_wait(api: ReadApi, node: int) -> EventWaitNode:
    return EventWaitNode(event=exact(api.waited_event(node), "CUevent"))


def _event_record(api: ReadApi, node: int) -> EventRecordNode:
    return EventRecordNode(event=exact(api.recorded_event(node), "CUevent"))


def _signal(api: ReadApi, node: int) -> ExtSemasSignalNode:
    return ExtSemasSignalNode(count=api.signal_count(node))


def _wait(api: ReadApi, node: int) -> ExtSemasWaitNode:
    return ExtSemasWaitNode(count=api.wait_count(node))


def _array(element: Any, count: int, address: int | None) -> Any:
    """Return the array the driver points to; None if it reports elements without a pointer."""
    if not count:
        return ()
    return (element * count).from_address(address) if address else None


def _mem_alloc(api: ReadApi, node: int) -> MemAllocNode | OpaqueNode:
    params = api.mem_alloc_params(node)
    props = params.poolProps
    descriptions = _array(MemAccessDesc, params.accessDescCount, params.accessDescs)
    if descriptions is None:
        return OpaqueNode(type=MemAllocNode.node_type)
    return MemAllocNode(
        size_bytes=exact(params.bytesize, "bytesize"),
        address=exact(params.dptr or 0, "dptr"),
        allocation_type=props.allocType,
        handle_types=props.handleTypes,
        location_type=props.location.type,
        location_id=props.location.id,
        accesses=tuple(
            MemAccess(location_type=one.location.type, location_id=one.location.id, flags=one.flags)
            for one in descriptions
        ),
    )


def _mem_free(api: ReadApi, node: int) -> MemFreeNode:
    return MemFreeNode(address=exact(api.mem_free_address(node), "dptr"))


def _batch_mem_op(api: ReadApi, node: int) -> BatchMemOpNode | OpaqueNode:
    params = api.batch_mem_op_params(node)
    operations = _array(StreamBatchMemOpParams, params.count, params.paramArray)
    if operations is None or any(one.operation not in _WITH_VALUE | _WITH_FLAGS for one in operations):
        return OpaqueNode(type=BatchMemOpNode.node_type)
    return BatchMemOpNode(
        context=exact(params.ctx or 0, "CUcontext"), flags=params.flags, operations=tuple(map(_mem_op, operations))
    )


def _mem_op(params: StreamBatchMemOpParams) -> MemOp:
    if params.operation in _WITH_FLAGS:
        return MemOp(operation=params.operation, address=0, value=hex64(0), flags=params.barrier.flags)
    # A 32-bit operation does not write the upper half of the value.
    value = params.value.value64 & 0xFFFFFFFF if params.operation in _32_BIT else params.value.value64
    address = exact(params.value.address or 0, "waitValue.address")
    return MemOp(operation=params.operation, address=address, value=hex64(value), flags=params.value.flags)


#: CUgraphNodeType -> its reader. Kernels, child graphs and conditionals are read elsewhere; others are opaque.
NODE_READERS: dict[int, Callable[[ReadApi, int], PlainNode]] = {
    MemcpyNode.node_type: _memcpy,
    MemsetNode.node_type: _memset,
    HostNode.node_type: _host,
    EmptyNode.node_type: _empty,
    EventWaitNode.node_type: _event_wait,
    EventRecordNode.node_type: _event_record,
    ExtSemasSignalNode.node_type: _signal,
    ExtSemasWaitNode.node_type: _wait,
    MemAllocNode.node_type: _mem_alloc,
    MemFreeNode.node_type: _mem_free,
    BatchMemOpNode.node_type: _batch_mem_op,
}
