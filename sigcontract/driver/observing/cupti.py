"""CUPTI's callback interface, as a protocol, and the real one.

The C library is called directly. Measured (H200, driver 580.159.04, CUPTI 13.0, 2026-12-01): an empty callback
through cupti-python adds 22 us to a captured launch, a ctypes callback that copies the attributes 3 us.
"""

import ctypes
from collections.abc import Callable, Mapping
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_uint32, c_void_p, create_string_buffer
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol

from sigcontract.driver.cuda import (
    ATTRIBUTE_VALUE_BYTES,
)
from sigcontract.errors import ObserveError
from sigcontract.model import (
    CaptureMode,
    Result,
    StreamFlag,
)

__all__ = ["Cupti", "CuptiApi", "Domain", "RawCallback", "Resource", "loaded_cupti"]

#: Called with userdata (unused), domain, callback id and the address of the callback's data. Must not raise.
RawCallback = Callable[[int | None, int, int, int], None]


class Domain(IntEnum):
    """CUpti_CallbackDomain: the values used here."""

    DRIVER_API = 1
    RESOURCE = 3


class Resource(IntEnum):
    """CUpti_CallbackIdResource: the values used here."""

    CONTEXT_DESTROY_STARTING = 2
    MODULE_LOADED = 6
    MODULE_UNLOAD_STARTING = 7
    GRAPHNODE_CREATED = 13
    GRAPHNODE_CLONED = 20


class CuptiApi(Protocol):
    """The CUPTI calls used for observing. A process has one subscriber."""

    def driver_callbacks(self) -> Mapping[str, int]:
        """cuptiGetCallbackName of every id of the driver-API domain: ``cuLaunchKernelEx_ptsz`` -> its id."""
        ...

    def subscribe(self, callback: RawCallback) -> None:
        """cuptiSubscribe. Raises ObserveError if another tool holds the subscription, or CUPTI cannot start."""
        ...

    def enable(self, domain: Domain, callback_id: int, *, on: bool) -> None:
        """cuptiEnableCallback; also called inside callbacks."""
        ...

    def unsubscribe(self) -> None:
        """cuptiUnsubscribe. Does nothing without a subscription."""
        ...

    def driver_started(self) -> bool:
        """Whether cuInit has been called in this process. Does not call it."""
        ...

    def stream_attribute(self, stream: int, attribute_id: int) -> bytes | None:
        """cuStreamGetAttribute: the 64 bytes of CUlaunchAttributeValue, or None if the driver refuses."""
        ...

    def graph_id(self, graph: int) -> int | None:
        """cuptiGetGraphId: the id of a CUgraph in profilers, or None if CUPTI refuses."""
        ...

    def streams_refuse(self, attribute_id: int) -> bool:
        """Whether the driver refuses to set the attribute on a stream. False: unknown."""
        ...


_CALLBACK = CFUNCTYPE(None, c_void_p, c_uint32, c_uint32, c_void_p)
#: Every callback ever passed to CUPTI. A thread may still run one after cuptiUnsubscribe, so entry points are never
#: freed: one per subscription, and a process makes few.
_kept: list[Any] = []

_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39
_SOUGHT = ("libcupti.so.13", "libcupti.so.12")


class Cupti:
    """CUPTI's C library.

    Uses the library that the process has already loaded, if any (PyTorch links it), so both share the subscription.

    Raises
    ------
    ObserveError
        CUPTI is not installed, or does not support this driver.
    """

    def __init__(self) -> None:
        self._library = _load()
        try:
            self._libcuda: ctypes.CDLL | None = ctypes.CDLL("libcuda.so.1")
        except OSError:  # no driver, so nothing to observe
            self._libcuda = None
        self._subscriber = c_void_p()

    def driver_callbacks(self) -> Mapping[str, int]:
        """cuptiGetCallbackName of every id of the driver-API domain."""
        names: dict[str, int] = {}
        name = c_char_p()
        callback_id = 1
        while self._library.cuptiGetCallbackName(int(Domain.DRIVER_API), callback_id, byref(name)) == 0:
            if name.value is not None:
                names[name.value.decode("ascii", "replace")] = callback_id
            callback_id += 1
        return names

    def subscribe(self, callback: RawCallback) -> None:
        """cuptiSubscribe."""
        entry = _CALLBACK(callback)
        _kept.append(entry)
        result = self._library.cuptiSubscribe(byref(self._subscriber), entry, None)
        if result:
            self._subscriber = c_void_p()
            raise _refused(result, self._result_name(result))

    def enable(self, domain: Domain, callback_id: int, *, on: bool) -> None:
        """cuptiEnableCallback."""
        result = self._library.cuptiEnableCallback(int(on), self._subscriber, int(domain), callback_id)
        if result:
            msg = (
                f"cuptiEnableCallback failed with {self._result_name(result)} ({result}) for callback {callback_id} "
                f"of domain {domain.name}: this CUPTI does not support the driver; install nvidia-cuda-cupti of the "
                "driver's CUDA version"
            )
            raise ObserveError(msg)

    def unsubscribe(self) -> None:
        """cuptiUnsubscribe."""
        if self._subscriber.value is not None:
            self._library.cuptiUnsubscribe(self._subscriber)
            self._subscriber = c_void_p()

    def driver_started(self) -> bool:
        """Whether cuDeviceGetCount returns anything but CUDA_ERROR_NOT_INITIALIZED."""
        return (
            self._libcuda is not None and int(self._libcuda.cuDeviceGetCount(byref(c_int()))) != Result.NOT_INITIALIZED
        )

    def stream_attribute(self, stream: int, attribute_id: int) -> bytes | None:
        """cuStreamGetAttribute."""
        value = create_string_buffer(ATTRIBUTE_VALUE_BYTES)
        if self._libcuda is None or self._libcuda.cuStreamGetAttribute(c_void_p(stream), attribute_id, value):
            return None
        return value.raw

    def graph_id(self, graph: int) -> int | None:
        """cuptiGetGraphId."""
        number = c_uint32()
        return None if self._library.cuptiGetGraphId(c_void_p(graph), byref(number)) else number.value

    def streams_refuse(self, attribute_id: int) -> bool:
        """Try to set the attribute to 0 on a new stream, not one of the program's."""
        if self._libcuda is None:
            return False
        stream, mode = c_void_p(), c_int(CaptureMode.RELAXED)
        # Captures on other threads forbid some calls; this mode exempts this thread.
        if self._libcuda.cuThreadExchangeStreamCaptureMode(byref(mode)):
            return False
        try:
            if self._libcuda.cuStreamCreate(byref(stream), StreamFlag.NON_BLOCKING):
                return False  # no context is current here
            value = create_string_buffer(ATTRIBUTE_VALUE_BYTES)
            refused = self._libcuda.cuStreamSetAttribute(stream, attribute_id, value) == Result.INVALID_VALUE
            self._libcuda.cuStreamDestroy_v2(stream)
            return bool(refused)
        finally:
            self._libcuda.cuThreadExchangeStreamCaptureMode(byref(mode))

    def _result_name(self, result: int) -> str:
        text = c_char_p()
        if self._library.cuptiGetResultString(result, byref(text)) or text.value is None:
            return "an error without a name"
        return text.value.decode("ascii", "replace")


def _refused(result: int, name: str) -> ObserveError:
    if result == _MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return ObserveError(
            "launches cannot be observed: another tool holds CUPTI's one subscription (CUPTI_ERROR_"
            "MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED): a profiler, a debugger, or torch.profiler once it has run; end the "
            "tool, or observe before it starts",
            code="cupti_taken",
        )
    return ObserveError(
        f"launches cannot be observed: cuptiSubscribe failed with {name} ({result}); check that the driver works "
        "(nvidia-smi) and that CUPTI is of its CUDA version or older",
        code="cupti_failed",
    )


def _load() -> ctypes.CDLL:
    path = loaded_cupti() or _installed()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        msg = f"CUPTI cannot be loaded: {error}; install sigcontract[observe], or CUDA 12's nvidia-cuda-cupti-cu12"
        raise ObserveError(msg, code="cupti_missing") from error
    library.cuptiSubscribe.argtypes = (POINTER(c_void_p), _CALLBACK, c_void_p)
    library.cuptiEnableCallback.argtypes = (c_uint32, c_void_p, c_int, c_uint32)
    library.cuptiUnsubscribe.argtypes = (c_void_p,)
    library.cuptiGetCallbackName.argtypes = (c_int, c_uint32, POINTER(c_char_p))
    library.cuptiGetResultString.argtypes = (c_int, POINTER(c_char_p))
    return library


def loaded_cupti() -> str | None:
    """Return the path of a CUPTI that this process has mapped, or None."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    for line in maps.splitlines():
        path = line.partition("/")[1] + line.partition("/")[2]
        if Path(path).name.startswith("libcupti.so"):
            return path
    return None


def _installed() -> str:
    """Return the path of CUPTI as pip installs it, or its name for the dynamic loader."""
    from importlib.util import find_spec  # noqa: PLC0415  takes 10 ms; not needed if CUPTI is already loaded

    spec = find_spec("nvidia")
    roots = [Path(root) for root in spec.submodule_search_locations or ()] if spec is not None else []
    for name in _SOUGHT:
        for root in roots:
            # nvidia-cuda-cupti installs to cu13/lib, nvidia-cuda-cupti-cu12 to cuda_cupti/lib
            for folder in ("cu13/lib", "cuda_cupti/lib"):
                if (root / folder / name).is_file():
                    return str(root / folder / name)
    for name in _SOUGHT:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    return _SOUGHT[0]
