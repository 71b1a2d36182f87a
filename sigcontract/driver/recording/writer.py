"""A thread that writes soon after new data arrives, with pauses in between."""

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import monotonic

__all__ = ["BackgroundWriter"]

#: Delay before a write, in seconds.
_DELAY_SECONDS = 0.5
#: Pause between writes, as a multiple of the last write's duration: bounds the cost while graphs arrive.
_PAUSE_PER_WRITE = 10.0
#: How long an exiting process waits for a write: a hung file system must not block the exit.
_END_SECONDS = 5.0


class BackgroundWriter:
    """Calls a function some time after each `wake`; wakes during a call are combined.

    The thread starts at the first `wake`, so a process that records nothing has none.

    Parameters
    ----------
    write
        Writes. Must not raise.
    """

    def __init__(self, write: Callable[[], object]) -> None:
        self._write = write
        self._wanted = Event()
        self._ending = Event()
        self._thread: Thread | None = None

    def wake(self) -> None:
        """Request a write."""
        self._wanted.set()
        if self._thread is None and not self._ending.is_set():
            thread = Thread(target=self._run, name="sigcontract-record", daemon=True)
            # No thread can start at the thread limit or during exit; then only the last write happens.
            with suppress(RuntimeError):
                thread.start()
                self._thread = thread

    def stop(self) -> bool:
        """Stop the thread. Returns whether it stopped; if not, its last write hangs."""
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
