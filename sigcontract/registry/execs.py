"""Executables shared by graphs where that is true: predicted, tried, tracked, and explained."""
# ruff: noqa: SLF001  entries and groups are views that users read and only the registry changes

from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Any, Final, Literal, NoReturn, Self
from weakref import finalize

from sigcontract.compare.differences import NodeJudge
from sigcontract.compare.policies import judged_key, same
from sigcontract.driver.api import DriverApi, LaunchObservations, UpdateOutcome
from sigcontract.driver.bindings import default_driver
from sigcontract.driver.profile import read_profile
from sigcontract.driver.reader import read_graph
from sigcontract.errors import CloseError, DriverError, RegistryError, UsageError
from sigcontract.model.findings import Finding, UpdateResult
from sigcontract.model.profile import DriverProfile
from sigcontract.registry import reasons
from sigcontract.registry.distinct import unknowns
from sigcontract.registry.entries import ExecGroup, GraphEntry
from sigcontract.registry.epochs import HandleEpochs
from sigcontract.registry.events import Event, FellBack, GraphRegistered, HandleReused, RegistryClosed, emit
from sigcontract.registry.groups import GroupReport, SignatureRegistry
from sigcontract.registry.lifetimes import ExecTable
from sigcontract.registry.reasons import FIRST, Reason
from sigcontract.registry.reentry import Reentry
from sigcontract.registry.shared import RETIRED, Counts, SharedExec
from sigcontract.registry.sources import SourceGraph
from sigcontract.registry.stats import RegistryStats, summed

__all__ = ["GraphExecRegistry"]

#: Policies under which one executable may serve two graphs of one process.
_POLICIES: Final = ("exact", "share", "share-functions")

#: CUgraphInstantiate_flags that change neither how an executable is made nor where it may be launched:
#: AUTO_FREE_ON_LAUNCH and USE_NODE_PRIORITY. UPLOAD and DEVICE_LAUNCH fix attributes before the first launch.
_FLAGS: Final = 1 | 8

#: Executables of one key that a new graph is tried on, newest first. More than one exist only where the driver or
#: the prediction kept graphs of one key apart; the bound keeps registration flat where it keeps all of them apart.
_TRIED: Final = 4


class GraphExecRegistry:
    """Graphs that share executables where an update launches what a fresh instantiation would.

    A graph that arrives is compared with its likes under the policy, predicted against what their executable holds
    and held when it first ran, and then tried on that executable. Both must say yes. Whatever they say, `register`
    gives back an entry that launches the graph, and the entry says why it shares or not.

    Safe to use from several threads. Needs a CUDA context current on each thread that calls it, as CUDA itself does.

    Parameters
    ----------
    driver
        The driver; by default libcuda of this process.
    policy
        ``share``, ``share-functions`` or ``exact``.
    profile
        What the driver keeps stale; by default the shipped profile that fits the running driver and device.
    on_undetermined
        What to do with a graph that cannot be proved the same as any: ``own-exec``, or ``raise``.
    on_event
        Called with every `sigcontract.registry.events.Event`, after the work is done and with no lock held. What it
        raises leaves the call that caused the event.
    flags
        CUgraphInstantiate_flags of every executable: 1 (AUTO_FREE_ON_LAUNCH), 8 (USE_NODE_PRIORITY), both, or none.
    observations
        What was seen at the launches that made the graphs (`sigcontract.driver.observe`), asked at `register`. It tells
        what a node will not: on devices with preferred clusters nothing is shared without.

    Raises
    ------
    UsageError
        An argument is none of these.
    DriverUnavailableError
        There is no driver.
    """

    def __init__(  # noqa: PLR0913  each is a choice of its own, all but the first two by keyword in practice
        self,
        driver: DriverApi | None = None,
        policy: str = "share",
        profile: DriverProfile | None = None,
        on_undetermined: Literal["own-exec", "raise"] = "own-exec",
        on_event: Callable[[Event], None] | None = None,
        *,
        flags: int = 0,
        observations: LaunchObservations | None = None,
    ) -> None:
        if policy not in _POLICIES:
            raise UsageError(f"executables cannot be shared under policy {policy!r}; use one of {', '.join(_POLICIES)}")
        if on_undetermined not in ("own-exec", "raise"):
            raise UsageError(f"on_undetermined is 'own-exec' or 'raise', not {on_undetermined!r}")
        if flags & ~_FLAGS:
            raise UsageError(f"instantiation flags {flags:#x} cannot be used here; 1 and 8 can")
        self.policy: Final = policy
        self._driver: Final[DriverApi] = default_driver() if driver is None else driver
        self.profile: Final = read_profile(driver=self._driver) if profile is None else profile
        self._raise_undetermined = on_undetermined == "raise"
        self._on_event = on_event
        self._flags = flags
        self._observations = observations
        self.reentry: Final = Reentry()
        self._lock = Lock()
        self._state: Literal["open", "sealed", "closed"] = "open"
        self._table = ExecTable(self._driver, flags)
        self._epochs = HandleEpochs()
        self._groups: dict[int, ExecGroup] = {}
        self._open: dict[tuple[str, tuple[tuple[int, int], ...]], ExecGroup] = {}
        self._gone = Counts()
        self._fallbacks = 0
        self._registered = 0
        self._grouped = 0
        finalizer = finalize(self, self._table.destroy_abandoned)
        # At exit the process gives everything back; a daemon thread may be launching, the driver may be gone.
        finalizer.atexit = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def sealed(self) -> bool:
        """Whether no graph can be registered any more."""
        return self._state != "open"

    @property
    def closed(self) -> bool:
        """Whether the executables are destroyed."""
        return self._state == "closed"

    @property
    def groups(self) -> tuple[ExecGroup, ...]:
        """The groups that have entries, in order of first arrival."""
        return tuple(self._groups.values())

    @property
    def entries(self) -> tuple[GraphEntry, ...]:
        """The entries that are not released, group by group."""
        return tuple(entry for group in self.groups for entry in group)

    def register(self, graph: Any, label: str | None = None) -> GraphEntry:
        """Take in a graph and give it an executable, shared where that is safe.

        Parameters
        ----------
        graph
            What `sigcontract.driver.read_graph` takes. The registry keeps the object alive until the entry is
            released; the graph must not be changed, and must not be registered while another thread uses it.
        label
            A name for events and reports; by default its number in the order of arrival, as ``#7``.

        Raises
        ------
        RegistryError
            The registry is sealed or closed; or the graph cannot be proved the same as any, and ``on_undetermined``
            is ``raise``.
        GraphReadError
            It is no graph, or cannot be read.
        ObserveError
            The observations that the registry was given have ended.
        DriverCallError
            The driver failed, as for want of memory. Nothing was registered, and the registry stays usable.
        """
        self._refuse_unless_open()
        # With no lock held: both ask the graph's owner.
        signature = read_graph(graph, driver=self._driver, observations=self._observations)
        source = SourceGraph(graph, label or "", signature)
        events: list[Event] = []
        try:
            with self.reentry.entered(), self._lock:
                self._refuse_unless_open()
                if label is None:
                    source.label = f"#{self._registered}"
                entry = self._place(source, events)
                self._registered += 1
        finally:
            self.emit(events)
        return entry

    def replay(self, entry: GraphEntry, stream: Any = None) -> None:
        """Launch a registered graph. See `GraphEntry.replay`.

        Raises
        ------
        RegistryError
            The entry is of another registry, among other things.
        """
        self._refuse_foreign(entry)
        entry.replay(stream)

    def release(self, entry: GraphEntry) -> None:
        """Let go of a graph. See `GraphEntry.release`."""
        self._refuse_foreign(entry)
        if self.reentry.put_off(lambda: self.release(entry)):
            return
        events: list[Event] = []
        with self.reentry.entered(), self._lock:
            self._release(entry, events)
        self.emit(events)

    def seal(self) -> None:
        """Refuse graphs from now on; replay goes on. Not an error when repeated."""
        if self._state == "open":
            self._state = "sealed"

    def close(self, *, reset: bool = False) -> None:
        """Destroy every executable and let go of every graph. Not an error when repeated.

        Launches that are running end in peace: CUDA frees their executable afterwards.

        Parameters
        ----------
        reset
            Afterwards call ``reset()`` of every registered object that has one, as of a capture of PyTorch.

        Raises
        ------
        CloseError
            Executables could not be destroyed; everything else was done.
        """
        if self.reentry.put_off(partial(self._close_later, reset=reset)):
            return
        events: list[Event] = []
        errors: list[DriverError] = []
        with self.reentry.entered(), self._lock:
            if self._state == "closed":
                return
            self._state = "closed"
            execs = len(self._table)
            owners = [entry.graph for entry in self.entries] if reset else []
            for group in self._groups.values():
                errors.extend(error for shared in group._execs if (error := self._retire(shared, events)))
                for entry in group._entries:
                    entry._shared = None
                    entry._source.drop()
                group._execs.clear()
                group._entries.clear()
            self._groups.clear()
            self._open.clear()
        events.append(RegistryClosed(execs=execs, errors=len(errors)))
        with ExitStack() as at_last:
            for owner in owners:
                if hasattr(owner, "reset"):
                    at_last.callback(owner.reset)
            try:
                self.emit(events)
            finally:
                if errors:
                    raise CloseError(tuple(errors)) from errors[0]

    def why_not(self, a: GraphEntry, b: GraphEntry) -> tuple[Finding, ...]:
        """Return what keeps two graphs apart under the policy; empty where nothing does.

        That two graphs are the same under the policy and have two executables is told by `GraphEntry.reason`.
        """
        answer = same(self.policy, a.signature, b.signature, self.profile, flags=self._flags)
        return () if answer.same else answer.reasons

    def report(self, *, nearest: int = 20) -> GroupReport:
        """Say what is the same, what stands alone and what it missed by. See `SignatureRegistry.report`."""
        signatures = SignatureRegistry(self.policy, self.profile, flags=self._flags)
        for entry in self.entries:
            signatures.register(entry.signature, entry.label)
        return signatures.report(nearest=nearest)

    def stats(self) -> RegistryStats:
        """Count graphs, groups, executables, and what was done with them."""
        return summed(self.groups, self._gone, self._table, self._fallbacks)

    # What entries call where they cannot launch by themselves

    def emit(self, events: list[Event]) -> None:
        """Log the events and hand them to the callback; no lock may be held."""
        emit(events, self._on_event)

    def refuse_gone(self, entry: GraphEntry) -> NoReturn:
        """Say why an entry without an executable cannot be replayed."""
        if self._state == "closed":
            raise RegistryError(f"{entry.label}: the registry is closed; register with a new one", code="closed")
        raise RegistryError(f"{entry.label}: the entry was released; register the graph again", code="released")

    def give_own_exec(self, entry: GraphEntry, shared: SharedExec, refusal: UpdateOutcome, events: list[Event]) -> None:
        """Give an entry that the driver refused at replay an executable of its own, unless another thread has."""
        with self._lock:
            if entry._shared is not shared:
                return
            if refusal is RETIRED:
                self.refuse_gone(entry)
            own = SharedExec(self._driver, self._table, entry._source, events)
            entry._reason = reasons.fallback(refusal, shared.first.label)
            entry._shared = own
            entry.group._execs.append(own)
            self._leave_exec(entry.group, shared, events)
            self._fallbacks += 1
            events.append(FellBack(label=entry.label, result=UpdateResult.name_of(refusal.result)))

    # Registration, with the registry's lock held

    def _place(self, source: SourceGraph, events: list[Event]) -> GraphEntry:
        epochs, reuses = self._epochs.observe(source.nodes)
        events.extend(HandleReused(label=source.label, handle=r.handle, before=r.before, now=r.now) for r in reuses)
        # Graphs of one key of which everything is known are the same: the policy need not be asked about each pair.
        judge = NodeJudge(self.profile, self._flags)
        digest = judged_key(self.policy, source.signature, judge)
        barrier = reasons.single_exec(source.signature, source.nodes)
        if barrier is None:
            findings = unknowns(self.policy, source.signature, source.nodes, judge)
            barrier = reasons.unproved(findings) if findings else None
        if barrier is not None:
            self._refuse_undetermined(source, barrier)
        group = None if barrier else self._open.get((digest, epochs))
        if group is not None:
            shared, reason = self._join(group, source, judge, events)
        else:
            shared, reason = SharedExec(self._driver, self._table, source, events), barrier or FIRST
            group = ExecGroup(self._grouped, digest, epochs, is_open=barrier is None)
            self._grouped += 1
            self._groups[group.index] = group
            if group.open:
                self._open[digest, epochs] = group
        entry = GraphEntry(registry=self, source=source, group=group, shared=shared, reason=reason)
        group._entries.append(entry)
        if shared.members == 1:
            group._execs.append(shared)
        events.append(
            GraphRegistered(label=entry.label, group=group.index, shared=shared.members > 1, reason=str(reason))
        )
        return entry

    def _join(
        self, group: ExecGroup, source: SourceGraph, judge: NodeJudge, events: list[Event]
    ) -> tuple[SharedExec, Reason]:
        """Return the executable of the group that admits the graph, or a new one and what kept it out."""
        reason = FIRST
        for shared in reversed(group._execs[-_TRIED:]):
            judgement = shared.admit(source, judge, events)
            if judgement.joined:
                shared.members += 1
                return shared, reasons.shares(judgement.prediction, shared.first.label)
            reason = reasons.kept_apart(judgement, shared.first.label)
        self._refuse_undetermined(source, reason)
        return SharedExec(self._driver, self._table, source, events), reason

    def _refuse_undetermined(self, source: SourceGraph, reason: Reason) -> None:
        if self._raise_undetermined and reason.code == "undetermined":
            raise RegistryError(f"{source.label}: {reason}; nothing was registered", code="undetermined")

    def _leave_exec(self, group: ExecGroup, shared: SharedExec, events: list[Event]) -> None:
        shared.members -= 1
        if not shared.members:
            group._execs.remove(shared)
            self._retire(shared, events)

    def _release(self, entry: GraphEntry, events: list[Event]) -> None:
        shared = entry._shared
        if shared is None:
            return
        group = entry.group
        entry._shared = None
        group._entries.remove(entry)
        shared.forget(entry._source)
        self._leave_exec(group, shared, events)
        if not group._entries:
            del self._groups[group.index]
            if group.open:
                del self._open[group.key, group.epochs]

    def _close_later(self, *, reset: bool) -> None:
        with suppress(CloseError):  # nobody is there to be told, and each failure was logged as an event
            self.close(reset=reset)

    def _retire(self, shared: SharedExec, events: list[Event]) -> DriverError | None:
        error = shared.retire(events)
        self._gone.add(shared.counts)
        return error

    def _refuse_foreign(self, entry: GraphEntry) -> None:
        if entry._registry is not self:
            msg = f"{entry.label}: the entry is of another registry; replay it through the one that registered it"
            raise RegistryError(msg, code="foreign_entry")

    def _refuse_unless_open(self) -> None:
        if self._state == "sealed":
            raise RegistryError("the registry is sealed; register graphs before seal()", code="sealed")
        if self._state == "closed":
            raise RegistryError("the registry is closed; make a new one", code="closed")
