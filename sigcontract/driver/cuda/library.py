"""libcuda's C entry points: found through cuda-bindings, called through ctypes.

cuda-bindings is used for one thing, to load libcuda and hand out addresses. Every call then goes through our own
signatures and layouts, so nothing depends on what a release of the bindings makes of a struct, an enum, an error or
an edge.
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

#: Symbol and CUDA version (cuGetProcAddress) -> address of the C function, 0 where the driver does not have it.
Resolve = Callable[[str, int], int]

#: A plain integer: every call's answer is compared with it, and members of an IntEnum are slow to look up.
SUCCESS = int(Result.SUCCESS)

#: CU_GET_PROC_ADDRESS_LEGACY_STREAM: stream 0 is the legacy default stream, however the bindings are set up.
_LEGACY_STREAM = 1

_ADVICE: dict[int, str] = {
    Result.INVALID_VALUE: "an argument is not what the driver expects; check that the graph, node or exec still exists",
    Result.OUT_OF_MEMORY: "device memory is used up; destroy executables that are no longer launched",
    Result.DEINITIALIZED: "the driver is shutting down; do this before the interpreter exits",
    Result.STUB_LIBRARY: "libcuda is a stub; put the real driver's library first in LD_LIBRARY_PATH",
    Result.DEVICE_UNAVAILABLE: (
        "the device is taken by another process; wait for it, or choose another with CUDA_VISIBLE_DEVICES"
    ),
    Result.INVALID_HANDLE: "the handle is no longer valid; keep the graph, module or stream alive while it is used",
    Result.LOSSY_QUERY: "the graph has edges with data, which this form of the query drops; report this",
    Result.ILLEGAL_ADDRESS: (
        "a kernel of this process read or wrote a wrong address; nothing works in this process any more"
    ),
    Result.CONTEXT_IS_DESTROYED: "the context was destroyed; make a live context current on this thread",
    Result.LAUNCH_FAILED: "a kernel of this process failed; nothing works in this process any more",
    Result.NOT_SUPPORTED: "this driver or device cannot do that",
    Result.SYSTEM_NOT_READY: "the driver is not ready; see nvidia-smi and the fabric manager",
    Result.SYSTEM_DRIVER_MISMATCH: (
        "the kernel module and libcuda are of different versions; reboot, or install one driver"
    ),
    Result.STREAM_CAPTURE_UNSUPPORTED: "the stream is capturing; end the capture first",
    Result.STREAM_CAPTURE_INVALIDATED: "the capture was invalidated by an earlier error in it; capture again",
    Result.INVALID_CLUSTER_SIZE: (
        "the cluster does not fit the kernel or the device; give the size that the kernel was compiled with, or less"
    ),
    Result.UNKNOWN: "see dmesg for NVRM messages",
}
_ADVICE_ELSE = "look the error up in the CUDA driver API's documentation of CUresult"


def resolve_with_bindings() -> Resolve:
    """Return a resolver that asks the installed cuda-bindings.

    Raises
    ------
    DriverUnavailableError
        cuda-bindings is not installed (``no_bindings``) or finds no libcuda (``no_libcuda``).
    """
    try:  # optional, and slow to import
        from cuda.bindings import driver  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415
    except ImportError as error:
        msg = (
            f"cuda-bindings 12.8 or later cannot be imported ({error}); "
            "run: pip install 'sigcontract[cuda13]', or 'sigcontract[cuda12]' with a driver of CUDA 12"
        )
        raise DriverUnavailableError(msg, reason="no_bindings") from error

    def resolve(symbol: str, cuda_version: int) -> int:
        try:
            answer = driver.cuGetProcAddress(symbol.encode(), cuda_version, _LEGACY_STREAM)
        except RuntimeError as error:  # what the bindings raise where dlopen fails, in every release
            msg = (
                f"libcuda cannot be loaded ({error}); install NVIDIA's driver, and in a container start it with --gpus"
            )
            raise DriverUnavailableError(msg, reason="no_libcuda") from error
        # INVALID_VALUE: the driver is older than the version asked for, so it cannot have the function.
        return int(answer[1] or 0) if int(answer[0]) == SUCCESS else 0

    return resolve


class Library:
    """The C functions of one libcuda, resolved when they are first called.

    Parameters
    ----------
    resolve
        Where addresses come from.
    functions
        The functions that may be called, and their forms.
    """

    def __init__(self, resolve: Resolve, functions: Mapping[str, Entry] = FUNCTIONS) -> None:
        self.resolve = resolve
        self._functions = functions
        self._addresses: dict[str, int] = {}
        self._checked: dict[str, Any] = {}
        self._bulk: dict[str, Any] = {}

    def has(self, name: str) -> bool:
        """Whether the driver has that function, in the form asked for."""
        return self._address(name) != 0

    def require(self, name: str) -> int:
        """Return the address of a function; DriverUnavailableError (``missing_function``) where the driver lacks it."""
        address = self._address(name)
        if not address:
            version = self._functions[name].cuda_version
            msg = f"this driver has no {name} of CUDA {version // 1000}.{version % 1000 // 10}; update NVIDIA's driver"
            raise DriverUnavailableError(msg, reason="missing_function")
        return address

    def call(self, name: str, *arguments: object) -> None:
        """Call a function.

        Raises
        ------
        DriverCallError
            It did not answer CUDA_SUCCESS.
        DriverUnavailableError
            The driver lacks the function, or no context is current on this thread.
        """
        result = self.result_of(name, *arguments)
        if result != SUCCESS:
            raise self.error(name, result)

    def result_of(self, name: str, *arguments: object) -> int:
        """Call a function and return its CUresult, for calls whose refusal is an answer."""
        return int(self.checked(name)(*arguments))

    def checked(self, name: str) -> Any:
        """Return a function that converts and checks its arguments, and gives the CUresult back unchecked."""
        function = self._checked.get(name)
        if function is None:
            function = CFUNCTYPE(c_int, *self._functions[name].argtypes)(self.require(name))
            self._checked[name] = function
        return function

    def bulk(self, name: str) -> Any:
        """Return a function for many calls in a row: it converts nothing.

        Every argument must be a ctypes argument already (``c_void_p.from_param(address)``) or a small int; that
        halves the cost of a call. It gives the CUresult back unchecked.
        """
        function = self._bulk.get(name)
        if function is None:
            # Releases the GIL like any other call: a driver that waits for a lock, held by a thread that waits for
            # the GIL in a host function or a profiler's callback, would never wake otherwise.
            function = self._bulk[name] = CFUNCTYPE(c_int)(self.require(name))
        return function

    def error(self, name: str, result: int) -> DriverCallError | DriverUnavailableError:
        """Return the exception for a function's CUresult."""
        if result == Result.INVALID_CONTEXT:
            msg = (
                f"{name} needs a CUDA context and none is current on this thread; "
                "make one current first (torch.cuda.init(), or cuCtxSetCurrent)"
            )
            return DriverUnavailableError(msg, reason="no_context")
        if result == Result.NO_DEVICE:
            msg = f"{name} finds no CUDA device; check nvidia-smi and CUDA_VISIBLE_DEVICES"
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
