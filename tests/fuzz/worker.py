"""One process of a campaign, watched from outside: a document that kills it, or that never ends, is a finding too."""

import mmap
import os
import resource
import signal
import time
from collections import Counter
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from tests.fuzz.campaign import Failure, campaign
from tests.fuzz.entry_points import Bench

__all__ = ["Share", "Worker"]

#: What a document may take: some hundred times what the slowest of a campaign takes, on a busy machine.
_MOST_SECONDS = 120
_MOST_MEMORY_BYTES = 4 * 2**30
#: Documents between two reports.
_REPORT = 500
_SLOT_BYTES = 2**26
_LENGTH_BYTES = 8


class Share(NamedTuple):
    """What one process checks: so many documents of a seed, None for all, until ``deadline`` on the monotonic clock."""

    seed: int
    documents: int | None
    deadline: float | None


class Report(NamedTuple):
    """What was checked since the last report."""

    documents: int
    calls: Counter[str]
    failures: list[Failure]


class Worker:
    """A process that checks its share."""

    def __init__(self, share: Share, folder: Path) -> None:
        self.share = share
        self._slot = folder / f"{share.seed}.document"
        with self._slot.open("wb") as file:
            file.truncate(_SLOT_BYTES)  # sparse: takes what the largest document takes
        context = get_context("spawn")
        self.reports, ours = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(share, self._slot, ours))
        self._process.start()
        ours.close()

    def stop(self) -> None:
        """Let it end after the document at hand."""
        if self._process.is_alive() and self._process.pid is not None:
            os.kill(self._process.pid, signal.SIGTERM)

    def ended(self) -> Failure | None:
        """Wait for it, and return the document that it was at where it was killed."""
        self._process.join()
        status = self._process.exitcode
        data = self._slot.read_bytes()
        self._slot.unlink()
        if not status:
            return None
        length = int.from_bytes(data[:_LENGTH_BYTES], "little")
        what = f"the process ended with status {status} (negative: of that signal)"
        return Failure(data[_LENGTH_BYTES : _LENGTH_BYTES + length], "process", what)


def _work(share: Share, slot: Path, reports: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent passes it on as SIGTERM
    stopped = False

    def stop(_: int, __: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    def late(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"not done after {_MOST_SECONDS} s")

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGALRM, late)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))
    with slot.open("r+b") as file, mmap.mmap(file.fileno(), _SLOT_BYTES) as shared:
        number = reported = 0
        calls: Counter[str] = Counter()
        failures: list[Failure] = []

        def before(data: bytes, bench: Bench) -> bool:
            nonlocal number, reported
            late = share.deadline is not None and time.monotonic() > share.deadline
            over = stopped or late or number == share.documents
            if over or number - reported == _REPORT:
                reports.send(Report(number - reported, bench.calls - calls, failures))
                calls.update(bench.calls - calls)
                failures.clear()
                reported = number
            if over:
                signal.alarm(0)
                return False
            number += 1
            shared[: _LENGTH_BYTES + len(data)] = len(data).to_bytes(_LENGTH_BYTES, "little") + data
            signal.alarm(_MOST_SECONDS)
            return True

        for failure in campaign(share.seed, before):
            failures.append(failure)  # noqa: PERF402  `before` sends and clears them
    reports.close()
