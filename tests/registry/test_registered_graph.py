"""What may be registered, and when it is no longer the graph that was registered."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from sigcontract.errors import GraphReadError, RegistryError
from tests.registry.rig import Capture, Rig, closed


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
        with pytest.raises(RegistryError, match="was reset; release"):
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
    with (
        closed(rig.registry(), rig) as registry,
        pytest.raises(GraphReadError, match=r"is not a graph|graph handle is 0"),
    ):
        registry.register(SimpleNamespace(raw_cuda_graph=lambda: answer))


def test_a_capture_that_was_captured_again_is_not_the_graph_that_was_registered() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        capture = Capture(rig.builder(1))
        entry = registry.register(capture)
        capture._builder = rig.builder(2)
        with pytest.raises(RegistryError, match="was reset; release") as caught:
            entry.replay(0)
        assert caught.value.code == "reset_graph"
        entry.release()
        assert rig.replayed(lambda: registry.register(capture).replay(0)) == {2}


def test_the_registry_imports_no_torch_and_no_cuda() -> None:
    code = "import sys, sigcontract.registry, sigcontract.registry.sglang; print({'torch', 'cuda'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "set()"
