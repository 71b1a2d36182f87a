"""How a recorded process ends: its own way, and not before its dump is written."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sigcontract.driver.recording.signals import EndHooks

START = """
import ctypes, os, signal, sys, threading
from sigcontract.driver.recording.signals import EndHooks
def write(ends):
    with open(sys.argv[1], "a") as file: file.write("end " if ends else "now ")
def ready():
    print("ready", flush=True)
def wait_for_ever():
    threading.Event().wait()
signal.alarm(60)  # a program that hangs where it should not fails its test, and is gone
"""
INSTALL = "problem = EndHooks(write, signal.SIGUSR2).install()\n"
#: Waiting for a mutex that nobody gives back: no signal wakes it, as none wakes a driver that hangs.
HANG = """
mutex = ctypes.create_string_buffer(64)
libc = ctypes.CDLL(None)
libc.pthread_mutex_lock(mutex); ready(); libc.pthread_mutex_lock(mutex)
"""


class Process:
    """A program that receives signals."""

    def __init__(self, tmp_path: Path, program: str) -> None:
        self.written = tmp_path / "written"
        self.process = subprocess.Popen(
            [sys.executable, "-c", START + program, str(self.written)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> None:
        self.says("ready")

    def says(self, line: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{line}\n"

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> tuple[int, str, str]:
        """Return status, output and what was written."""
        output, errors = self.process.communicate(timeout=60)
        assert errors == ""
        return self.process.returncode, output, self.written.read_text() if self.written.exists() else ""


def test_a_signal_while_the_program_holds_what_writing_needs_is_written_when_it_lets_go(tmp_path: Path) -> None:
    """The main thread is in a call into C, and comes back to find that the other thread ends the process."""
    locked = """
import hashlib
lock, plain = threading.RLock(), write
def write(ends):
    with lock: plain(ends)
"""
    working = 'with lock: ready(); hashlib.pbkdf2_hmac("sha256", b"", b"", 1_000_000)\n'
    program = Process(tmp_path, locked + INSTALL + working)
    program.ready()
    program.send(signal.SIGTERM)
    assert program.end() == (-signal.SIGTERM, "", "end ")


def test_a_program_that_ends_while_its_signal_is_written_ends_by_the_signal(tmp_path: Path) -> None:
    """The other thread writes without a thread of its own, for want of one, and the main thread comes to its end."""
    slow = """
plain = write
def write(ends):
    writing.set(); at_end.wait(); plain(ends)
writing, at_end = threading.Event(), threading.Event()
"""
    ending = """
import atexit
atexit.register(at_end.set)  # comes before the hook, which was there first
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # the main thread learns of it when it is woken
def start(self): raise RuntimeError("can't start new thread")
threading.Thread.start = start
ready(); writing.wait()
"""
    program = Process(tmp_path, slow + INSTALL + ending)
    program.ready()
    program.send(signal.SIGTERM)
    assert program.end() == (-signal.SIGTERM, "", "end ")


@pytest.mark.parametrize("waiting", ["ready(); wait_for_ever()", HANG], ids=["in Python", "hung in C"])
def test_sigterm_writes_and_ends_by_the_signal(tmp_path: Path, waiting: str) -> None:
    program = Process(tmp_path, INSTALL + waiting)
    program.ready()
    program.send(signal.SIGTERM)
    assert program.end() == (-signal.SIGTERM, "", "end ")


def test_sigterm_ends_a_process_whose_write_hangs(tmp_path: Path) -> None:
    slow = "import sigcontract.driver.recording.signals as module\nmodule._WRITE_SECONDS = 0.1\n"
    hang = "def write(ends): wait_for_ever()\n"
    program = Process(tmp_path, slow + hang + INSTALL + "ready(); wait_for_ever()")
    program.ready()
    program.send(signal.SIGTERM)
    assert program.end()[0] == -signal.SIGTERM


@pytest.mark.parametrize("waiting", ["ready(); wait_for_ever()", HANG], ids=["in Python", "hung in C"])
def test_the_demanded_dump_is_written_and_the_program_goes_on(tmp_path: Path, waiting: str) -> None:
    telling = """
plain = write
def write(ends):
    plain(ends); os.write(1, b"written\\n")
"""
    program = Process(tmp_path, telling + INSTALL + waiting)
    program.ready()
    program.send(signal.SIGUSR2)
    program.says("written")
    program.send(signal.SIGKILL)
    status, _, written = program.end()
    assert status == -signal.SIGKILL
    assert set(written.split()) == {"now"}


def test_a_program_keeps_its_own_handlers(tmp_path: Path) -> None:
    own = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5)); signal.signal(signal.SIGUSR2, signal.SIG_IGN)\n"
    for program in (own + INSTALL, INSTALL + own):
        process = Process(tmp_path, program + "ready(); wait_for_ever()")
        process.ready()
        process.send(signal.SIGUSR2)
        process.send(signal.SIGTERM)
        assert process.end() == (5, "", "")


def test_a_program_may_call_the_handler_that_it_found(tmp_path: Path) -> None:
    chained = """
found = signal.getsignal(signal.SIGTERM)
def handler(number, frame):
    print("own", flush=True); found(number, frame)
signal.signal(signal.SIGTERM, handler)
ready(); wait_for_ever()
"""
    program = Process(tmp_path, INSTALL + chained)
    program.ready()
    program.send(signal.SIGTERM)
    assert program.end() == (-signal.SIGTERM, "own\n", "end ")


def test_os_exit_writes_first(tmp_path: Path) -> None:
    assert Process(tmp_path, INSTALL + "os._exit(9)").end() == (9, "", "end ")


def test_a_forked_child_dies_of_sigterm_alone(tmp_path: Path) -> None:
    """Two signals to the parent come after, so that it has seen the child's by then, if it ever does."""
    counting = """
import warnings; warnings.simplefilter('ignore')
plain, followed = write, threading.Semaphore(0)
def write(ends):
    plain(ends)
    if threading.current_thread() is not threading.main_thread(): followed.release()
"""
    fork = """
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    os.write(writing, b"x"); wait_for_ever()
os.read(reading, 1); os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
for _ in range(2):
    os.kill(os.getpid(), signal.SIGUSR2); followed.acquire()
"""
    status, output, written = Process(tmp_path, counting + INSTALL + fork).end()
    assert (status, output) == (0, f"{-signal.SIGTERM}\n")
    assert set(written.split()) == {"now"}


def test_an_event_loop_keeps_its_wake_up(tmp_path: Path) -> None:
    loop = """
import asyncio
async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    ready(); await stop.wait(); print("stopped", flush=True)
asyncio.run(main())
"""
    program = Process(tmp_path, INSTALL + loop)
    program.ready()
    program.send(signal.SIGTERM)
    assert program.end() == (0, "stopped\n", "")


def test_a_wake_up_that_is_taken_stays_so(tmp_path: Path) -> None:
    taken = """
reading, writing = os.pipe(); os.set_blocking(writing, False); signal.set_wakeup_fd(writing)
"""
    kept = "assert signal.set_wakeup_fd(-1) == writing\nready(); wait_for_ever()"
    program = Process(tmp_path, taken + INSTALL + kept)
    program.ready()
    program.send(signal.SIGTERM)
    assert program.end() == (-signal.SIGTERM, "", "end ")


def test_a_pipe_that_is_closed_as_it_is_about_to_be_read_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    hooks = EndHooks(lambda ends: ends, None)
    monkeypatch.setattr(hooks, "_is_open", lambda _end: True)
    assert hooks._read_end == -1
    assert hooks._received_numbers() == b""


def test_outside_of_the_main_thread_signals_are_left_alone_and_that_is_reported(tmp_path: Path) -> None:
    program = """
problem = []
thread = threading.Thread(target=lambda: problem.append(EndHooks(write, signal.SIGUSR2).install()))
thread.start(); thread.join()
assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
print(problem[0])
"""
    assert Process(tmp_path, program).end()[1] == (
        "recording started outside the main thread, so signals are not handled\n"
    )
