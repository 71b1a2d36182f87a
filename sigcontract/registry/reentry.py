"""Calls to a registry from inside a call on the same thread: finalisers that Python runs in between."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Final

from sigcontract.errors import RegistryError
from sigcontract.registry.callbacks import raised_by

__all__ = ["Reentry"]

logger = logging.getLogger("sigcontract")


class Reentry:
    """Which threads are inside a registry, and the calls that finalisers deferred.

    A nested call would deadlock on a lock its own thread holds. So a finaliser's call is deferred until the outer call
    returns, or refused. Each container operation is atomic in CPython, so no lock is needed, and a KeyboardInterrupt
    comes before or after it.

    Attributes
    ----------
    inside
        Thread identifiers. ``inside.discard(thread)`` comes first in each ``finally``: a thread left inside could never
        call the registry again.
    deferred
        The deferred calls, oldest first.
    """

    __slots__ = ("_draining", "deferred", "inside")

    def __init__(self) -> None:
        self.inside: Final[set[int]] = set()
        self.deferred: Final[deque[Callable[[], None]]] = deque()
        self._draining: Final[set[int]] = set()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Mark this thread as inside. Raises RegistryError (``reentrant``) if it already is."""
        thread = get_ident()
        if thread in self.inside:
            raise self.refusal()
        try:
            self.inside.add(thread)
            yield
        finally:
            self.inside.discard(thread)

    def drain(self) -> None:
        """Run the deferred calls, on whichever thread leaves first.

        Exceptions of deferred calls are logged, not raised: they are unrelated to the call that runs them, and the rest
        must still run.
        """
        thread = get_ident()
        # Run them from outside: inside, a deferred call would be deferred again.
        if thread in self._draining or thread in self.inside:
            return
        try:
            self._draining.add(thread)
            while self.deferred:
                try:
                    action = self.deferred.popleft()
                except IndexError:  # another thread took the last one
                    return
                try:
                    error = raised_by(action)
                except BaseException:  # an interrupt: the next thread runs it, perhaps again
                    self.deferred.appendleft(action)
                    raise
                if error is not None:
                    logger.error("a release, reset or close deferred from a finaliser failed", exc_info=error)
        finally:
            self._draining.discard(thread)

    def defer(self, action: Callable[[], None]) -> bool:
        """Defer a call if this thread is inside; otherwise return False, and the caller makes it."""
        if get_ident() not in self.inside:
            return False
        self.deferred.append(action)
        return True

    def refusal(self) -> RegistryError:
        """Return the error of a nested call that cannot be deferred."""
        msg = (
            "the registry was called from inside another call on the same thread, by a finaliser that Python ran in "
            "the middle; finalisers may call only release(), reset(), seal() and close()"
        )
        return RegistryError(msg, code="reentrant")
