"""What may be named as a stream."""

import sys
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from sigcontract.errors import UsageError
from tests.registry.rig import Capture, Rig, closed


class ProtocolStream:
    """A stream of cuda.core."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


class CUstream:
    """A handle of cuda-bindings."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __int__(self) -> int:
        return self._handle


class CUevent:
    """Another handle of cuda-bindings: a number as well, and no stream's."""

    __module__ = "cuda.bindings.driver"

    def __int__(self) -> int:
        return 0x56

    __index__ = __int__


def _launched_on(monkeypatch: pytest.MonkeyPatch, stream: Any, *, captured: bool = False) -> int:
    rig = Rig()
    streams: list[int] = []
    launch = rig.driver.graph_launch

    def watched(graph_exec: int, to: int) -> None:
        streams.append(to)
        launch(graph_exec, to)

    monkeypatch.setattr(rig.driver, "graph_launch", watched)
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(Capture(rig.builder(1)) if captured else rig.graph(1))
        entry.replay(stream)
        registry.replay(entry, stream)
    assert streams[0] == streams[1]
    return streams[0]


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (None, 0),
        (0x51, 0x51),
        (SimpleNamespace(cuda_stream=0x52), 0x52),
        (ProtocolStream(0x53), 0x53),
        (SimpleNamespace(__cuda_stream__=(0, 0x54)), 0x54),
        (CUstream(0x55), 0x55),
    ],
    ids=["none", "int", "torch", "cuda.core", "cuda.core before 0.3", "cuda-bindings"],
)
def test_every_kind_of_stream_is_taken(monkeypatch: pytest.MonkeyPatch, stream: Any, handle: int) -> None:
    assert _launched_on(monkeypatch, stream) == handle


def test_no_stream_means_the_current_one_of_pytorch_for_a_capture_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the legacy default stream the launch would not wait for what PyTorch put on its own stream."""
    cuda = SimpleNamespace(current_stream=lambda: SimpleNamespace(cuda_stream=0x61), current_device=lambda: 3)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert _launched_on(monkeypatch, None, captured=True) == 0x61
    fast = SimpleNamespace(cuda=cuda, _C=SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 0x70 + device))
    monkeypatch.setitem(sys.modules, "torch", fast)
    assert _launched_on(monkeypatch, None, captured=True) == 0x73


def test_no_stream_means_the_default_one_for_a_capture_of_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert _launched_on(monkeypatch, None, captured=True) == 0


@pytest.mark.parametrize(
    "stream",
    [
        "0",
        1.5,
        True,
        object(),
        Decimal(3),
        SimpleNamespace(__cuda_stream__=(0, 1, 2)),
        SimpleNamespace(__cuda_stream__=7),
        SimpleNamespace(__cuda_stream__=(0, "7")),
        SimpleNamespace(cuda_stream=None),
        CUevent(),
    ],
)
def test_what_is_no_stream_is_refused(stream: Any) -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(rig.graph(1))
        with pytest.raises(UsageError, match=rf"a {type(stream).__name__} is not a stream; pass a 64-bit int"):
            entry.replay(stream)
        assert rig.replayed(entry.replay) == {1}


@pytest.mark.parametrize("stream", [-1, 2**64, 2**64 + 7])
def test_a_number_of_more_than_64_bits_is_no_stream(stream: int) -> None:
    """C would take the lowest 64 of them, which may be the default stream."""
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(rig.graph(1))
        with pytest.raises(UsageError, match=f"{stream} is not a stream; pass a 64-bit int"):
            entry.replay(stream)
