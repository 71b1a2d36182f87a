"""Calls that come while a registry works on the same thread: a finaliser that Python ran in the middle of it."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Final

from sigcontract.errors import RegistryError
from sigcontract.registry.user_code import raised_by

__all__ = ["Reentry"]

logger = logging.getLogger("sigcontract")


class Reentry:
    """Which threads are inside of a registry, and what finalisers asked for meanwhile.

    A lock of the registry would be waited for by the thread that holds it. So a finaliser's call is put off until
    the work is done, or refused where that makes no sense. Every operation on the containers is one atomic call of
    CPython's, so no lock is needed, and a KeyboardInterrupt comes before or after it.

    Attributes
    ----------
    inside
        The threads. ``inside.discard(thread)`` is the first thing in each ``finally``: a thread that stayed in could
        never call the registry again.
    deferred
        What was put off.
    """

    __slots__ = ("_draining", "deferred", "inside")

    def __init__(self) -> None:
        self.inside: Final[set[int]] = set()
        self.deferred: Final[deque[Callable[[], None]]] = deque()
        self._draining: Final[set[int]] = set()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Be inside. Raises RegistryError (``reentrant``) where the thread is already."""
        thread = get_ident()
        if thread in self.inside:
            raise self.refusal()
        try:
            self.inside.add(thread)
            yield
        finally:
            self.inside.discard(thread)

    def drain(self) -> None:
        """Do what was put off, on whichever thread is outside first.

        What one of these calls raises is logged: the call whose finaliser asked for it may be of another thread, has
        no part in it, and must not keep the others from being done.
        """
        thread = get_ident()
        # A call of the queue is itself a call of the registry, and one from inside would only be put off again.
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
                except BaseException:  # an interrupt: whoever comes next does it, or does it again
                    self.deferred.appendleft(action)
                    raise
                if error is not None:
                    logger.error("a release, reset or close that a finaliser asked for failed", exc_info=error)
        finally:
            self._draining.discard(thread)

    def put_off(self, action: Callable[[], None]) -> bool:
        """Put an action off where this thread is inside; False where it is not, and the caller acts itself."""
        if get_ident() not in self.inside:
            return False
        self.deferred.append(action)
        return True

    def refusal(self) -> RegistryError:
        """Return the error of a call that cannot be put off."""
        msg = (
            "a call to the registry came from inside another one on the same thread, from a finaliser that Python ran "
            "in the middle; finalisers may release(), reset(), seal() and close(), nothing else"
        )
        return RegistryError(msg, code="reentrant")
