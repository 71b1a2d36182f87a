"""The graphs that executables are updated from: their handles, the objects that own them, and the streams meant."""

import sys
from typing import TYPE_CHECKING, Any, Final

from sigcontract.driver.handles import graph_handle
from sigcontract.errors import RegistryError, UsageError
from sigcontract.model.graph import ChildGraphNode, ConditionalNode, GraphSignature
from sigcontract.registry.distinct import distinct_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SourceGraph", "stream_handle"]


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

    def __init__(self, owner: Any, label: str, signature: GraphSignature) -> None:
        self.owner: Any = owner
        self.label = label
        self.signature: Final = signature
        self.handle: Final = graph_handle(owner)
        self.nodes: Final = distinct_nodes(signature)
        nested = any(isinstance(node, ChildGraphNode | ConditionalNode) for node in self.nodes)
        self.node_count: Final = sum(1 for _ in signature.walk()) if nested else len(signature.nodes)
        self._raw: Callable[[], int] | None = getattr(owner, "raw_cuda_graph", None)

    def check_kept(self) -> None:
        """Refuse a graph that was let go: RegistryError (``released``)."""
        if self.owner is None:
            raise RegistryError(f"{self.label}: the entry was released; register the graph again", code="released")

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
        if handle != self.handle:
            raise self._was_reset()

    @property
    def of_torch(self) -> bool:
        """Whether PyTorch captured it, so that a launch without a stream means PyTorch's current stream."""
        return self._raw is not None

    def drop(self) -> None:
        """Let go of the owner. Never while an executable is being updated from its graph."""
        self.owner = None
        self._raw = None

    def _was_reset(self) -> RegistryError:
        msg = f"{self.label}: the captured graph was reset since it was registered; release() the entry, register anew"
        return RegistryError(msg, code="reset_graph")


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
        if not source.of_torch:
            return 0
        return _current_stream(sys.modules["torch"])  # where a graph of PyTorch is, its module is loaded
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        # A method since cuda.core 0.3, an attribute before.
        _, handle = protocol() if callable(protocol) else protocol
        return int(handle)
    handle = getattr(stream, "cuda_stream", stream)
    if isinstance(handle, bool) or not hasattr(handle, "__int__") or isinstance(handle, float | str):
        raise UsageError(f"a {type(stream).__name__} is no stream; give an int, a torch or a cuda.core stream")
    return int(handle)


def _current_stream(torch: Any) -> int:
    """Return the CUstream that is current in PyTorch on its current device."""
    # current_stream() builds an object, which takes longer than the launch (5 us of 8, H200 host, 2026-12-01). What the
    # code that Inductor generates calls instead has no public name.
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return int(torch.cuda.current_stream().cuda_stream if raw is None else raw(torch.cuda.current_device()))
