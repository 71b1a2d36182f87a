"""SGLang's registry as described, beside ours on the same graphs: where each shares, and where its updates go wrong."""

from types import SimpleNamespace
from typing import Any

import pytest

from examples.torch_registry import Step
from lab.sglang_dedup import DescribedRegistry
from tests.registry.rig import Refusing, Rig


def test_graphs_of_one_key_take_one_executable() -> None:
    rig = Rig()
    registry = DescribedRegistry(rig.driver)
    entries = [registry.register(rig.graph(value, grid=8 * value)) for value in (1, 2, 3)]
    registry.seal()
    assert (registry.stats(), rig.execs()) == ((3, 1), 1)
    for value in (1, 3, 2, 2):
        assert rig.replayed(lambda value=value: registry.replay(entries[value - 1], 0)) == {value}  # type: ignore[misc]
    registry.close()
    assert (rig.execs(), rig.fake.misuse) == (0, [])


def test_a_graph_with_a_cluster_is_unique_where_the_preferred_one_cannot_be_read() -> None:
    """Two captures of one graph too; ours prove on this device that a preferred cluster has no effect."""
    rig = Rig()
    registry = DescribedRegistry(rig.driver)
    for _ in range(2):
        registry.register(rig.graph(1, cluster=2))
    assert registry.stats() == (2, 2)
    registry.close()
    with rig.registry() as ours:
        for _ in range(2):
            ours.register(rig.graph(1, cluster=2))
        assert ours.stats().execs == 1


def test_other_functions_block_and_shared_memory_are_other_keys_and_the_grid_is_none() -> None:
    rig = Rig()
    registry = DescribedRegistry(rig.driver)
    for shape in ({}, {"grid": 16}, {"function": rig.namesake}, {"cooperative": True}, {"nodes": 3}):
        registry.register(rig.graph(1, **shape))
    assert registry.stats() == (5, 4)
    registry.close()


def test_a_refused_update_is_an_assertion() -> None:
    rig = Rig(Refusing())
    registry = DescribedRegistry(rig.driver)
    first, second = (registry.register(rig.graph(value)) for value in (1, 2))
    rig.fake.refusing = True  # type: ignore[attr-defined]  # a Refusing
    with pytest.raises(AssertionError, match="the update was refused: ERROR_TOPOLOGY_CHANGED"):
        registry.register(rig.graph(3))
    registry.replay(second, 0)  # which the executable holds
    with pytest.raises(AssertionError, match="the update was refused"):
        registry.replay(first, 0)
    registry.close()
    assert rig.execs() == 0


@pytest.mark.parametrize("contender", ["described", "share-functions", "share-updatable"])
def test_the_program_measures_any_of_them(contender: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the fake driver; that the outputs are bit-equal is a matter of a device."""
    side_by_side = pytest.importorskip("lab.side_by_side", exc_type=ImportError)
    rig = Rig()
    monkeypatch.setattr(side_by_side, "DescribedRegistry", lambda: DescribedRegistry(rig.driver))
    monkeypatch.setattr(side_by_side, "GraphExecRegistry", lambda policy: rig.registry(policy=policy))
    bench = SimpleNamespace(settled=lambda: None, free_bytes=lambda: 0, stream=lambda: 0)
    graphs = [
        rig.graph(1, cluster=2),
        rig.graph(2, cluster=2, grid=16),
        rig.graph(3, cluster=4, function=rig.other, grid=32),
    ]
    steps = [Step(f"bs={number}", graph, (), Output(rig)) for number, graph in enumerate(graphs, 1)]
    registry = side_by_side.made(contender)
    measured, outputs = side_by_side.measure(registry, steps, bench)
    assert outputs == {"bs=1": {1}, "bs=2": {2}, "bs=3": {3}}
    assert measured.executables == {"described": 3, "share-functions": 2, "share-updatable": 1}[contender]
    assert measured.replay_us > 0


class Output:
    """What a tensor is to the program: emptied before a replay, copied after it."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig

    def zero_(self) -> None:
        self._rig.ran()

    def clone(self) -> Any:
        return set(self._rig.ran())
