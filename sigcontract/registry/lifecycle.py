"""Guards a registry's state: open, sealed or closed; one thread at a time; never in a forked child."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock, get_ident
from typing import Any, Final, Literal, NoReturn
from weakref import finalize

from sigcontract.driver import (
    UpdateOutcome,
)
from sigcontract.errors import CloseError, RegistryError
from sigcontract.registry.callbacks import raised_by
from sigcontract.registry.entries import GraphEntry, Member
from sigcontract.registry.events import Event, emit
from sigcontract.registry.origin import Origin
from sigcontract.registry.placement import Placement
from sigcontract.registry.reentry import Reentry
from sigcontract.registry.registered_graph import RegisteredGraph, was_released
from sigcontract.registry.shared_exec import RETIRED, SharedExec
from sigcontract.registry.stats import RegistryStats
from sigcontract.update import fewest_executables

__all__ = ["Lifecycle"]


class Lifecycle:
    """Owner of a registry's lock. Every call that changes the registry or its entries passes here.

    Attributes
    ----------
    state
        ``open``, ``sealed`` (no more graphs) or ``closed``.
    placement
        The guarded state.
    origin
        The process that created the registry.
    reentry
        Which threads are inside.
    """

    def __init__(self, placement: Placement, origin: Origin, on_event: Callable[[Event], None] | None) -> None:
        self.state: Literal["open", "sealed", "closed"] = "open"
        self.placement: Final = placement
        self.origin: Final = origin
        self.reentry: Final = Reentry()
        self._on_event = on_event
        self._lock = Lock()
        #: Held over a regrouping; acquired before `_lock`.
        self._regrouping = Lock()
        self._regrouped = not placement.regroups
        self._registered = 0
        # Finalise this object, which entries also keep alive.
        finalizer = finalize(self, placement.pool.destroy_abandoned)
        # Not at exit: process exit frees everything, a daemon thread may be launching, the driver may be gone.
        finalizer.atexit = False

    def check_process(self) -> None:
        """Raise RegistryError (``forked``) in a forked child."""
        if self.origin.forked:
            raise self.origin.refusal()

    def check_open(self) -> None:
        """Raise RegistryError unless graphs may be registered (``forked``, ``sealed``, ``closed``)."""
        self.check_process()
        if self.state == "sealed":
            raise RegistryError("the registry is sealed; register graphs before seal()", code="sealed")
        if self.state == "closed":
            raise RegistryError("the registry is closed; make a new one", code="closed")

    def register(self, graph: RegisteredGraph, *, numbered: bool) -> GraphEntry:
        """Register a graph; if ``numbered``, label it by its number in the order of arrival."""
        events: list[Event] = []
        with self._locked(events):
            self.check_open()
            if numbered:
                graph.label = f"#{self._registered}"
            entry = self.placement.add(self, graph, events)
            self._registered += 1
        return entry

    def release(self, member: Member) -> None:
        """Release a member. See `GraphEntry.release`."""
        self.check_process()
        if self.reentry.defer(lambda: self.release(member)):
            return
        events: list[Event] = []
        dropped: list[object] = []  # deleted after the locks are released: the graph's owner may be finalised
        with self._locked(events):
            self.placement.release(member, events, dropped)

    def seal(self) -> None:
        """End registration. See `GraphExecRegistry.seal`."""
        self.check_process()
        if self.reentry.defer(self.seal):
            return
        events: list[Event] = []
        try:
            with self.reentry.entered():
                with self._lock:
                    if self.state == "open":
                        self.state = "sealed"
                if not self._regrouped:
                    with self._regrouping:
                        self._regroup(events)
        finally:
            self.settle(events)

    def _regroup(self, events: list[Event]) -> None:
        """Move graphs to the fewest executables, once.

        The search holds no lock over the registry's state, so replays, releases and `close` continue: a subset of a
        group is a group too.
        """
        placement = self.placement
        with self._lock:
            if self._regrouped or self.state != "sealed":
                return
            before = placement.shareable(events)
        judge = placement.judge()
        found = fewest_executables([member.graph.signature for member in before.members], before.shared_by, judge)
        for group in found.groups:
            with self._lock:
                placement.put_together([before.members[number] for number in group], judge, events)
        with self._lock:
            if self.state == "sealed":
                self._regrouped = True
                events.append(placement.regrouped(before, found.at_least))

    def close(self, *, reset: bool) -> None:
        """Destroy every executable and release every graph. See `GraphExecRegistry.close`."""
        if self.origin.forked:
            self.state = "closed"  # the child owns nothing here, and locks may never be released
            return
        if self.reentry.defer(partial(self.close, reset=reset)):
            return
        events: list[Event] = []
        errors: list[Exception] = []
        dropped: list[object] = []
        raised: Exception | None = None
        placement = self.placement
        try:
            with self.reentry.entered(), self._lock:
                if self.state != "closed" or placement.groups or placement.pool:
                    self.state = "closed"
                    placement.clear(events, errors, dropped, reset=reset)
        finally:
            raised = raised_by(self.settle, events)
        while placement.to_reset:
            error = raised_by(_reset, placement.to_reset.pop(0))
            if error is not None:
                errors.append(error)
        if raised is not None:
            if not errors:
                raise raised
            errors.append(raised)
        if errors:
            raise CloseError(tuple(errors)) from errors[0]

    def stats(self) -> RegistryStats:
        """Return the counters."""
        self.check_process()
        if get_ident() in self.reentry.inside:  # a finaliser inside a call that may hold the lock
            return self.placement.stats()
        try:
            with self.reentry.entered(), self.placement.counting:
                return self.placement.stats()
        finally:
            self.settle([])

    # Called by entries that cannot launch by themselves

    def settle(self, events: list[Event]) -> None:
        """Report events, then run deferred calls. No lock may be held."""
        try:
            emit(events, self._on_event)
        finally:
            self.reentry.drain()

    def refuse_gone(self, label: str) -> NoReturn:
        """Raise the reason why a member without an executable cannot be replayed."""
        if self.state == "closed":
            raise RegistryError(f"{label}: the registry is closed; register with a new one", code="closed")
        raise was_released(label)

    def give_own_exec(self, member: Member, shared: SharedExec, refusal: UpdateOutcome, events: list[Event]) -> None:
        """Give a member that the driver refused at replay its own executable, unless another thread has."""
        with self._lock:
            if member.shared is not shared:
                return
            if refusal is RETIRED:
                self.refuse_gone(member.graph.label)
            self.placement.give_own_exec(member, refusal, events)

    @contextmanager
    def _locked(self, events: list[Event]) -> Iterator[None]:
        """Hold the lock, then report events."""
        try:
            with self.reentry.entered(), self._lock:
                yield
        finally:
            self.settle(events)


def _reset(owner: Any) -> None:
    reset = getattr(owner, "reset", None)
    if reset is not None:
        reset()
