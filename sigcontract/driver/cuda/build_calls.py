"""Calls that build test graphs: modules, memory, streams, explicit and captured graphs."""

from collections.abc import Sequence
from ctypes import Array, addressof, byref, c_char, c_uint64, c_void_p, create_string_buffer
from typing import Any

from sigcontract.driver.cuda.api import KernelLaunch
from sigcontract.driver.cuda.layouts import KernelNodeParams, LaunchAttribute, LaunchConfig
from sigcontract.driver.cuda.library import Library
from sigcontract.model import (
    CaptureMode,
    EventFlag,
    StreamFlag,
)

__all__ = ["BuildCalls", "handle_array"]


class BuildCalls:
    """The calls that `BuildApi` adds to `DriverApi`; a subclass provides the library."""

    library: Library

    def primary_context_retain(self, device: int) -> int:
        """cuDevicePrimaryCtxRetain: a CUcontext; release it with `primary_context_release`."""
        return self._made("cuDevicePrimaryCtxRetain", device)

    def primary_context_release(self, device: int) -> None:
        """cuDevicePrimaryCtxRelease."""
        self.library.call("cuDevicePrimaryCtxRelease", device)

    def context_push(self, context: int) -> None:
        """cuCtxPushCurrent."""
        self.library.call("cuCtxPushCurrent", context)

    def context_pop(self) -> int:
        """cuCtxPopCurrent: the CUcontext that was current."""
        return self._made("cuCtxPopCurrent")

    def module_load(self, image: bytes) -> int:
        """cuModuleLoadData: a CUmodule from PTX text or a cubin."""
        return self._made("cuModuleLoadData", create_string_buffer(image))

    def module_function(self, module: int, name: str) -> int:
        """cuModuleGetFunction: a CUfunction."""
        return self._made("cuModuleGetFunction", module, name.encode())

    def module_unload(self, module: int) -> None:
        """cuModuleUnload."""
        self.library.call("cuModuleUnload", module)

    def mem_alloc(self, size_bytes: int) -> int:
        """cuMemAlloc: a device address."""
        return self._made("cuMemAlloc", size_bytes)

    def mem_free(self, address: int) -> None:
        """cuMemFree."""
        self.library.call("cuMemFree", address)

    def copy_to_device(self, address: int, data: bytes) -> None:
        """cuMemcpyHtoD; returns when the copy is done."""
        self.library.call("cuMemcpyHtoD", address, data, len(data))
        # From pageable memory it may return with the data staged only, and other streams do not wait (cuda.h).
        self.library.call("cuStreamSynchronize", 0)

    def copy_from_device(self, address: int, size_bytes: int) -> bytes:
        """cuMemcpyDtoH; returns when the copy is done."""
        data = (c_char * size_bytes)()
        self.library.call("cuMemcpyDtoH", data, address, size_bytes)
        return data.raw

    def stream_create(self) -> int:
        """cuStreamCreate, not synchronizing with the legacy default stream."""
        return self._made("cuStreamCreate", StreamFlag.NON_BLOCKING)

    def stream_destroy(self, stream: int) -> None:
        """cuStreamDestroy."""
        self.library.call("cuStreamDestroy", stream)

    def event_create(self) -> int:
        """cuEventCreate, without timing."""
        return self._made("cuEventCreate", EventFlag.DISABLE_TIMING)

    def event_destroy(self, event: int) -> None:
        """cuEventDestroy."""
        self.library.call("cuEventDestroy", event)

    def event_record(self, event: int, stream: int) -> None:
        """cuEventRecord."""
        self.library.call("cuEventRecord", event, stream)

    def stream_wait_event(self, stream: int, event: int) -> None:
        """cuStreamWaitEvent."""
        self.library.call("cuStreamWaitEvent", stream, event, 0)

    def begin_capture(self, stream: int) -> None:
        """cuStreamBeginCapture, thread-local mode."""
        self.library.call("cuStreamBeginCapture", stream, CaptureMode.THREAD_LOCAL)

    def end_capture(self, stream: int) -> int:
        """cuStreamEndCapture: a CUgraph that the caller must destroy."""
        return self._given("cuStreamEndCapture", stream)

    def launch_kernel(self, launch: KernelLaunch, stream: int) -> None:
        """cuLaunchKernelEx."""
        attributes = (LaunchAttribute * len(launch.attributes))()
        for entry, (attribute_id, value) in zip(attributes, launch.attributes.items(), strict=True):
            entry.id = attribute_id
            entry.value[:] = value
        config = LaunchConfig(
            *launch.grid_dim,
            *launch.block_dim,
            launch.dynamic_shared_mem_bytes,
            stream,
            addressof(attributes) if launch.attributes else None,
            len(launch.attributes),
        )
        pointers, _kept = _parameters(launch)
        self.library.call("cuLaunchKernelEx", byref(config), launch.function, pointers, None)

    def graph_create(self) -> int:
        """cuGraphCreate: a CUgraph that the caller must destroy."""
        return self._made("cuGraphCreate", 0)

    def graph_destroy(self, graph: int) -> None:
        """cuGraphDestroy."""
        self.library.call("cuGraphDestroy", graph)

    def add_kernel_node(self, graph: int, launch: KernelLaunch, dependencies: Sequence[int] = ()) -> int:
        """cuGraphAddKernelNode: a CUgraphNode. The launch's attributes are not applied."""
        pointers, _kept = _parameters(launch)
        params = KernelNodeParams(
            launch.function,
            *launch.grid_dim,
            *launch.block_dim,
            launch.dynamic_shared_mem_bytes,
            addressof(pointers),
        )
        return self._made("cuGraphAddKernelNode", graph, handle_array(dependencies), len(dependencies), byref(params))

    def set_kernel_attribute(self, node: int, attribute_id: int, value: bytes) -> None:
        """cuGraphKernelNodeSetAttribute, with the 64 bytes of CUlaunchAttributeValue."""
        self.library.call("cuGraphKernelNodeSetAttribute", node, attribute_id, value)

    def _made(self, name: str, *arguments: object) -> int:
        """Call a function that stores the new handle in its first argument."""
        handle = c_void_p()
        self.library.call(name, byref(handle), *arguments)
        return handle.value or 0

    def _given(self, name: str, owner: int) -> int:
        """Call a getter of a handle or address."""
        handle = c_void_p()
        self.library.call(name, owner, byref(handle))
        return handle.value or 0


def handle_array(handles: Sequence[int]) -> "Array[c_uint64]":
    """Return handles as a C array."""
    return (c_uint64 * len(handles))(*handles)


def _parameters(launch: KernelLaunch) -> tuple["Array[c_void_p]", list[Any]]:
    """Return kernelParams and the buffers it points to; keep both until the call returns."""
    kept = [create_string_buffer(argument, len(argument)) for argument in launch.arguments]
    return (c_void_p * max(len(kept), 1))(*map(addressof, kept)), kept
