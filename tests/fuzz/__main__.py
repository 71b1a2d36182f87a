"""``python -m tests.fuzz``: documents by the million through every entry point.

``--seed`` and ``--count`` say which; the same ones are made each time. What fails is written to ``--findings``, each
document beside what was raised. The last line is a JSON object that says how many documents were checked, how often
each entry point was called, and what was found there. The exit status is 1 where anything was.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter
from hashlib import sha256
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from tests.fuzz.campaign import Failure
from tests.fuzz.worker import Report, Share, Worker

#: Seeds of processes that go on for one that was killed are so far from its own.
_NEXT_SEED = 1_000_000
#: Files that are written for one kind of finding.
_EXAMPLES = 20
_REPORT_EVERY_SECONDS = 10.0


class _Run:
    """The sum of what all processes report."""

    def __init__(self, findings: Path) -> None:
        self.documents = 0
        self.calls: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._findings = findings
        self._start = self._reported = time.monotonic()

    def add(self, report: Report) -> None:
        """Add a report, write its findings, and say from time to time how far the run is."""
        self.documents += report.documents
        self.calls.update(report.calls)
        for failure in report.failures:
            self.keep(failure)
        now = time.monotonic()
        if now - self._reported > _REPORT_EVERY_SECONDS:
            self._reported = now
            found = self.failures.total()
            sys.stderr.write(f"{self.documents} documents in {now - self._start:.0f} s, {found} findings\n")

    def keep(self, failure: Failure) -> None:
        """Count a finding, and write it where there are few of its kind."""
        self.failures[failure.entry_point] += 1
        kind = re.sub(r"[0-9]+", "", "".join(failure.what.splitlines(keepends=True)[-4:]))
        self._kinds[kind] += 1
        if self._kinds[kind] > _EXAMPLES:
            return
        name = sha256(failure.data).hexdigest()[:12]
        self._findings.mkdir(parents=True, exist_ok=True)
        (self._findings / name).write_bytes(failure.data)
        text = f"{failure.entry_point}\n{failure.what}"
        (self._findings / f"{name}.txt").write_text(text, encoding="utf-8", errors="backslashreplace")

    def as_object(self, arguments: argparse.Namespace) -> dict[str, Any]:
        """Return the result of the run, for its last line."""
        names = sorted({*self.calls, *self.failures})
        return {
            "documents": self.documents,
            "seed": arguments.seed,
            "jobs": arguments.jobs,
            "seconds": round(time.monotonic() - self._start, 1),
            "findings": self.failures.total(),
            "entry_points": {name: {"calls": self.calls[name], "findings": self.failures[name]} for name in names},
        }


def _follow(shares: list[Share], run: _Run) -> None:
    """Run the shares in a process each, until all are done or the user interrupts."""
    with tempfile.TemporaryDirectory() as folder:
        workers = {}
        for share in shares:
            worker = Worker(share, Path(folder))
            workers[worker.reports] = worker
        checked: Counter[int] = Counter()
        while workers:
            try:
                ready = wait([*workers])
                for worker in [worker for reports, worker in workers.items() if reports in ready]:
                    try:
                        report = worker.reports.recv()
                    except EOFError:
                        del workers[worker.reports]
                        again = _after(worker, checked[worker.share.seed], run)
                        if again is not None:
                            heir = Worker(again, Path(folder))
                            workers[heir.reports] = heir
                        continue
                    checked[worker.share.seed] += report.documents
                    run.add(report)
            except KeyboardInterrupt:
                for worker in workers.values():
                    worker.stop()


def _after(worker: Worker, checked: int, run: _Run) -> Share | None:
    """Return what is left of the share of a process that was killed; None where there is none to do."""
    killed = worker.ended()
    if killed is None:
        return None
    run.keep(killed)
    if not checked:
        return None  # it would be killed again
    share = worker.share
    left = None if share.documents is None else max(0, share.documents - checked - 1)
    return share._replace(seed=share.seed + _NEXT_SEED, documents=left)


def main() -> int:
    """Run, and report; the exit status is 1 where any document failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the first process; the others take those that follow")
    parser.add_argument("--count", type=int, help="documents of all processes (default: 10000 without --seconds)")
    parser.add_argument("--seconds", type=float, help="stop after so long, with what was checked until then")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="folder for what fails")
    arguments = parser.parse_args()
    count = 10_000 if arguments.count is None and arguments.seconds is None else arguments.count
    deadline = None if arguments.seconds is None else time.monotonic() + arguments.seconds
    shares = []
    for index in range(arguments.jobs):
        each = None if count is None else count // arguments.jobs + (index < count % arguments.jobs)
        shares.append(Share(arguments.seed + index, each, deadline))
    run = _Run(arguments.findings)
    _follow(shares, run)
    sys.stdout.write(json.dumps(run.as_object(arguments)) + "\n")
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
