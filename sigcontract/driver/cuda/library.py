"""libcuda's C entry points: resolved through cuda-bindings, called through ctypes.

cuda-bindings only loads libcuda and returns addresses. Calls use our own signatures and layouts, so they do not depend
on how a release of the bindings represents a struct, an enum, an error or an edge.
"""

from collections.abc import Callable, Mapping
from ctypes import CFUNCTYPE, byref, c_char_p, c_int
from typing import Any

from sigcontract.driver.cuda.functions import FUNCTIONS, Entry
from sigcontract.errors import DriverCallError, DriverUnavailableError
from sigcontract.model import (
    Result,
)

__all__ = ["SUCCESS", "Library", "Resolve", "resolve_with_bindings"]

#: Symbol and CUDA version (cuGetProcAddress) -> address of the C function; 0 if the driver lacks it.
Resolve = Callable[[str, int], int]

#: A plain integer: every CUresult is compared with it, and IntEnum members are slow to look up.
SUCCESS = int(Result.SUCCESS)

#: CU_GET_PROC_ADDRESS_LEGACY_STREAM: stream 0 is the legacy default stream, whatever the bindings are configured for.
_LEGACY_STREAM = 1

_ADVICE: dict[int, str] = {
    Result.INVALID_VALUE: "an argument is invalid; check that the graph, node or executable still exists",
    Result.OUT_OF_MEMORY: "out of device memory; destroy executables that are no longer launched",
    Result.DEINITIALIZED: "the driver is shutting down; make this call before the interpreter exits",
    Result.STUB_LIBRARY: "libcuda is a stub; put the driver's own library first in LD_LIBRARY_PATH",
    Result.DEVICE_UNAVAILABLE: (
        "another process uses the device exclusively; wait, or select another with CUDA_VISIBLE_DEVICES"
    ),
    Result.INVALID_HANDLE: "the handle is invalid; keep the graph, module or stream alive while it is in use",
    Result.LOSSY_QUERY: "the graph has edge data, which this query omits; please report this",
    Result.ILLEGAL_ADDRESS: ("a kernel accessed an invalid address; restart the process, its context is unusable"),
    Result.CONTEXT_IS_DESTROYED: "the context is destroyed; make a live context current on this thread",
    Result.LAUNCH_FAILED: "a kernel failed; restart the process, its context is unusable",
    Result.NOT_SUPPORTED: "this driver or device does not support the operation",
    Result.SYSTEM_NOT_READY: "the driver is not ready; see nvidia-smi and the fabric manager",
    Result.SYSTEM_DRIVER_MISMATCH: (
        "the kernel module and libcuda have different versions; reboot, or reinstall the driver"
    ),
    Result.STREAM_CAPTURE_UNSUPPORTED: "the stream is capturing; end the capture first",
    Result.STREAM_CAPTURE_INVALIDATED: "an earlier error invalidated the capture; capture again",
    Result.INVALID_CLUSTER_SIZE: (
        "the cluster does not fit the kernel or device; use the size the kernel was compiled with, or a smaller one"
    ),
    Result.UNKNOWN: "see dmesg for NVRM messages",
}
_ADVICE_ELSE = "see CUresult in the CUDA driver API documentation"


def resolve_with_bindings() -> Resolve:
    """Return a resolver that uses the installed cuda-bindings.

    Raises
    ------
    DriverUnavailableError
        cuda-bindings is not installed (``no_bindings``), or cannot load libcuda (``no_libcuda``).
    """
    try:  # optional, and slow to import
        from cuda.bindings import driver  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415
    except ImportError as error:
        msg = (
            f"cuda-bindings 12.8 or later cannot be imported ({error}); "
            "run: pip install 'sigcontract[cuda13]', or 'sigcontract[cuda12]' for a CUDA 12 driver"
        )
        raise DriverUnavailableError(msg, reason="no_bindings") from error

    def resolve(symbol: str, cuda_version: int) -> int:
        try:
            answer = driver.cuGetProcAddress(symbol.encode(), cuda_version, _LEGACY_STREAM)
        except RuntimeError as error:  # every release of the bindings raises this if dlopen fails
            msg = f"libcuda cannot be loaded ({error}); install the NVIDIA driver; start containers with --gpus"
            raise DriverUnavailableError(msg, reason="no_libcuda") from error
        # INVALID_VALUE: the driver is older than the requested version, so it lacks the function.
        return int(answer[1] or 0) if int(answer[0]) == SUCCESS else 0

    return resolve


class Library:
    """The C functions of one libcuda, resolved on first use.

    Parameters
    ----------
    resolve
        Returns the address of a function.
    functions
        The callable functions, with their versions and argument types.
    """

    def __init__(self, resolve: Resolve, functions: Mapping[str, Entry] = FUNCTIONS) -> None:
        self.resolve = resolve
        self._functions = functions
        self._addresses: dict[str, int] = {}
        self._checked: dict[str, Any] = {}
        self._bulk: dict[str, Any] = {}

    def has(self, name: str) -> bool:
        """Whether the driver has the function, in the version listed in `functions`."""
        return self._address(name) != 0

    def require(self, name: str) -> int:
        """Return the address of a function; DriverUnavailableError (``missing_function``) if the driver lacks it."""
        address = self._address(name)
        if not address:
            version = self._functions[name].cuda_version
            msg = f"this driver lacks {name} of CUDA {version // 1000}.{version % 1000 // 10}; update the NVIDIA driver"
            raise DriverUnavailableError(msg, reason="missing_function")
        return address

    def call(self, name: str, *arguments: object) -> None:
        """Call a function.

        Raises
        ------
        DriverCallError
            It returned anything but CUDA_SUCCESS.
        DriverUnavailableError
            The driver lacks the function, or no context is current on this thread.
        """
        result = self.result_of(name, *arguments)
        if result != SUCCESS:
            raise self.error(name, result)

    def result_of(self, name: str, *arguments: object) -> int:
        """Call a function and return its CUresult, for calls that may be refused."""
        return int(self.checked(name)(*arguments))

    def checked(self, name: str) -> Any:
        """Return a function that converts its arguments and returns the CUresult unchecked."""
        function = self._checked.get(name)
        if function is None:
            function = CFUNCTYPE(c_int, *self._functions[name].argtypes)(self.require(name))
            self._checked[name] = function
        return function

    def bulk(self, name: str) -> Any:
        """Return a function for bulk calls: it converts no arguments.

        Every argument must be a ctypes argument (``c_void_p.from_param(address)``) or a small int; this halves the cost
        of a call. Returns the CUresult unchecked.
        """
        function = self._bulk.get(name)
        if function is None:
            # Releases the GIL: otherwise this deadlocks when the driver waits for a lock held by a thread that waits
            # for the GIL in a host function or a profiler's callback.
            function = self._bulk[name] = CFUNCTYPE(c_int)(self.require(name))
        return function

    def error(self, name: str, result: int) -> DriverCallError | DriverUnavailableError:
        """Return the exception for a function's CUresult."""
        if result == Result.INVALID_CONTEXT:
            msg = (
                f"{name} needs a CUDA context, but none is current on this thread; "
                "make one current first (torch.cuda.init(), or cuCtxSetCurrent)"
            )
            return DriverUnavailableError(msg, reason="no_context")
        if result == Result.NO_DEVICE:
            msg = f"{name} found no CUDA device; check nvidia-smi and CUDA_VISIBLE_DEVICES"
            return DriverUnavailableError(msg, reason="no_device")
        advice = _ADVICE.get(result, _ADVICE_ELSE)
        return DriverCallError(name, result=self._result_name(result), value=result, advice=advice)

    def _result_name(self, result: int) -> str:
        text = c_char_p()
        known = (
            "cuGetErrorName" in self._functions
            and self.has("cuGetErrorName")
            and self.result_of("cuGetErrorName", result, byref(text)) == SUCCESS
        )
        return text.value.decode() if known and text.value else "an unknown CUresult"

    def _address(self, name: str) -> int:
        address = self._addresses.get(name)
        if address is None:
            address = self._addresses[name] = self.resolve(name, self._functions[name].cuda_version)
        return address
