"""A stack of PyTorch transformer blocks through the registry: outputs bit-equal to plain replay."""

import pytest

from examples import torch_registry

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("policy", ["exact", "share", "share-functions"])
def test_outputs_are_bit_equal_to_plain_replay(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """After a thousand alternating replays; execs and device memory of both ways are printed, for the record."""
    assert torch_registry.main(["--policy", policy]) == 0
    assert "outputs that differ from plain replay: none" in capsys.readouterr().out
