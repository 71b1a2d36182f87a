"""Calls that come from inside other calls: Python runs finalisers wherever it likes, also with our locks held."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Final

from sigcontract.errors import RegistryError

__all__ = ["Reentry"]


class Reentry:
    """The threads that are inside a call to one registry.

    A finaliser (a server's ``__del__`` that closes its registry) can run in the middle of a replay, on the same
    thread, with the lock of an executable held. Taking a lock there could wait for ever, and changing the state
    would change it under the feet of the call. So what lets go is put off until that call returns, and what launches
    or registers is refused.

    Attributes
    ----------
    inside
        Their identifiers. Each thread adds and removes its own only, so no lock is needed.
    """

    __slots__ = ("_deferred", "inside")

    def __init__(self) -> None:
        self.inside: Final[set[int]] = set()
        self._deferred: Final[deque[Callable[[], None]]] = deque()

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
            self.leave(thread)

    def leave(self, thread: int) -> None:
        """Be outside again, and do what was put off."""
        self.inside.discard(thread)
        while self._deferred:
            try:
                action = self._deferred.popleft()
            except IndexError:  # another thread took the last one
                return
            action()

    def put_off(self, action: Callable[[], None]) -> bool:
        """Put an action off where this thread is inside; False where it is not, and the caller acts itself."""
        if get_ident() not in self.inside:
            return False
        self._deferred.append(action)
        return True

    def refusal(self) -> RegistryError:
        """Return the error of a call that cannot be put off."""
        msg = (
            "a call to the registry came from inside another one on the same thread, from a finaliser that Python ran "
            "in the middle; finalisers may release() and close(), nothing else"
        )
        return RegistryError(msg, code="reentrant")
