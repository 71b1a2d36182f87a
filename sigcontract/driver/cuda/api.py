"""Protocols of the driver calls that sigcontract makes; the real and the fake driver implement them.

Handles are plain integers; 0 if none. Every method raises `DriverCallError` if the driver fails, and
`DriverUnavailableError` if no context is current where one is needed, or the driver lacks the function.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from sigcontract.driver.cuda.layouts import (
    BatchMemOpNodeParams,
    ConditionalNodeParams,
    HostNodeParams,
    MemAllocNodeParams,
    MemcpyParams,
    MemsetNodeParams,
)

__all__ = [
    "AllocationAttributes",
    "ArgumentAddresses",
    "AttributeColumn",
    "BuildApi",
    "DriverApi",
    "EdgeBlock",
    "KernelLaunch",
    "LaunchObservations",
    "PointerAttributes",
    "ReadApi",
    "UpdateOutcome",
]


class UpdateOutcome(NamedTuple):
    """The result of cuGraphExecUpdate, including the reason of a refusal, which cuda-python drops."""

    #: CUgraphExecUpdateResult, 0 = SUCCESS.
    result: int
    #: CUgraphNode of the updating graph at which the driver stopped; 0 if none.
    node: int
    #: Its mismatched dependency; 0 if none.
    from_node: int


class EdgeBlock(NamedTuple):
    """The edges of a graph in the driver's order, which differs from the order of a node's dependencies."""

    #: CUgraphNode per edge, the node depended on.
    from_nodes: list[int]
    #: CUgraphNode per edge, the node that depends.
    to_nodes: list[int]
    #: CUgraphEdgeData per edge, 8 bytes each: from_port, to_port, type, five reserved.
    data: bytes


class AttributeColumn(NamedTuple):
    """One launch attribute of many kernel nodes, in the order of the nodes passed."""

    #: CUlaunchAttributeValue, 64 bytes per node; zeros if the driver refused.
    values: bytes
    #: CUresult of each node: 0, or a refusal (CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED).
    results: list[int]


class PointerAttributes(NamedTuple):
    """cuPointerGetAttributes of one address.

    In no allocation (pageable host memory, freed memory): success, memory type 0, device ordinal -2, context 0.
    """

    memory_type: int
    device_ordinal: int
    context: int
    managed: bool


class AllocationAttributes(NamedTuple):
    """cuPointerGetAttributes of one address: its allocation.

    In no allocation: success, with memory type 0 and no mapping. The range decides nothing: the driver does not write
    it for an address that is in no reservation either, and in a reservation (cuMemAddressReserve) it is the whole
    reservation, whether the address is mapped or not.
    """

    #: CU_POINTER_ATTRIBUTE_RANGE_START_ADDR and _RANGE_SIZE, in bytes; 0 if the driver wrote neither.
    start: int
    size_bytes: int
    #: CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR and _MAPPING_SIZE, in bytes: the mapping that contains the address. It can
    #: end after the allocation, and is a part of the range where a reservation is mapped in parts.
    mapping_start: int
    mapping_size_bytes: int
    #: CUmemorytype; 0 if the address is in no allocation.
    memory_type: int
    device_ordinal: int
    managed: bool
    #: Whether CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE is not null.
    pooled: bool


class ArgumentAddresses(NamedTuple):
    """Where the driver keeps the arguments of kernel nodes, in the order of the nodes passed; 0 if null.

    Valid until a node is changed or destroyed. The memory is the driver's: read it, never write it.
    """

    #: CUDA_KERNEL_NODE_PARAMS.kernelParams of each node.
    kernel_params: list[int]
    #: CUDA_KERNEL_NODE_PARAMS.extra of each node.
    extra: list[int]


class KernelLaunch(NamedTuple):
    """One launch of a kernel, for a stream or as a graph node."""

    #: CUfunction; a stream launch also accepts a CUkernel cast to one, a node does not.
    function: int
    #: Blocks along x, y, z.
    grid_dim: tuple[int, int, int]
    #: Threads per block along x, y, z.
    block_dim: tuple[int, int, int]
    #: The bytes of each kernel parameter, in order.
    arguments: tuple[bytes, ...]
    #: Dynamic shared memory, in bytes per block.
    dynamic_shared_mem_bytes: int = 0
    #: CUlaunchAttributeID -> the 64 bytes of its value. For launches only; nodes take one at a time.
    attributes: Mapping[int, bytes] = {}


class LaunchObservations(Protocol):
    """What was observed at the launches that created a graph (see `sigcontract.driver.observe`)."""

    def attributes(self, node: int) -> Mapping[int, bytes] | None:
        """Return the attributes of the launch that created this CUgraphNode: id -> 64 bytes; None if unobserved."""
        ...

    def code_sha256(self, func: int, kern: int) -> str | None:
        """Return the sha256 of the machine code of that CUfunction or CUkernel, or None if unobserved."""
        ...


class ReadApi(Protocol):
    """Calls that only read."""

    def driver_version(self) -> int:
        """cuDriverGetVersion, as 13000."""
        ...

    def device_count(self) -> int:
        """cuDeviceGetCount."""
        ...

    def device_name(self, device: int) -> str:
        """cuDeviceGetName."""
        ...

    def compute_capability(self, device: int) -> tuple[int, int]:
        """cuDeviceGetAttribute of the compute capability: major, minor."""
        ...

    def current_context(self) -> int:
        """cuCtxGetCurrent: the CUcontext of this thread, 0 = none."""
        ...

    def current_device(self) -> int:
        """cuCtxGetDevice: the device of the current context."""
        ...

    def graph_nodes(self, graph: int) -> list[int]:
        """cuGraphGetNodes: every CUgraphNode, in the driver's order."""
        ...

    def graph_edges(self, graph: int) -> EdgeBlock:
        """cuGraphGetEdges with edge data."""
        ...

    def node_dependencies(self, node: int) -> tuple[list[int], bytes]:
        """cuGraphNodeGetDependencies with edge data: nodes in the driver's order, and 8 bytes an edge."""
        ...

    def node_types(self, nodes: Sequence[int]) -> list[int]:
        """cuGraphNodeGetType of each node: CUgraphNodeType as an integer, known here or not."""
        ...

    def kernel_params(self, nodes: Sequence[int]) -> bytes:
        """cuGraphKernelNodeGetParams of each node: 72 bytes each, kernelParams and extra zeroed.

        Both point into driver memory, differ between nodes and carry nothing about the kernel.
        """
        ...

    def kernel_params_and_arguments(self, nodes: Sequence[int]) -> tuple[bytes, ArgumentAddresses]:
        """cuGraphKernelNodeGetParams of each node: as `kernel_params`, and where the arguments are."""
        ...

    def kernel_attributes(self, nodes: Sequence[int], attribute_ids: Sequence[int]) -> list[AttributeColumn]:
        """cuGraphKernelNodeGetAttribute of each node: a column per id. A refusal is a result, other failures raise."""
        ...

    def memcpy_params(self, node: int) -> MemcpyParams:
        """cuGraphMemcpyNodeGetParams."""
        ...

    def memset_params(self, node: int) -> MemsetNodeParams:
        """cuGraphMemsetNodeGetParams."""
        ...

    def host_params(self, node: int) -> HostNodeParams:
        """cuGraphHostNodeGetParams."""
        ...

    def child_graph(self, node: int) -> int:
        """cuGraphChildGraphNodeGetGraph: the CUgraph that the node owns."""
        ...

    def waited_event(self, node: int) -> int:
        """cuGraphEventWaitNodeGetEvent: the CUevent."""
        ...

    def recorded_event(self, node: int) -> int:
        """cuGraphEventRecordNodeGetEvent: the CUevent."""
        ...

    def signal_count(self, node: int) -> int:
        """cuGraphExternalSemaphoresSignalNodeGetParams: how many semaphores."""
        ...

    def wait_count(self, node: int) -> int:
        """cuGraphExternalSemaphoresWaitNodeGetParams: how many semaphores."""
        ...

    def mem_alloc_params(self, node: int) -> MemAllocNodeParams:
        """cuGraphMemAllocNodeGetParams; accessDescs points into memory that the driver owns."""
        ...

    def mem_free_address(self, node: int) -> int:
        """cuGraphMemFreeNodeGetParams: the device address."""
        ...

    def batch_mem_op_params(self, node: int) -> BatchMemOpNodeParams:
        """cuGraphBatchMemOpNodeGetParams; paramArray points into memory that the driver owns."""
        ...

    def conditional_params(self, node: int) -> ConditionalNodeParams | None:
        """cuGraphNodeGetParams of a conditional node, or None if the driver lacks the call (before 13.2)."""
        ...

    def pointer_attributes(self, address: int) -> PointerAttributes | None:
        """cuPointerGetAttributes, or None if the driver refuses."""
        ...

    def allocation_attributes(self, address: int) -> AllocationAttributes | None:
        """cuPointerGetAttributes of the allocation that contains an address, or None if the driver refuses."""
        ...

    def code_address(self) -> int:
        """Address of a driver function, in the region of virtual memory where the process maps libraries and memory."""
        ...

    def kernel_name(self, kern: int) -> bytes:
        """cuKernelGetName."""
        ...

    def function_name(self, func: int) -> bytes:
        """cuFuncGetName."""
        ...

    def kernel_function(self, kern: int) -> int:
        """cuKernelGetFunction: the kernel's CUfunction in the current context."""
        ...

    def function_attribute(self, func: int, attribute: int) -> int | None:
        """cuFuncGetAttribute (CUfunction_attribute), or None if the driver refuses."""
        ...

    def function_parameters(self, func: int) -> list[tuple[int, int]] | None:
        """cuFuncGetParamInfo of each parameter: offset and size in bytes; None if the driver refuses."""
        ...


class DriverApi(ReadApi, Protocol):
    """Calls that read graphs and that instantiate, update and launch executables."""

    def mem_get_info(self) -> tuple[int, int]:
        """cuMemGetInfo of the current context: free and total bytes."""
        ...

    def graph_instantiate(self, graph: int, flags: int = 0) -> int:
        """cuGraphInstantiateWithFlags: a CUgraphExec that the caller must destroy."""
        ...

    def graph_exec_update(self, graph_exec: int, graph: int) -> UpdateOutcome:
        """cuGraphExecUpdate. A refusal is an outcome (result not 0), not an error; other failures raise."""
        ...

    def graph_exec_destroy(self, graph_exec: int) -> None:
        """cuGraphExecDestroy."""
        ...

    def graph_launch(self, graph_exec: int, stream: int) -> None:
        """cuGraphLaunch."""
        ...

    def stream_synchronize(self, stream: int) -> None:
        """cuStreamSynchronize."""
        ...


class BuildApi(DriverApi, Protocol):
    """Calls that measuring needs in addition: modules, memory, streams, explicit and captured graphs."""

    def primary_context_retain(self, device: int) -> int:
        """cuDevicePrimaryCtxRetain: a CUcontext; release it with `primary_context_release`."""
        ...

    def primary_context_release(self, device: int) -> None:
        """cuDevicePrimaryCtxRelease."""
        ...

    def context_push(self, context: int) -> None:
        """cuCtxPushCurrent."""
        ...

    def context_pop(self) -> int:
        """cuCtxPopCurrent: the CUcontext that was current."""
        ...

    def module_load(self, image: bytes) -> int:
        """cuModuleLoadData: a CUmodule from PTX text or a cubin."""
        ...

    def module_function(self, module: int, name: str) -> int:
        """cuModuleGetFunction: a CUfunction."""
        ...

    def module_unload(self, module: int) -> None:
        """cuModuleUnload."""
        ...

    def mem_alloc(self, size_bytes: int) -> int:
        """cuMemAlloc: a device address."""
        ...

    def mem_free(self, address: int) -> None:
        """cuMemFree."""
        ...

    def copy_to_device(self, address: int, data: bytes) -> None:
        """cuMemcpyHtoD; returns when the copy is done."""
        ...

    def copy_from_device(self, address: int, size_bytes: int) -> bytes:
        """cuMemcpyDtoH; returns when the copy is done."""
        ...

    def stream_create(self) -> int:
        """cuStreamCreate, not synchronizing with the legacy default stream."""
        ...

    def stream_destroy(self, stream: int) -> None:
        """cuStreamDestroy."""
        ...

    def event_create(self) -> int:
        """cuEventCreate, without timing."""
        ...

    def event_destroy(self, event: int) -> None:
        """cuEventDestroy."""
        ...

    def event_record(self, event: int, stream: int) -> None:
        """cuEventRecord."""
        ...

    def stream_wait_event(self, stream: int, event: int) -> None:
        """cuStreamWaitEvent."""
        ...

    def begin_capture(self, stream: int) -> None:
        """cuStreamBeginCapture, thread-local mode."""
        ...

    def end_capture(self, stream: int) -> int:
        """cuStreamEndCapture: a CUgraph that the caller must destroy."""
        ...

    def launch_kernel(self, launch: KernelLaunch, stream: int) -> None:
        """cuLaunchKernelEx."""
        ...

    def graph_create(self) -> int:
        """cuGraphCreate: a CUgraph that the caller must destroy."""
        ...

    def graph_destroy(self, graph: int) -> None:
        """cuGraphDestroy."""
        ...

    def add_kernel_node(self, graph: int, launch: KernelLaunch, dependencies: Sequence[int] = ()) -> int:
        """cuGraphAddKernelNode: a CUgraphNode. The launch's attributes are not applied."""
        ...

    def set_kernel_attribute(self, node: int, attribute_id: int, value: bytes) -> None:
        """cuGraphKernelNodeSetAttribute, with the 64 bytes of CUlaunchAttributeValue."""
        ...
