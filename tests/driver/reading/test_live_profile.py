"""Which profile fits the running driver."""

import pytest

from sigcontract.driver.reading import live_profile as profile
from sigcontract.driver.reading.live_profile import profile_id, read_profile
from sigcontract.errors import DriverUnavailableError
from sigcontract.profiles import shipped_profile
from tests.driver.fake import FakeDriver

H200 = "nvidia-h200-cuda-13.0"


def on_an_h200(*, version: int = 13000, context: bool = True) -> FakeDriver:
    """Return a fake driver that calls its device by the name of the measured one."""
    return FakeDriver(version=version, context=context, device_name="NVIDIA H200")


@pytest.mark.parametrize("display", ["580.159.04", "580.65.06", None])
def test_the_shipped_profile_fits_its_own_driver_and_branch(
    monkeypatch: pytest.MonkeyPatch, display: str | None
) -> None:
    monkeypatch.setattr(profile, "display_driver_version", lambda: display)
    assert read_profile(on_an_h200().driver()) is shipped_profile(H200)


@pytest.mark.parametrize(
    ("fake", "display"),
    [
        (FakeDriver(), "580.159.04"),
        (on_an_h200(version=13020), "580.159.04"),
        (on_an_h200(), "595.10.01"),
    ],
    ids=["other device", "other CUDA", "other branch"],
)
def test_on_anything_else_everything_is_unknown(
    monkeypatch: pytest.MonkeyPatch, fake: FakeDriver, display: str
) -> None:
    monkeypatch.setattr(profile, "display_driver_version", lambda: display)
    found = read_profile(fake.driver())
    assert found.id.endswith("-unknown")
    assert found.cuda_driver_version == fake.version
    assert found.display_driver_version == display
    assert {entry.update for entry in found.attributes} == {"unknown"}
    assert {entry.readable for entry in found.attributes} == {"unknown"}
    assert (found.cluster_fixed_at, found.cooperative_function_update, found.update_rule) == ("unknown",) * 3
    assert found.measured_on == "never"


def test_without_a_context_the_first_device_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "display_driver_version", lambda: None)
    assert read_profile(on_an_h200(context=False).driver()) is shipped_profile(H200)


def test_without_a_driver_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise DriverUnavailableError("libcuda cannot be loaded", reason="no_libcuda")

    monkeypatch.setattr(profile, "default_driver", missing)
    with pytest.raises(DriverUnavailableError) as caught:
        read_profile()
    assert caught.value.reason == "no_libcuda"


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("NVIDIA H200", 13000, "nvidia-h200-cuda-13.0"),
        ("NVIDIA A100-SXM4-80GB", 12080, "nvidia-a100-sxm4-80gb-cuda-12.8"),
        ("  Tesla (V100) ", 12030, "tesla-v100-cuda-12.3"),
    ],
)
def test_an_id_names_device_and_cuda(name: str, version: int, expected: str) -> None:
    assert profile_id(name, version) == expected
