"""Shipped profiles, and which one fits."""

import pytest

from sigcontract.driver import profile
from sigcontract.driver.attribute_values import ATTRIBUTE_CUDA_VERSION
from sigcontract.driver.profile import PROFILES, profile_id, read_profile, shipped_profile
from sigcontract.errors import DriverUnavailableError, UsageError
from sigcontract.model.attributes import AttributeId
from sigcontract.wire.codec import encode
from tests.driver.fake import FakeDriver

H200 = "nvidia-h200-cuda-13.0"


def on_an_h200(*, version: int = 13000, context: bool = True) -> FakeDriver:
    """Return a fake driver that calls its device by the name of the measured one."""
    return FakeDriver(version=version, context=context, device_name="NVIDIA H200")


@pytest.mark.parametrize("name", PROFILES)
def test_a_shipped_profile_is_whole(name: str) -> None:
    shipped = shipped_profile(name)
    assert shipped.id == name
    assert [entry.id for entry in shipped.attributes] == list(ATTRIBUTE_CUDA_VERSION)
    assert all(entry.note for entry in shipped.attributes)
    assert name == profile_id(shipped.device_name, shipped.cuda_driver_version)
    assert encode(shipped)


def test_the_profile_of_the_h200_says_what_was_measured() -> None:
    shipped = shipped_profile(H200)
    readable = {entry.id for entry in shipped.attributes if entry.readable == "yes"}
    assert readable == {1, 2, 4, 5, 8, 9, 10, 13, 14}
    assert {entry.id for entry in shipped.attributes if entry.update == "stale"} == {
        AttributeId.CLUSTER_DIMENSION,
        AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT,
    }
    assert {entry.id for entry in shipped.attributes if entry.becomes_edge == "yes"} == {6, 7, 12}
    assert shipped.cluster_fixed_at == "first_launch"
    assert shipped.cooperative_function_update == "stale"
    assert shipped.update_rule == "cuda-13.0"


def test_a_profile_that_is_not_shipped_is_a_usage_error() -> None:
    with pytest.raises(UsageError) as caught:
        shipped_profile("nvidia-b300-cuda-13.0")
    assert str(caught.value) == (
        "no profile 'nvidia-b300-cuda-13.0' is shipped, only nvidia-h200-cuda-13.0; measure yours: sigcontract doctor"
    )


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
