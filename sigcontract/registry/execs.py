"""Executables shared by graphs where that is true: predicted, tried, tracked, and explained."""
# ruff: noqa: SLF001  entries and groups are views that users read and only the registry changes

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock, get_ident
from types import TracebackType
from typing import Any, Final, Literal, NoReturn, Self
from weakref import finalize

from sigcontract.driver import (
    DriverApi,
    LaunchObservations,
    UpdateOutcome,
    default_driver,
    graph_handle,
    read_graph,
    read_profile,
)
from sigcontract.errors import CloseError, RegistryError, UsageError
from sigcontract.model import (
    DriverProfile,
    Finding,
    InstantiateFlag,
)
from sigcontract.registry.entries import ExecGroup, GraphEntry
from sigcontract.registry.events import (
    Event,
    emit,
)
from sigcontract.registry.groups import GroupReport, SignatureRegistry
from sigcontract.registry.placement import Placement
from sigcontract.registry.reentry import Reentry
from sigcontract.registry.shared import RETIRED, SharedExec
from sigcontract.registry.sources import SourceGraph, was_released
from sigcontract.registry.stats import RegistryStats
from sigcontract.registry.user_code import raised_by
from sigcontract.update import (
    same,
)
from sigcontract.wire import (
    wrong_type,
)

__all__ = ["GraphExecRegistry", "check_options"]

#: Policies under which one executable may serve two graphs of one process.
_POLICIES: Final = ("exact", "share", "share-functions")

#: CUgraphInstantiate_flags that change neither how an executable is made nor where it may be launched:
#: AUTO_FREE_ON_LAUNCH and USE_NODE_PRIORITY. UPLOAD and DEVICE_LAUNCH fix attributes before the first launch.
_FLAGS: Final = InstantiateFlag.AUTO_FREE_ON_LAUNCH | InstantiateFlag.USE_NODE_PRIORITY


def check_options(
    driver: DriverApi | None = None,
    policy: str = "share",
    profile: DriverProfile | None = None,
    *,
    on_undetermined: str = "own-exec",
    flags: int = 0,
) -> None:
    """Raise UsageError where a `GraphExecRegistry` cannot be made with these options. Needs no driver."""
    if policy not in _POLICIES:
        raise UsageError(f"executables cannot be shared under policy {policy!r}; use one of {', '.join(_POLICIES)}")
    if on_undetermined not in ("own-exec", "raise"):
        raise UsageError(f"on_undetermined is 'own-exec' or 'raise', not {on_undetermined!r}")
    if driver is not None and not hasattr(driver, "graph_exec_update"):
        raise UsageError(f"a {type(driver).__name__} is no driver; leave it out, and name policy= and profile=")
    if profile is not None and not isinstance(profile, DriverProfile):
        raise wrong_type("profile", "DriverProfile", profile)
    if flags & ~_FLAGS:
        raise UsageError(f"instantiation flags {flags:#x} cannot be used here; 1 and 8 can")


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
        check_options(driver, policy, profile, on_undetermined=on_undetermined, flags=flags)
        self.policy: Final = policy
        self._driver: Final[DriverApi] = default_driver() if driver is None else driver
        self.profile: Final = read_profile(driver=self._driver) if profile is None else profile
        self._on_event = on_event
        self._flags = flags
        self._observations = observations
        self._reentry: Final = Reentry()
        self._lock = Lock()
        self._process = os.getpid()
        self._state: Literal["open", "sealed", "closed"] = "open"
        self._placement = Placement(
            self._driver, policy, self.profile, flags=flags, raise_undetermined=on_undetermined == "raise"
        )
        self._registered = 0
        finalizer = finalize(self, self._placement.table.destroy_abandoned)
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
        return tuple(self._placement.groups.values())

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
        if label is not None and not isinstance(label, str):
            raise wrong_type("label", "str", label)
        # With no lock held, and once: the owner is user code, and may be captured anew at any time.
        handle = graph_handle(graph)
        signature = read_graph(handle, driver=self._driver, observations=self._observations)
        source = SourceGraph(graph, handle, label or "", signature)
        events: list[Event] = []
        with self._working(events):
            self._refuse_unless_open()
            if label is None:
                source.label = f"#{self._registered}"
            entry = self._placement.place(self, source, events)
            self._registered += 1
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
        if self._reentry.put_off(lambda: self.release(entry)):
            return
        events: list[Event] = []
        dropped: list[object] = []  # dies when the locks are released: with it the graph's owner may
        with self._working(events):
            self._placement.release(entry, events, dropped)

    def seal(self) -> None:
        """Refuse graphs from now on; replay goes on. Not an error when repeated."""
        if self._reentry.put_off(self.seal):
            return
        with self._working([]):
            if self._state == "open":
                self._state = "sealed"

    def close(self, *, reset: bool = False) -> None:
        """Destroy every executable and let go of every graph. Not an error when repeated.

        Launches that are running end in peace: CUDA frees their executable afterwards. Where it is interrupted
        (KeyboardInterrupt), calling it again does the rest.

        Parameters
        ----------
        reset
            Afterwards call ``reset()`` of every registered object that has one, as of a capture of PyTorch.

        Raises
        ------
        CloseError
            Executables could not be destroyed, or a ``reset()`` failed; everything else was done.
        """
        if os.getpid() != self._process:  # a forked child: the executables are the parent's, and so may the locks be
            self._state = "closed"
            return
        if self._reentry.put_off(partial(self.close, reset=reset)):
            return
        events: list[Event] = []
        errors: list[Exception] = []
        dropped: list[object] = []
        told: Exception | None = None
        try:
            with self._reentry.entered(), self._lock:
                if self._state != "closed" or self._placement.groups or self._placement.table:
                    self._state = "closed"
                    self._placement.clear(events, errors, dropped, reset=reset)
        finally:
            told = raised_by(self._settle, events)
        while self._placement.to_reset:
            error = raised_by(_reset, self._placement.to_reset.pop(0))
            if error is not None:
                errors.append(error)
        if told is not None:
            if not errors:
                raise told
            errors.append(told)
        if errors:
            raise CloseError(tuple(errors)) from errors[0]

    def why_not(self, a: GraphEntry, b: GraphEntry) -> tuple[Finding, ...]:
        """Return what keeps two graphs apart under the policy; empty where nothing does.

        That two graphs are the same under the policy and have two executables is told by `GraphEntry.reason`.
        """
        for entry in (a, b):
            self._refuse_foreign(entry)
        return same(self.policy, a.signature, b.signature, self.profile, flags=self._flags).reasons

    def report(self, *, nearest: int = 20) -> GroupReport:
        """Say what is the same, what stands alone and what it missed by. See `SignatureRegistry.report`."""
        signatures = SignatureRegistry(self.policy, self.profile, flags=self._flags)
        for entry in self.entries:
            if entry.reason.code == "single-exec":
                signatures.register_alone(entry.signature, entry.label, entry.reason.findings)
            else:
                signatures.register(entry.signature, entry.label)
        return signatures.report(nearest=nearest)

    def stats(self) -> RegistryStats:
        """Count graphs, groups, executables, and what was done with them."""
        if get_ident() in self._reentry.inside:  # a finaliser in the middle of a call, which may hold the lock
            return self._placement.stats()
        try:
            with self._reentry.entered(), self._placement.counting:
                return self._placement.stats()
        finally:
            self._settle([])

    @contextmanager
    def _working(self, events: list[Event]) -> Iterator[None]:
        """Hold the registry's lock; afterwards tell what happened."""
        try:
            with self._reentry.entered(), self._lock:
                yield
        finally:
            self._settle(events)

    # What entries call where they cannot launch by themselves

    def _settle(self, events: list[Event]) -> None:
        """Tell what happened, then do what was put off meanwhile; no lock may be held."""
        try:
            emit(events, self._on_event)
        finally:
            self._reentry.drain()

    def _refuse_gone(self, entry: GraphEntry) -> NoReturn:
        """Say why an entry without an executable cannot be replayed."""
        if self._state == "closed":
            raise RegistryError(f"{entry.label}: the registry is closed; register with a new one", code="closed")
        raise was_released(entry.label)

    def _give_own_exec(
        self, entry: GraphEntry, shared: SharedExec, refusal: UpdateOutcome, events: list[Event]
    ) -> None:
        """Give an entry that the driver refused at replay an executable of its own, unless another thread has."""
        with self._lock:
            if entry._shared is not shared:
                return
            if refusal is RETIRED:
                self._refuse_gone(entry)
            self._placement.give_own_exec(entry, refusal, events)

    def _refuse_foreign(self, entry: GraphEntry) -> None:
        if not isinstance(entry, GraphEntry):
            raise UsageError(f"a {type(entry).__name__} is no entry; give what register() returned")
        if entry._registry is not self:
            msg = f"{entry.label}: the entry is of another registry; replay it through the one that registered it"
            raise RegistryError(msg, code="foreign_entry")

    def _refuse_unless_open(self) -> None:
        if self._state == "sealed":
            raise RegistryError("the registry is sealed; register graphs before seal()", code="sealed")
        if self._state == "closed":
            raise RegistryError("the registry is closed; make a new one", code="closed")


def _reset(owner: Any) -> None:
    reset = getattr(owner, "reset", None)
    if reset is not None:
        reset()
