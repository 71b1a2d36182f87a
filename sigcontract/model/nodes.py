"""Nodes that hold no graph. One record per CUgraphNodeType, and `OpaqueNode` for a type that has none."""

from typing import Annotated, ClassVar, cast

from msgspec import Meta

from sigcontract.errors import AttributeUnknownError
from sigcontract.model.attributes import (
    AttributeId,
    AttributeValue,
    ClusterDim,
    LaunchAttribute,
    check_attribute_order,
)
from sigcontract.model.dims import Dim3
from sigcontract.model.function import FunctionFacts
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


class KernelNodeSignature(Record, frozen=True, kw_only=True, tag_field="node", tag="kernel"):
    """A kernel node: which function, how it is launched, and every launch attribute that was asked for."""

    node_type: ClassVar[int] = 0

    name: Annotated[Text, Meta(description="Mangled, as the driver gives it (cuKernelGetName, cuFuncGetName).")]
    kern: Annotated[
        Handle,
        Meta(description="CUkernel, a number of this process, 0 where there is none (CUDA_KERNEL_NODE_PARAMS.kern)."),
    ]
    func: Annotated[
        Handle,
        Meta(description="CUfunction, a number of this process, 0 where there is none (CUDA_KERNEL_NODE_PARAMS.func)."),
    ]
    context: Annotated[
        Handle,
        Meta(description="CUcontext, a number of this process, 0 where there is none (CUDA_KERNEL_NODE_PARAMS.ctx)."),
    ]
    grid_dim: Annotated[Dim3, Meta(description="Blocks in the grid, never clusters (gridDimX, gridDimY, gridDimZ).")]
    block_dim: Annotated[Dim3, Meta(description="Threads per block (blockDimX, blockDimY, blockDimZ).")]
    dynamic_shared_mem_bytes: Annotated[
        UInt32, Meta(description="Dynamic shared memory per block, in bytes (sharedMemBytes).")
    ]
    attributes: Annotated[
        tuple[LaunchAttribute, ...],
        Meta(description="One entry per launch attribute id that was asked for, ascending by id, each id once."),
    ]
    function: Annotated[
        FunctionFacts | None, Meta(description="Facts of the function, or null where they were not recorded.")
    ]

    def check(self) -> None:
        """Raise InvariantError unless attribute ids ascend and none comes twice."""
        check_attribute_order([attribute.id for attribute in self.attributes], "$.attributes")

    def attribute(self, attribute_id: int) -> LaunchAttribute | None:
        """Return the entry of that CUlaunchAttributeID, or None where it was never asked for."""
        for attribute in self.attributes:
            if attribute.id == attribute_id:
                return attribute
        return None

    def attribute_value(self, attribute_id: int) -> AttributeValue:
        """Return the value of that CUlaunchAttributeID.

        Raises
        ------
        AttributeUnknownError
            The attribute is unreadable, unsupported, or was never asked for: none of these is a value.
        """
        entry = self.attribute(attribute_id)
        if entry is None or entry.value is None:
            state = "was not asked for" if entry is None else f"is {entry.state}"
            msg = f"launch attribute {attribute_id} of {self.name!r} {state}; read attribute() to tell the cases apart"
            raise AttributeUnknownError(msg)
        return entry.value

    @property
    def cluster_dim(self) -> Dim3 | None:
        """Blocks per cluster, None for no cluster. Raises AttributeUnknownError where it is not known."""
        return cast("ClusterDim", self.attribute_value(AttributeId.CLUSTER_DIMENSION)).dim

    @property
    def preferred_cluster_dim(self) -> Dim3 | None:
        """Preferred blocks per cluster, None for none. Raises AttributeUnknownError where it is not known."""
        return cast("ClusterDim", self.attribute_value(AttributeId.PREFERRED_CLUSTER_DIMENSION)).dim

    @property
    def cooperative(self) -> bool:
        """Whether the launch is cooperative. Raises AttributeUnknownError where it is not known."""
        return self.attribute_value(AttributeId.COOPERATIVE) != 0

    @property
    def priority(self) -> int:
        """Launch priority. Raises AttributeUnknownError where it is not known."""
        return cast("int", self.attribute_value(AttributeId.PRIORITY))


class PointerFacts(Record, frozen=True, kw_only=True):
    """What the driver knows of an address (cuPointerGetAttribute). null: it would not say."""

    memory_type: Annotated[
        Int32 | None, Meta(description="CUmemorytype of the allocation (CU_POINTER_ATTRIBUTE_MEMORY_TYPE).")
    ]
    device_ordinal: Annotated[Int32 | None, Meta(description="CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL.")]
    context: Annotated[
        Handle | None, Meta(description="CUcontext of the allocation, a number of this process (…_CONTEXT).")
    ]
    managed: Annotated[bool | None, Meta(description="CU_POINTER_ATTRIBUTE_IS_MANAGED.")]


class MemcpyOperand(Record, frozen=True, kw_only=True):
    """Source or destination of a copy (CUDA_MEMCPY3D)."""

    memory_type: Annotated[
        UInt32, Meta(description="CUmemorytype: 1 host, 2 device, 3 array, 4 unified (srcMemoryType).")
    ]
    address: Annotated[Handle, Meta(description="Pointer or CUarray, a number of this process (srcDevice, …).")]
    x_bytes: Annotated[Size, Meta(description="Offset along x, in bytes (srcXInBytes).")]
    y: Annotated[Size, Meta(description="Offset along y, in rows (srcY).")]
    z: Annotated[Size, Meta(description="Offset along z, in slices (srcZ).")]
    lod: Annotated[Size, Meta(description="Mipmap level (srcLOD).")]
    pitch_bytes: Annotated[Size, Meta(description="Bytes from row to row (srcPitch).")]
    height_rows: Annotated[Size, Meta(description="Rows from slice to slice (srcHeight).")]
    pointer: Annotated[
        PointerFacts | None, Meta(description="Facts of the address; null for arrays and where not recorded.")
    ]


class MemcpyNode(Record, frozen=True, kw_only=True, tag_field="node", tag="memcpy"):
    """A copy (cuGraphMemcpyNodeGetParams)."""

    node_type: ClassVar[int] = 1

    source: Annotated[MemcpyOperand, Meta(description="Where bytes come from.")]
    destination: Annotated[MemcpyOperand, Meta(description="Where bytes go to.")]
    width_bytes: Annotated[Size, Meta(description="Bytes per row (WidthInBytes).")]
    height: Annotated[Size, Meta(description="Rows; above 1 the copy is 2D (Height).")]
    depth: Annotated[Size, Meta(description="Slices; above 1 the copy is 3D (Depth).")]


class MemsetNode(Record, frozen=True, kw_only=True, tag_field="node", tag="memset"):
    """A fill (CUDA_MEMSET_NODE_PARAMS)."""

    node_type: ClassVar[int] = 2

    destination: Annotated[Handle, Meta(description="Device address of this process (dst).")]
    pointer: Annotated[PointerFacts | None, Meta(description="Facts of the address; null where not recorded.")]
    value: Annotated[UInt32, Meta(description="The element's value (value).")]
    element_size_bytes: Annotated[UInt32, Meta(description="1, 2 or 4 (elementSize).")]
    width: Annotated[Size, Meta(description="Elements per row (width).")]
    height: Annotated[Size, Meta(description="Rows; above 1 the fill is 2D (height).")]
    pitch_bytes: Annotated[Size, Meta(description="Bytes from row to row, unused where height is 1 (pitch).")]


class HostNode(Record, frozen=True, kw_only=True, tag_field="node", tag="host"):
    """A host function (CUDA_HOST_NODE_PARAMS)."""

    node_type: ClassVar[int] = 3

    function_address: Annotated[Handle, Meta(description="CUhostFn, an address of this process (fn).")]
    user_data: Annotated[Handle, Meta(description="Its argument, an address of this process (userData).")]


class EmptyNode(Record, frozen=True, kw_only=True, tag_field="node", tag="empty"):
    """A node that does nothing but order others."""

    node_type: ClassVar[int] = 5


class EventWaitNode(Record, frozen=True, kw_only=True, tag_field="node", tag="wait_event"):
    """A wait for an event (cuGraphEventWaitNodeGetEvent)."""

    node_type: ClassVar[int] = 6

    event: Annotated[Handle, Meta(description="CUevent, a number of this process.")]


class EventRecordNode(Record, frozen=True, kw_only=True, tag_field="node", tag="event_record"):
    """A record of an event (cuGraphEventRecordNodeGetEvent)."""

    node_type: ClassVar[int] = 7

    event: Annotated[Handle, Meta(description="CUevent, a number of this process.")]


class ExtSemasSignalNode(Record, frozen=True, kw_only=True, tag_field="node", tag="ext_semas_signal"):
    """Signals of external semaphores (cuGraphExternalSemaphoresSignalNodeGetParams)."""

    node_type: ClassVar[int] = 8

    count: Annotated[UInt32, Meta(description="Semaphores signalled (numExtSems).")]


class ExtSemasWaitNode(Record, frozen=True, kw_only=True, tag_field="node", tag="ext_semas_wait"):
    """Waits for external semaphores (cuGraphExternalSemaphoresWaitNodeGetParams)."""

    node_type: ClassVar[int] = 9

    count: Annotated[UInt32, Meta(description="Semaphores waited for (numExtSems).")]


class MemAccess(Record, frozen=True, kw_only=True):
    """Who may access an allocation (CUmemAccessDesc)."""

    location_type: Annotated[Int32, Meta(description="CUmemLocationType (location.type).")]
    location_id: Annotated[Int32, Meta(description="Device ordinal, or what the type says (location.id).")]
    flags: Annotated[Int32, Meta(description="CUmemAccess_flags (flags).")]


class MemAllocNode(Record, frozen=True, kw_only=True, tag_field="node", tag="mem_alloc"):
    """An allocation (CUDA_MEM_ALLOC_NODE_PARAMS)."""

    node_type: ClassVar[int] = 10

    size_bytes: Annotated[Size, Meta(description="Bytes asked for (bytesize).")]
    address: Annotated[Handle, Meta(description="The address given, of this process (dptr).")]
    allocation_type: Annotated[Int32, Meta(description="CUmemAllocationType (poolProps.allocType).")]
    handle_types: Annotated[Int32, Meta(description="CUmemAllocationHandleType (poolProps.handleTypes).")]
    location_type: Annotated[Int32, Meta(description="CUmemLocationType (poolProps.location.type).")]
    location_id: Annotated[Int32, Meta(description="Device ordinal, or what the type says (poolProps.location.id).")]
    accesses: Annotated[tuple[MemAccess, ...], Meta(description="In the driver's order (accessDescs).")]


class MemFreeNode(Record, frozen=True, kw_only=True, tag_field="node", tag="mem_free"):
    """A free (cuGraphMemFreeNodeGetParams)."""

    node_type: ClassVar[int] = 11

    address: Annotated[Handle, Meta(description="Device address of this process (dptr).")]


class MemOp(Record, frozen=True, kw_only=True):
    """One operation of a batch (CUstreamBatchMemOpParams)."""

    operation: Annotated[Int32, Meta(description="CUstreamBatchMemOpType (operation).")]
    address: Annotated[Handle, Meta(description="Device address of this process, 0 where the operation has none.")]
    value: Annotated[Hex64, Meta(description="The 64-bit value waited for or written, 0 where there is none.")]
    flags: Annotated[UInt32, Meta(description="Flags of the operation (flags).")]


class BatchMemOpNode(Record, frozen=True, kw_only=True, tag_field="node", tag="batch_mem_op"):
    """A batch of memory operations (CUDA_BATCH_MEM_OP_NODE_PARAMS)."""

    node_type: ClassVar[int] = 12

    context: Annotated[Handle, Meta(description="CUcontext, a number of this process (ctx).")]
    flags: Annotated[UInt32, Meta(description="Flags of the batch (flags).")]
    operations: Annotated[tuple[MemOp, ...], Meta(description="In order (paramArray).")]


class OpaqueNode(Record, frozen=True, kw_only=True, tag_field="node", tag="opaque"):
    """A node whose type has no record here: kept, never skipped, never the same as another under any policy."""

    type: Annotated[Int32, Meta(description="CUgraphNodeType (cuGraphNodeGetType).")]

    @property
    def node_type(self) -> int:
        """CUgraphNodeType, as on every node."""
        return self.type
