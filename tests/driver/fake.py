"""`FakeDriver`: a CUDA driver in memory, behind C function pointers, that behaves as drivers were seen to behave.

Give it to the adapter through the seam that real addresses take, so that reader, layouts and bindings run whole::

    fake = FakeDriver()                          # or version=12080, compute_capability=(8, 0), ...
    driver = fake.driver()                       # a CudaDriver
    module = driver.module_load(ptx(kernel="add", parameters=(8, 8, 4)))
    add = driver.module_function(module, "add")
    graph = GraphBuilder(driver)                 # tests.driver.build: works on the real driver too
    graph.kernel(add, grid=(4, 1, 1), attributes={4: ClusterDim(x=2, y=1, z=1)})
    launched = driver.graph_instantiate(graph.graph)
    driver.graph_launch(launched, 0)
    fake.launches[-1].cluster_dim                # what ran, not what the graph says

It keeps stale what the measured driver keeps stale (`tests.driver.fake_update`), refuses what that refuses, fails on
demand (`fail`), counts calls (`calls`) and knows what was not given back (`leaks`, `misuse`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from ctypes import (
    CFUNCTYPE,
    addressof,
    c_char,
    c_char_p,
    c_int,
    c_size_t,
    c_uint64,
    c_void_p,
    create_string_buffer,
    memmove,
    string_at,
)
from dataclasses import dataclass, field
from typing import Any

from sigcontract.driver.bindings import CudaDriver
from sigcontract.driver.functions import FUNCTIONS, Entry
from sigcontract.driver.layouts import (
    BatchMemOpNodeParams,
    ExtSemNodeParams,
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
    UpdateResultInfo,
)
from sigcontract.driver.probe_kernels import REPORT_BYTES
from tests.driver.build import BUILD_FUNCTIONS
from tests.driver.fake_state import KERNEL, FakeEdge, FakeExec, FakeFunction, FakeGraph, FakeLaunch, FakeNode
from tests.driver.fake_update import answer, carry

__all__ = ["FakeDriver", "FakeLaunch", "ptx"]

INVALID_VALUE, OUT_OF_MEMORY, NO_DEVICE, INVALID_CONTEXT = 1, 2, 100, 201
INVALID_HANDLE, LOSSY_QUERY, NOT_FOUND, NOT_SUPPORTED, UPDATE_FAILURE = 400, 402, 500, 801, 910
_NAMES = {
    1: b"CUDA_ERROR_INVALID_VALUE",
    2: b"CUDA_ERROR_OUT_OF_MEMORY",
    100: b"CUDA_ERROR_NO_DEVICE",
    201: b"CUDA_ERROR_INVALID_CONTEXT",
    400: b"CUDA_ERROR_INVALID_HANDLE",
    402: b"CUDA_ERROR_LOSSY_QUERY",
    500: b"CUDA_ERROR_NOT_FOUND",
    700: b"CUDA_ERROR_ILLEGAL_ADDRESS",
    801: b"CUDA_ERROR_NOT_SUPPORTED",
    910: b"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
}

#: What a node gives, and takes, on the measured driver; 11 is taken and never given back.
READABLE = frozenset({1, 2, 4, 5, 8, 9, 10, 13, 14})
SETTABLE = READABLE | {11}
#: What a plain captured launch shows where it is not zero.
BASELINE = {5: (1).to_bytes(4, "little"), 9: bytes((0, 1))}
#: Attributes that a captured launch carries and no node keeps.
LAUNCH_ONLY = frozenset({6, 7, 12})
#: Node types of which only one executable may exist at a time.
SINGLE_INSTANCE = frozenset({10, 11, 13})
MEMCPY, MEMSET, HOST, CHILD, EMPTY, WAIT, RECORD, SIGNAL, SEMAPHORE_WAIT, ALLOC, FREE, MEM_OP, CONDITIONAL = range(
    1, 14
)
PRIMARY_CONTEXT = 0x5000_0000


class _Refused(Exception):  # noqa: N818  control flow inside the fake, not an error of its own
    def __init__(self, result: int) -> None:
        self.result = result


def ptx(
    kernel: str, *, parameters: tuple[int, ...] = (8,), cluster: tuple[int, int, int] | None = None, code: str = ""
) -> bytes:
    """Return PTX text of one kernel that does nothing: parameter sizes in bytes, ``__cluster_dims__``, a comment.

    Texts that differ in ``code`` alone are two kernels of one name, as a JIT compiler emits them. The text is valid
    for the real driver as well; a cluster needs compute capability 9.0.
    """
    target = "sm_90" if cluster else "sm_70"
    declared = ", ".join(f".param .b{size * 8} p{place}" for place, size in enumerate(parameters))
    dims = f".explicitcluster .reqnctapercluster {cluster[0]}, {cluster[1]}, {cluster[2]}" if cluster else ""
    version = "7.8" if cluster else "6.3"
    return (
        f"// {code}\n.version {version}\n.target {target}\n.address_size 64\n"
        f".visible .entry {kernel}({declared}) {dims} {{ ret; }}\n"
    ).encode()


Handler = Callable[..., "int | None"]
_HANDLERS: dict[tuple[str, int], tuple[str, str]] = {}


def _entry(name: str, version: int | None = None, arguments: str | None = None) -> Callable[[Handler], Handler]:
    """Make a method the C function of that name, in the form of that version."""
    form = (FUNCTIONS | BUILD_FUNCTIONS).get(name, Entry(version or 0, arguments or ""))

    def register(handler: Handler) -> Handler:
        key = (name, form.cuda_version if version is None else version)
        _HANDLERS[key] = (handler.__name__, form.arguments if arguments is None else arguments)
        return handler

    return register


def _put(kind: Any, address: int, value: Any) -> None:
    kind.from_address(address).value = value


class FakeDriver:
    """An in-memory driver.

    Parameters
    ----------
    version
        cuDriverGetVersion; functions that came later are missing.
    compute_capability
        Of its one device.
    devices
        How many devices; with 0, cuInit fails as on a machine without one.
    context
        Whether the primary context is current.
    missing
        Names of functions that this driver does not have, whatever its version.
    readable
        Launch attribute ids that a node gives.

    Attributes
    ----------
    launches
        What ran, in order.
    calls
        How often each C function was called.
    misuse
        What a correct program does not do: handles destroyed twice, unknown ones used.
    """

    def __init__(  # noqa: PLR0913  each a way in which drivers differ
        self,
        *,
        version: int = 13000,
        compute_capability: tuple[int, int] = (9, 0),
        devices: int = 1,
        context: bool = True,
        missing: frozenset[str] = frozenset(),
        readable: frozenset[int] = READABLE,
    ) -> None:
        self.version = version
        self.compute_capability = compute_capability
        self.devices = devices
        self.missing = missing
        self.readable = readable
        self.contexts: list[int] = [PRIMARY_CONTEXT] if context else []
        self.launches: list[FakeLaunch] = []
        self.calls: Counter[str] = Counter()
        self.misuse: list[str] = []
        self.free_bytes = 64 << 30
        self.graphs: dict[int, FakeGraph] = {}
        self.nodes: dict[int, FakeNode] = {}
        self.execs: dict[int, FakeExec] = {}
        self.modules: dict[int, list[FakeFunction]] = {}
        self.functions: dict[int, FakeFunction] = {}
        self.kernels: dict[int, FakeFunction] = {}
        self.memory: dict[int, Any] = {}
        self.streams: set[int] = set()
        self.events: set[int] = set()
        self.retained = 0
        #: What a kernel of that name does when it runs.
        self.behaviours: dict[str, Callable[[FakeLaunch], None]] = {
            "sigcontract_probe_1": _report,
            "sigcontract_probe_2": _report,
        }
        self._captures: dict[int, _Capture] = {}
        self._event_edges: dict[int, tuple[FakeGraph, FakeEdge]] = {}
        self._kernel_numbers: dict[tuple[bytes, bytes], int] = {}
        self._next = 0x7F00_0000_0000
        self._faults: list[tuple[str | None, int, int]] = []
        self._pointers: dict[tuple[str, int], Any] = {}
        self._names: dict[int, Any] = {}

    # For tests

    def driver(self) -> CudaDriver:
        """Return the adapter on this driver."""
        return CudaDriver(resolve=self.resolve)

    def resolve(self, symbol: str, cuda_version: int) -> int:
        """Return the address of a C function: the newest form that is not newer than asked for (cuGetProcAddress)."""
        forms = [form for name, form in _HANDLERS if name == symbol and form <= min(cuda_version, self.version)]
        if symbol in self.missing or not forms or cuda_version > self.version:
            return 0
        key = (symbol, max(forms))
        if key not in self._pointers:
            method, arguments = _HANDLERS[key]
            argtypes = Entry(0, arguments).argtypes
            self._pointers[key] = CFUNCTYPE(c_int, *argtypes)(self._guarded(symbol, getattr(self, method)))
        return int(c_void_p.from_buffer(self._pointers[key]).value or 0)

    def fail(self, name: str | None, result: int = 999, *, after: int = 0) -> None:
        """Make a coming call of that function (None: of any) answer `result`, once, after so many that work."""
        self._faults.append((name, result, after))

    def leaks(self) -> list[str]:
        """Return what was made and not given back."""
        owned: dict[str, Iterable[int]] = {
            "exec": self.execs,
            "graph": {handle: graph for handle, graph in self.graphs.items() if not graph.owned},
            "module": self.modules,
            "memory": self.memory,
            "stream": self.streams,
            "event": self.events,
        }
        found = [f"{kind} {handle:#x}" for kind, handles in owned.items() for handle in handles]
        return found + [f"primary context, {self.retained} times"] * bool(self.retained)

    def add_node(self, graph: int, node_type: int, **params: Any) -> int:
        """Add a node of any CUgraphNodeType, also one that the adapter does not know; returns its handle."""
        node = FakeNode(self._handle(), node_type, params=params)
        return self._add(self._graph(graph), node, 0, 0, None)

    def _guarded(self, name: str, handler: Callable[..., int | None]) -> Callable[..., int]:
        def call(*arguments: int | None) -> int:
            self.calls[name] += 1
            for place, (wanted, result, after) in enumerate(self._faults):
                if wanted in (None, name):
                    if after == 0:
                        del self._faults[place]
                        return result
                    self._faults[place] = (wanted, result, after - 1)
                    break
            try:
                return handler(*arguments) or 0
            except _Refused as refused:
                return refused.result

        return call

    def _handle(self) -> int:
        self._next += 0x40
        return self._next

    def _graph(self, handle: int) -> FakeGraph:
        if handle not in self.graphs:
            self.misuse.append(f"graph {handle or 0:#x} used, which is not there")
            raise _Refused(INVALID_VALUE)
        return self.graphs[handle]

    def _node(self, handle: int, node_type: int | None = None) -> FakeNode:
        node = self.nodes.get(handle)
        if node is None or (node_type is not None and node.type != node_type):
            raise _Refused(INVALID_VALUE)
        return node

    def _exec(self, handle: int) -> FakeExec:
        if handle not in self.execs:
            self.misuse.append(f"exec {handle or 0:#x} used, which is not there")
            raise _Refused(INVALID_VALUE)
        return self.execs[handle]

    def _function(self, handle: int) -> FakeFunction:
        function = self.functions.get(handle) or self.kernels.get(handle)
        if function is None:
            raise _Refused(INVALID_HANDLE)
        return function

    # The driver, devices and contexts

    @_entry("cuInit")
    def _init(self, _flags: int) -> int:
        return 0 if self.devices else NO_DEVICE

    @_entry("cuDriverGetVersion")
    def _driver_get_version(self, out: int) -> None:
        _put(c_int, out, self.version)

    @_entry("cuGetErrorName")
    def _get_error_name(self, result: int, out: int) -> int:
        _put(c_char_p, out, _NAMES.get(result))
        return 0 if result in _NAMES else INVALID_VALUE

    @_entry("cuDeviceGetCount")
    def _device_get_count(self, out: int) -> None:
        _put(c_int, out, self.devices)

    @_entry("cuDeviceGetName")
    def _device_get_name(self, out: int, length: int, device: int) -> None:
        text = f"Fake GPU {device}".encode()[: length - 1] + b"\0"
        memmove(out, text, len(text))

    @_entry("cuDeviceGetAttribute")
    def _device_get_attribute(self, out: int, attribute: int, _device: int) -> int:
        if attribute not in (75, 76):
            return INVALID_VALUE
        _put(c_int, out, self.compute_capability[attribute - 75])
        return 0

    @_entry("cuDevicePrimaryCtxRetain")
    def _primary_retain(self, out: int, _device: int) -> None:
        self.retained += 1
        _put(c_void_p, out, PRIMARY_CONTEXT)

    @_entry("cuDevicePrimaryCtxRelease")
    def _primary_release(self, _device: int) -> int:
        self.retained -= 1
        return 0

    @_entry("cuCtxGetCurrent")
    def _ctx_get_current(self, out: int) -> None:
        _put(c_void_p, out, self.contexts[-1] if self.contexts else None)

    @_entry("cuCtxGetDevice")
    def _ctx_get_device(self, out: int) -> None:
        self._context()
        _put(c_int, out, 0)

    @_entry("cuCtxPushCurrent")
    def _ctx_push(self, context: int) -> None:
        self.contexts.append(context)

    @_entry("cuCtxPopCurrent")
    def _ctx_pop(self, out: int) -> None:
        _put(c_void_p, out, self._context())
        self.contexts.pop()

    def _context(self) -> int:
        if not self.contexts:
            raise _Refused(INVALID_CONTEXT)
        return self.contexts[-1]

    # Modules and functions

    @_entry("cuModuleLoadData")
    def _module_load(self, out: int, image: int) -> None:
        self._context()
        handle = self._handle()
        self.modules[handle] = self._load(string_at(image), handle)
        for function in self.modules[handle]:
            function.handle = self._handle()
            self.functions[function.handle] = function
        _put(c_void_p, out, handle)

    def _load(self, image: bytes, handle: int) -> list[FakeFunction]:
        entry = re.compile(rb"\.entry\s+(\w+)\s*\(([^)]*)\)([^{]*)\{(.*?)\n?\}", re.DOTALL)
        found = []
        for name, declared, directives, body in entry.findall(image):
            sizes = [int(bits) // 8 for bits in re.findall(rb"\.param\s+\.[bus](\d+)", declared)]
            offset, parameters = 0, []
            for size in sizes:
                offset = -(-offset // size) * size
                parameters.append((offset, size))
                offset += size
            dims = re.search(rb"\.reqnctapercluster\s+(\d+)\s*,\s*(\d+)\s*,\s*(\d+)", directives)
            x, y, z = (int(extent) for extent in dims.groups()) if dims else (0, 0, 0)
            comment = image.split(b"\n", 1)[0].decode() if image.startswith(b"//") else ""
            function = FakeFunction(
                name=name,
                code=comment + body.decode(),
                module=handle,
                parameters=tuple(parameters),
                required_cluster=(x, y, z),
                run=self.behaviours.get(name.decode()),
            )
            function.attributes = dict.fromkeys(range(16), 0) | {
                0: 1024,
                4: 16,
                5: 78,
                6: 90,
                8: 48 << 10,
                9: -1,
                10: int(bool(dims)),
                11: x,
                12: y,
                13: z,
            }
            found.append(function)
        if not found:
            raise _Refused(INVALID_VALUE)
        return found

    @_entry("cuModuleGetFunction")
    def _module_function(self, out: int, module: int, name: int) -> None:
        wanted = string_at(name)
        for function in self.modules.get(module, []):
            if function.name == wanted:
                _put(c_void_p, out, function.handle)
                return
        raise _Refused(NOT_FOUND)

    @_entry("cuModuleUnload")
    def _module_unload(self, module: int) -> None:
        self._forget("module", self.modules, module)
        self.functions = {key: one for key, one in self.functions.items() if one.module != module}

    @_entry("cuLibraryLoadData")
    def _library_load(self, out: int, image: int, *_options: int) -> None:
        handle = self._handle()
        text = string_at(image)
        self.modules[handle] = self._load(text, handle)
        for function in self.modules[handle]:
            # The number of a CUkernel comes back when the same code is loaded again (measured, 20 of 20).
            number = self._kernel_numbers.setdefault((text, function.name), self._handle())
            function.kern = number if number not in self.kernels else self._handle()
            function.handle = self._handle()
            self.kernels[function.kern] = function
            self.functions[function.handle] = function
        _put(c_void_p, out, handle)

    @_entry("cuLibraryGetKernel")
    def _library_kernel(self, out: int, library: int, name: int) -> None:
        wanted = string_at(name)
        for function in self.modules.get(library, []):
            if function.name == wanted:
                _put(c_void_p, out, function.kern)
                return
        raise _Refused(NOT_FOUND)

    @_entry("cuLibraryUnload")
    def _library_unload(self, library: int) -> None:
        self._module_unload(library)
        self.kernels = {key: one for key, one in self.kernels.items() if one.module != library}

    @_entry("cuFuncGetName")
    def _func_name(self, out: int, func: int) -> None:
        if func not in self.functions:
            raise _Refused(INVALID_HANDLE)
        self._give_name(out, self.functions[func])

    @_entry("cuKernelGetName")
    def _kernel_name(self, out: int, kern: int) -> None:
        if kern not in self.kernels:
            raise _Refused(INVALID_HANDLE)
        self._give_name(out, self.kernels[kern])

    def _give_name(self, out: int, function: FakeFunction) -> None:
        name = self._names.setdefault(id(function), create_string_buffer(function.name))
        _put(c_void_p, out, addressof(name))

    @_entry("cuKernelGetFunction")
    def _kernel_function(self, out: int, kern: int) -> None:
        self._context()
        if kern not in self.kernels:
            raise _Refused(INVALID_HANDLE)
        _put(c_void_p, out, self.kernels[kern].handle)

    @_entry("cuFuncGetAttribute")
    def _func_attribute(self, out: int, attribute: int, func: int) -> int:
        value = self._function(func).attributes.get(attribute)
        if value is None:
            return INVALID_VALUE
        _put(c_int, out, value)
        return 0

    @_entry("cuFuncGetParamInfo")
    def _func_param_info(self, func: int, place: int, offset: int, size: int) -> int:
        parameters = self._function(func).parameters
        if place >= len(parameters):
            return INVALID_VALUE
        _put(c_size_t, offset, parameters[place][0])
        _put(c_size_t, size, parameters[place][1])
        return 0

    # Memory, streams, events

    @_entry("cuMemGetInfo")
    def _mem_info(self, free: int, total: int) -> None:
        self._context()
        _put(c_size_t, free, self.free_bytes)
        _put(c_size_t, total, 128 << 30)

    @_entry("cuMemAlloc")
    def _mem_alloc(self, out: int, size: int) -> None:
        self._context()
        block = (c_char * size)()
        self.memory[addressof(block)] = block
        _put(c_void_p, out, addressof(block))

    @_entry("cuMemFree")
    def _mem_free(self, address: int) -> None:
        self._forget("memory", self.memory, address)

    @_entry("cuMemcpyHtoD")
    def _copy_in(self, address: int, source: int, size: int) -> None:
        memmove(address, source, size)

    @_entry("cuMemcpyDtoH")
    def _copy_out(self, target: int, address: int, size: int) -> None:
        memmove(target, address, size)

    @_entry("cuPointerGetAttributes")
    def _pointer_attributes(self, count: int, ids: int, places: int, address: int) -> None:
        known = any(start <= address < start + len(block) for start, block in self.memory.items())
        facts = {1: PRIMARY_CONTEXT, 2: 2, 8: 0, 9: 0} if known else {1: 0, 2: 0, 8: 0, 9: -2}
        for attribute, place in zip(
            (c_int * count).from_address(ids), (c_uint64 * count).from_address(places), strict=True
        ):
            _put(c_void_p if attribute == 1 else c_int, place, facts[attribute])

    @_entry("cuStreamCreate")
    def _stream_create(self, out: int, _flags: int) -> None:
        self._context()
        handle = self._handle()
        self.streams.add(handle)
        _put(c_void_p, out, handle)

    @_entry("cuStreamDestroy")
    def _stream_destroy(self, stream: int) -> None:
        self._forget("stream", self.streams, stream)

    @_entry("cuStreamSynchronize")
    def _stream_synchronize(self, _stream: int) -> None:
        self._context()

    @_entry("cuEventCreate")
    def _event_create(self, out: int, _flags: int) -> None:
        handle = self._handle()
        self.events.add(handle)
        _put(c_void_p, out, handle)

    @_entry("cuEventDestroy")
    def _event_destroy(self, event: int) -> None:
        self._forget("event", self.events, event)

    def _forget(self, kind: str, owned: Any, handle: int) -> None:
        if handle not in owned:
            self.misuse.append(f"{kind} {handle or 0:#x} given back, which is not there")
            raise _Refused(INVALID_VALUE)
        if isinstance(owned, set):
            owned.remove(handle)
        else:
            del owned[handle]

    # Captures and launches

    @_entry("cuStreamBeginCapture")
    def _begin_capture(self, stream: int, _mode: int) -> None:
        self._captures[stream] = _Capture(FakeGraph(self._handle()))

    @_entry("cuStreamEndCapture")
    def _end_capture(self, stream: int, out: int) -> None:
        if stream not in self._captures:
            raise _Refused(INVALID_VALUE)
        graph = self._captures[stream].graph
        self._captures = {one: capture for one, capture in self._captures.items() if capture.graph is not graph}
        self.graphs[graph.handle] = graph
        _put(c_void_p, out, graph.handle)

    @_entry("cuLaunchKernelEx")
    def _launch_kernel(self, config: int, func: int, parameters: int, _extra: int) -> None:
        self._context()
        asked = LaunchConfig.from_address(config)
        carried = (LaunchAttribute * asked.numAttrs).from_address(asked.attrs) if asked.numAttrs else ()
        attributes = {one.id: bytes(one.value) for one in carried}
        if any(not self._takes(attribute_id) for attribute_id in attributes):
            raise _Refused(INVALID_VALUE)
        grid = (asked.gridDimX, asked.gridDimY, asked.gridDimZ)
        block = (asked.blockDimX, asked.blockDimY, asked.blockDimZ)
        node = self._kernel_node(func, grid, block, asked.sharedMemBytes, parameters)
        node.attributes = {one: value for one, value in attributes.items() if one not in LAUNCH_ONLY}
        if asked.hStream not in self._captures:
            node.runs_function, node.runs_cluster = node.function, node.cluster
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
        return attribute_id in SETTABLE | LAUNCH_ONLY

    @_entry("cuEventRecord")
    def _event_record(self, event: int, stream: int) -> None:
        if stream in self._captures:
            capture = self._captures[stream]
            self._event_edges[event] = (capture.graph, capture.pending[0])

    @_entry("cuStreamWaitEvent")
    def _stream_wait_event(self, stream: int, event: int, _flags: int) -> None:
        if event in self._event_edges:
            graph, edge = self._event_edges[event]
            self._captures.setdefault(stream, _Capture(graph)).pending.append(edge)

    def _kernel_node(
        self, func: int, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, parameters: int
    ) -> FakeNode:
        function = self._function(func)
        if not all(grid) or not all(block):
            raise _Refused(INVALID_VALUE)
        pointers = (c_uint64 * max(len(function.parameters), 1)).from_address(parameters)
        arguments = tuple(
            string_at(place, size) for place, (_offset, size) in zip(pointers, function.parameters, strict=False)
        )
        node = FakeNode(self._handle(), KERNEL, function=function)
        node.preferred_clusters = self.compute_capability >= (10, 0)
        node.params = {"grid": grid, "block": block, "shared": shared, "arguments": arguments}
        copies = [create_string_buffer(argument, len(argument)) for argument in arguments]
        node.memory = [(c_void_p * max(len(copies), 1))(*map(addressof, copies)), *copies]
        return node

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

    @_entry("cuGraphCreate")
    def _graph_create(self, out: int, _flags: int) -> None:
        graph = FakeGraph(self._handle())
        self.graphs[graph.handle] = graph
        _put(c_void_p, out, graph.handle)

    @_entry("cuGraphDestroy")
    def _graph_destroy(self, handle: int) -> None:
        if handle in self.graphs and self.graphs[handle].owned:
            raise _Refused(INVALID_VALUE)
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
            _put(c_void_p, out, node.handle)
        return node.handle

    @_entry("cuGraphAddKernelNode")
    def _add_kernel(self, out: int, graph: int, dependencies: int, count: int, params: int) -> None:
        asked = KernelNodeParams.from_address(params)
        grid = (asked.gridDimX, asked.gridDimY, asked.gridDimZ)
        block = (asked.blockDimX, asked.blockDimY, asked.blockDimZ)
        func = asked.func or asked.kern
        node = self._kernel_node(func, grid, block, asked.sharedMemBytes, asked.kernelParams)
        self._add(self._graph(graph), node, dependencies, count, out)

    @_entry("cuGraphKernelNodeSetAttribute")
    def _set_attribute(self, node: int, attribute: int, value: int) -> int:
        if attribute in LAUNCH_ONLY or not self._takes(attribute):
            return INVALID_VALUE
        self._node(node, KERNEL).attributes[attribute] = string_at(value, 64)
        return 0

    @_entry("cuGraphAddMemsetNode")
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

    @_entry("cuGraphAddMemcpyNode")
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

    @_entry("cuGraphAddHostNode")
    def _add_host(self, out: int, graph: int, dependencies: int, count: int, params: int) -> None:
        node = FakeNode(self._handle(), HOST, params={"raw": bytes(HostNodeParams.from_address(params))})
        self._add(self._graph(graph), node, dependencies, count, out)

    @_entry("cuGraphAddEmptyNode")
    def _add_empty(self, out: int, graph: int, dependencies: int, count: int) -> None:
        self._add(self._graph(graph), FakeNode(self._handle(), EMPTY), dependencies, count, out)

    @_entry("cuGraphAddChildGraphNode")
    def _add_child(self, out: int, graph: int, dependencies: int, count: int, child: int) -> int:
        inner = self._graph(child)
        if any(node.type in SINGLE_INSTANCE for node in inner.walk()):
            return NOT_SUPPORTED
        node = FakeNode(self._handle(), CHILD, children=[self._own(inner.copy(self._handle))])
        self._add(self._graph(graph), node, dependencies, count, out)
        return 0

    @_entry("cuGraphAddEventRecordNode")
    def _add_record(self, out: int, graph: int, dependencies: int, count: int, event: int) -> None:
        node = FakeNode(self._handle(), RECORD, params={"event": event})
        self._add(self._graph(graph), node, dependencies, count, out)

    @_entry("cuGraphAddEventWaitNode")
    def _add_wait(self, out: int, graph: int, dependencies: int, count: int, event: int) -> None:
        node = FakeNode(self._handle(), WAIT, params={"event": event})
        self._add(self._graph(graph), node, dependencies, count, out)

    @_entry("cuGraphAddMemAllocNode")
    def _add_alloc(self, out: int, graph: int, dependencies: int, count: int, params: int) -> None:
        asked = MemAllocNodeParams.from_address(params)
        accesses = (MemAccessDesc * asked.accessDescCount)()
        memmove(accesses, asked.accessDescs, asked.accessDescCount * 12)
        asked.dptr = self._handle() << 4
        node = FakeNode(self._handle(), ALLOC, memory=[accesses])
        kept = MemAllocNodeParams.from_buffer_copy(asked)
        kept.accessDescs = addressof(accesses)
        node.params = {"raw": bytes(kept)}
        self._add(self._graph(graph), node, dependencies, count, out)

    @_entry("cuGraphAddMemFreeNode")
    def _add_free(self, out: int, graph: int, dependencies: int, count: int, address: int) -> None:
        node = FakeNode(self._handle(), FREE, params={"address": address})
        self._add(self._graph(graph), node, dependencies, count, out)

    @_entry("cuGraphAddBatchMemOpNode")
    def _add_mem_op(self, out: int, graph: int, dependencies: int, count: int, params: int) -> None:
        asked = BatchMemOpNodeParams.from_address(params)
        operations = (StreamBatchMemOpParams * asked.count)()
        memmove(operations, asked.paramArray, asked.count * 48)
        kept = BatchMemOpNodeParams(asked.ctx, asked.count, addressof(operations), asked.flags)
        node = FakeNode(self._handle(), MEM_OP, params={"raw": bytes(kept)}, memory=[operations])
        self._add(self._graph(graph), node, dependencies, count, out)

    @_entry("cuGraphConditionalHandleCreate")
    def _conditional_handle(self, out: int, graph: int, _context: int, _value: int, _flags: int) -> None:
        self._graph(graph)
        _put(c_uint64, out, 0x8000_0000_0000_0001)

    @_entry("cuGraphAddNode")
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

    @_entry("cuGraphAddDependencies")
    def _add_dependencies(self, graph: int, sources: int, targets: int, data: int, count: int) -> None:
        self._graph(graph)
        for place in range(count):
            source = self._node(c_uint64.from_address(sources + 8 * place).value)
            target = self._node(c_uint64.from_address(targets + 8 * place).value)
            from_port, to_port, kind = string_at(data + 8 * place, 3) if data else (0, 0, 0)
            target.dependencies.append(FakeEdge(source, (from_port, to_port, kind)))

    # Reading graphs

    @_entry("cuGraphGetNodes")
    def _get_nodes(self, graph: int, out: int | None, count: int) -> None:
        _give_handles([node.handle for node in self._graph(graph).nodes], out, count)

    def _edges(self, graph: int) -> list[tuple[int, int, tuple[int, int, int]]]:
        """Return the edges by the node that they leave: the order in which they were added is lost (measured)."""
        place = {node.handle: index for index, node in enumerate(self._graph(graph).nodes)}
        edges = [
            (edge.node.handle, node.handle, edge.data)
            for node in self._graph(graph).nodes
            for edge in node.dependencies
        ]
        return sorted(edges, key=lambda edge: (place[edge[0]], place[edge[1]]))

    @_entry("cuGraphGetEdges", 10000, "pppp")
    def _get_edges_without_data(self, graph: int, sources: int | None, targets: int | None, count: int) -> None:
        edges = self._edges(graph)
        if any(any(data) for *_ends, data in edges):
            raise _Refused(LOSSY_QUERY)
        _give_handles([edge[1] for edge in edges], targets, count)
        _give_handles([edge[0] for edge in edges], sources, count)

    @_entry("cuGraphGetEdges")
    def _get_edges(self, graph: int, sources: int | None, targets: int | None, data: int | None, count: int) -> None:
        edges = self._edges(graph)
        if data is None and sources is not None and any(any(one) for *_ends, one in edges):
            raise _Refused(LOSSY_QUERY)
        if data is not None:
            _give_data([edge[2] for edge in edges], data, count)
        _give_handles([edge[1] for edge in edges], targets, count)
        _give_handles([edge[0] for edge in edges], sources, count)

    @_entry("cuGraphNodeGetDependencies", 10000, "ppp")
    def _get_dependencies_without_data(self, node: int, out: int | None, count: int) -> None:
        dependencies = self._node(node).dependencies
        if any(any(edge.data) for edge in dependencies):
            raise _Refused(LOSSY_QUERY)
        _give_handles([edge.node.handle for edge in dependencies], out, count)

    @_entry("cuGraphNodeGetDependencies")
    def _get_dependencies(self, node: int, out: int | None, data: int | None, count: int) -> None:
        dependencies = self._node(node).dependencies
        if data is not None:
            _give_data([edge.data for edge in dependencies], data, count)
        _give_handles([edge.node.handle for edge in dependencies], out, count)

    @_entry("cuGraphNodeGetType")
    def _get_type(self, node: int, out: int) -> None:
        _put(c_int, out, self._node(node).type)

    @_entry("cuGraphKernelNodeGetParams")
    def _get_kernel_params(self, handle: int, out: int) -> None:
        node = self._node(handle, KERNEL)
        if node.function is None:
            raise _Refused(INVALID_HANDLE)
        params = KernelNodeParams(
            node.function.handle,
            *node.params["grid"],
            *node.params["block"],
            node.params["shared"],
            addressof(node.memory[0]),
            None,
            node.function.kern,
            PRIMARY_CONTEXT,
        )
        memmove(out, bytes(params), 72)

    @_entry("cuGraphKernelNodeGetAttribute")
    def _get_attribute(self, handle: int, attribute: int, out: int) -> int:
        node = self._node(handle, KERNEL)
        if attribute not in self.readable:
            return INVALID_VALUE
        value = node.attributes.get(attribute, BASELINE.get(attribute, b""))
        if attribute == 4:
            value = b"".join(extent.to_bytes(4, "little") for extent in node.minimum_cluster)
        memmove(out, value.ljust(64, b"\0"), 64)
        return 0

    @_entry("cuGraphMemsetNodeGetParams")
    def _get_memset(self, handle: int, out: int) -> None:
        params = self._node(handle, MEMSET).params
        names = ("address", "pitch", "value", "element_size", "width", "height")
        memmove(out, bytes(MemsetNodeParams(*(params[name] for name in names))), 40)

    def _raw(self, handle: int, node_type: int, out: int) -> None:
        raw = self._node(handle, node_type).params["raw"]
        memmove(out, raw, len(raw))

    @_entry("cuGraphMemcpyNodeGetParams")
    def _get_memcpy(self, handle: int, out: int) -> None:
        self._raw(handle, MEMCPY, out)

    @_entry("cuGraphHostNodeGetParams")
    def _get_host(self, handle: int, out: int) -> None:
        self._raw(handle, HOST, out)

    @_entry("cuGraphMemAllocNodeGetParams")
    def _get_alloc(self, handle: int, out: int) -> None:
        self._raw(handle, ALLOC, out)

    @_entry("cuGraphBatchMemOpNodeGetParams")
    def _get_mem_op(self, handle: int, out: int) -> None:
        self._raw(handle, MEM_OP, out)

    @_entry("cuGraphChildGraphNodeGetGraph")
    def _get_child(self, handle: int, out: int) -> None:
        _put(c_void_p, out, self._node(handle, CHILD).children[0].handle)

    @_entry("cuGraphEventWaitNodeGetEvent")
    def _get_waited(self, handle: int, out: int) -> None:
        _put(c_void_p, out, self._node(handle, WAIT).params["event"])

    @_entry("cuGraphEventRecordNodeGetEvent")
    def _get_recorded(self, handle: int, out: int) -> None:
        _put(c_void_p, out, self._node(handle, RECORD).params["event"])

    @_entry("cuGraphExternalSemaphoresSignalNodeGetParams")
    def _get_signal(self, handle: int, out: int) -> None:
        params = ExtSemNodeParams(None, None, self._node(handle, SIGNAL).params["count"])
        memmove(out, bytes(params), 24)

    @_entry("cuGraphExternalSemaphoresWaitNodeGetParams")
    def _get_semaphore_wait(self, handle: int, out: int) -> None:
        params = ExtSemNodeParams(None, None, self._node(handle, SEMAPHORE_WAIT).params["count"])
        memmove(out, bytes(params), 24)

    @_entry("cuGraphMemFreeNodeGetParams")
    def _get_free(self, handle: int, out: int) -> None:
        _put(c_void_p, out, self._node(handle, FREE).params["address"])

    @_entry("cuGraphNodeGetParams")
    def _get_params(self, handle: int, out: int) -> None:
        node = self._node(handle, CONDITIONAL)
        params = GraphNodeParams.from_address(out)
        params.type = CONDITIONAL
        params.conditional.handle = node.params["handle"]
        params.conditional.type, params.conditional.size = node.params["kind"], node.params["size"]
        params.conditional.phGraph_out = addressof(node.memory[0])

    # Executables

    @_entry("cuGraphInstantiateWithFlags")
    def _instantiate(self, out: int, graph: int, flags: int) -> int:
        self._context()
        source = self._graph(graph)
        single = any(node.type in SINGLE_INSTANCE for node in source.walk())
        if source.owned or (single and any(one.source == graph for one in self.execs.values())):
            return NOT_SUPPORTED
        made = FakeExec(self._handle(), source.copy(self._handle), graph, flags)
        self.execs[made.handle] = made
        _put(c_void_p, out, made.handle)
        return 0

    @_entry("cuGraphExecUpdate")
    def _update(self, handle: int, graph: int, out: int) -> int:
        self._context()
        executable = self._exec(handle)
        found = answer(executable.graph, self._graph(graph), executable.flags)
        info = UpdateResultInfo.from_address(out)
        info.result = found.result
        info.errorNode = found.node.handle if found.node is not None else None
        info.errorFromNode = found.from_node.handle if found.from_node is not None else None
        if found.result:
            return UPDATE_FAILURE
        for old, new in found.pairs:
            carry(executable, old, new)
        return 0

    @_entry("cuGraphExecDestroy")
    def _exec_destroy(self, handle: int) -> None:
        self._forget("exec", self.execs, handle)

    @_entry("cuGraphUpload")
    def _upload(self, handle: int, _stream: int) -> None:
        self._context()
        self._exec(handle).fixed = True

    @_entry("cuGraphLaunch")
    def _launch(self, handle: int, _stream: int) -> None:
        self._context()
        executable = self._exec(handle)
        executable.fixed = True
        self._run_graph(handle, executable.graph)

    def _run_graph(self, handle: int, graph: FakeGraph) -> None:
        """Run the kernels in the order of the nodes; fills, copies and the bodies of conditionals are not acted out."""
        for node in graph.nodes:
            if node.type == KERNEL:
                self._run(handle, node)
            elif node.type == CHILD:
                self._run_graph(handle, node.children[0])


@dataclass
class _Capture:
    """A stream that captures: into which graph, and what the next node depends on."""

    graph: FakeGraph
    pending: list[FakeEdge] = field(default_factory=list)


def _report(launch: FakeLaunch) -> None:
    """Do what the kernels of sigcontract.driver.probe_kernels do."""
    address, value = (int.from_bytes(argument, "little") for argument in launch.arguments)
    cluster = launch.cluster_dim if any(launch.cluster_dim) else (1, 1, 1)
    words = (*cluster, *launch.grid_dim, launch.dynamic_shared_mem_bytes, value, int(launch.name[-1]))
    memmove(address, b"".join(word.to_bytes(4, "little") for word in words), REPORT_BYTES)


def _room(count: int, out: int | None, found: int) -> int:
    """Return how many entries to write, and tell the caller how many there are."""
    room = c_size_t.from_address(count).value
    if out is None:
        _put(c_size_t, count, found)
        return 0
    return min(room, found)


def _give_handles(handles: list[int], out: int | None, count: int) -> None:
    for place in range(_room(count, out, len(handles))):
        _put(c_uint64, (out or 0) + 8 * place, handles[place])


def _give_data(data: list[tuple[int, int, int]], out: int, count: int) -> None:
    for place in range(_room(count, out, len(data))):
        memmove(out + 8 * place, bytes(data[place]).ljust(8, b"\0"), 8)
