"""The few driver calls that every recording program makes, through cuda-bindings: check, open, compile, capture."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cuda.bindings import driver, nvrtc

__all__ = ["CallError", "Capture", "capture", "check", "compile_source", "compute_capability", "open_device"]


class CallError(RuntimeError):
    """A CUDA call answered with an error.

    Attributes
    ----------
    result
        The name of the CUresult or nvrtcResult.
    """

    def __init__(self, result: str) -> None:
        super().__init__(result)
        self.result = result


def check(answer: tuple[Any, ...]) -> Any:
    """Return what a cuda-bindings call gave: nothing, one value, or a tuple. Raises CallError where it failed."""
    result, *values = answer
    if int(result) != 0:
        raise CallError(result.name)
    if not values:
        return None
    return values[0] if len(values) == 1 else tuple(values)


def open_device(ordinal: int = 0) -> tuple[Any, Any]:
    """Make the device's primary context current; return the device and the context."""
    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(ordinal))
    context = check(driver.cuDevicePrimaryCtxRetain(device))
    check(driver.cuCtxSetCurrent(context))
    return device, context


def compute_capability(device: Any) -> int:
    """Return the device's compute capability as major * 10 + minor."""
    names = driver.CUdevice_attribute
    major = check(driver.cuDeviceGetAttribute(names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))
    minor = check(driver.cuDeviceGetAttribute(names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))
    return int(major) * 10 + int(minor)


def compile_source(source: str, target: str, *options: str) -> bytes:
    """Compile CUDA C with NVRTC for ``compute_90`` (the answer is PTX) or ``sm_90`` (a cubin)."""
    program = check(nvrtc.nvrtcCreateProgram(source.encode(), b"kernels.cu", 0, [], []))
    flags = [f"--gpu-architecture={target}".encode(), *(option.encode() for option in options)]
    try:
        check(nvrtc.nvrtcCompileProgram(program, len(flags), flags))
    except CallError as error:
        log = b" " * check(nvrtc.nvrtcGetProgramLogSize(program))
        check(nvrtc.nvrtcGetProgramLog(program, log))
        error.add_note(log.decode())
        raise
    else:
        if target.startswith("compute"):
            image: bytes = b" " * check(nvrtc.nvrtcGetPTXSize(program))
            check(nvrtc.nvrtcGetPTX(program, image))
        else:
            image = b" " * check(nvrtc.nvrtcGetCUBINSize(program))
            check(nvrtc.nvrtcGetCUBIN(program, image))
        return image
    finally:
        check(nvrtc.nvrtcDestroyProgram(program))


class Capture:
    """What a stream capture left: `graph` is set when the ``with`` block of `capture` ends."""

    graph: Any


@contextmanager
def capture(stream: Any) -> Iterator[Capture]:
    """Capture what the block puts on the stream into a graph, which the caller destroys."""
    taken = Capture()
    check(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
    try:
        yield taken
    except BaseException:
        driver.cuStreamEndCapture(stream)  # the first error is the one to tell; this only frees the stream
        raise
    taken.graph = check(driver.cuStreamEndCapture(stream))
