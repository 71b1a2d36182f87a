"""Where a dump comes from."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from sigcontract.driver.reading.process_environment import display_driver_version, environment
from sigcontract.errors import DriverUnavailableError
from sigcontract.wire.validation import validate
from tests.driver.fake import FakeDriver

#: The module, which the function of its name hides in the package.
module = import_module("sigcontract.driver.reading.process_environment")

RANK_VARIABLES = [name for names in module._RANKS for name in names]


@pytest.fixture(autouse=True)
def _no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_driver_devices_and_libraries_are_named(fake: FakeDriver) -> None:
    found = environment(fake.driver())
    assert found.sigcontract_version == version("sigcontract")
    assert found.cuda_driver_version == 13000
    (device,) = found.devices
    assert (device.ordinal, device.compute_capability_major, device.compute_capability_minor) == (0, 9, 0)
    assert [one.name for one in found.libraries] == sorted(one.name for one in found.libraries)
    assert (found.rank, found.world_size) == (None, None)
    assert len(found.created_at) == len("2026-12-01T00:00:00Z")
    validate(found)


def test_without_a_driver_there_are_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise DriverUnavailableError("no libcuda", reason="no_libcuda")

    monkeypatch.setattr(module, "default_driver", missing)
    found = environment()
    assert (found.cuda_driver_version, found.devices) == (None, ())


@pytest.mark.parametrize(("rank_name", "size_name"), module._RANKS)
def test_each_launcher_sets_rank_and_size(
    monkeypatch: pytest.MonkeyPatch, fake: FakeDriver, rank_name: str, size_name: str
) -> None:
    monkeypatch.setenv(rank_name, "3")
    monkeypatch.setenv(size_name, "8")
    found = environment(fake.driver())
    assert (found.rank, found.world_size) == (3, 8)


def test_torchrun_inside_a_slurm_job_counts_first(monkeypatch: pytest.MonkeyPatch, fake: FakeDriver) -> None:
    for name, value in {"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "RANK": "5", "WORLD_SIZE": "16"}.items():
        monkeypatch.setenv(name, value)
    found = environment(fake.driver())
    assert (found.rank, found.world_size) == (5, 16)


@pytest.mark.parametrize(
    ("rank", "size"), [("", "8"), ("x", "8"), ("8", "8"), ("-1", "8"), ("1", "9" * 30), ("²", "8")]
)
def test_a_rank_that_makes_no_sense_is_no_rank(
    monkeypatch: pytest.MonkeyPatch, fake: FakeDriver, rank: str, size: str
) -> None:
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", size)
    found = environment(fake.driver())
    assert (found.rank, found.world_size) == (None, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04\nGCC version: 12.2.0\n", "580.159.04"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.63  Thu\n", "470.63"),
        ("nothing of the kind", None),
    ],
)
def test_the_display_driver_is_read_from_proc(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, expected: str | None
) -> None:
    file = tmp_path / "version"
    file.write_text(text)
    monkeypatch.setattr(module, "_VERSION_FILE", file)
    assert display_driver_version() == expected


def test_without_a_kernel_module_there_is_no_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "_VERSION_FILE", tmp_path / "none")
    assert display_driver_version() is None


def test_a_source_tree_that_is_not_installed_says_so(monkeypatch: pytest.MonkeyPatch, fake: FakeDriver) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(module, "version", missing)
    found = environment(fake.driver())
    assert (found.sigcontract_version, found.libraries) == ("not installed", ())
