"""Random walks of updates on the device: is the prediction what the driver does? Run by hand, its record is kept.

Work is spread over processes: an exec that faults takes its process with it, and only that walk is lost.

Example: ``python -m lab.pairs --pairs 6000 --seed 1 --out pairs.json --misses misses.json``.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from traceback import extract_tb
from typing import Any

from lab.generate import random_graph
from lab.histories import summary, tally_step
from lab.mutate import mutate
from lab.oracle import Step, Walk
from sigcontract.driver import environment, read_graph, read_profile
from sigcontract.model.findings import Verdict

__all__ = ["Tally", "main", "random_walk"]

USE_NODE_PRIORITY = 8
_MISSES_KEPT = 40
_STALL_SECONDS = 60
_CONTEXT_LOST = 3  # exit code of a worker whose walk ended so, all counted


def random_walk(seed: int, index: int) -> Walk:
    """Return the walk of that number: most are one update, a quarter are three to six, back to the start included."""
    random = Random(f"{seed}:{index}")  # noqa: S311  a test's repeatable choice, no secret
    specs = [random_graph(random)]
    length = 1 if random.random() < 0.75 else random.randint(3, 6)
    for _ in range(length):
        specs.append(specs[0] if len(specs) > 2 and random.random() < 0.25 else mutate(random, specs[-1]))
    if any(spec.single_instance for spec in specs):
        specs = specs[:2]
    return Walk(
        specs=tuple(specs),
        start=random.choices(("launch", "upload", "nothing"), (80, 8, 12))[0],
        launch_between=random.random() < 0.8,
        flags=USE_NODE_PRIORITY if random.random() < 0.2 else 0,
        stream=random.choice(("busy", "idle", "new")),
    )


@dataclass
class Tally:
    """Counts over steps, and the steps that were not as predicted."""

    counts: Counter[str] = field(default_factory=Counter)
    misses: list[dict[str, Any]] = field(default_factory=list)

    def add(self, step: Step, walk: Walk, location: str) -> None:
        """Count one step."""
        faults = sorted(self._faults(step, walk))
        if faults:
            self.misses.append(_miss(step, walk, location, faults))

    def _faults(self, step: Step, walk: Walk) -> Iterator[str]:
        prediction, answer, counts = step.prediction, step.answer, self.counts
        counts["updates"] += 1
        counts[f"driver/{answer.status}/{answer.result}"] += 1
        counts[f"verdict/{prediction.verdict}"] += 1
        if prediction.result is None:
            counts["answer/not told"] += 1
        elif answer.is_predicted(prediction):
            counts["answer/exact"] += 1
        else:
            counts["answer/wrong"] += 1
            yield "answer"
        if answer.accepted and prediction.verdict is Verdict.REJECTED:
            counts["accepted though called rejected"] += 1
            yield "called rejected"
        if step.honest is None:
            counts["launch/none"] += 1
        elif not answer.accepted:
            yield from self._refused(step)
        else:
            yield from self._launched(step, walk)

    def _refused(self, step: Step) -> Iterator[str]:
        if step.after_unsafe:
            self.counts["refused/after an unsafe update"] += 1
        elif step.honest:
            self.counts["refused/exec unchanged"] += 1
        else:
            self.counts["refused/exec changed"] += 1
            yield "refused and changed"

    def _launched(self, step: Step, walk: Walk) -> Iterator[str]:
        """Judge a launch. After an update that was not called safe, what the exec holds is not known.

        A prediction along the history knows of such updates, and counts after them too.
        """
        unsafe = [finding.rule for finding in step.along.findings if not finding.verdict.safe]
        history: Counter[str] = Counter()
        tally_step(history, step.along.verdict, unsafe, right=bool(step.honest))
        self.counts.update({f"history/{key}": count for key, count in history.items() if not key.startswith("missed")})
        if step.along.verdict.safe and not step.honest:
            yield "safe by its history but wrong"
        verdict = "safe" if step.prediction.verdict.safe else str(step.prediction.verdict)
        outcome = f"{verdict}, ran {'right' if step.honest else 'wrong'}"
        if step.after_unsafe:
            self.counts[f"launch/after an unsafe update/{outcome}"] += 1
            return
        self.counts[f"launch/{outcome}"] += 1
        if verdict != "safe":
            rules = sorted({finding.rule for finding in step.prediction.findings if not finding.verdict.safe})
            ran = f"ran {'right' if step.honest else 'wrong'} on a stream that was {walk.stream}"
            self.counts[f"not called safe/{'+'.join(rules)}/{ran}"] += 1
        elif not step.honest:
            yield "safe but wrong"


def _miss(step: Step, walk: Walk, location: str, faults: list[str]) -> dict[str, Any]:
    from sigcontract.wire.canonical import canonical_bytes  # noqa: PLC0415  a parent process counts without it

    return {
        "place": location,
        "faults": faults,
        "flags": walk.flags,
        "start": walk.start,
        "stream": walk.stream,
        "driver": step.answer,
        "predicted": {
            "verdict": str(step.prediction.verdict),
            "result": None if step.prediction.result is None else step.prediction.result.name,
            "node": step.prediction.node,
            "from_node": step.prediction.from_node,
            "findings": [
                [finding.rule, finding.path, str(finding.verdict), str(finding.old), str(finding.new)]
                for finding in step.prediction.findings
            ],
        },
        "along": [[finding.rule, finding.path, str(finding.verdict)] for finding in step.along.findings],
        "difference": step.difference,
        "after_unsafe": step.after_unsafe,
        "specs": [repr(spec) for spec in walk.specs],
        "held": canonical_bytes(step.held).decode(),
        "candidate": canonical_bytes(step.candidate).decode(),
        "fixed": None if step.fixed is None else canonical_bytes(step.fixed).decode(),
    }


def run_shard(  # noqa: PLR0913  the options of a worker
    seed: int, first: int, last: int, stride: int, seconds: float, *, quiet: bool
) -> None:
    """Run every stride-th walk and print one JSON line for each: before it, its number; after it, what it showed."""
    from examples.recording.calls import CallError  # noqa: PLC0415  CUDA in the working processes alone
    from lab.oracle import run_walk  # noqa: PLC0415  needs a device
    from lab.rig import Rig  # noqa: PLC0415  needs a device

    rig, profile, end = Rig(quiet=quiet), read_profile(), time.monotonic() + seconds
    for index in range(first, last, stride):
        if time.monotonic() > end:
            break
        walk = random_walk(seed, index)
        _say({"begin": index})
        tally, lost = Tally(), False
        try:
            for update_index, step in enumerate(run_walk(rig, walk, read_graph, profile)):
                tally.add(step, walk, f"{seed}:{index}/{update_index}")
        except CallError as error:
            lost = not rig.recover()
            tally.counts["context lost" if lost else f"not built/{error.result} in {_origin(error)}"] += 1
        tally.counts["walks"] += 1
        tally.counts.update(f"kind/{type(node).__name__}" for spec in walk.specs for node in spec.walk())
        tally.counts["walks of several updates"] += len(walk.specs) > 2
        _say({"end": index, "counts": tally.counts, "misses": tally.misses})
        if lost:
            sys.exit(_CONTEXT_LOST)


def _origin(error: BaseException) -> str:
    """Return the line of this folder that made the call."""
    here = Path(__file__).parent
    made = error.__cause__ or error  # sigcontract's own error of the call, where it made it
    frames = [frame for frame in extract_tb(made.__traceback__) if Path(frame.filename).parent == here]
    return frames[-1].line or frames[-1].name


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def _shard(arguments: argparse.Namespace, worker: int) -> Tally:
    """Run one worker's walks, in a new process after each one that died."""
    tally = Tally()
    first, deadline = worker, time.monotonic() + arguments.seconds
    while first < arguments.pairs and time.monotonic() < deadline:
        command = [sys.executable, "-X", "faulthandler", "-m", "lab.pairs", "--shard", str(first)]
        command += ["--seed", str(arguments.seed), "--pairs", str(arguments.pairs)]
        command += ["--workers", str(arguments.workers), "--seconds", str(deadline - time.monotonic())]
        command += ["--quiet"] * arguments.quiet
        begun = None
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                output, errors = process.communicate(timeout=arguments.seconds + _STALL_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                output, errors = process.communicate()
                tally.counts["stalled"] += 1
        ended = worker - arguments.workers
        for line in output.splitlines():
            message = json.loads(line)
            if "begin" in message:
                begun = message["begin"]
            else:
                ended = message["end"]
                tally.counts.update(message["counts"])
                tally.misses += message["misses"]
        if process.returncode == 0:
            return tally
        if process.returncode == _CONTEXT_LOST:
            first = ended + arguments.workers
            continue
        if begun is None or begun == ended:
            raise SystemExit(f"worker {worker} ended with {process.returncode}: {errors[-3000:]}")
        tally.counts["died"] += 1
        tally.misses.append({"place": f"{arguments.seed}:{begun}", "faults": ["died"], "errors": errors[-2000:]})
        first = begun + arguments.workers
    return tally


def _first_of_each_kind(misses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kept, kinds = [], Counter[tuple[str, ...]]()
    for miss in misses:
        kind = tuple(miss["faults"])
        kinds[kind] += 1
        if kinds[kind] <= _MISSES_KEPT:
            kept.append(miss)
    return kept


def _summary(counts: Counter[str]) -> dict[str, float]:
    """Return what a reader of the record asks first. Launches after an unsafe update are left out."""
    launches = {key: count for key, count in counts.items() if re.fullmatch(r"launch/[a-z]+, ran (right|wrong)", key)}
    safe, good = counts["launch/safe, ran right"], sum(n for key, n in launches.items() if key.endswith("right"))
    wrong = sum(count for key, count in launches.items() if key.endswith("wrong"))
    return {
        "walks": counts["walks"],
        "walks of several updates": counts["walks of several updates"],
        "updates": counts["updates"],
        "answers exact": counts["answer/exact"],
        "answers wrong": counts["answer/wrong"],
        "answers not told": counts["answer/not told"],
        "refused updates after which the exec launched as before": counts["refused/exec unchanged"],
        "refused updates after which it did not": counts["refused/exec changed"],
        "called safe, ran right": safe,
        "called safe, ran wrong": counts["launch/safe, ran wrong"],
        "not called safe, ran right": good - safe,
        "not called safe, ran wrong": wrong - counts["launch/safe, ran wrong"],
        "of what ran right, not called safe (percent)": round(100 * (good - safe) / max(good, 1), 1),
        "of what ran right, called stale (percent)": round(100 * counts["launch/stale, ran right"] / max(good, 1), 1),
        **_along(counts),
    }


#: Rules whose verdict depends on the history of an executable.
_OF_HISTORY = {"kernel.cluster-carried", "kernel.cluster-dim", "kernel.cluster-one", "kernel.cooperative-function"}


def _along(counts: Counter[str]) -> dict[str, float]:
    """Return the same of predictions along the history, launches after unsafe updates included."""
    counted = {key.removeprefix("history/"): count for key, count in counts.items() if key.startswith("history/")}
    alarms = 0
    for key, count in counted.items():
        rules = re.fullmatch(r"not called safe by (.*), ran right", key)
        if rules and _OF_HISTORY.issuperset(rules[1].split("+")):
            alarms += count
    good = counted.get("called safe, ran right", 0) + counted.get("not called safe, ran right", 0)
    return {
        **{f"by history: {key}": value for key, value in summary(counted).items()},
        "by history: of what ran right, not called safe by what it stored and fixed (percent)": round(
            100 * alarms / max(good, 1), 2
        ),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the walks; exit 1 where a prediction was wrong or a verdict called safe was not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=6000, help="walks; each is one update or several")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=8, help="processes")
    parser.add_argument("--seconds", type=float, default=240, help="start no walk after that long")
    parser.add_argument(
        "--quiet", action="store_true", help="report to host memory: nothing else runs on the device before a launch"
    )
    parser.add_argument("--out", type=Path, help="the record, JSON")
    parser.add_argument("--misses", type=Path, help="what was not as predicted, JSON")
    parser.add_argument("--shard", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.shard is not None:
        run_shard(
            arguments.seed,
            arguments.shard,
            arguments.pairs,
            arguments.workers,
            arguments.seconds,
            quiet=arguments.quiet,
        )
        return 0
    tally, begin = Tally(), time.monotonic()
    with ThreadPoolExecutor(arguments.workers) as pool:
        for part in pool.map(lambda worker: _shard(arguments, worker), range(arguments.workers)):
            tally.counts.update(part.counts)
            tally.misses += part.misses
    here = environment()
    record = {
        "benchmark": "pairs, gpu",
        "date": datetime.now(UTC).date().isoformat(),
        "gpu": [device.name for device in here.devices],
        "display_driver": here.display_driver_version,
        "cuda_driver_version": here.cuda_driver_version,
        "summary": _summary(tally.counts),
        "seed": arguments.seed,
        "seconds": round(time.monotonic() - begin, 1),
        "processes": arguments.workers,
        "counts": dict(sorted(tally.counts.items())),
    }
    print(json.dumps(record, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    if arguments.misses:
        arguments.misses.write_text(json.dumps(_first_of_each_kind(tally.misses), indent=1) + "\n")
    return int(bool(tally.misses))


if __name__ == "__main__":
    sys.exit(main())
