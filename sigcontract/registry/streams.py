"""Conversion of users' stream objects to CUstream handles."""

import sys
from typing import Any, Final

from sigcontract.driver import (
    handle_number,
)
from sigcontract.errors import UsageError
from sigcontract.model import MAX_HANDLE

__all__ = ["stream_handle"]

_STREAM_CLASSES: Final = frozenset({"CUstream", "cudaStream_t"})
#: ``__cuda_stream__`` returns the version of its protocol and the CUstream.
_PAIR: Final = 2


def stream_handle(stream: Any, *, of_torch: bool) -> int:
    """Return a stream's CUstream.

    Parameters
    ----------
    stream
        As for `GraphEntry.replay`.
    of_torch
        Whether None means PyTorch's current stream rather than the legacy default stream.

    Raises
    ------
    UsageError
        The object is not a stream.
    """
    if stream is None:
        return _current_stream() if of_torch else 0
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is None:
        number = handle_number(getattr(stream, "cuda_stream", stream), _STREAM_CLASSES)
    else:
        # A method since cuda.core 0.3, an attribute before.
        answer = protocol() if callable(protocol) else protocol
        is_pair = isinstance(answer, tuple) and len(answer) == _PAIR
        number = handle_number(answer[1], _STREAM_CLASSES) if is_pair else None
    if number is None or not 0 <= number <= MAX_HANDLE:
        what = f"a {type(stream).__name__}" if number is None else f"{number}"
        raise UsageError(f"{what} is not a stream; pass a 64-bit int, a torch or a cuda.core stream")
    return number


def _current_stream() -> int:
    """Return PyTorch's current stream on its current device; without PyTorch the legacy default stream."""
    torch = sys.modules.get("torch")
    if torch is None:  # the graph's owner is not PyTorch's
        return 0
    # current_stream() builds an object, which takes longer than the launch (5 us of 8, H200 host, 2026-12-01). The
    # function that Inductor's generated code calls instead has no public name.
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return int(torch.cuda.current_stream().cuda_stream if raw is None else raw(torch.cuda.current_device()))
