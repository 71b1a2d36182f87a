"""Nodes without nested graphs: one record per CUgraphNodeType, and `OpaqueNode` for any other type."""

from typing import Annotated, ClassVar, cast

from msgspec import Meta

from sigcontract.errors import AttributeUnknownError
from sigcontract.model.arguments import KernelArgument, PointerTarget, check_argument_layout
from sigcontract.model.attributes import (
    AttributeValue,
    ClusterDim,
    LaunchAttribute,
    check_attribute_order,
)
from sigcontract.model.cuda import AttributeId, GraphNodeType, MemLocationType
from sigcontract.model.dims import Dim3
from sigcontract.model.function import FunctionFacts
from sigcontract.model.handles import handle
from sigcontract.model.record import Handle, Hex64, Int32, Record, Size, Text, UInt32

__all__ = [
    "BatchMemOpNode",
    "EmptyNode",
    "EventRecordNode",
    "EventWaitNode",
    "ExtSemasSignalNode",
    "ExtSemasWaitNode",
    "HostNode",
    "KernelNodeSignature",
    "MemAccess",
    "MemAllocNode",
    "MemFreeNode",
    "MemOp",
    "MemcpyNode",
    "MemcpyOperand",
    "MemsetNode",
    "OpaqueNode",
    "PointerFacts",
]

#: A location's id is a device ordinal for CU_MEM_LOCATION_TYPE_DEVICE alone.
_DEVICE_LOCATION_ID = handle("device", only_if=("location_type", MemLocationType.DEVICE))


class KernelNodeSignature(Record, frozen=True, kw_only=True, tag_field="node", tag="kernel", omit_defaults=True):
    """A kernel node: its function, launch configuration and launch attributes."""

    node_type: ClassVar[int] = GraphNodeType.KERNEL.value

    name: Annotated[Text, Meta(description="Mangled name, as the driver returns it (cuKernelGetName, cuFuncGetName).")]
    kern: Annotated[
        Handle,
        Meta(
            description="Process-local CUkernel handle; 0 if none (CUDA_KERNEL_NODE_PARAMS.kern).",
            extra=handle("kernel"),
        ),
    ]
    func: Annotated[
        Handle,
        Meta(
            description="Process-local CUfunction handle; 0 if none (CUDA_KERNEL_NODE_PARAMS.func).",
            extra=handle("function", or_else="kern"),
        ),
    ]
    context: Annotated[
        Handle,
        Meta(
            description="Process-local CUcontext handle; 0 if none (CUDA_KERNEL_NODE_PARAMS.ctx).",
            extra=handle("context"),
        ),
    ]
    grid_dim: Annotated[Dim3, Meta(description="Blocks in the grid, not clusters (gridDimX, gridDimY, gridDimZ).")]
    block_dim: Annotated[Dim3, Meta(description="Threads per block (blockDimX, blockDimY, blockDimZ).")]
    dynamic_shared_mem_bytes: Annotated[
        UInt32, Meta(description="Dynamic shared memory per block, in bytes (sharedMemBytes).")
    ]
    attributes: Annotated[
        tuple[LaunchAttribute, ...],
        Meta(description="One entry per launch attribute queried, in ascending order of id, without duplicates."),
    ]
    function: Annotated[FunctionFacts | None, Meta(description="Properties of the function; null if not recorded.")]
    arguments: Annotated[
        tuple[KernelArgument, ...] | None, Meta(description="Arguments of the kernel, in order; null if not recorded.")
    ] = None

    def check(self) -> None:
        """Raise InvariantError unless attribute ids are unique and ascend, and arguments ascend without overlap."""
        check_attribute_order([attribute.id for attribute in self.attributes], "$.attributes")
        check_argument_layout([(argument.offset_bytes, argument.size_bytes) for argument in self.arguments or ()])

    def attribute(self, attribute_id: int) -> LaunchAttribute | None:
        """Return the entry of that CUlaunchAttributeID, or None if it was not queried."""
        for attribute in self.attributes:
            if attribute.id == attribute_id:
                return attribute
        return None

    def attribute_value(self, attribute_id: int) -> AttributeValue:
        """Return the value of that CUlaunchAttributeID.

        Raises
        ------
        AttributeUnknownError
            The attribute is unreadable, unsupported, or was not queried.
        """
        entry = self.attribute(attribute_id)
        if entry is None or entry.value is None:
            state = "was not queried" if entry is None else f"is {entry.state}"
            msg = f"launch attribute {attribute_id} of {self.name!r} {state}; attribute() returns its state"
            raise AttributeUnknownError(msg)
        return entry.value

    @property
    def cluster_dim(self) -> Dim3 | None:
        """Blocks per cluster, None for no cluster. Raises AttributeUnknownError if unknown."""
        return cast("ClusterDim", self.attribute_value(AttributeId.CLUSTER_DIMENSION)).dim

    @property
    def preferred_cluster_dim(self) -> Dim3 | None:
        """Preferred blocks per cluster, None for none. Raises AttributeUnknownError if unknown."""
        return cast("ClusterDim", self.attribute_value(AttributeId.PREFERRED_CLUSTER_DIMENSION)).dim

    @property
    def cooperative(self) -> bool:
        """Whether the launch is cooperative. Raises AttributeUnknownError if unknown."""
        return self.attribute_value(AttributeId.COOPERATIVE) != 0

    @property
    def priority(self) -> int:
        """Launch priority. Raises AttributeUnknownError if unknown."""
        return cast("int", self.attribute_value(AttributeId.PRIORITY))


class PointerFacts(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the driver reports about an address (cuPointerGetAttribute). null: not reported."""

    memory_type: Annotated[
        Int32 | None, Meta(description="CUmemorytype of the allocation (CU_POINTER_ATTRIBUTE_MEMORY_TYPE).")
    ]
    device_ordinal: Annotated[
        Int32 | None, Meta(description="CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL.", extra=handle("device"))
    ]
    context: Annotated[
        Handle | None,
        Meta(
            description="Process-local CUcontext handle of the allocation; 0 if none (CU_POINTER_ATTRIBUTE_CONTEXT).",
            extra=handle("context"),
        ),
    ]
    managed: Annotated[bool | None, Meta(description="CU_POINTER_ATTRIBUTE_IS_MANAGED.")]
    target: Annotated[
        PointerTarget | None, Meta(description="Where the address leads; null if not recorded, or to no allocation.")
    ] = None


class MemcpyOperand(Record, frozen=True, kw_only=True):
    """Source or destination of a memcpy (CUDA_MEMCPY3D)."""

    memory_type: Annotated[
        UInt32, Meta(description="CUmemorytype: 1 host, 2 device, 3 array, 4 unified (srcMemoryType).")
    ]
    address: Annotated[
        Handle,
        Meta(
            description="Process-local pointer or CUarray handle (srcDevice, srcHost, srcArray).",
            extra=handle("memory"),
        ),
    ]
    x_bytes: Annotated[Size, Meta(description="Offset along x, in bytes (srcXInBytes).")]
    y: Annotated[Size, Meta(description="Offset along y, in rows (srcY).")]
    z: Annotated[Size, Meta(description="Offset along z, in slices (srcZ).")]
    lod: Annotated[Size, Meta(description="Mipmap level (srcLOD).")]
    pitch_bytes: Annotated[Size, Meta(description="Row pitch, in bytes (srcPitch).")]
    height_rows: Annotated[Size, Meta(description="Slice height, in rows (srcHeight).")]
    pointer: Annotated[
        PointerFacts | None, Meta(description="Properties of the address; null for arrays, or if not recorded.")
    ]


class MemcpyNode(Record, frozen=True, kw_only=True, tag_field="node", tag="memcpy"):
    """A memcpy node (cuGraphMemcpyNodeGetParams)."""

    node_type: ClassVar[int] = GraphNodeType.MEMCPY.value

    source: Annotated[MemcpyOperand, Meta(description="Source operand.")]
    destination: Annotated[MemcpyOperand, Meta(description="Destination operand.")]
    width_bytes: Annotated[Size, Meta(description="Bytes per row (WidthInBytes).")]
    height: Annotated[Size, Meta(description="Rows; the copy is 2D if greater than 1 (Height).")]
    depth: Annotated[Size, Meta(description="Slices; the copy is 3D if greater than 1 (Depth).")]


class MemsetNode(Record, frozen=True, kw_only=True, tag_field="node", tag="memset"):
    """A memset node (CUDA_MEMSET_NODE_PARAMS)."""

    node_type: ClassVar[int] = GraphNodeType.MEMSET.value

    destination: Annotated[Handle, Meta(description="Process-local device address (dst).", extra=handle("memory"))]
    pointer: Annotated[PointerFacts | None, Meta(description="Properties of the address; null if not recorded.")]
    value: Annotated[UInt32, Meta(description="Value of each element (value).")]
    element_size_bytes: Annotated[UInt32, Meta(description="Element size, in bytes: 1, 2 or 4 (elementSize).")]
    width: Annotated[Size, Meta(description="Elements per row (width).")]
    height: Annotated[Size, Meta(description="Rows; the memset is 2D if greater than 1 (height).")]
    pitch_bytes: Annotated[Size, Meta(description="Row pitch, in bytes; unused if height is 1 (pitch).")]


class HostNode(Record, frozen=True, kw_only=True, tag_field="node", tag="host"):
    """A host function node (CUDA_HOST_NODE_PARAMS)."""

    node_type: ClassVar[int] = GraphNodeType.HOST.value

    function_address: Annotated[
        Handle, Meta(description="Process-local address of the CUhostFn (fn).", extra=handle("host_function"))
    ]
    user_data: Annotated[
        Handle, Meta(description="Process-local argument of the function (userData).", extra=handle("user_data"))
    ]


class EmptyNode(Record, frozen=True, kw_only=True, tag_field="node", tag="empty"):
    """An empty node: it only orders others."""

    node_type: ClassVar[int] = GraphNodeType.EMPTY.value


class EventWaitNode(Record, frozen=True, kw_only=True, tag_field="node", tag="wait_event"):
    """An event wait node (cuGraphEventWaitNodeGetEvent)."""

    node_type: ClassVar[int] = GraphNodeType.WAIT_EVENT.value

    event: Annotated[Handle, Meta(description="Process-local CUevent handle.", extra=handle("event"))]


class EventRecordNode(Record, frozen=True, kw_only=True, tag_field="node", tag="event_record"):
    """An event record node (cuGraphEventRecordNodeGetEvent)."""

    node_type: ClassVar[int] = GraphNodeType.EVENT_RECORD.value

    event: Annotated[Handle, Meta(description="Process-local CUevent handle.", extra=handle("event"))]


class ExtSemasSignalNode(Record, frozen=True, kw_only=True, tag_field="node", tag="ext_semas_signal"):
    """An external semaphore signal node (cuGraphExternalSemaphoresSignalNodeGetParams)."""

    node_type: ClassVar[int] = GraphNodeType.EXT_SEMAS_SIGNAL.value

    count: Annotated[UInt32, Meta(description="Semaphores signalled (numExtSems).")]


class ExtSemasWaitNode(Record, frozen=True, kw_only=True, tag_field="node", tag="ext_semas_wait"):
    """An external semaphore wait node (cuGraphExternalSemaphoresWaitNodeGetParams)."""

    node_type: ClassVar[int] = GraphNodeType.EXT_SEMAS_WAIT.value

    count: Annotated[UInt32, Meta(description="Semaphores waited for (numExtSems).")]


class MemAccess(Record, frozen=True, kw_only=True):
    """Access of one location to an allocation (CUmemAccessDesc)."""

    location_type: Annotated[Int32, Meta(description="CUmemLocationType (location.type).")]
    location_id: Annotated[
        Int32,
        Meta(
            description="Device ordinal, or as the location type defines it (location.id).", extra=_DEVICE_LOCATION_ID
        ),
    ]
    flags: Annotated[Int32, Meta(description="CUmemAccess_flags (flags).")]


class MemAllocNode(Record, frozen=True, kw_only=True, tag_field="node", tag="mem_alloc"):
    """A memory allocation node (CUDA_MEM_ALLOC_NODE_PARAMS)."""

    node_type: ClassVar[int] = GraphNodeType.MEM_ALLOC.value

    size_bytes: Annotated[Size, Meta(description="Requested size, in bytes (bytesize).")]
    address: Annotated[
        Handle, Meta(description="Process-local address of the allocation (dptr).", extra=handle("allocation"))
    ]
    allocation_type: Annotated[Int32, Meta(description="CUmemAllocationType (poolProps.allocType).")]
    handle_types: Annotated[Int32, Meta(description="CUmemAllocationHandleType (poolProps.handleTypes).")]
    location_type: Annotated[Int32, Meta(description="CUmemLocationType (poolProps.location.type).")]
    location_id: Annotated[
        Int32,
        Meta(
            description="Device ordinal, or as the location type defines it (poolProps.location.id).",
            extra=_DEVICE_LOCATION_ID,
        ),
    ]
    accesses: Annotated[tuple[MemAccess, ...], Meta(description="In the driver's order (accessDescs).")]


class MemFreeNode(Record, frozen=True, kw_only=True, tag_field="node", tag="mem_free"):
    """A memory free node (cuGraphMemFreeNodeGetParams)."""

    node_type: ClassVar[int] = GraphNodeType.MEM_FREE.value

    address: Annotated[
        Handle, Meta(description="Process-local address of the allocation (dptr).", extra=handle("allocation"))
    ]


class MemOp(Record, frozen=True, kw_only=True):
    """One operation of a batch (CUstreamBatchMemOpParams)."""

    operation: Annotated[Int32, Meta(description="CUstreamBatchMemOpType (operation).")]
    address: Annotated[
        Handle,
        Meta(description="Process-local device address; 0 if the operation has none.", extra=handle("memory")),
    ]
    value: Annotated[Hex64, Meta(description="64-bit value to wait for or write; 0 if the operation has none.")]
    flags: Annotated[UInt32, Meta(description="Flags of the operation (flags).")]


class BatchMemOpNode(Record, frozen=True, kw_only=True, tag_field="node", tag="batch_mem_op"):
    """A batch memory operation node (CUDA_BATCH_MEM_OP_NODE_PARAMS)."""

    node_type: ClassVar[int] = GraphNodeType.BATCH_MEM_OP.value

    context: Annotated[Handle, Meta(description="Process-local CUcontext handle (ctx).", extra=handle("context"))]
    flags: Annotated[UInt32, Meta(description="Flags of the batch (flags).")]
    operations: Annotated[tuple[MemOp, ...], Meta(description="In order (paramArray).")]


class OpaqueNode(Record, frozen=True, kw_only=True, tag_field="node", tag="opaque"):
    """A node of a type without a record: kept, never skipped, and never equal to another under any policy."""

    type: Annotated[Int32, Meta(description="CUgraphNodeType (cuGraphNodeGetType).")]

    @property
    def node_type(self) -> int:
        """CUgraphNodeType, as on every node."""
        return self.type
