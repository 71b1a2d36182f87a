"""``sigcontract doctor``, on the driver in memory."""

import json
from functools import partial
from pathlib import Path

import pytest

from sigcontract.cli import doctor
from sigcontract.cli.main import main
from sigcontract.driver.measuring.profile import measure_profile
from sigcontract.errors import DriverUnavailableError
from sigcontract.model.profile import DriverProfile
from sigcontract.wire.codec import load
from tests.driver.fake import FakeDriver


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "measure_profile", partial(measure_profile, FakeDriver().driver()))


def test_it_says_what_the_driver_reads_and_keeps_stale(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    cluster = next(line.split() for line in lines if line.startswith("cluster_dimension"))
    assert cluster[1:6] == ["yes", "yes", "no", "yes", "stale"]
    assert "function of a cooperative node, updated alone: stale" in lines
    assert "update rule: cuda-13.0" in lines


def test_it_says_what_only_observing_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "readable only at the launch (sigcontract record, sigcontract.driver.observe): "
        "programmatic_stream_serialization, programmatic_event, preferred_cluster_dimension, "
        "launch_completion_event, nvlink_util_centric_scheduling, portable_cluster_size_mode, shared_memory_mode"
    )


def test_the_profile_is_saved_and_never_written_over_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.profile.json"
    assert main(["doctor", "-o", str(path)]) == 0
    assert capsys.readouterr().out.endswith(f"saved as {path}\n")
    profile = load(path, expect=DriverProfile)
    assert profile.id.endswith("-measured")
    assert main(["doctor", "-o", str(path)]) == 2
    assert capsys.readouterr().err == f"sigcontract: error[exists]: {path} exists; add --force to overwrite it\n"
    assert main(["doctor", "-o", str(path), "--force"]) == 0


def test_the_json_form_is_the_profile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["document"], shown["version"]) == ("sigcontract.profile", 1)
    assert [entry["id"] for entry in shown["attributes"]] == sorted(entry["id"] for entry in shown["attributes"])
    assert shown["cluster_fixed_at"] == "first_launch"


def test_without_a_driver_it_names_cause_and_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unavailable(**_: object) -> DriverProfile:
        raise DriverUnavailableError("no CUDA device is visible; check CUDA_VISIBLE_DEVICES", reason="no_device")

    monkeypatch.setattr(doctor, "measure_profile", unavailable)
    assert main(["doctor"]) == 2
    assert capsys.readouterr().err == (
        "sigcontract: error[no_device]: no CUDA device is visible; check CUDA_VISIBLE_DEVICES\n"
    )
