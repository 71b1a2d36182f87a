"""A slice of the campaign on each run of the tests, and proof that it finds what is wrong."""

import json
import os
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sigcontract.wire import codec
from tests.fuzz import worker
from tests.fuzz.campaign import Failure, campaign
from tests.fuzz.entry_points import Bench
from tests.fuzz.worker import Share, Worker

ROOT = Path(__file__).parents[2]


def failures(seed: int, documents: int) -> list[Failure]:
    numbers = count()
    return list(campaign(seed, lambda *_: next(numbers) < documents))


def broken(*_: Any, **__: Any) -> None:
    raise KeyError("x")


@pytest.mark.parametrize("seed", range(4))
def test_a_slice_of_the_campaign_finds_nothing(seed: int) -> None:
    assert failures(seed, 500) == []


def test_the_campaign_finds_what_leaves_the_package_and_what_disagrees(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(codec, "validate", broken)
        found = failures(0, 60)
        assert {failure.entry_point for failure in found} == {"validate"}
        assert all("KeyError" in failure.what for failure in found)
    monkeypatch.setattr(codec, "faults", lambda _: [])
    found = failures(0, 60)
    assert {failure.entry_point for failure in found} == {"decode"}
    assert all("decode refuses what has no faults" in failure.what for failure in found)


def test_the_same_seed_makes_the_same_documents_and_none_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "faults", broken)
    runs = [[failure.data for failure in failures(7, 50)] for _ in range(2)]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 50


def test_every_entry_point_is_called() -> None:
    numbers = count()
    benches: list[Bench] = []

    def before(_: bytes, bench: Bench) -> bool:
        benches[:] = [bench]
        return next(numbers) < 1500

    assert list(campaign(11, before)) == []
    called = {name.partition(" as ")[0] for name in benches[0].calls}
    assert {"decode", "faults", "validate", "encode", "canonical_bytes", "digest", "diff", "groups"} <= called
    assert {"predict_update", "predict_update with a profile", "pydantic", "read_header", "load", "show"} <= called


def test_the_command_ends_with_a_line_of_json_and_stops_in_time(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--jobs", "2", "--seed", "5", "--findings", str(tmp_path / "found")]
    for more, least in (["--count", "301"], 301), (["--seconds", "0.01"], 0):
        run = subprocess.run([*command, *more], cwd=ROOT, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        result = json.loads(run.stdout)
        assert (result["seed"], result["jobs"], result["findings"]) == (5, 2, 0)
        assert result["documents"] == least if more[0] == "--count" else result["documents"] >= least
    assert not (tmp_path / "found").exists()


def test_a_document_that_kills_the_process_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(worker, "_work", _die)
    killed = Worker(Share(3, None, None), tmp_path)
    found = killed.ended()
    assert found == Failure(b"the document", "process", "the process ended with status -9 (negative: of that signal)")
    assert list(tmp_path.iterdir()) == []


def _die(_: Share, slot: Path, __: Any) -> None:
    with slot.open("r+b") as file:
        file.write(len(b"the document").to_bytes(8, "little") + b"the document")
    os.kill(os.getpid(), 9)
