"""Calls to a registry from inside a call to it on the same thread: finalisers that Python runs in the middle."""

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

    A nested call would wait for a lock that its own thread holds. So a finaliser's call is deferred until the outer
    call is done, or refused if it cannot be deferred. Each operation on the containers is one atomic call in CPython,
    so no lock is needed, and a KeyboardInterrupt comes before or after it.

    Attributes
    ----------
    inside
        Identifiers of the threads. ``inside.discard(thread)`` comes first in each ``finally``: a thread that stayed
        inside could never call the registry again.
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

        An exception of such a call is logged, not raised: the call that happens to run it may be of another thread
        and has nothing to do with it, and the rest must still run.
        """
        thread = get_ident()
        # A deferred call is itself a call to the registry; made from inside, it would only be deferred again.
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
                except BaseException:  # an interrupt: the next thread runs it, or runs it again
                    self.deferred.appendleft(action)
                    raise
                if error is not None:
                    logger.error("a release, reset or close that a finaliser asked for failed", exc_info=error)
        finally:
            self._draining.discard(thread)

    def defer(self, action: Callable[[], None]) -> bool:
        """Defer a call if this thread is inside; return False if it is not, and the caller goes on itself."""
        if get_ident() not in self.inside:
            return False
        self.deferred.append(action)
        return True

    def refusal(self) -> RegistryError:
        """Return the error of a nested call that cannot be deferred."""
        msg = (
            "the registry was called from inside another call on the same thread, by a finaliser that Python ran in "
            "the middle; finalisers may call release(), reset(), seal() and close(), nothing else"
        )
        return RegistryError(msg, code="reentrant")
