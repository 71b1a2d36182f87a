"""Run the recorded program and keep its signals and exit status."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from signal import Signals
from typing import IO, Final

from sigcontract.errors import FileError

__all__ = ["run_program"]

#: Signals commonly sent to programs; forwarded, so either process may receive them.
_PASSED_ON: Final = frozenset(
    {
        Signals.SIGCONT,
        Signals.SIGHUP,
        Signals.SIGINT,
        Signals.SIGQUIT,
        Signals.SIGTERM,
        Signals.SIGUSR1,
        Signals.SIGUSR2,
        Signals.SIGWINCH,
    }
)
_WATCHED: Final = _PASSED_ON | {Signals.SIGCHLD}
#: Signals that Python ignores; programs expect the default action.
_DEFAULT_IN_PROGRAMS: Final = (Signals.SIGPIPE, Signals.SIGXFSZ)
#: Polling interval for the program's exit: SIGCHLD may go to another thread.
_POLL_SECONDS: Final = 0.2
#: Time for the witness to report: kill returns once the kernel has signalled the whole group.
_WITNESS_SECONDS: Final = 0.2

#: A terminal, or a kill of the process group, signals the program directly. Only a third process in the group, which
#: nobody signals alone, can distinguish that from a signal to this process.
_WITNESS: Final = """
import os, signal, sys
watched, parent = {int(word) for word in sys.argv[1].split(",")}, int(sys.argv[2])
while os.getppid() == parent:
    received = signal.sigtimedwait(watched, 1)
    if received is not None:
        os.write(1, bytes([received.si_signo]))
"""


def run_program(command: list[str], environment: Mapping[str, str], status: Path, demand: int | None) -> int:
    """Run a program to its end and return its exit status; negative for a signal, as in subprocess.

    Signals sent to this process alone are forwarded to the program; those of a terminal or to the process group reach
    both anyway. The signal that requests a dump is forwarded only to recording processes anywhere below the program:
    its default action would end any other.

    Parameters
    ----------
    command, environment The program's command line and environment. status
        Directory of the processes' reports.
    demand
        Number of the signal that requests a dump, or None.

    Raises
    ------
    FileError
        The program cannot be started.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        with _witness() as seen_by_group:
            process_id = _started(command, environment, before)
            while True:
                received = signal.sigtimedwait(_WATCHED, _POLL_SECONDS)
                ended, how = os.waitpid(process_id, os.WNOHANG)
                if ended:
                    return os.waitstatus_to_exitcode(how)
                if received is None or received.si_signo == Signals.SIGCHLD:
                    continue
                if _witnessed(seen_by_group, received.si_signo):
                    continue
                for target in _recording(status) if received.si_signo == demand else (process_id,):
                    with suppress(ProcessLookupError):
                        os.kill(target, received.si_signo)
    finally:
        while signal.sigtimedwait(_WATCHED, 0) is not None:
            pass  # the program has exited
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _started(command: list[str], environment: Mapping[str, str], mask: set[int]) -> int:
    try:
        return os.posix_spawnp(command[0], command, environment, setsigmask=mask, setsigdef=_DEFAULT_IN_PROGRAMS)
    except OSError as error:
        msg = f"{command[0]} cannot be run: {error.strerror}; check its name and permissions"
        raise FileError(msg, file=command[0]) from error


@contextmanager
def _witness() -> Iterator[IO[bytes]]:
    """Yield a pipe that delivers the numbers of signals sent to the whole process group."""
    arguments = [",".join(str(int(number)) for number in _PASSED_ON), str(os.getpid())]
    with subprocess.Popen(  # noqa: S603  fixed text, run by this Python; inherits the signal mask
        [sys.executable, "-I", "-S", "-c", _WITNESS, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101  stdout=PIPE
            yield process.stdout
        finally:
            process.kill()


def _witnessed(pipe: IO[bytes], number: int) -> bool:
    while select([pipe], [], [], _WITNESS_SECONDS)[0]:
        seen = pipe.read(1)
        if not seen:  # the witness is gone: a signal delivered twice is better than one lost
            return False
        if seen[0] == number:
            return True
    return False


def _recording(status: Path) -> Iterator[int]:
    """Yield the running processes that reported here. Process ids are reused, so check each one's environment."""
    mark = os.fsencode(status)
    for report in status.glob("*.json"):
        with suppress(OSError):
            if mark in Path("/proc", report.stem, "environ").read_bytes():
                yield int(report.stem)
