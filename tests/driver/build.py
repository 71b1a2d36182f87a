"""Making graphs of every node type on a driver, real or fake: what the tests of the adapter read back."""

from collections.abc import Mapping, Sequence
from ctypes import addressof, byref, c_uint64, c_void_p, create_string_buffer
from typing import Any

from sigcontract.driver.cuda.build_calls import handle_array
from sigcontract.driver.cuda.driver import CudaDriver
from sigcontract.driver.cuda.functions import FUNCTIONS, Entry
from sigcontract.driver.cuda.layouts import (
    BatchMemOpNodeParams,
    GraphNodeParams,
    HostNodeParams,
    KernelNodeParams,
    MemAccessDesc,
    MemAllocNodeParams,
    MemcpyParams,
    MemsetNodeParams,
    StreamBatchMemOpParams,
)
from sigcontract.driver.cuda.library import Library
from sigcontract.driver.reading.attribute_values import encode_attribute
from sigcontract.model.attributes import AttributeValue

__all__ = ["BUILD_FUNCTIONS", "Edge", "GraphBuilder"]

#: A node, or a node with from_port and CUgraphDependencyType.
Edge = int | tuple[int, int, int]

BUILD_FUNCTIONS: dict[str, Entry] = {
    **{name: FUNCTIONS[name] for name in ("cuGetErrorName", "cuGraphAddKernelNode")},
    "cuGraphAddMemcpyNode": Entry(10000, "pppzpp"),
    "cuGraphAddMemsetNode": Entry(10000, "pppzpp"),
    "cuGraphAddHostNode": Entry(10000, "pppzp"),
    "cuGraphAddEmptyNode": Entry(10000, "pppz"),
    "cuGraphAddChildGraphNode": Entry(10000, "pppzp"),
    "cuGraphAddEventRecordNode": Entry(11010, "pppzp"),
    "cuGraphAddEventWaitNode": Entry(11010, "pppzp"),
    "cuGraphAddMemAllocNode": Entry(11040, "pppzp"),
    "cuGraphAddMemFreeNode": Entry(11040, "pppzp"),
    "cuGraphAddBatchMemOpNode": Entry(11070, "pppzp"),
    "cuGraphAddNode": Entry(12030, "ppppzp"),
    "cuGraphConditionalHandleCreate": Entry(12030, "pppuu"),
    "cuGraphAddDependencies": Entry(12030, "ppppz"),
    "cuLibraryLoadData": Entry(12000, "ppppuppu"),
    "cuLibraryGetKernel": Entry(12000, "ppp"),
    "cuLibraryUnload": Entry(12000, "p"),
}

_DEVICE, _HOST = 2, 1  # CUmemorytype
_CONDITIONAL = 13  # CUgraphNodeType
_ASSIGN_DEFAULT = 1  # CU_GRAPH_COND_ASSIGN_DEFAULT


class GraphBuilder:
    """One CUgraph under construction.

    Every method that adds a node returns its handle; ``after`` are its dependencies, in the order in which they are
    added, each a node or ``(node, from_port, type)``. The graph is the caller's to destroy (`destroy`).
    """

    def __init__(self, driver: CudaDriver, graph: int | None = None) -> None:
        self.driver = driver
        self.graph = driver.graph_create() if graph is None else graph
        self._library = Library(driver.library.resolve, BUILD_FUNCTIONS)
        self._kept: list[Any] = []  # memory that the driver may read until the graph is gone

    def destroy(self) -> None:
        """Destroy the graph."""
        self.driver.graph_destroy(self.graph)

    def kernel(  # noqa: PLR0913  a launch has that many parts
        self,
        function: int,
        *,
        is_library_kernel: bool = False,
        grid: tuple[int, int, int] = (8, 1, 1),
        block: tuple[int, int, int] = (32, 1, 1),
        shared: int = 0,
        arguments: Sequence[bytes] = (),
        packed: bytes | None = None,
        attributes: Mapping[int, AttributeValue] | None = None,
        after: Sequence[Edge] = (),
    ) -> int:
        """Add a kernel node, of a CUfunction or of a library's CUkernel, and set attributes of it.

        It takes its parameters one by one, or as a packed buffer (``extra``).
        """
        kept = [create_string_buffer(argument, len(argument)) for argument in arguments]
        pointers = (c_void_p * max(len(kept), 1))(*map(addressof, kept))
        params = KernelNodeParams(None, *grid, *block, shared, addressof(pointers))
        if packed is not None:
            buffer, size = create_string_buffer(packed, len(packed)), c_uint64(len(packed))
            extra = (c_uint64 * 5)(1, addressof(buffer), 2, addressof(size), 0)
            params.kernelParams, params.extra = None, addressof(extra)
        if is_library_kernel:
            params.kern = function
        else:
            params.func = function
        node = self._add("cuGraphAddKernelNode", _plain(after), byref(params))
        for attribute_id, value in (attributes or {}).items():
            self.driver.set_kernel_attribute(node, attribute_id, encode_attribute(attribute_id, value))
        return self._after(node, after)

    def memset(  # noqa: PLR0913  as CUDA_MEMSET_NODE_PARAMS
        self,
        address: int,
        *,
        value: int = 0,
        width: int = 16,
        height: int = 1,
        element_size: int = 1,
        pitch: int = 0,
        after: Sequence[Edge] = (),
    ) -> int:
        """Add a fill."""
        params = MemsetNodeParams(address, pitch, value, element_size, width, height)
        return self._add("cuGraphAddMemsetNode", after, byref(params), self.driver.current_context())

    def memcpy(  # noqa: PLR0913  as CUDA_MEMCPY3D
        self,
        destination: int,
        source: int,
        *,
        width: int = 16,
        height: int = 1,
        pitch: int = 0,
        to_host: bool = False,
        after: Sequence[Edge] = (),
    ) -> int:
        """Add a copy from the device, to the device or to the host."""
        params = MemcpyParams(srcMemoryType=_DEVICE, srcDevice=source, srcPitch=pitch, srcHeight=height)
        params.dstPitch, params.dstHeight = pitch, height
        params.WidthInBytes, params.Height, params.Depth = width, height, 1
        if to_host:
            params.dstMemoryType, params.dstHost = _HOST, destination
        else:
            params.dstMemoryType, params.dstDevice = _DEVICE, destination
        return self.copy(params, after)

    def copy(self, params: MemcpyParams, after: Sequence[Edge] = ()) -> int:
        """Add a copy of any kind."""
        return self._add("cuGraphAddMemcpyNode", after, byref(params), self.driver.current_context())

    def empty(self, after: Sequence[Edge] = ()) -> int:
        """Add a node that does nothing."""
        return self._add("cuGraphAddEmptyNode", after)

    def host(self, function_address: int, user_data: int = 0, after: Sequence[Edge] = ()) -> int:
        """Add a host function."""
        return self._add("cuGraphAddHostNode", after, byref(HostNodeParams(function_address, user_data)))

    def record(self, event: int, after: Sequence[Edge] = ()) -> int:
        """Add a record of an event."""
        return self._add("cuGraphAddEventRecordNode", after, event)

    def wait(self, event: int, after: Sequence[Edge] = ()) -> int:
        """Add a wait for an event."""
        return self._add("cuGraphAddEventWaitNode", after, event)

    def child(self, graph: int, after: Sequence[Edge] = ()) -> int:
        """Add a child graph, a copy of the given one."""
        return self._add("cuGraphAddChildGraphNode", after, graph)

    def alloc(
        self, size: int, device: int = 0, after: Sequence[Edge] = (), *, accessible: bool = True
    ) -> tuple[int, int]:
        """Add an allocation, its own device named among those that may use it or not; returns node and address."""
        access = MemAccessDesc((1, device), 3)  # CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        params = MemAllocNodeParams()
        params.poolProps.allocType = 1  # CU_MEM_ALLOCATION_TYPE_PINNED
        params.poolProps.location.type, params.poolProps.location.id = 1, device
        if accessible:
            params.accessDescs, params.accessDescCount = addressof(access), 1
        params.bytesize = size
        node = self._add("cuGraphAddMemAllocNode", after, byref(params))
        return node, params.dptr

    def free(self, address: int, after: Sequence[Edge] = ()) -> int:
        """Add a free."""
        return self._add("cuGraphAddMemFreeNode", after, address)

    def write_value(self, address: int, value: int, after: Sequence[Edge] = ()) -> int:
        """Add a batch of two operations: write a 64-bit value, write a 32-bit value."""
        operations = [StreamBatchMemOpParams(), StreamBatchMemOpParams()]
        for one, operation in zip(operations, (5, 2), strict=True):  # WRITE_VALUE_64, WRITE_VALUE_32
            one.value.operation, one.value.address, one.value.value64 = operation, address, value
        return self.batch(operations, after)

    def batch(self, operations: Sequence[StreamBatchMemOpParams], after: Sequence[Edge] = ()) -> int:
        """Add a batch of memory operations."""
        array = (StreamBatchMemOpParams * len(operations))(*operations)
        params = BatchMemOpNodeParams(self.driver.current_context(), len(operations), addressof(array), 0)
        return self._add("cuGraphAddBatchMemOpNode", after, byref(params))

    def conditional(
        self, kind: int = 0, size: int = 1, after: Sequence[Edge] = (), *, default: int | None = None
    ) -> tuple[int, list["GraphBuilder"]]:
        """Add a conditional, its value set at each launch where a default is given; returns it and its bodies."""
        handle = c_uint64()
        context = self.driver.current_context()
        flags = 0 if default is None else _ASSIGN_DEFAULT
        self._library.call("cuGraphConditionalHandleCreate", byref(handle), self.graph, context, default or 0, flags)
        params = GraphNodeParams(type=_CONDITIONAL)
        params.conditional.handle = handle.value
        params.conditional.type, params.conditional.size, params.conditional.ctx = kind, size, context
        node = c_void_p()
        plain = _plain(after)
        self._library.call(
            "cuGraphAddNode", byref(node), self.graph, handle_array(plain), None, len(plain), byref(params)
        )
        bodies = (c_void_p * size).from_address(params.conditional.phGraph_out)
        return self._after(node.value or 0, after), [GraphBuilder(self.driver, body) for body in bodies]

    def edge(self, from_node: int, to_node: int, from_port: int = 0, dependency_type: int = 0) -> None:
        """Add a dependency."""
        self.depend(to_node, [(from_node, from_port, dependency_type)])

    def depend(self, node: int, after: Sequence[Edge]) -> None:
        """Add dependencies of a node in one call."""
        edges = [(one, 0, 0) if isinstance(one, int) else one for one in after]
        if edges:
            sources = handle_array([source for source, _, _ in edges])
            data = b"".join(bytes((from_port, 0, kind)).ljust(8, b"\0") for _, from_port, kind in edges)
            targets = handle_array([node] * len(edges))
            self._library.call("cuGraphAddDependencies", self.graph, sources, targets, data, len(edges))

    def load_library(self, image: bytes) -> int:
        """cuLibraryLoadData: a CUlibrary."""
        handle = c_void_p()
        text = create_string_buffer(image)
        self._library.call("cuLibraryLoadData", byref(handle), text, None, None, 0, None, None, 0)
        return handle.value or 0

    def library_kernel(self, library: int, name: str) -> int:
        """cuLibraryGetKernel: a CUkernel."""
        handle = c_void_p()
        self._library.call("cuLibraryGetKernel", byref(handle), library, name.encode())
        return handle.value or 0

    def unload_library(self, library: int) -> None:
        """cuLibraryUnload."""
        self._library.call("cuLibraryUnload", library)

    def _add(self, name: str, after: Sequence[Edge], *arguments: object) -> int:
        node = c_void_p()
        plain = _plain(after)
        self._library.call(name, byref(node), self.graph, handle_array(plain), len(plain), *arguments)
        return self._after(node.value or 0, after)

    def _after(self, node: int, after: Sequence[Edge]) -> int:
        """Add the dependencies that carry data, once those without it are there."""
        for one in after:
            if not isinstance(one, int):
                self.edge(one[0], node, one[1], one[2])
        return node


def _plain(after: Sequence[Edge]) -> list[int]:
    return [one for one in after if isinstance(one, int)]
