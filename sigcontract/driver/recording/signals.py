"""Process ends that atexit misses: signals and os._exit.

A Python signal handler runs in the main thread, between two bytecodes. In a hung server it never runs, and a handler
for SIGTERM would make the server unkillable. So signals also go, through Python's wake-up file descriptor, to a
separate thread, which writes the dump and then ends the process as the default action would.
"""

import atexit
import ctypes
import functools
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

__all__ = ["EndHooks"]

#: Most time that a write may delay the end of the process.
_WRITE_SECONDS = 5.0


class EndHooks:
    """Calls back before the process ends by SIGTERM or os._exit, and when a signal requests a dump.

    A signal that the program handles itself, or ignores, is left alone; a handler that it installs later replaces
    this one. In a forked child only os._exit is followed and the thread is gone: signals act there as they would.

    Parameters
    ----------
    write
        Writes the dump; the argument is whether the process ends now. Must not raise.
    demand
        Number of the signal that requests a dump, or None.
    """

    def __init__(self, write: Callable[[bool], object], demand: int | None) -> None:
        self._write = write
        self._demand = demand
        self._handled: list[int] = []
        self._read_end = self._write_end = -1
        self._pipe = (0, 0)
        self._ending = threading.Lock()

    def install(self) -> str | None:
        """Install all hooks. Returns a problem for the report, or None."""
        self._wrap_os_exit()
        atexit.register(self._let_end)
        if threading.current_thread() is not threading.main_thread():
            return "recording started outside the main thread, so signals are not handled"
        for number in {signal.SIGTERM, self._demand} - {None}:
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, self._received)
                self._handled.append(number)
        if self._handled:
            self._listen()
        os.register_at_fork(before=self._detach, after_in_parent=self._attach, after_in_child=self._forked)
        return None

    def _listen(self) -> None:
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        previous = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        if previous != -1:  # an event loop listens already; its handlers come first
            signal.set_wakeup_fd(previous)
            os.close(read_end)
            os.close(write_end)
            return
        self._read_end, self._write_end, self._pipe = read_end, write_end, _identity(read_end)
        threading.Thread(target=self._follow, name="sigcontract-signals", daemon=True).start()

    def _follow(self) -> None:
        while numbers := self._received_numbers():
            if self._demand is not None and self._demand in numbers and self._is_ours(self._demand):
                self._write(False)  # noqa: FBT003  the callback's one argument
            if signal.SIGTERM in numbers and self._is_ours(signal.SIGTERM):
                self._end(signal.SIGTERM)

    def _received_numbers(self) -> bytes:
        """Wait for signals. Empty if the program closed the pipe: its descriptor may be reused."""
        try:
            return os.read(self._read_end, 64) if self._is_open(self._read_end) else b""
        except OSError:  # closed in between
            return b""

    def _is_open(self, end: int) -> bool:
        try:
            return _identity(end) == self._pipe
        except OSError:
            return False

    def _received(self, number: int, _frame: FrameType | None) -> None:
        if number == self._demand:
            self._write(False)  # noqa: FBT003  the callback's one argument
        else:
            self._end(number)

    def _is_ours(self, number: int) -> bool:
        # Each access creates a new bound method, so compare by equality.
        return signal.getsignal(number) == self._received

    def _end(self, number: int) -> None:
        """Write, then end by the signal's default action, if possible outside the main thread.

        The main thread may hold a lock that the write needs, and releases it once its handler returns.
        """
        if not self._ending.acquire(blocking=False):
            return
        if threading.current_thread() is threading.main_thread():
            try:
                threading.Thread(target=self._write_and_end, args=(number,), daemon=True).start()
            except RuntimeError:  # no more threads can be started
                self._write_and_end(number)
        else:
            self._write_and_end(number)

    def _write_and_end(self, number: int) -> None:
        writing = threading.Thread(target=self._write, args=(True,), daemon=True)
        try:
            writing.start()
        except RuntimeError:  # as above
            self._write(True)  # noqa: FBT003  the callback's one argument
        else:
            writing.join(_WRITE_SECONDS)
        # signal.signal works in the main thread only, which may hang.
        ctypes.CDLL(None).signal(number, 0)
        os.kill(os.getpid(), number)

    def _let_end(self) -> None:
        """At normal exit: wait for a thread that is ending the process by a signal."""
        if self._ending.acquire(timeout=2 * _WRITE_SECONDS):
            self._ending.release()

    def _wrap_os_exit(self) -> None:
        original = os._exit

        @functools.wraps(original)
        def _exit(status: int) -> NoReturn:
            try:
                self._write(True)  # noqa: FBT003  the callback's one argument
                self._let_end()
            finally:
                original(status)  # whether or not the write succeeded

        os._exit = _exit

    # Between fork and exec a child shares the pipe; a signal to it must not end the parent.

    def _detach(self) -> None:
        if self._write_end != -1 and threading.current_thread() is threading.main_thread():
            signal.set_wakeup_fd(-1)

    def _attach(self) -> None:
        if self._is_open(self._write_end) and threading.current_thread() is threading.main_thread():
            signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)

    def _forked(self) -> None:
        self._ending = threading.Lock()
        for number in self._handled:
            if self._is_ours(number):
                signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else self._received)
        if self._write_end != -1:
            for end in (self._read_end, self._write_end):
                if self._is_open(end):
                    os.close(end)
            self._read_end = self._write_end = -1


def _identity(descriptor: int) -> tuple[int, int]:
    """Return device and inode, which identify a pipe among files."""
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
