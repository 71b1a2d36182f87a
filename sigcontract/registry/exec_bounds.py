"""Bounds on live executables; the least recently used is evicted."""

from collections import OrderedDict
from threading import Condition, get_ident
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from sigcontract.registry.events import Event

__all__ = ["Bounded", "ExecBounds"]


class Bounded(Protocol):
    """An executable that can be destroyed and instantiated again on demand."""

    @property
    def cost_bytes(self) -> int:
        """Expected device memory, in bytes."""

    def evict(self, events: "list[Event]") -> None:
        """Destroy the executable. Waits only for a running update or launch call."""


class ExecBounds:
    """Room for executables. A thread reserves room, instantiates, and transfers the room to the executable with `use`.

    Room is reserved with no executable's lock held, since eviction takes another one's lock; so no two threads wait for
    each other. The bounds hold at all times, except that one executable is always allowed.

    Parameters
    ----------
    max_execs
        Most executables; None: no bound.
    max_bytes
        Most bytes expected in all; None: no bound.
    """

    def __init__(self, max_execs: int | None, max_bytes: int | None) -> None:
        self.limited: Final = max_execs is not None or max_bytes is not None
        self._max_execs = max_execs
        self._max_bytes = max_bytes
        self._changed = Condition()
        #: Executables with room, least recently used first.
        self._users: OrderedDict[Bounded, None] = OrderedDict()
        self._used_bytes = 0
        #: Bytes reserved, by thread: an interrupted thread later replaces or returns its reservation.
        self._reserved: dict[int, int] = {}
        #: Bytes of each executable being evicted, which exists until then.
        self._leaving_bytes: list[int] = []

    def reserve(self, cost_bytes: int, events: "list[Event]") -> None:
        """Make room for one more executable. The caller holds no executable's lock, and finally calls `give_back`."""
        thread = get_ident()
        with self._changed:
            self._reserved.pop(thread, None)
            victim = self._victim_or_room(thread, cost_bytes)
        while victim is not None:
            try:
                victim.evict(events)
            finally:
                with self._changed:
                    self._leaving_bytes.remove(victim.cost_bytes)
                    self._changed.notify_all()
            with self._changed:
                victim = self._victim_or_room(thread, cost_bytes)

    def _victim_or_room(self, thread: int, cost_bytes: int) -> Bounded | None:
        """Reserve room if available, else return an executable to evict. Waits for evictions in progress."""
        while not self._fits(cost_bytes):
            if self._users:
                victim, _ = self._users.popitem(last=False)
                self._used_bytes -= victim.cost_bytes
                self._leaving_bytes.append(victim.cost_bytes)
                return victim
            self._changed.wait()
        self._reserved[thread] = cost_bytes
        return None

    def use(self, user: Bounded) -> None:
        """Mark an executable as live and just used. This thread's reservation becomes its room."""
        with self._changed:
            reserved = self._reserved.pop(get_ident(), None)
            if user not in self._users:
                self._used_bytes += user.cost_bytes
            self._users[user] = None
            self._users.move_to_end(user)
            if reserved is not None:
                self._changed.notify_all()

    def give_back(self) -> None:
        """Return this thread's unused reservation."""
        if get_ident() in self._reserved:
            with self._changed:
                self._reserved.pop(get_ident(), None)
                self._changed.notify_all()

    def leave(self, user: Bounded) -> None:
        """Mark an executable as destroyed."""
        with self._changed:
            if user in self._users:
                del self._users[user]
                self._used_bytes -= user.cost_bytes
                self._changed.notify_all()

    def _fits(self, cost_bytes: int) -> bool:
        coming_and_going = (*self._reserved.values(), *self._leaving_bytes)
        count = len(self._users) + len(coming_and_going)
        if not count:
            return True
        if self._max_execs is not None and count >= self._max_execs:
            return False
        return self._max_bytes is None or self._used_bytes + sum(coming_and_going) + cost_bytes <= self._max_bytes
