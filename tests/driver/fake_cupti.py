"""`FakeCupti`: CUPTI's callbacks without CUPTI, and a program whose driver calls fire them.

The structs that callbacks get are laid out in memory as cupti_callbacks.h and generated_cuda_meta.h say, so that the
code that reads them by address runs whole. What fires when is as seen on an H200 (driver 580.159.04, CUPTI 13.0).
"""

import ctypes
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from struct import Struct, pack
from typing import Any

from sigcontract.driver.observing.cupti import Domain, RawCallback, Resource
from sigcontract.errors import ObserveError

__all__ = ["CONTEXT", "FakeCupti", "FakeProgram", "attribute"]

_CALLBACK_DATA = Struct("<I4xQQQQQ")  # site, functionName, functionParams, functionReturnValue, symbolName, context
_RESOURCE_DATA = Struct("<QQQ")  # context, handle, descriptor
_GRAPH_DATA = Struct("<QQQQIxxxxQQ")
_MODULE_DATA = Struct("<I4xQQ")
_CONFIG = Struct("<7I4xQQI4x")  # CUlaunchConfig
CONTEXT = 0xC0FFEE

NAMES = [
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuLibraryLoadData",
    "cuLibraryUnload",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuLaunchKernelEx_ptsz",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphAddKernelNode_v2",
    "cuGraphAddNode_v2",
    "cuGraphAddNode_v3",
    "cuStreamBeginRecaptureToGraph",
    "cuGraphAddChildGraphNode",
    "cuGraphClone",
    "cuGraphDestroy",
    "cuGraphDestroyNode",
    "cuGraphInstantiateWithFlags",
    "cuGraphKernelNodeSetAttribute",
    "cuGraphKernelNodeCopyAttributes",
    "cuStreamSetAttribute",
    "cuMemAlloc_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxDetach",
    "cuGreenCtxDestroy",
]


def attribute(attribute_id: int, *words: int, noise: int = 0) -> bytes:
    """Return a CUlaunchAttribute; ``noise`` fills what the value does not use, as a caller's stack does."""
    value = pack(f"<{len(words)}I", *words)
    return pack("<II", attribute_id, noise) + value.ljust(64, bytes([noise & 255]))


class FakeCupti:
    """One process's CUPTI. A program (`FakeProgram`) makes it call back."""

    def __init__(self, *, started: bool = False, taken: bool = False, refuses: bool = False) -> None:
        self.refuses = refuses
        self.started = started
        self.taken = taken
        self.enabled: set[tuple[int, int]] = set()
        self.callback: RawCallback | None = None
        self.calls = self.asked = 0
        #: Stream -> value of an attribute; what is not here the driver will not say.
        self.streams: dict[int, int] = {}
        self.ids = {name: number for number, name in enumerate(NAMES, start=100)}

    def driver_callbacks(self) -> Mapping[str, int]:
        return self.ids

    def subscribe(self, callback: RawCallback) -> None:
        if self.taken:
            raise ObserveError("taken", code="cupti_taken")
        self.callback = callback

    def enable(self, domain: Domain, callback_id: int, *, on: bool) -> None:
        (self.enabled.add if on else self.enabled.discard)((int(domain), int(callback_id)))

    def unsubscribe(self) -> None:
        self.callback = None
        self.enabled.clear()

    def driver_started(self) -> bool:
        return self.started

    def stream_attribute(self, stream: int, attribute_id: int) -> bytes | None:
        assert attribute_id == 16
        self.asked += 1
        value = self.streams.get(stream)
        return None if value is None else pack("<I", value).ljust(64, b"\xcc")

    def graph_id(self, graph: int) -> int | None:
        return graph + 1000 if graph else None

    def streams_refuse(self, attribute_id: int) -> bool:
        assert attribute_id == 16
        return self.refuses

    def fire(self, domain: Domain, callback_id: int, data: bytes) -> None:
        if self.callback is not None and (int(domain), int(callback_id)) in self.enabled:
            self.calls += 1
            kept = ctypes.create_string_buffer(data, len(data))
            self.callback(None, int(domain), int(callback_id), ctypes.addressof(kept))

    def api(self, name: str, *arguments: int, result: int = 0, inside: Callable[[], Any] | None = None) -> None:
        """Call a driver function: entry, what happens inside, exit."""
        params = (ctypes.c_uint64 * max(1, len(arguments)))(*arguments)
        returned = ctypes.c_uint32(result)
        for site in (0, 1):
            if site == 1 and inside is not None:
                inside()
            data = _CALLBACK_DATA.pack(
                site, 0, ctypes.addressof(params), ctypes.addressof(returned) if site else 0, 0, CONTEXT
            )
            self.fire(Domain.DRIVER_API, self.ids[name], data)

    def graph(
        self, callback_id: Resource, *, graph: int, node: int, of: tuple[int, int] = (0, 0), kind: int = 0
    ) -> None:
        """Fire a resource callback about a graph node; ``of`` are graph and node that it was copied from."""
        self._resource(callback_id, _GRAPH_DATA.pack(graph, of[0], node, of[1], kind, 0, 0))

    def module(self, callback_id: Resource, module_id: int, cubin: bytes) -> None:
        """Fire a resource callback about a module."""
        image = ctypes.create_string_buffer(cubin, len(cubin))
        self._resource(callback_id, _MODULE_DATA.pack(module_id, len(cubin), ctypes.addressof(image)))

    def context_ending(self, context: int) -> None:
        """Fire the resource callback of a context that is about to be destroyed."""
        self.fire(Domain.RESOURCE, Resource.CONTEXT_DESTROY_STARTING, _RESOURCE_DATA.pack(context, 0, 0))

    def _resource(self, callback_id: Resource, descriptor: bytes) -> None:
        kept = ctypes.create_string_buffer(descriptor, len(descriptor))
        self.fire(Domain.RESOURCE, callback_id, _RESOURCE_DATA.pack(CONTEXT, 0, ctypes.addressof(kept)))


class FakeProgram:
    """Driver calls of a program, with handles that are never used twice unless a test says so."""

    def __init__(self, cupti: FakeCupti) -> None:
        self.cupti = cupti
        self.handles = count(0x1000, 0x10)
        self.nodes: dict[int, list[tuple[int, int]]] = {}
        self.capturing: dict[int, int] = {}
        self.module_ids = count(1)

    def out(self, value: int) -> int:
        """Return the address of a word that holds the value, as an output argument does after the call."""
        word = ctypes.c_uint64(value)
        self.kept = [*getattr(self, "kept", []), word]
        return ctypes.addressof(word)

    def begin(self, stream: int) -> None:
        self.capturing[stream] = next(self.handles)
        self.nodes[self.capturing[stream]] = []
        self.cupti.api("cuStreamBeginCapture_v2", stream, 2)

    def end(self, stream: int, result: int = 0) -> int:
        graph = self.capturing.pop(stream)
        self.cupti.api("cuStreamEndCapture", stream, self.out(0 if result else graph), result=result)
        return graph

    def launch(self, stream: int, *attributes: bytes, name: str = "cuLaunchKernelEx", node: int | None = None) -> int:
        """Launch with a CUlaunchConfig (or, by another name, without) and return the node, 0 outside of a capture."""
        array = ctypes.create_string_buffer(b"".join(attributes) or b"\0")
        config = ctypes.create_string_buffer(
            _CONFIG.pack(1, 1, 1, 32, 1, 1, 0, stream, ctypes.addressof(array), len(attributes))
        )
        params = (ctypes.addressof(config), 0xF) if name.startswith("cuLaunchKernelEx") else (0xF, 0, 0, 0, 0, stream)
        graph = self.capturing.get(stream)
        made = 0 if graph is None else node if node is not None else next(self.handles)
        self.cupti.api(name, *params, inside=lambda: self._create(graph, made))
        return made

    def _create(self, graph: int | None, node: int, kind: int = 0) -> None:
        if graph is not None:
            self.nodes.setdefault(graph, []).append((node, kind))
            self.cupti.graph(Resource.GRAPHNODE_CREATED, graph=graph, node=node, kind=kind)

    def capture(self, *launches: Iterable[bytes], stream: int = 0x77) -> tuple[int, list[int]]:
        """Capture launches, each with its attributes; return graph and nodes."""
        self.begin(stream)
        nodes = [self.launch(stream, *attributes) for attributes in launches]
        return self.end(stream), nodes

    def add(self, graph: int, node: int | None = None) -> int:
        """Add a kernel node by hand."""
        made = next(self.handles) if node is None else node
        self.cupti.api(
            "cuGraphAddKernelNode_v2", self.out(made), graph, 0, 0, 0, inside=lambda: self._create(graph, made)
        )
        return made

    def copy_into(self, target: int, source: int) -> list[int]:
        """Copy the nodes of a graph into another, as clones, child graphs and instantiations do."""
        copies = []
        for node, kind in self.nodes[source]:
            copy = next(self.handles)
            self._create(target, copy, kind)
            self.cupti.graph(Resource.GRAPHNODE_CLONED, graph=target, node=copy, of=(source, node), kind=kind)
            copies.append(copy)
        return copies

    def clone(self, graph: int) -> tuple[int, list[int]]:
        clone, copies = next(self.handles), []
        self.cupti.api(
            "cuGraphClone", self.out(clone), graph, inside=lambda: copies.extend(self.copy_into(clone, graph))
        )
        return clone, copies

    def add_child(self, parent: int, graph: int) -> tuple[int, list[int]]:
        """Add a child graph; return its node and the nodes inside."""
        node, inner, copies = next(self.handles), next(self.handles), []

        def inside() -> None:
            copies.extend(self.copy_into(inner, graph))
            self._create(parent, node, kind=4)

        self.cupti.api("cuGraphAddChildGraphNode", self.out(node), parent, 0, 0, graph, inside=inside)
        return node, copies

    def instantiate(self, graph: int, result: int = 0) -> list[int]:
        """Instantiate; return the nodes that the executable holds."""
        executable, copies = next(self.handles), []
        self.cupti.api(
            "cuGraphInstantiateWithFlags",
            self.out(executable),
            graph,
            0,
            result=result,
            inside=lambda: copies.extend(self.copy_into(executable, graph)),
        )
        return copies

    def destroy(self, graph: int) -> None:
        self.cupti.api("cuGraphDestroy", graph)

    def set_attribute(self, node: int, given: bytes, result: int = 0) -> None:
        """cuGraphKernelNodeSetAttribute, of a CUlaunchAttribute."""
        value = ctypes.create_string_buffer(given[8:], 64)
        self.cupti.api("cuGraphKernelNodeSetAttribute", node, given[0], ctypes.addressof(value), result=result)

    def load_module(self, cubin: bytes, *, image: bytes | None = None, loads: int = 1) -> int:
        """cuModuleLoadData of an image, with as many modules loaded inside; return the CUmodule."""
        handle = next(self.handles)
        kept = ctypes.create_string_buffer(cubin if image is None else image)

        def inside() -> None:
            for _ in range(loads):
                self.cupti.module(Resource.MODULE_LOADED, next(self.module_ids), cubin)

        self.cupti.api("cuModuleLoadData", self.out(handle), ctypes.addressof(kept), inside=inside)
        return handle

    def load_lazily(self, image: bytes) -> int:
        """Load a module as some other call forces it; return CUPTI's id."""
        module_id = next(self.module_ids)
        self.cupti.module(Resource.MODULE_LOADED, module_id, image)
        return module_id

    def load_library(self, image: bytes) -> int:
        """cuLibraryLoadData: nothing is loaded into a context yet; return the CUlibrary."""
        handle = next(self.handles)
        kept = ctypes.create_string_buffer(image, len(image) + 1)
        self.cupti.api("cuLibraryLoadData", self.out(handle), ctypes.addressof(kept))
        return handle
