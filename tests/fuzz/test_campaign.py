"""A slice of the campaign on each run of the tests, and proof that it finds what is wrong."""

from typing import Any

import pytest

from sigcontract.wire import codec
from tests.fuzz.campaign import campaign


@pytest.mark.parametrize("seed", range(4))
def test_a_slice_of_the_campaign_finds_nothing(seed: int) -> None:
    assert [failure.what for failure in campaign(seed, 500)] == []


def test_the_campaign_finds_what_leaves_the_package_and_what_disagrees(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise KeyError("x")

    with monkeypatch.context() as patch:
        patch.setattr(codec, "validate", broken)
        assert any("KeyError" in failure.what for failure in campaign(0, 60))
    monkeypatch.setattr(codec, "faults", lambda _: [])
    assert any("decode refuses what has no faults" in failure.what for failure in campaign(0, 60))


def test_the_same_seed_makes_the_same_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise KeyError("x")

    monkeypatch.setattr(codec, "faults", broken)
    runs = [[failure.data for failure in campaign(7, 50)] for _ in range(2)]
    assert runs[0] == runs[1]
