"""How many executables may exist at once: the least recently used ones make room for others."""

from collections import OrderedDict
from threading import Condition, get_ident
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from sigcontract.registry.events import Event

__all__ = ["Bounded", "ExecBounds"]


class Bounded(Protocol):
    """An executable that can be destroyed, and instantiated again when it is wanted."""

    @property
    def cost_bytes(self) -> int:
        """Device memory that it is expected to take."""

    def evict(self, events: "list[Event]") -> None:
        """Destroy the executable. Waits for an update or launch of it, never for anything else."""


class ExecBounds:
    """Room for executables. A thread reserves room, instantiates, and hands the room to the executable with `use`.

    Room is reserved with no executable's lock held, since eviction takes the lock of another one. So no two threads
    wait for each other, and at no time are there more executables than allowed. One executable is always allowed,
    whatever it costs.

    Parameters
    ----------
    max_execs
        The most executables; None: no bound.
    max_bytes
        The most bytes that they are expected to take; None: no bound.
    """

    def __init__(self, max_execs: int | None, max_bytes: int | None) -> None:
        self.limited: Final = max_execs is not None or max_bytes is not None
        self._max_execs = max_execs
        self._max_bytes = max_bytes
        self._changed = Condition()
        #: Executables with room, least recently used first.
        self._users: OrderedDict[Bounded, None] = OrderedDict()
        self._used_bytes = 0
        #: Bytes reserved, by thread: a thread that was interrupted replaces or gives back what it left.
        self._reserved: dict[int, int] = {}
        #: Bytes of each executable that is being evicted, and exists until that is done.
        self._leaving_bytes: list[int] = []

    def reserve(self, cost_bytes: int, events: "list[Event]") -> None:
        """Make room for one more executable. The caller holds the lock of none, and calls `give_back` at the end."""
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
        """Reserve room if there is some; else return an executable to evict. Others that come and go are waited for."""
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
        """Note that an executable exists and was just used. A reservation of this thread becomes its room."""
        with self._changed:
            reserved = self._reserved.pop(get_ident(), None)
            if user not in self._users:
                self._used_bytes += user.cost_bytes
            self._users[user] = None
            self._users.move_to_end(user)
            if reserved is not None:
                self._changed.notify_all()

    def give_back(self) -> None:
        """Give back this thread's reservation, if it was not used."""
        if get_ident() in self._reserved:
            with self._changed:
                self._reserved.pop(get_ident(), None)
                self._changed.notify_all()

    def leave(self, user: Bounded) -> None:
        """Note that an executable exists no more."""
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
