"""The profiles that come with this release."""

import pytest

from sigcontract.driver.reading.attribute_values import ATTRIBUTE_CUDA_VERSION
from sigcontract.driver.reading.live_profile import profile_id
from sigcontract.errors import UsageError
from sigcontract.model.cuda import AttributeId
from sigcontract.profiles.shipped import PROFILES, shipped_profile
from sigcontract.wire.codec import encode

H200 = "nvidia-h200-cuda-13.0"


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
        "no shipped profile 'nvidia-b300-cuda-13.0'; shipped: nvidia-h200-cuda-13.0. "
        "To measure one, run: sigcontract doctor"
    )
