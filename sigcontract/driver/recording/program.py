"""Running the program that is recorded: its signals and its exit status stay its own."""

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

#: Signals that a program is commonly sent; passed on, so that it does not matter which of the two gets them.
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
#: Python ignores these; a program expects the default action.
_DEFAULT_IN_PROGRAMS: Final = (Signals.SIGPIPE, Signals.SIGXFSZ)
#: SIGCHLD may go to another thread of this process, so the program's end is looked for this often at least.
_POLL_SECONDS: Final = 0.2
#: The kernel signals every process of a group before kill returns; the witness then needs a moment to say so.
_WITNESS_SECONDS: Final = 0.2

#: A signal from a terminal, or to the process group, reaches the program without this process. Only a process that
#: shares the group and is addressed by nobody can tell the two cases apart.
_WITNESS: Final = """
import os, signal, sys
watched, parent = {int(word) for word in sys.argv[1].split(",")}, int(sys.argv[2])
while os.getppid() == parent:
    received = signal.sigtimedwait(watched, 1)
    if received is not None:
        os.write(1, bytes([received.si_signo]))
"""


def run_program(command: list[str], environment: Mapping[str, str], status: Path, demand: int | None) -> int:
    """Run a program to its end, and return its status as subprocess gives it, negative for a signal.

    Signals that are sent to this process alone are passed on to the program; those of a terminal or to the process
    group reach both without that. The signal that asks for a dump goes to the processes that record, wherever they
    stand below the program, and to no other: by default it would end a program that does not know it.

    Parameters
    ----------
    command, environment
        What is run.
    status
        Where recorded processes leave their reports.
    demand
        Number of the signal that asks for a dump, None where none does.

    Raises
    ------
    FileError
        The program cannot be run. It was not started.
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
            pass  # for a program that has ended
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _started(command: list[str], environment: Mapping[str, str], mask: set[int]) -> int:
    try:
        return os.posix_spawnp(command[0], command, environment, setsigmask=mask, setsigdef=_DEFAULT_IN_PROGRAMS)
    except OSError as error:
        msg = f"{command[0]} cannot be run: {error.strerror}; check its name and that it may be executed"
        raise FileError(msg, file=command[0]) from error


@contextmanager
def _witness() -> Iterator[IO[bytes]]:
    """Give a pipe out of which come the numbers of signals that the whole process group got."""
    arguments = [",".join(str(int(number)) for number in _PASSED_ON), str(os.getpid())]
    with subprocess.Popen(  # noqa: S603  our own text, run by the Python that runs this; it inherits the signal mask
        [sys.executable, "-I", "-S", "-c", _WITNESS, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101  a pipe was asked for
            yield process.stdout
        finally:
            process.kill()


def _witnessed(pipe: IO[bytes], number: int) -> bool:
    while select([pipe], [], [], _WITNESS_SECONDS)[0]:
        seen = pipe.read(1)
        if not seen:  # the witness is gone: what reaches the program twice is better than what never reaches it
            return False
        if seen[0] == number:
            return True
    return False


def _recording(status: Path) -> Iterator[int]:
    """Yield the processes that have reported here and run: ids come back, so each is asked for its environment."""
    mark = os.fsencode(status)
    for report in status.glob("*.json"):
        with suppress(OSError):
            if mark in Path("/proc", report.stem, "environ").read_bytes():
                yield int(report.stem)
