"""What registering a graph gives back: an entry that replays it, its group, and the reason for its executable."""
# ruff: noqa: SLF001  entries look at each other's executables here, and nowhere else

from threading import get_ident
from typing import TYPE_CHECKING, Any, Final

from sigcontract.errors import RegistryError
from sigcontract.model import (
    MAX_HANDLE,
    GraphSignature,
)
from sigcontract.registry.reasons import Reason
from sigcontract.registry.shared import SharedExec
from sigcontract.registry.sources import SourceGraph, stream_handle

if TYPE_CHECKING:  # the registry makes the entries, and an entry calls its registry only where it cannot launch
    from collections.abc import Iterator

    from sigcontract.registry.events import Event
    from sigcontract.registry.execs import GraphExecRegistry

__all__ = ["ExecGroup", "GraphEntry"]


class ExecGroup:
    """Graphs that the policy calls candidates for one executable: a view that only the registry changes.

    Attributes
    ----------
    index
        Place in the order of first arrival, from 0.
    key
        The policy's key.
    epochs
        For its function handles that were other functions before, which load they stand for.
    open
        Whether other graphs may join; not, where CUDA allows one executable or nothing can be proved.
    """

    __slots__ = ("_entries", "_execs", "epochs", "index", "key", "open")

    def __init__(self, index: int, key: str, epochs: tuple[tuple[int, int], ...], *, is_open: bool) -> None:
        self.index: Final = index
        self.key: Final = key
        self.epochs: Final = epochs
        self.open: Final = is_open
        self._entries: list[GraphEntry] = []
        self._execs: list[SharedExec] = []

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> "Iterator[GraphEntry]":
        return iter(tuple(self._entries))

    def __repr__(self) -> str:
        return f"<ExecGroup {self.index}: {len(self._entries)} graphs, {len(self._execs)} executables>"

    @property
    def members(self) -> "tuple[GraphEntry, ...]":
        """The entries that are not released, in order of arrival."""
        return tuple(self._entries)

    @property
    def representative(self) -> "GraphEntry | None":
        """The oldest entry; None where all are released."""
        return self._entries[0] if self._entries else None

    @property
    def execs(self) -> int:
        """Executables that its graphs replay through: one, unless the driver or the prediction kept some apart."""
        return len(self._execs)


class GraphEntry:
    """One registered graph. Safe to replay from several threads and streams.

    Attributes
    ----------
    label
        Its name in events and reports.
    group
        The group that it fell into.
    """

    __slots__ = ("_reason", "_reentry", "_registry", "_shared", "_source", "group", "label")

    def __init__(
        self,
        *,
        registry: "GraphExecRegistry",
        source: SourceGraph,
        group: ExecGroup,
        shared: SharedExec,
        reason: Reason,
    ) -> None:
        self._registry = registry
        self._reentry = registry._reentry
        self._source = source
        self._shared: SharedExec | None = shared
        self._reason = reason
        self.group: Final = group
        self.label: Final = source.label

    def __repr__(self) -> str:
        return f"<GraphEntry {self.label!r}: group {self.group.index}, {self._reason.code}>"

    @property
    def reason(self) -> Reason:
        """Why it shares an executable, or does not. Changes where a replay falls back."""
        return self._reason

    @property
    def signature(self) -> GraphSignature:
        """The graph as it was read when it was registered."""
        return self._source.signature

    @property
    def graph(self) -> Any:
        """The object that was registered; None once released."""
        return self._source.owner

    @property
    def shares_with(self) -> "tuple[GraphEntry, ...]":
        """The other entries that replay through the same executable."""
        return tuple(entry for entry in self.group if entry is not self and entry._shared is self._shared)

    def replay(self, stream: Any = None) -> None:
        """Launch the graph.

        The executable is updated first where it holds another graph. Where the driver refuses that, the graph
        gets an executable of its own and is launched all the same.

        Parameters
        ----------
        stream
            CUstream as int, `torch.cuda.Stream`, cuda.core stream or CUstream. None: PyTorch's current stream for
            a graph of PyTorch, else the legacy default stream.

        Raises
        ------
        RegistryError
            The registry is closed, the entry released, or the graph was reset.
        DriverCallError
            The driver failed (a destroyed stream, no memory for an executable); the registry stays usable.
        """
        source = self._source
        handle = stream if type(stream) is int and 0 <= stream <= MAX_HANDLE else stream_handle(stream, source)
        reentry = self._reentry
        thread = get_ident()
        if thread in reentry.inside:
            raise reentry.refusal()
        source.check_owner()
        events: list[Event] = []
        try:
            reentry.inside.add(thread)
            while True:
                shared = self._shared
                if shared is None:
                    self._registry._refuse_gone(self)
                refusal = shared.run(source, handle, events)
                if refusal is None:
                    return
                self._registry._give_own_exec(self, shared, refusal, events)
        finally:
            reentry.inside.discard(thread)
            if events or reentry.deferred:
                self._registry._settle(events)

    def release(self) -> None:
        """Let go of the graph; the last release of an executable's graphs destroys it. Not an error when repeated."""
        self._registry.release(self)

    def reset(self) -> None:
        """Release the entry and reset the captured graph, as `torch.cuda.CUDAGraph.reset` does by itself.

        Raises
        ------
        RegistryError
            The object that was registered has no ``reset``.
        """
        graph = self.graph
        reset = getattr(graph, "reset", None)
        if graph is not None and reset is None:
            msg = f"{self.label}: a {type(graph).__name__} has no reset(); call release()"
            raise RegistryError(msg, code="no_reset")
        if self._reentry.put_off(self.reset):
            return
        self.release()
        if reset is not None:
            reset()
