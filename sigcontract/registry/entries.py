"""What registering a graph returns: an entry that replays it, in a group, with the reason for its executable."""

from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from sigcontract.driver import (
    UpdateOutcome,
)
from sigcontract.errors import RegistryError
from sigcontract.model import (
    MAX_HANDLE,
    GraphSignature,
)
from sigcontract.registry.events import Event
from sigcontract.registry.origin import Origin
from sigcontract.registry.reasons import Reason
from sigcontract.registry.reentry import Reentry
from sigcontract.registry.registered_graph import RegisteredGraph
from sigcontract.registry.shared_exec import SharedExec
from sigcontract.registry.streams import stream_handle

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["EntryOwner", "ExecGroup", "GraphEntry", "GroupState", "Member"]


class EntryOwner(Protocol):
    """What an entry needs of its registry."""

    @property
    def reentry(self) -> Reentry:
        """Which threads are inside the registry."""

    @property
    def origin(self) -> Origin:
        """The process that created the registry."""

    def refuse_gone(self, label: str) -> NoReturn:
        """Raise the reason why a member without an executable cannot be replayed."""

    def give_own_exec(self, member: "Member", shared: SharedExec, refusal: UpdateOutcome, events: list[Event]) -> None:
        """Give a member that the driver refused at replay its own executable."""

    def settle(self, events: list[Event]) -> None:
        """Report events and run deferred calls, with no lock held."""

    def release(self, member: "Member") -> None:
        """Release a member."""


class GroupState:
    """The members and executables of a group. Changed by `Placement` only."""

    __slots__ = ("epochs", "execs", "index", "is_open", "key", "members", "view")

    def __init__(self, index: int, key: str, epochs: tuple[tuple[int, int], ...], *, is_open: bool) -> None:
        self.index: Final = index
        self.key: Final = key
        self.epochs: Final = epochs
        self.is_open: Final = is_open
        #: Dicts: ordered by arrival, with removal in constant time.
        self.members: Final[dict[Member, GraphEntry]] = {}
        self.execs: Final[dict[SharedExec, None]] = {}
        self.view: Final = ExecGroup(self)


class Member:
    """A registered graph and its executable. Changed by `Placement` only.

    Attributes
    ----------
    graph
        The graph.
    group
        Its group; another one after `GraphExecRegistry.seal` under ``share-updatable``.
    shared
        The executable it replays through; None once released.
    reason
        Why it uses this executable.
    """

    __slots__ = ("graph", "group", "reason", "shared")

    def __init__(self, graph: RegisteredGraph, group: GroupState, shared: SharedExec, reason: Reason) -> None:
        self.graph: Final = graph
        self.group = group
        self.shared: SharedExec | None = shared
        self.reason = reason


class ExecGroup:
    """Graphs that the policy calls candidates for one executable: a read-only view.

    Attributes
    ----------
    index
        Position in the order of first arrival, from 0.
    key
        The policy's key; under ``share-updatable`` that of ``share-functions``, of the graph that came first.
    epochs
        Function handle and epoch of each handle that was reused, see `HandleEpochs`.
    open
        Whether other graphs may join: not if CUDA allows one executable or something decisive is unknown.
    """

    __slots__ = ("_state", "epochs", "index", "key", "open")

    def __init__(self, state: GroupState) -> None:
        self.index: Final = state.index
        self.key: Final = state.key
        self.epochs: Final = state.epochs
        self.open: Final = state.is_open
        self._state = state

    def __len__(self) -> int:
        return len(self._state.members)

    def __iter__(self) -> "Iterator[GraphEntry]":
        return iter(self.members)

    def __repr__(self) -> str:
        return f"<ExecGroup {self.index}: {len(self)} graphs, {self.execs} executables>"

    @property
    def members(self) -> "tuple[GraphEntry, ...]":
        """The entries that are not released, in order of arrival."""
        return tuple(self._state.members.copy().values())  # a copy: a finaliser may release in the middle

    @property
    def representative(self) -> "GraphEntry | None":
        """The oldest entry; None if all are released."""
        return next(iter(self.members), None)

    @property
    def execs(self) -> int:
        """Executables of its graphs: one, unless driver or prediction refused an update between some of them."""
        return len(self._state.execs)


class GraphEntry:
    """One registered graph. Safe to replay from several threads and streams.

    Attributes
    ----------
    label
        Its name in events and reports.
    """

    __slots__ = ("_member", "_origin", "_owner", "_reentry", "label")

    def __init__(self, owner: EntryOwner, member: Member) -> None:
        self._owner = owner
        self._origin = owner.origin
        self._reentry = owner.reentry
        self._member = member
        self.label: Final = member.graph.label

    def __repr__(self) -> str:
        return f"<GraphEntry {self.label!r}: group {self.group.index}, {self.reason.code}>"

    @property
    def group(self) -> ExecGroup:
        """Its group. Changes when `GraphExecRegistry.seal` puts groups together."""
        return self._member.group.view

    @property
    def reason(self) -> Reason:
        """Why it shares an executable or does not. Changes when a replay falls back, and with its group."""
        return self._member.reason

    @property
    def signature(self) -> GraphSignature:
        """The graph as it was read when it was registered."""
        return self._member.graph.signature

    @property
    def graph(self) -> Any:
        """The object that was registered; None once released."""
        return self._member.graph.owner

    @property
    def shares_with(self) -> "tuple[GraphEntry, ...]":
        """The other entries that replay through the same executable."""
        own = self._member
        members = own.group.members.copy()
        return tuple(entry for other, entry in members.items() if other is not own and other.shared is own.shared)

    def belongs_to(self, owner: object) -> bool:
        """Whether the entry belongs to this owner; a registry checks before using an entry."""
        return self._owner is owner

    def replay(self, stream: Any = None) -> None:
        """Launch the graph.

        The executable is updated first if it holds another graph. If the driver refuses the update, the graph gets
        its own executable and is launched.

        Parameters
        ----------
        stream
            CUstream as int, `torch.cuda.Stream`, cuda.core stream or CUstream. None: PyTorch's current stream for
            a graph of PyTorch, else the legacy default stream.

        Raises
        ------
        RegistryError
            The registry is closed or of the parent process, the entry is released, or the graph was reset.
        DriverCallError
            The driver failed (a destroyed stream, no memory for an executable); the registry stays usable.
        """
        member = self._member
        graph = member.graph
        handle = (
            stream
            if type(stream) is int and 0 <= stream <= MAX_HANDLE
            else stream_handle(stream, of_torch=graph.of_torch)
        )
        if self._origin.forked:
            raise self._origin.refusal()
        reentry = self._reentry
        thread = get_ident()
        if thread in reentry.inside:
            raise reentry.refusal()
        graph.check_owner()
        events: list[Event] = []
        try:
            reentry.inside.add(thread)
            while True:
                shared = member.shared
                if shared is None:
                    self._owner.refuse_gone(self.label)
                refusal = shared.run(graph, handle, events)
                if refusal is None:
                    return
                self._owner.give_own_exec(member, shared, refusal, events)
        finally:
            reentry.inside.discard(thread)
            if events or reentry.deferred:
                self._owner.settle(events)

    def release(self) -> None:
        """Release the graph; an executable is destroyed with its last graph. Idempotent.

        Raises
        ------
        RegistryError
            Called in a forked child of the registry's process (``forked``).
        """
        self._owner.release(self._member)

    def reset(self) -> None:
        """Release the entry and reset the captured graph, as `torch.cuda.CUDAGraph.reset` does.

        Raises
        ------
        RegistryError
            The registered object has no ``reset`` (``no_reset``), or the call is in a forked child (``forked``).
        """
        graph = self.graph
        reset = getattr(graph, "reset", None)
        if graph is not None and reset is None:
            msg = f"{self.label}: a {type(graph).__name__} has no reset(); call release()"
            raise RegistryError(msg, code="no_reset")
        if self._reentry.defer(self.reset):
            return
        self.release()
        if reset is not None:
            reset()
