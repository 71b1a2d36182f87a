"""Which C entry points of libcuda are called: the symbol's version and its argument types, from cudaTypedefs.h.

The version picks the form: the edge-data forms of CUDA 12.3 and the three-field update result of 12.0, whatever
the installed bindings would have picked.
"""

from ctypes import c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import Any, NamedTuple

__all__ = ["FUNCTIONS", "Entry"]


class Entry(NamedTuple):
    """One C function: ``PFN_<name>_v<cuda_version>`` of cudaTypedefs.h."""

    #: CUDA version that introduced this form of the symbol, as 12030; the argument of cuGetProcAddress.
    cuda_version: int
    #: One letter per argument: ``p`` pointer or handle, ``i`` int or enum, ``u`` unsigned, ``z`` size_t, ``q`` 64 bit.
    arguments: str

    @property
    def argtypes(self) -> tuple[type[Any], ...]:
        """The argument types, for ctypes."""
        return tuple(_TYPES[letter] for letter in self.arguments)


_TYPES: dict[str, type[Any]] = {"p": c_void_p, "i": c_int, "u": c_uint, "z": c_size_t, "q": c_ulonglong}

FUNCTIONS: dict[str, Entry] = {
    # the driver, devices and contexts
    "cuInit": Entry(2000, "u"),
    "cuDriverGetVersion": Entry(2020, "p"),
    "cuGetErrorName": Entry(6000, "ip"),
    "cuDeviceGetCount": Entry(2000, "p"),
    "cuDeviceGetName": Entry(2000, "pii"),
    "cuDeviceGetAttribute": Entry(2000, "pii"),
    "cuDevicePrimaryCtxRetain": Entry(7000, "pi"),
    "cuDevicePrimaryCtxRelease": Entry(11000, "i"),
    "cuCtxGetCurrent": Entry(4000, "p"),
    "cuCtxGetDevice": Entry(2000, "p"),
    "cuCtxPushCurrent": Entry(4000, "p"),
    "cuCtxPopCurrent": Entry(4000, "p"),
    # reading a graph
    "cuGraphGetNodes": Entry(10000, "ppp"),
    "cuGraphGetEdges": Entry(12030, "ppppp"),
    "cuGraphNodeGetDependencies": Entry(12030, "pppp"),
    "cuGraphNodeGetType": Entry(10000, "pp"),
    "cuGraphKernelNodeGetParams": Entry(12000, "pp"),
    "cuGraphKernelNodeGetAttribute": Entry(11000, "pip"),
    "cuGraphMemcpyNodeGetParams": Entry(10000, "pp"),
    "cuGraphMemsetNodeGetParams": Entry(10000, "pp"),
    "cuGraphHostNodeGetParams": Entry(10000, "pp"),
    "cuGraphChildGraphNodeGetGraph": Entry(10000, "pp"),
    "cuGraphEventWaitNodeGetEvent": Entry(11010, "pp"),
    "cuGraphEventRecordNodeGetEvent": Entry(11010, "pp"),
    "cuGraphExternalSemaphoresSignalNodeGetParams": Entry(11020, "pp"),
    "cuGraphExternalSemaphoresWaitNodeGetParams": Entry(11020, "pp"),
    "cuGraphMemAllocNodeGetParams": Entry(11040, "pp"),
    "cuGraphMemFreeNodeGetParams": Entry(11040, "pp"),
    "cuGraphBatchMemOpNodeGetParams": Entry(11070, "pp"),
    "cuGraphNodeGetParams": Entry(13020, "pp"),
    "cuPointerGetAttributes": Entry(7000, "uppp"),
    # functions
    "cuFuncGetName": Entry(12030, "pp"),
    "cuKernelGetName": Entry(12030, "pp"),
    "cuKernelGetFunction": Entry(12000, "pp"),
    "cuFuncGetAttribute": Entry(2020, "pip"),
    "cuFuncGetParamInfo": Entry(12040, "pzpp"),
    "cuFuncGetModule": Entry(11000, "pp"),
    "cuKernelGetLibrary": Entry(12050, "pp"),
    # executables
    "cuMemGetInfo": Entry(3020, "pp"),
    "cuGraphInstantiateWithFlags": Entry(11040, "ppq"),
    "cuGraphExecUpdate": Entry(12000, "ppp"),
    "cuGraphExecDestroy": Entry(10000, "p"),
    "cuGraphLaunch": Entry(10000, "pp"),
    # building the graphs that measure a driver
    "cuModuleLoadData": Entry(2000, "pp"),
    "cuModuleGetFunction": Entry(2000, "ppp"),
    "cuModuleUnload": Entry(2000, "p"),
    "cuMemAlloc": Entry(3020, "pz"),
    "cuMemFree": Entry(3020, "p"),
    "cuMemcpyHtoD": Entry(3020, "ppz"),
    "cuMemcpyDtoH": Entry(3020, "ppz"),
    "cuStreamCreate": Entry(2000, "pu"),
    "cuStreamDestroy": Entry(4000, "p"),
    "cuStreamSynchronize": Entry(2000, "p"),
    "cuStreamBeginCapture": Entry(10010, "pi"),
    "cuStreamGetCaptureInfo": Entry(11030, "pppppp"),
    "cuStreamEndCapture": Entry(10000, "pp"),
    "cuEventCreate": Entry(2000, "pu"),
    "cuEventDestroy": Entry(4000, "p"),
    "cuEventRecord": Entry(2000, "pp"),
    "cuStreamWaitEvent": Entry(3020, "ppu"),
    "cuLaunchKernelEx": Entry(11060, "pppp"),
    "cuGraphCreate": Entry(10000, "pu"),
    "cuGraphDestroy": Entry(10000, "p"),
    "cuGraphAddKernelNode": Entry(12000, "pppzp"),
    "cuGraphKernelNodeSetAttribute": Entry(11000, "pip"),
}
