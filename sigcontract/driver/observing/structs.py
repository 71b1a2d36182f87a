"""Read the data of CUPTI callbacks by address.

A callback runs inside a kernel launch, so reading must be cheap: one view over the address space and
compiled `Struct`s cost some 60 ns a field, a ctypes structure several times that. The layouts are those of
cupti_callbacks.h and generated_cuda_meta.h (CUPTI 12.0 to 13.0, 64-bit).
"""

from ctypes import c_ubyte, sizeof
from functools import partial
from struct import Struct
from typing import NamedTuple

from sigcontract.driver.cuda import (
    LaunchAttribute,
    LaunchConfig,
)

__all__ = [
    "CONFIG_STREAM",
    "DATA_PARAMS",
    "ENTER",
    "LAUNCH_ATTRIBUTE_BYTES",
    "MAX_LAUNCH_ATTRIBUTES",
    "PLAIN_LAUNCH_STREAM",
    "RESOURCE_DESCRIPTOR",
    "ApiCall",
    "GraphEvent",
    "ModuleEvent",
    "context_of",
    "graph_data_at",
    "graph_event",
    "launch_config_at",
    "module_event",
    "pointer",
    "pointers_at",
    "read_bytes",
    "returned_call",
    "uint",
    "uints_at",
]

#: CUPTI_API_ENTER; CUPTI_API_EXIT is 1.
ENTER = 0
LAUNCH_ATTRIBUTE_BYTES = sizeof(LaunchAttribute)
#: No launch carries more: cuda.h has 18 ids. A larger count means that the layout is wrong.
MAX_LAUNCH_ATTRIBUTES = 64

#: The address space of a user's process, as bytes: 47 bits on x86-64, 48 on AArch64, up to 56 on request.
_MEMORY = memoryview((c_ubyte * 2**56).from_address(0)).cast("B")

_UINT = Struct("<I")
_POINTER = Struct("<Q")
_GRAPH_DATA = Struct("<Q8xQQI")  # graph, node, originalNode, nodeType
_MODULE_DATA = Struct("<I4xQQ")  # moduleId, cubinSize, pCubin

DATA_PARAMS = 16  # CUpti_CallbackData.functionParams
_DATA_RETURN = 24  # CUpti_CallbackData.functionReturnValue
RESOURCE_DESCRIPTOR = 16  # CUpti_ResourceData.resourceDescriptor
CONFIG_STREAM = LaunchConfig.hStream.offset
PLAIN_LAUNCH_STREAM = 40  # hStream of cuLaunchKernel and cuLaunchCooperativeKernel: after f and seven unsigned


class ApiCall(NamedTuple):
    """A driver call that has returned (CUpti_CallbackData at CUPTI_API_EXIT)."""

    #: Address of the call's arguments, as generated_cuda_meta.h lays them out.
    params: int
    #: The CUresult that it returned.
    result: int

    def argument(self, index: int) -> int:
        """Return the argument at that index, for calls in which it and all before it are 64 bits wide."""
        return pointer(self.params + 8 * index)


class GraphEvent(NamedTuple):
    """CUpti_GraphData: the fields used here."""

    graph: int
    node: int
    original_node: int
    node_type: int


class ModuleEvent(NamedTuple):
    """CUpti_ModuleResourceData, and the context that the module is loaded in."""

    context: int
    module_id: int
    cubin_bytes: int
    cubin: int


#: Fields at an address, as tuples, for callbacks of every captured launch.
uints_at = partial(_UINT.unpack_from, _MEMORY)
pointers_at = partial(_POINTER.unpack_from, _MEMORY)
#: graph, node, originalNode, nodeType of a CUpti_GraphData
graph_data_at = partial(_GRAPH_DATA.unpack_from, _MEMORY)
#: hStream, attrs, numAttrs at `CONFIG_STREAM` of a CUlaunchConfig
launch_config_at = partial(Struct("<QQI").unpack_from, _MEMORY)


def uint(address: int) -> int:
    """Read an unsigned int."""
    return int(uints_at(address)[0])


def pointer(address: int) -> int:
    """Read a pointer or handle."""
    return int(pointers_at(address)[0])


def read_bytes(address: int, size_bytes: int) -> bytes:
    """Copy bytes from memory valid only inside the callback."""
    return bytes(_MEMORY[address : address + size_bytes])


def returned_call(data: int) -> ApiCall:
    """Read CUpti_CallbackData at CUPTI_API_EXIT."""
    return ApiCall(params=pointer(data + DATA_PARAMS), result=uint(pointer(data + _DATA_RETURN)))


def graph_event(data: int) -> GraphEvent:
    """Read the CUpti_GraphData of a CUpti_ResourceData."""
    return GraphEvent._make(graph_data_at(pointer(data + RESOURCE_DESCRIPTOR)))


def module_event(data: int) -> ModuleEvent:
    """Read the CUpti_ModuleResourceData of a CUpti_ResourceData."""
    module_id, size, cubin = _MODULE_DATA.unpack_from(_MEMORY, pointer(data + RESOURCE_DESCRIPTOR))
    return ModuleEvent(context=context_of(data), module_id=module_id, cubin_bytes=size, cubin=cubin)


def context_of(data: int) -> int:
    """Read the CUcontext of a CUpti_ResourceData, which is its first field."""
    return pointer(data)
