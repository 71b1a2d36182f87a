"""The registry under SGLang's names, used as its backends use theirs."""

import pytest

from sigcontract.errors import CloseError, RegistryError
from sigcontract.registry.sglang import DedupedCudaGraphRegistry
from tests.registry.rig import PROFILE, Capture, Rig


def _registry(rig: Rig) -> DedupedCudaGraphRegistry:
    return DedupedCudaGraphRegistry(rig.driver, profile=PROFILE)


def test_a_server_captures_seals_replays_and_closes() -> None:
    rig = Rig()
    registry = _registry(rig)
    captures = [Capture(rig.builder(value, cluster=cluster)) for value, cluster in ((1, 0), (2, 0), (3, 2))]
    graphs = [registry.register(capture) for capture in captures]
    assert registry.stats() == (3, 2)
    registry.seal()
    assert registry.sealed
    with pytest.raises(RegistryError, match="sealed"):
        registry.register(Capture(rig.builder(4)))
    for value, graph in enumerate(graphs, 1):
        assert rig.replayed(lambda graph=graph: graph.replay(stream=0)) == {value}  # type: ignore[misc]  # bound now
        assert rig.replayed(lambda graph=graph: registry.replay(graph, 0)) == {value}  # type: ignore[misc]  # bound now
    registry.close()
    registry.close()
    assert [capture.resets for capture in captures] == [1, 1, 1]
    assert (rig.execs(), rig.fake.misuse) == (0, [])
    assert registry.stats() == (0, 0)


def test_captures_are_reset_also_where_an_executable_could_not_be_destroyed() -> None:
    rig = Rig()
    registry = _registry(rig)
    captures = [Capture(rig.builder(value)) for value in (1, 2)]
    for capture in captures:
        registry.register(capture)
    rig.fake.fail("cuGraphExecDestroy", 700)
    with pytest.raises(CloseError):
        registry.close()
    assert [capture.resets for capture in captures] == [1, 1]
