"""The graphs that executables are updated from: their handles, the objects that own them, and the streams meant."""

import sys
from typing import TYPE_CHECKING, Any, Final

from sigcontract.driver import (
    GRAPH_CLASSES,
    handle_number,
)
from sigcontract.errors import RegistryError, UsageError
from sigcontract.model import (
    MAX_HANDLE,
    GraphSignature,
    holds_graphs,
)
from sigcontract.registry.distinct import distinct_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SourceGraph", "stream_handle", "was_released"]

#: Largest number of 64 bits.

_STREAM_CLASSES: Final = frozenset({"CUstream", "cudaStream_t"})
#: ``__cuda_stream__`` gives its protocol's version and the CUstream.
_PAIR: Final = 2


class SourceGraph:
    """A CUgraph as it was registered. Holds the Python object that owns it, so that it outlives every update from it.

    Attributes
    ----------
    handle
        The CUgraph.
    label
        The name of its entry.
    nodes
        Each node record once, those of children and readable bodies included.
    node_count
        Nodes, the same.
    """

    __slots__ = ("_raw", "handle", "label", "node_count", "nodes", "owner", "signature")

    def __init__(self, owner: Any, handle: int, label: str, signature: GraphSignature) -> None:
        self.owner: Any = owner
        self.label = label
        self.signature: Final = signature
        self.handle: Final = handle
        self.nodes: Final = distinct_nodes(signature)
        nested = any(map(holds_graphs, self.nodes))
        self.node_count: Final = sum(1 for _ in signature.walk()) if nested else len(signature.nodes)
        self._raw: Callable[[], int] | None = getattr(owner, "raw_cuda_graph", None)

    def check_kept(self) -> None:
        """Refuse a graph that was let go: RegistryError (``released``)."""
        if self.owner is None:
            raise was_released(self.label)

    def check_owner(self) -> None:
        """Refuse a capture of PyTorch that was reset: its CUgraph may be gone. Calls the owner: with no lock held.

        Raises
        ------
        RegistryError
            It was reset, or captured again since (``reset_graph``).
        """
        raw = self._raw
        if raw is None:
            return
        try:
            handle = raw()
        except RuntimeError as error:
            raise self._was_reset() from error
        if handle != self.handle and handle_number(handle, GRAPH_CLASSES) != self.handle:
            raise self._was_reset()

    @property
    def of_torch(self) -> bool:
        """Whether PyTorch captured it, so that a launch without a stream means PyTorch's current stream."""
        return self._raw is not None

    def drop(self) -> tuple[object, ...]:
        """Let go of the owner, never while an executable is being updated from its graph, and return what held it.

        The caller lets go of that with no lock held: the owner's finaliser is user code.
        """
        held = self.owner, self._raw
        self.owner = self._raw = None
        return held

    def _was_reset(self) -> RegistryError:
        msg = f"{self.label}: the captured graph was reset since it was registered; release() the entry, register anew"
        return RegistryError(msg, code="reset_graph")


def was_released(label: str) -> RegistryError:
    """Return the error of an entry that was let go."""
    return RegistryError(f"{label}: the entry was released; register the graph again", code="released")


def stream_handle(stream: Any, source: SourceGraph) -> int:
    """Return the CUstream that is meant.

    Parameters
    ----------
    stream
        As `GraphEntry.replay` takes it.
    source
        The graph to be launched; decides what None means.

    Raises
    ------
    UsageError
        It is no stream.
    """
    if stream is None:
        return _current_stream() if source.of_torch else 0
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
        raise UsageError(f"{what} is no stream; give an int of 64 bits, a torch or a cuda.core stream")
    return number


def _current_stream() -> int:
    """Return the CUstream that is current in PyTorch on its current device; without PyTorch the legacy default one."""
    torch = sys.modules.get("torch")
    if torch is None:  # something else has a raw_cuda_graph of its own
        return 0
    # current_stream() builds an object, which takes longer than the launch (5 us of 8, H200 host, 2026-12-01). What the
    # code that Inductor generates calls instead has no public name.
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return int(torch.cuda.current_stream().cuda_stream if raw is None else raw(torch.cuda.current_device()))
