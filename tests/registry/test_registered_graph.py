"""What may be registered, and what may be named as a stream."""

import subprocess
import sys
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from sigcontract.errors import GraphReadError, RegistryError, UsageError
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
        with pytest.raises(UsageError, match=rf"a {type(stream).__name__} is no stream; give an int of 64 bits"):
            entry.replay(stream)
        assert rig.replayed(entry.replay) == {1}


@pytest.mark.parametrize("stream", [-1, 2**64, 2**64 + 7])
def test_a_number_of_more_than_64_bits_is_no_stream(stream: int) -> None:
    """C would take the lowest 64 of them, which may be the default stream."""
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(rig.graph(1))
        with pytest.raises(UsageError, match=f"{stream} is no stream; give an int of 64 bits"):
            entry.replay(stream)


def test_a_graph_is_asked_for_its_handle_once() -> None:
    """Captured again in between, it would be read as one graph and launched as another."""
    rig = Rig()

    class Changing(Capture):
        def raw_cuda_graph(self) -> int:
            handle = super().raw_cuda_graph()
            self._builder = later
            return handle

    later = rig.builder(2, nodes=3)
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(Changing(rig.builder(1)))
        assert len(entry.signature.nodes) == 2
        with pytest.raises(RegistryError, match="was reset since it was registered"):
            entry.replay(0)
        entry.release()


def test_a_capture_may_give_a_handle_of_cuda_bindings() -> None:
    rig = Rig()

    class CUgraph:
        def __init__(self, handle: int) -> None:
            self._handle = handle

        def __int__(self) -> int:
            return self._handle

    graph = rig.graph(1)
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(SimpleNamespace(raw_cuda_graph=lambda: CUgraph(graph)))
        assert rig.replayed(lambda: entry.replay(0)) == {1}


@pytest.mark.parametrize("answer", [None, "graph", 0])
def test_a_capture_that_gives_no_graph_is_refused(answer: object) -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry, pytest.raises(GraphReadError, match=r"no graph|which is no graph"):
        registry.register(SimpleNamespace(raw_cuda_graph=lambda: answer))


def test_a_capture_that_was_captured_again_is_not_the_graph_that_was_registered() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        capture = Capture(rig.builder(1))
        entry = registry.register(capture)
        capture._builder = rig.builder(2)
        with pytest.raises(Exception, match="was reset since it was registered") as caught:
            entry.replay(0)
        assert caught.value.code == "reset_graph"  # type: ignore[attr-defined]  # of RegistryError
        entry.release()
        assert rig.replayed(lambda: registry.register(capture).replay(0)) == {2}


def test_the_registry_imports_no_torch_and_no_cuda() -> None:
    code = "import sys, sigcontract.registry, sigcontract.registry.sglang; print({'torch', 'cuda'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "set()"
