"""Reading graphs of the fake driver."""

from ctypes import (
    addressof,
    c_int,
    c_size_t,
    c_uint64,
    c_void_p,
    memmove,
)

from sigcontract.driver.cuda.layouts import (
    ExtSemNodeParams,
    GraphNodeParams,
    KernelNodeParams,
    MemsetNodeParams,
)
from tests.driver.fake_base import (
    ALLOC,
    BASELINE,
    CHILD,
    CONDITIONAL,
    FREE,
    HOST,
    INVALID_HANDLE,
    INVALID_VALUE,
    LOSSY_QUERY,
    MEM_OP,
    MEMCPY,
    MEMSET,
    PRIMARY_CONTEXT,
    RECORD,
    SEMAPHORE_WAIT,
    SIGNAL,
    WAIT,
    FakeBase,
    Refused,
    entry,
    put,
)
from tests.driver.fake_state import KERNEL

__all__ = ["FakeReading"]


class FakeReading(FakeBase):
    """The getters."""

    # Reading graphs

    @entry("cuGraphGetNodes")
    def _get_nodes(self, graph: int, out: int | None, count: int) -> None:
        _give_handles([node.handle for node in self._graph(graph).nodes], out, count)

    def _edges(self, graph: int) -> list[tuple[int, int, tuple[int, int, int]]]:
        """Return the edges by the node that they leave: the order in which they were added is lost (measured)."""
        number = {node.handle: index for index, node in enumerate(self._graph(graph).nodes)}
        edges = [
            (edge.node.handle, node.handle, edge.data)
            for node in self._graph(graph).nodes
            for edge in node.dependencies
        ]
        return sorted(edges, key=lambda edge: (number[edge[0]], number[edge[1]]))

    @entry("cuGraphGetEdges", 10000, "pppp")
    def _get_edges_without_data(self, graph: int, sources: int | None, targets: int | None, count: int) -> None:
        edges = self._edges(graph)
        if any(any(data) for *_ends, data in edges):
            raise Refused(LOSSY_QUERY)
        _give_handles([edge[1] for edge in edges], targets, count)
        _give_handles([edge[0] for edge in edges], sources, count)

    @entry("cuGraphGetEdges")
    def _get_edges(self, graph: int, sources: int | None, targets: int | None, data: int | None, count: int) -> None:
        edges = self._edges(graph)
        if data is None and sources is not None and any(any(one) for *_ends, one in edges):
            raise Refused(LOSSY_QUERY)
        if data is not None:
            _give_data([edge[2] for edge in edges], data, count)
        _give_handles([edge[1] for edge in edges], targets, count)
        _give_handles([edge[0] for edge in edges], sources, count)

    @entry("cuGraphNodeGetDependencies", 10000, "ppp")
    def _get_dependencies_without_data(self, node: int, out: int | None, count: int) -> None:
        dependencies = self._node(node).dependencies
        if any(any(edge.data) for edge in dependencies):
            raise Refused(LOSSY_QUERY)
        _give_handles([edge.node.handle for edge in dependencies], out, count)

    @entry("cuGraphNodeGetDependencies")
    def _get_dependencies(self, node: int, out: int | None, data: int | None, count: int) -> None:
        dependencies = self._node(node).dependencies
        if data is not None:
            _give_data([edge.data for edge in dependencies], data, count)
        _give_handles([edge.node.handle for edge in dependencies], out, count)

    @entry("cuGraphNodeGetType")
    def _get_type(self, node: int, out: int) -> None:
        put(c_int, out, self._node(node).type)

    @entry("cuGraphKernelNodeGetParams")
    def _get_kernel_params(self, handle: int, out: int) -> None:
        node = self._node(handle, KERNEL)
        if node.function is None:
            raise Refused(INVALID_HANDLE)
        params = KernelNodeParams(
            node.function.handle,
            *node.params["grid"],
            *node.params["block"],
            node.params["shared"],
            None if node.extra is not None else addressof(node.memory[0]),
            None if node.extra is None else addressof(node.extra),
            node.function.kern,
            PRIMARY_CONTEXT,
        )
        memmove(out, bytes(params), 72)

    @entry("cuGraphKernelNodeGetAttribute")
    def _get_attribute(self, handle: int, attribute: int, out: int) -> int:
        node = self._node(handle, KERNEL)
        if attribute not in self.readable:
            return INVALID_VALUE
        value = node.attributes.get(attribute, BASELINE.get(attribute, b""))
        memmove(out, value.ljust(64, b"\0"), 64)
        return 0

    @entry("cuGraphMemsetNodeGetParams")
    def _get_memset(self, handle: int, out: int) -> None:
        params = self._node(handle, MEMSET).params
        names = ("address", "pitch", "value", "element_size", "width", "height")
        memmove(out, bytes(MemsetNodeParams(*(params[name] for name in names))), 40)

    def _raw(self, handle: int, node_type: int, out: int) -> None:
        raw = self._node(handle, node_type).params["raw"]
        memmove(out, raw, len(raw))

    @entry("cuGraphMemcpyNodeGetParams")
    def _get_memcpy(self, handle: int, out: int) -> None:
        self._raw(handle, MEMCPY, out)

    @entry("cuGraphHostNodeGetParams")
    def _get_host(self, handle: int, out: int) -> None:
        self._raw(handle, HOST, out)

    @entry("cuGraphMemAllocNodeGetParams")
    def _get_alloc(self, handle: int, out: int) -> None:
        self._raw(handle, ALLOC, out)

    @entry("cuGraphBatchMemOpNodeGetParams")
    def _get_mem_op(self, handle: int, out: int) -> None:
        self._raw(handle, MEM_OP, out)

    @entry("cuGraphChildGraphNodeGetGraph")
    def _get_child(self, handle: int, out: int) -> None:
        put(c_void_p, out, self._node(handle, CHILD).children[0].handle)

    @entry("cuGraphEventWaitNodeGetEvent")
    def _get_waited(self, handle: int, out: int) -> None:
        put(c_void_p, out, self._node(handle, WAIT).params["event"])

    @entry("cuGraphEventRecordNodeGetEvent")
    def _get_recorded(self, handle: int, out: int) -> None:
        put(c_void_p, out, self._node(handle, RECORD).params["event"])

    @entry("cuGraphExternalSemaphoresSignalNodeGetParams")
    def _get_signal(self, handle: int, out: int) -> None:
        params = ExtSemNodeParams(None, None, self._node(handle, SIGNAL).params["count"])
        memmove(out, bytes(params), 24)

    @entry("cuGraphExternalSemaphoresWaitNodeGetParams")
    def _get_semaphore_wait(self, handle: int, out: int) -> None:
        params = ExtSemNodeParams(None, None, self._node(handle, SEMAPHORE_WAIT).params["count"])
        memmove(out, bytes(params), 24)

    @entry("cuGraphMemFreeNodeGetParams")
    def _get_free(self, handle: int, out: int) -> None:
        put(c_void_p, out, self._node(handle, FREE).params["address"])

    @entry("cuGraphNodeGetParams")
    def _get_params(self, handle: int, out: int) -> None:
        node = self._node(handle, CONDITIONAL)
        params = GraphNodeParams.from_address(out)
        params.type = CONDITIONAL
        params.conditional.handle = node.params["handle"]
        params.conditional.type, params.conditional.size = node.params["kind"], node.params["size"]
        params.conditional.phGraph_out = addressof(node.memory[0])


def _room(count: int, out: int | None, found: int) -> int:
    """Return how many entries to write, and tell the caller how many there are."""
    room = c_size_t.from_address(count).value
    if out is None:
        put(c_size_t, count, found)
        return 0
    return min(room, found)


def _give_handles(handles: list[int], out: int | None, count: int) -> None:
    for number in range(_room(count, out, len(handles))):
        put(c_uint64, (out or 0) + 8 * number, handles[number])


def _give_data(data: list[tuple[int, int, int]], out: int, count: int) -> None:
    for number in range(_room(count, out, len(data))):
        memmove(out + 8 * number, bytes(data[number]).ljust(8, b"\0"), 8)
