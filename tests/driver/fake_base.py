"""The ground of the fake driver: its state, its C entry points, and what tests ask of it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from ctypes import (
    CFUNCTYPE,
    c_int,
    c_void_p,
    memmove,
)
from dataclasses import dataclass, field
from typing import Any

from sigcontract.driver.cuda.driver import CudaDriver
from sigcontract.driver.cuda.functions import FUNCTIONS, Entry
from sigcontract.driver.measuring.kernels import REPORT_BYTES
from tests.driver.build import BUILD_FUNCTIONS
from tests.driver.fake_state import FakeEdge, FakeExec, FakeFunction, FakeGraph, FakeLaunch, FakeMemory, FakeNode

__all__ = [
    "ALLOC",
    "BASELINE",
    "CHILD",
    "CONDITIONAL",
    "EMPTY",
    "FREE",
    "HOST",
    "INVALID_CONTEXT",
    "INVALID_HANDLE",
    "INVALID_VALUE",
    "KEPT",
    "LAUNCH_ONLY",
    "LOSSY_QUERY",
    "MEMCPY",
    "MEMSET",
    "MEM_OP",
    "NOT_FOUND",
    "NOT_SUPPORTED",
    "NO_DEVICE",
    "PRIMARY_CONTEXT",
    "READABLE",
    "RECORD",
    "RESULT_NAMES",
    "SEMAPHORE_WAIT",
    "SIGNAL",
    "SINGLE_INSTANCE",
    "UPDATE_FAILURE",
    "WAIT",
    "Capture",
    "FakeBase",
    "Refused",
    "entry",
    "put",
]

INVALID_VALUE, OUT_OF_MEMORY, NO_DEVICE, INVALID_CONTEXT = 1, 2, 100, 201
INVALID_HANDLE, LOSSY_QUERY, NOT_FOUND, NOT_SUPPORTED, UPDATE_FAILURE = 400, 402, 500, 801, 910
RESULT_NAMES = {
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

#: What a node gives, and takes, on the measured driver.
READABLE = frozenset({1, 2, 4, 5, 8, 9, 10, 13, 14})
#: What a captured launch takes besides, and the node keeps without giving it back.
KEPT = frozenset({11, 16})
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


class Refused(Exception):  # noqa: N818  control flow inside the fake, not an error of its own
    """Ends a C function with a CUresult."""

    def __init__(self, result: int) -> None:
        self.result = result


Handler = Callable[..., "int | None"]
HANDLERS: dict[tuple[str, int], tuple[str, str]] = {}
#: The forms of each function, by the version of CUDA that introduced them.
FORMS: defaultdict[str, list[int]] = defaultdict(list)


def entry(name: str, version: int | None = None, arguments: str | None = None) -> Callable[[Handler], Handler]:
    """Make a method the C function of that name, in the form of that version."""
    form = (FUNCTIONS | BUILD_FUNCTIONS).get(name, Entry(version or 0, arguments or ""))

    def register(handler: Handler) -> Handler:
        key = (name, form.cuda_version if version is None else version)
        FORMS[key[0]].append(key[1])
        HANDLERS[key] = (handler.__name__, form.arguments if arguments is None else arguments)
        return handler

    return register


def put(kind: Any, address: int, value: Any) -> None:
    """Write a value of a ctypes type to an address."""
    kind.from_address(address).value = value


@dataclass
class Capture:
    """A stream that captures: into which graph, and what the next node depends on."""

    graph: FakeGraph
    pending: list[FakeEdge] = field(default_factory=list)


def report(launch: FakeLaunch) -> None:
    """Do what the kernels of sigcontract.driver.measuring.kernels do."""
    address, value = (int.from_bytes(argument, "little") for argument in launch.arguments)
    cluster = launch.cluster_dim if any(launch.cluster_dim) else (1, 1, 1)
    words = (*cluster, *launch.grid_dim, launch.dynamic_shared_mem_bytes, value, int(launch.name[-1]))
    memmove(address, b"".join(word.to_bytes(4, "little") for word in words), REPORT_BYTES)


class FakeBase:
    """State and bookkeeping; the C functions are in the classes that build on it."""

    def __init__(  # noqa: PLR0913  each a way in which drivers differ
        self,
        *,
        version: int = 13000,
        compute_capability: tuple[int, int] = (9, 0),
        devices: int = 1,
        device_name: str = "Fake GPU",
        context: bool = True,
        missing: frozenset[str] = frozenset(),
        readable: frozenset[int] = READABLE,
    ) -> None:
        self.version = version
        self.compute_capability = compute_capability
        self.devices = devices
        self.device_name = device_name
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
        #: What is not plain device memory of `memory`, by address.
        self.memory_kinds: dict[int, FakeMemory] = {}
        self.streams: set[int] = set()
        self.events: set[int] = set()
        self.retained = 0
        #: What a kernel of that name does when it runs.
        self.behaviours: dict[str, Callable[[FakeLaunch], None]] = {
            "sigcontract_probe_1": report,
            "sigcontract_probe_2": report,
        }
        self._captures: dict[int, Capture] = {}
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
        forms = [form for form in FORMS.get(symbol, ()) if form <= min(cuda_version, self.version)]
        if symbol in self.missing or not forms or cuda_version > self.version:
            return 0
        key = (symbol, max(forms))
        if key not in self._pointers:
            method, arguments = HANDLERS[key]
            argtypes = Entry(0, arguments).argtypes
            # The first of several threads gives the one that all use: another would free it under their feet.
            self._pointers.setdefault(key, CFUNCTYPE(c_int, *argtypes)(self._guarded(symbol, getattr(self, method))))
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

    def _guarded(self, name: str, handler: Callable[..., int | None]) -> Callable[..., int]:
        def call(*arguments: int | None) -> int:
            self.calls[name] += 1
            for index, (wanted, result, after) in enumerate(self._faults):
                if wanted in (None, name):
                    if after == 0:
                        del self._faults[index]
                        return result
                    self._faults[index] = (wanted, result, after - 1)
                    break
            try:
                return handler(*arguments) or 0
            except Refused as refused:
                return refused.result

        return call

    def _handle(self) -> int:
        self._next += 0x40
        return self._next

    def _graph(self, handle: int) -> FakeGraph:
        if handle not in self.graphs:
            self.misuse.append(f"graph {handle or 0:#x} used, which is not there")
            raise Refused(INVALID_VALUE)
        return self.graphs[handle]

    def _node(self, handle: int, node_type: int | None = None) -> FakeNode:
        node = self.nodes.get(handle)
        if node is None or (node_type is not None and node.type != node_type):
            raise Refused(INVALID_VALUE)
        return node

    def _exec(self, handle: int) -> FakeExec:
        if handle not in self.execs:
            self.misuse.append(f"exec {handle or 0:#x} used, which is not there")
            raise Refused(INVALID_VALUE)
        return self.execs[handle]

    def _function(self, handle: int) -> FakeFunction:
        function = self.functions.get(handle) or self.kernels.get(handle)
        if function is None:
            raise Refused(INVALID_HANDLE)
        return function

    def _context(self) -> int:
        if not self.contexts:
            raise Refused(INVALID_CONTEXT)
        return self.contexts[-1]

    def _forget(self, kind: str, owned: Any, handle: int) -> None:
        if handle not in owned:
            self.misuse.append(f"{kind} {handle or 0:#x} given back, which is not there")
            raise Refused(INVALID_VALUE)
        if isinstance(owned, set):
            owned.remove(handle)
        else:
            del owned[handle]
