"""`CudaDriver`: the calls of `BuildApi` on libcuda."""

from collections.abc import Sequence
from contextlib import suppress
from ctypes import (
    Array,
    addressof,
    byref,
    c_char,
    c_char_p,
    c_int,
    c_size_t,
    c_uint,
    c_uint64,
    c_void_p,
    create_string_buffer,
    memset,
)
from functools import cache
from itertools import repeat, starmap
from typing import Any

from sigcontract.driver.cuda.api import (
    AllocationAttributes,
    ArgumentAddresses,
    AttributeColumn,
    EdgeBlock,
    PointerAttributes,
    UpdateOutcome,
)
from sigcontract.driver.cuda.build_calls import BuildCalls
from sigcontract.driver.cuda.layouts import (
    ATTRIBUTE_VALUE_BYTES,
    EDGE_DATA_BYTES,
    KERNEL_NODE_PARAMS_BYTES,
    BatchMemOpNodeParams,
    ConditionalNodeParams,
    ExtSemNodeParams,
    GraphNodeParams,
    HostNodeParams,
    KernelNodeParams,
    MemAllocNodeParams,
    MemcpyParams,
    MemsetNodeParams,
    UpdateResultInfo,
)
from sigcontract.driver.cuda.library import (
    SUCCESS,
    Library,
    Resolve,
    resolve_with_bindings,
)
from sigcontract.errors import DriverError
from sigcontract.model import (
    DeviceAttribute,
    PointerAttribute,
    Result,
)

__all__ = ["CudaDriver", "default_driver"]

#: Required for reading: construction fails if the driver lacks one, not a later read.
_REQUIRED = ("cuGraphGetEdges", "cuGraphNodeGetDependencies", "cuGraphKernelNodeGetParams", "cuFuncGetName")


#: In the order that `pointer_attributes` unpacks.
_POINTER_ATTRIBUTES = (
    PointerAttribute.CONTEXT,
    PointerAttribute.MEMORY_TYPE,
    PointerAttribute.IS_MANAGED,
    PointerAttribute.DEVICE_ORDINAL,
)
#: In the order that `allocation_attributes` unpacks.
_ALLOCATION_ATTRIBUTES = (
    PointerAttribute.RANGE_START_ADDR,
    PointerAttribute.RANGE_SIZE,
    PointerAttribute.MAPPING_BASE_ADDR,
    PointerAttribute.MAPPING_SIZE,
    PointerAttribute.MEMORY_TYPE,
    PointerAttribute.DEVICE_ORDINAL,
    PointerAttribute.IS_MANAGED,
    PointerAttribute.MEMPOOL_HANDLE,
)
_ALLOCATION_IDS = (c_int * len(_ALLOCATION_ATTRIBUTES))(*_ALLOCATION_ATTRIBUTES)
_KERNEL_PARAMS_WORD = KernelNodeParams.kernelParams.offset // 8
_EXTRA_WORD = KernelNodeParams.extra.offset // 8
_KERNEL_NODE_WORDS = KERNEL_NODE_PARAMS_BYTES // 8

_to_pointer = c_void_p.from_param

_TAKEN = UpdateOutcome(SUCCESS, 0, 0)


class CudaDriver(BuildCalls):
    """The CUDA driver of this process.

    Safe to share between threads. It holds no CUDA resource.

    Parameters
    ----------
    resolve
        Returns addresses of C functions; by default through the installed cuda-bindings.

    Raises
    ------
    DriverUnavailableError
        No bindings, no libcuda, no device, or a driver older than CUDA 12.3; see ``.reason``.
    DriverCallError
        cuInit failed for another reason.
    """

    def __init__(self, resolve: Resolve | None = None) -> None:
        self.library = Library(resolve if resolve is not None else resolve_with_bindings())
        self._call = self.library.call
        self._call("cuInit", 0)
        for name in _REQUIRED:
            self.library.require(name)

    # The driver, devices and contexts

    def driver_version(self) -> int:
        """cuDriverGetVersion, as 13000."""
        return self._int("cuDriverGetVersion")

    def device_count(self) -> int:
        """cuDeviceGetCount."""
        return self._int("cuDeviceGetCount")

    def device_name(self, device: int) -> str:
        """cuDeviceGetName."""
        name = create_string_buffer(256)
        self._call("cuDeviceGetName", name, len(name), device)
        return name.value.decode(errors="backslashreplace")

    def compute_capability(self, device: int) -> tuple[int, int]:
        """cuDeviceGetAttribute of the compute capability: major, minor."""
        major, minor = c_int(), c_int()
        self._call("cuDeviceGetAttribute", byref(major), DeviceAttribute.COMPUTE_CAPABILITY_MAJOR, device)
        self._call("cuDeviceGetAttribute", byref(minor), DeviceAttribute.COMPUTE_CAPABILITY_MINOR, device)
        return major.value, minor.value

    def current_context(self) -> int:
        """cuCtxGetCurrent: the CUcontext of this thread, 0 = none."""
        return self._made("cuCtxGetCurrent")

    def current_device(self) -> int:
        """cuCtxGetDevice: the device of the current context."""
        return self._int("cuCtxGetDevice")

    # Reading a graph

    def graph_nodes(self, graph: int) -> list[int]:
        """cuGraphGetNodes: every CUgraphNode, in the driver's order."""
        count = c_size_t()
        self._call("cuGraphGetNodes", graph, None, byref(count))
        if not count.value:
            return []
        nodes = (c_uint64 * count.value)()
        self._call("cuGraphGetNodes", graph, nodes, byref(count))
        return nodes[: count.value]

    def graph_edges(self, graph: int) -> EdgeBlock:
        """cuGraphGetEdges with edge data."""
        count = c_size_t()
        self._call("cuGraphGetEdges", graph, None, None, None, byref(count))
        if not count.value:
            return EdgeBlock([], [], b"")
        from_nodes, to_nodes = (c_uint64 * count.value)(), (c_uint64 * count.value)()
        data = (c_char * (count.value * EDGE_DATA_BYTES))()
        self._call("cuGraphGetEdges", graph, from_nodes, to_nodes, data, byref(count))
        end = count.value
        return EdgeBlock(from_nodes[:end], to_nodes[:end], data.raw[: end * EDGE_DATA_BYTES])

    def node_dependencies(self, node: int) -> tuple[list[int], bytes]:
        """cuGraphNodeGetDependencies with edge data: nodes in the driver's order, and 8 bytes an edge."""
        count = c_size_t()
        self._call("cuGraphNodeGetDependencies", node, None, None, byref(count))
        if not count.value:
            return [], b""
        nodes = (c_uint64 * count.value)()
        data = (c_char * (count.value * EDGE_DATA_BYTES))()
        self._call("cuGraphNodeGetDependencies", node, nodes, data, byref(count))
        return nodes[: count.value], data.raw[: count.value * EDGE_DATA_BYTES]

    def node_types(self, nodes: Sequence[int]) -> list[int]:
        """cuGraphNodeGetType of each node: CUgraphNodeType as an integer, possibly unknown to this release."""
        types = (c_int * len(nodes))()
        self._call_all("cuGraphNodeGetType", nodes, _slots(types, 4, len(nodes)))
        return types[:]

    def kernel_params(self, nodes: Sequence[int]) -> bytes:
        """cuGraphKernelNodeGetParams of each node: 72 bytes each, kernelParams and extra zeroed."""
        return _without_addresses(self._kernel_param_words(nodes), len(nodes))

    def kernel_params_and_arguments(self, nodes: Sequence[int]) -> tuple[bytes, ArgumentAddresses]:
        """cuGraphKernelNodeGetParams of each node: as `kernel_params`, and where the arguments are."""
        words = self._kernel_param_words(nodes)
        addresses = ArgumentAddresses(
            words[_KERNEL_PARAMS_WORD::_KERNEL_NODE_WORDS].tolist(), words[_EXTRA_WORD::_KERNEL_NODE_WORDS].tolist()
        )
        return _without_addresses(words, len(nodes)), addresses

    def _kernel_param_words(self, nodes: Sequence[int]) -> "memoryview[int]":
        params = (c_uint64 * (_KERNEL_NODE_WORDS * len(nodes)))()
        self._call_all("cuGraphKernelNodeGetParams", nodes, _slots(params, KERNEL_NODE_PARAMS_BYTES, len(nodes)))
        return memoryview(params).cast("B").cast("Q")

    def kernel_attributes(self, nodes: Sequence[int], attribute_ids: Sequence[int]) -> list[AttributeColumn]:
        """cuGraphKernelNodeGetAttribute of each node: a column per id. A refusal is a result, other failures raise."""
        values = (c_char * (len(nodes) * ATTRIBUTE_VALUE_BYTES))()
        handles = list(map(_to_pointer, nodes))
        slots = list(_slots(values, ATTRIBUTE_VALUE_BYTES, len(nodes)))
        get = self.library.bulk("cuGraphKernelNodeGetAttribute")
        columns = []
        for attribute_id in attribute_ids:
            memset(values, 0, len(values))
            results = list(starmap(get, zip(handles, repeat(attribute_id), slots, strict=False)))
            if results.count(SUCCESS) != len(results):
                self._check_refusals("cuGraphKernelNodeGetAttribute", results)
            columns.append(AttributeColumn(values.raw, results))
        return columns

    def memcpy_params(self, node: int) -> MemcpyParams:
        """cuGraphMemcpyNodeGetParams."""
        params = MemcpyParams()
        self._call("cuGraphMemcpyNodeGetParams", node, byref(params))
        return params

    def memset_params(self, node: int) -> MemsetNodeParams:
        """cuGraphMemsetNodeGetParams."""
        params = MemsetNodeParams()
        self._call("cuGraphMemsetNodeGetParams", node, byref(params))
        return params

    def host_params(self, node: int) -> HostNodeParams:
        """cuGraphHostNodeGetParams."""
        params = HostNodeParams()
        self._call("cuGraphHostNodeGetParams", node, byref(params))
        return params

    def child_graph(self, node: int) -> int:
        """cuGraphChildGraphNodeGetGraph: the CUgraph that the node owns."""
        return self._given("cuGraphChildGraphNodeGetGraph", node)

    def waited_event(self, node: int) -> int:
        """cuGraphEventWaitNodeGetEvent: the CUevent."""
        return self._given("cuGraphEventWaitNodeGetEvent", node)

    def recorded_event(self, node: int) -> int:
        """cuGraphEventRecordNodeGetEvent: the CUevent."""
        return self._given("cuGraphEventRecordNodeGetEvent", node)

    def signal_count(self, node: int) -> int:
        """cuGraphExternalSemaphoresSignalNodeGetParams: how many semaphores."""
        params = ExtSemNodeParams()
        self._call("cuGraphExternalSemaphoresSignalNodeGetParams", node, byref(params))
        return int(params.numExtSems)

    def wait_count(self, node: int) -> int:
        """cuGraphExternalSemaphoresWaitNodeGetParams: how many semaphores."""
        params = ExtSemNodeParams()
        self._call("cuGraphExternalSemaphoresWaitNodeGetParams", node, byref(params))
        return int(params.numExtSems)

    def mem_alloc_params(self, node: int) -> MemAllocNodeParams:
        """cuGraphMemAllocNodeGetParams; accessDescs points into memory that the driver owns."""
        params = MemAllocNodeParams()
        self._call("cuGraphMemAllocNodeGetParams", node, byref(params))
        return params

    def mem_free_address(self, node: int) -> int:
        """cuGraphMemFreeNodeGetParams: the device address."""
        return self._given("cuGraphMemFreeNodeGetParams", node)

    def batch_mem_op_params(self, node: int) -> BatchMemOpNodeParams:
        """cuGraphBatchMemOpNodeGetParams; paramArray points into memory that the driver owns."""
        params = BatchMemOpNodeParams()
        self._call("cuGraphBatchMemOpNodeGetParams", node, byref(params))
        return params

    def conditional_params(self, node: int) -> ConditionalNodeParams | None:
        """cuGraphNodeGetParams of a conditional node, or None if the driver lacks the call (before 13.2)."""
        if not self.library.has("cuGraphNodeGetParams"):
            return None
        params = GraphNodeParams()
        self._call("cuGraphNodeGetParams", node, byref(params))
        return ConditionalNodeParams.from_buffer_copy(params, GraphNodeParams.params.offset)

    def pointer_attributes(self, address: int) -> PointerAttributes | None:
        """cuPointerGetAttributes, or None if the driver refuses."""
        context, memory_type, managed, ordinal = c_void_p(), c_uint(), c_uint(), c_int()
        outs = (context, memory_type, managed, ordinal)
        addresses = (c_void_p * len(outs))(*map(addressof, outs))
        ids = (c_int * len(outs))(*_POINTER_ATTRIBUTES)
        result = self.library.result_of("cuPointerGetAttributes", len(outs), ids, addresses, address)
        if result != SUCCESS:
            return None
        return PointerAttributes(memory_type.value, ordinal.value, context.value or 0, bool(managed.value))

    def allocation_attributes(self, address: int) -> AllocationAttributes | None:
        """cuPointerGetAttributes of the allocation that contains an address, or None if the driver refuses."""
        start, size, mapping, mapping_size = c_void_p(), c_size_t(), c_void_p(), c_size_t()
        memory_type, ordinal, managed, pool = c_uint(), c_int(), c_uint(), c_void_p()
        outs = (start, size, mapping, mapping_size, memory_type, ordinal, managed, pool)
        addresses = (c_void_p * len(outs))(*map(addressof, outs))
        result = self.library.result_of("cuPointerGetAttributes", len(outs), _ALLOCATION_IDS, addresses, address)
        if result != SUCCESS:
            return None
        return AllocationAttributes(
            start=start.value or 0,
            size_bytes=size.value,
            mapping_start=mapping.value or 0,
            mapping_size_bytes=mapping_size.value,
            memory_type=memory_type.value,
            device_ordinal=ordinal.value,
            managed=bool(managed.value),
            pooled=bool(pool.value),
        )

    def code_address(self) -> int:
        """Address of a driver function, in the region of virtual memory where the process maps libraries and memory."""
        return self.library.require("cuGraphGetNodes")

    # Functions

    def kernel_name(self, kern: int) -> bytes:
        """cuKernelGetName."""
        return self._text("cuKernelGetName", kern)

    def function_name(self, func: int) -> bytes:
        """cuFuncGetName."""
        return self._text("cuFuncGetName", func)

    def kernel_function(self, kern: int) -> int:
        """cuKernelGetFunction: the kernel's CUfunction in the current context."""
        return self._made("cuKernelGetFunction", kern)

    def function_attribute(self, func: int, attribute: int) -> int | None:
        """cuFuncGetAttribute (CUfunction_attribute), or None if the driver refuses."""
        value = c_int()
        result = self.library.result_of("cuFuncGetAttribute", byref(value), attribute, func)
        return value.value if result == SUCCESS else None

    def function_parameters(self, func: int) -> list[tuple[int, int]] | None:
        """cuFuncGetParamInfo of each parameter: offset and size in bytes; None if the driver refuses."""
        if not self.library.has("cuFuncGetParamInfo"):
            return None
        offset, size = c_size_t(), c_size_t()
        parameters: list[tuple[int, int]] = []
        while True:
            result = self.library.result_of("cuFuncGetParamInfo", func, len(parameters), byref(offset), byref(size))
            if result == Result.INVALID_VALUE:  # the documented end of the list
                return parameters
            if result != SUCCESS:
                return None
            parameters.append((offset.value, size.value))

    # Executables

    def mem_get_info(self) -> tuple[int, int]:
        """cuMemGetInfo of the current context: free and total bytes."""
        free, total = c_size_t(), c_size_t()
        self._call("cuMemGetInfo", byref(free), byref(total))
        return free.value, total.value

    def graph_instantiate(self, graph: int, flags: int = 0) -> int:
        """cuGraphInstantiateWithFlags: a CUgraphExec that the caller must destroy."""
        made = c_void_p()
        try:
            self._call("cuGraphInstantiateWithFlags", byref(made), graph, flags)
        except BaseException:
            # A signal handler may raise when the call returns, before the caller has the handle.
            if made.value:
                with suppress(DriverError):
                    self.graph_exec_destroy(made.value)
            raise
        return made.value or 0

    def graph_exec_update(self, graph_exec: int, graph: int) -> UpdateOutcome:
        """cuGraphExecUpdate. A refusal is an outcome (result not 0), not an error; other failures raise."""
        info = UpdateResultInfo()
        # Converts nothing: this runs at every re-point of a shared executable.
        update = self.library.bulk("cuGraphExecUpdate")
        result = update(_to_pointer(graph_exec), _to_pointer(graph), byref(info))
        if result == info.result == SUCCESS:
            return _TAKEN
        if result not in (SUCCESS, Result.GRAPH_EXEC_UPDATE_FAILURE):
            raise self.library.error("cuGraphExecUpdate", result)
        if result == Result.GRAPH_EXEC_UPDATE_FAILURE and info.result == SUCCESS:
            raise self.library.error("cuGraphExecUpdate", result)
        return UpdateOutcome(info.result, info.errorNode or 0, info.errorFromNode or 0)

    def graph_exec_destroy(self, graph_exec: int) -> None:
        """cuGraphExecDestroy."""
        self._call("cuGraphExecDestroy", graph_exec)

    def graph_launch(self, graph_exec: int, stream: int) -> None:
        """cuGraphLaunch."""
        result = self.library.checked("cuGraphLaunch")(graph_exec, stream)  # the hot path of every replay
        if result:
            raise self.library.error("cuGraphLaunch", result)

    def stream_synchronize(self, stream: int) -> None:
        """cuStreamSynchronize."""
        self._call("cuStreamSynchronize", stream)

    def _int(self, name: str) -> int:
        value = c_int()
        self._call(name, byref(value))
        return value.value

    def _text(self, name: str, handle: int) -> bytes:
        text = c_char_p()
        self._call(name, byref(text), handle)
        return text.value or b""

    def _check_refusals(self, name: str, results: Sequence[int]) -> None:
        for result in results:
            if result not in (SUCCESS, Result.INVALID_VALUE, Result.NOT_SUPPORTED):
                raise self.library.error(name, result)

    def _call_all(self, name: str, nodes: Sequence[int], slots: "map[Any]") -> None:
        """Call a getter for each node, with one output slot per node."""
        for result in starmap(self.library.bulk(name), zip(map(_to_pointer, nodes), slots, strict=True)):
            if result != SUCCESS:
                raise self.library.error(name, result)


def _slots(buffer: "Array[Any]", stride: int, count: int) -> "map[Any]":
    """Return one pointer argument per node, `stride` bytes apart in the buffer."""
    start = addressof(buffer)
    return map(_to_pointer, range(start, start + count * stride, stride))


def _without_addresses(words: "memoryview[int]", count: int) -> bytes:
    """Return the parameters of `count` kernel nodes, kernelParams and extra zeroed in our copy."""
    zeros = memoryview(bytes(8 * count)).cast("Q")
    words[_KERNEL_PARAMS_WORD::_KERNEL_NODE_WORDS] = zeros
    words[_EXTRA_WORD::_KERNEL_NODE_WORDS] = zeros
    return bytes(words)


@cache
def default_driver() -> CudaDriver:
    """Return this process's driver, created on first use. Raises as `CudaDriver` does."""
    return CudaDriver()
