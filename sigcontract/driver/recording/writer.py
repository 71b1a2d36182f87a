"""A thread that writes soon after there is something to write, and never spends its time on that alone."""

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import monotonic

__all__ = ["BackgroundWriter"]

#: What came last is on disk this long after, where writing is quick.
_DELAY_SECONDS = 0.5
#: Pause between writes, in durations of the last write: bounds what recording costs while many graphs come.
_PAUSE_PER_WRITE = 10.0
#: How long an ending process waits for a write in progress. A hung file system must not keep it from ending.
_END_SECONDS = 5.0


class BackgroundWriter:
    """Calls a function some time after each `wake`, several wakes at once where it falls behind.

    The thread begins at the first `wake`, so that a process that records nothing has none.

    Parameters
    ----------
    write
        Does the writing; must not raise.
    """

    def __init__(self, write: Callable[[], object]) -> None:
        self._write = write
        self._wanted = Event()
        self._ending = Event()
        self._thread: Thread | None = None

    def wake(self) -> None:
        """Say that there is something new."""
        self._wanted.set()
        if self._thread is None and not self._ending.is_set():
            thread = Thread(target=self._run, name="sigcontract-record", daemon=True)
            # The process may have all the threads that it can have, or be ending: then the last write is the only one.
            with suppress(RuntimeError):
                thread.start()
                self._thread = thread

    def stop(self) -> bool:
        """End the thread. Returns whether it did end; if not, its last write hangs."""
        self._ending.set()
        self._wanted.set()
        if self._thread is None:
            return True
        self._thread.join(_END_SECONDS)
        return not self._thread.is_alive()

    def _run(self) -> None:
        pause = _DELAY_SECONDS
        while not self._ending.wait(pause):
            self._wanted.wait()
            if self._ending.is_set():
                return
            self._wanted.clear()
            started = monotonic()
            self._write()
            pause = max(_DELAY_SECONDS, (monotonic() - started) * _PAUSE_PER_WRITE)
