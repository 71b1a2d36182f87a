"""``python -m tests.fuzz``: documents by the million through every entry point.

``--seed`` and ``--count`` say which; the same ones are made each time. What fails is written to ``--findings``, each
document beside what was raised. Several at once: one process per seed (``--jobs``).
"""

import argparse
import sys
from functools import partial
from hashlib import sha256
from multiprocessing import Pool
from pathlib import Path

from tests.fuzz.campaign import campaign

_TOLD_EVERY = 10_000


def _run(count: int, findings: Path, seed: int) -> int:
    def told(number: int) -> None:
        if number and number % _TOLD_EVERY == 0:
            sys.stderr.write(f"seed {seed}: {number} documents\n")

    failures = 0
    for failure in campaign(seed, count, told):
        failures += 1
        name = sha256(failure.data).hexdigest()[:12]
        findings.mkdir(parents=True, exist_ok=True)
        (findings / name).write_bytes(failure.data)
        (findings / f"{name}.txt").write_text(failure.what, encoding="utf-8", errors="backslashreplace")
    return failures


def main() -> int:
    """Run, and say how many documents failed; the exit status is 1 where any did."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the first process; the others follow it")
    parser.add_argument("--count", type=int, default=10_000, help="documents of each process")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="folder for what fails")
    arguments = parser.parse_args()
    with Pool(arguments.jobs) as pool:
        run = partial(_run, arguments.count, arguments.findings)
        failures = sum(pool.map(run, range(arguments.seed, arguments.seed + arguments.jobs), chunksize=1))
    sys.stdout.write(f"{arguments.count * arguments.jobs} documents, {failures} failed\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
