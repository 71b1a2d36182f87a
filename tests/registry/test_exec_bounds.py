"""A bound on executables: kept at every moment, with every launch the right one."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sigcontract.errors import DriverCallError, UsageError
from sigcontract.registry import GraphEntry, GraphExecRegistry
from sigcontract.registry.events import Event, ExecEvicted
from sigcontract.registry.exec_bounds import ExecBounds
from tests.driver.fake import FakeDriver
from tests.registry.rig import PROFILE, Rig, closed

NODE_BYTES = 10_240


class Peak(FakeDriver):
    """A driver that remembers the most executables that it ever had."""

    peak = 0

    def _instantiate(self, out: int, graph: int, flags: int) -> int:
        result = super()._instantiate(out, graph, flags) or 0
        self.peak = max(self.peak, len(self.execs))
        return result


def lone(rig: Rig, registry: GraphExecRegistry, *values: int, nodes: int = 1) -> list[GraphEntry]:
    """Register graphs that share with none: each is compiled again."""
    return [
        registry.register(rig.graph(value, nodes=nodes, function=rig.load("step", str(value))), f"graph {value}")
        for value in values
    ]


def replayed(rig: Rig, *entries: GraphEntry) -> list[set[int]]:
    return [rig.replayed(entry.replay) for entry in entries]


def test_a_churn_of_338_shapes_stays_within_the_bound_and_launches_what_was_asked_for() -> None:
    fake = Peak()
    rig = Rig(fake)
    with closed(rig.registry(max_execs=8), rig) as registry:
        entries = lone(rig, registry, *range(338))
        for step in (1, 7, 131):  # in turn, and in two orders that visit all of them
            order = [step * index % 338 for index in range(338)]
            assert replayed(rig, *(entries[index] for index in order)) == [{index} for index in order]
        stats = registry.stats()
        assert (fake.peak, stats.execs, stats.graphs) == (8, 8, 338)
        assert stats.instantiations - stats.evictions == 8
        assert all(entry.reason.code == "first" for entry in entries)


def test_the_least_recently_used_executable_goes_and_an_event_says_so() -> None:
    rig = Rig()
    events: list[Event] = []
    with closed(rig.registry(max_execs=2, on_event=events.append), rig) as registry:
        first, second = lone(rig, registry, 1, 2)
        first.replay()
        (third,) = lone(rig, registry, 3)
        assert [str(event) for event in events if isinstance(event, ExecEvicted)] == [
            "graph 2: executable of 1 nodes evicted, the next replay instantiates it again"
        ]
        before = registry.stats().instantiations
        assert replayed(rig, first, third) == [{1}, {3}], "these two were kept"
        assert registry.stats().instantiations == before
        assert replayed(rig, second) == [{2}]
        assert (registry.stats().instantiations, registry.stats().evictions) == (before + 1, 2)


def test_a_group_whose_executable_is_evicted_takes_members_and_tries_the_update_at_replay() -> None:
    rig = Rig()
    with closed(rig.registry(max_execs=1), rig) as registry:
        first = registry.register(rig.graph(1), "one")
        lone(rig, registry, 5)
        second = registry.register(rig.graph(2), "two")
        assert second.shares_with == (first,)
        assert str(second.reason) == (
            "shares the executable of one: predicted identical, to be tried at replay, as it is evicted"
        )
        assert rig.fake.calls["cuGraphExecUpdate"] == 0
        assert replayed(rig, second, first, second) == [{2}, {1}, {2}]
        assert (rig.execs(), rig.fake.calls["cuGraphExecUpdate"]) == (1, 2)


def test_an_instantiation_after_an_eviction_holds_nothing_stale() -> None:
    """A fresh executable launches the graph's own cluster, whatever the evicted one had fixed."""
    rig = Rig()
    with closed(rig.registry(max_execs=1), rig) as registry:
        entries = [registry.register(rig.graph(cluster, cluster=cluster)) for cluster in (0, 2, 4)]
        for _ in range(2):
            for entry in entries:
                entry.replay()
        assert [launch.cluster_dim[0] for launch in rig.fake.launches[-6::2]] == [0, 2, 4]


def test_bytes_are_bounded_by_the_nodes_and_one_executable_is_always_kept() -> None:
    fake = Peak()
    rig = Rig(fake)
    with closed(rig.registry(max_bytes=5 * NODE_BYTES), rig) as registry:
        small = lone(rig, registry, 1, 2, 3, 4, 5)
        assert rig.execs() == 5
        (medium,) = lone(rig, registry, 6, nodes=3)
        assert rig.execs() == 3
        (large,) = lone(rig, registry, 7, nodes=9)
        assert rig.execs() == 1, "it alone is more than allowed"
        assert replayed(rig, *small, medium, large) == [{value} for value in range(1, 8)]
        assert (rig.execs(), fake.peak) == (1, 5)


def test_an_executable_that_may_not_be_made_again_is_kept() -> None:
    rig = Rig()
    with closed(rig.registry(max_execs=1), rig) as registry:
        builder = rig.builder(1)
        builder.alloc(4096)
        single = registry.register(builder.graph)
        others = lone(rig, registry, 2, 3)
        assert single.reason.code == "single-exec"
        assert replayed(rig, *others, single) == [{2}, {3}, {1}]
        assert (rig.execs(), registry.stats().evictions) == (2, 3)


def test_a_released_executable_makes_room() -> None:
    rig = Rig()
    with closed(rig.registry(max_execs=2), rig) as registry:
        first, second = lone(rig, registry, 1, 2)
        first.release()
        lone(rig, registry, 3)
        assert (registry.stats().evictions, replayed(rig, second)) == (0, [{2}])


@pytest.mark.parametrize("bound", [0, -1, True, 1.5, "8"])
@pytest.mark.parametrize("name", ["max_execs", "max_bytes"])
def test_what_is_no_bound_is_refused(name: str, bound: Any) -> None:
    with pytest.raises(UsageError, match=f"{name} must be a positive int or None, not {bound!r}"):
        GraphExecRegistry(Rig().driver, profile=PROFILE, **{name: bound})


def test_out_of_memory_while_an_executable_is_made_again_is_typed_and_the_room_is_given_back() -> None:
    rig = Rig()
    with closed(rig.registry(max_execs=1), rig) as registry:
        first, second = lone(rig, registry, 1, 2)
        for _ in range(3):
            rig.fake.fail("cuGraphInstantiateWithFlags", 2)
            with pytest.raises(DriverCallError, match="CUDA_ERROR_OUT_OF_MEMORY"):
                first.replay()
        assert replayed(rig, first, second) == [{1}, {2}]


def test_an_eviction_whose_destruction_fails_is_an_event_and_the_launch_goes_on() -> None:
    rig = Rig()
    events: list[Event] = []
    registry = rig.registry(max_execs=1, on_event=events.append)
    first, _second = lone(rig, registry, 1, 2)
    rig.fake.fail("cuGraphExecDestroy", 700)
    assert replayed(rig, first) == [{1}]
    assert [type(event).__name__ for event in events].count("DestroyFailed") == 1
    registry.close()
    assert (rig.execs(), rig.fake.misuse) == (1, [])


@pytest.mark.parametrize("bound", [1, 2, 5])
def test_threads_that_take_each_others_executables_all_get_on(bound: int) -> None:
    fake = Peak()
    rig = Rig(fake)
    with closed(rig.registry(max_execs=bound), rig) as registry:
        entries = lone(rig, registry, *range(8))
        start = threading.Barrier(8)

        def replay(index: int) -> None:
            start.wait(10)
            for turn in range(60):
                entries[(index + turn) % 8].replay()

        rig.ran()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(replay, range(8)))
        ran = rig.ran()
        assert {value: ran.count(value) for value in range(8)} == dict.fromkeys(range(8), 60)
        assert fake.peak <= bound


def test_threads_that_register_while_others_replay_stay_within_the_bound() -> None:
    fake = Peak()
    rig = Rig(fake)
    with closed(rig.registry(max_execs=2), rig) as registry:
        graphs = [rig.graph(value, nodes=1, function=rig.load("step", str(value))) for value in range(40)]

        def register_and_replay(value: int) -> None:
            entry = registry.register(graphs[value])
            for _ in range(3):
                entry.replay()

        rig.ran()
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(register_and_replay, range(40)))
        ran = rig.ran()
        assert {value: ran.count(value) for value in range(40)} == dict.fromkeys(range(40), 3)
        assert fake.peak <= 2


def test_a_reservation_that_an_interrupt_left_behind_is_replaced() -> None:
    """Else the one executable that is allowed would be waited for by everybody, for ever."""
    bounds = ExecBounds(1, None)
    bounds.reserve(NODE_BYTES, [])
    done = threading.Event()

    def of_another_thread() -> None:
        bounds.reserve(NODE_BYTES, [])
        bounds.give_back()
        done.set()

    waiting = threading.Thread(target=of_another_thread, daemon=True)
    waiting.start()
    assert not done.wait(0.05)
    bounds.reserve(NODE_BYTES, [])
    bounds.give_back()
    bounds.give_back()
    waiting.join(10)
    assert done.is_set()
