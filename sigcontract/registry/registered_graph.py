"""A registered CUgraph: its handle, its signature and the Python object that owns it."""

from typing import TYPE_CHECKING, Any, Final

from sigcontract.driver import (
    GRAPH_CLASSES,
    handle_number,
)
from sigcontract.errors import RegistryError
from sigcontract.model import (
    GraphSignature,
    holds_graphs,
)
from sigcontract.update import (
    distinct_nodes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RegisteredGraph", "was_released"]


class RegisteredGraph:
    """A CUgraph that executables are updated from. Keeps its owner alive as long as an update may need it.

    Attributes
    ----------
    handle
        The CUgraph.
    label
        The name of its entry.
    signature
        The graph's signature.
    owner
        The Python object; None once dropped.
    nodes
        Each node record once, those of children and readable bodies included.
    node_count
        The number of nodes, those of children and readable bodies included.
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
        """Raise RegistryError (``released``) if the owner was dropped."""
        if self.owner is None:
            raise was_released(self.label)

    def check_owner(self) -> None:
        """Raise if PyTorch's capture was reset, as its CUgraph may be gone. Calls the owner, so no lock may be held.

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
        """Drop the owner, never during an update from its graph, and return every reference to it.

        The caller deletes these with no lock held: the owner's finaliser is the caller's code.
        """
        held = self.owner, self._raw
        self.owner = self._raw = None
        return held

    def _was_reset(self) -> RegistryError:
        msg = f"{self.label}: the captured graph was reset; release() the entry and register the graph again"
        return RegistryError(msg, code="reset_graph")


def was_released(label: str) -> RegistryError:
    """Return the error of a released entry."""
    return RegistryError(f"{label}: the entry was released; register the graph again", code="released")
