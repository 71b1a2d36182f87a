"""seal() under share-updatable: the fewest executables, and every launch is the one of an executable of one's own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cache
from random import Random
from threading import Barrier, Event as Flag
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sigcontract.errors import DriverCallError, RegistryError
from sigcontract.model import GraphSignature
from sigcontract.registry import GraphEntry, GraphExecRegistry, SignatureRegistry, lifecycle
from sigcontract.registry.events import DestroyFailed, Event, GraphsRegrouped
from sigcontract.update import fewest_executables
from tests.driver.build import GraphBuilder
from tests.driver.fake import FakeDriver
from tests.driver.fake_base import report
from tests.registry.rig import PROFILE, Capture, Refusing, Rig, closed
from tests.registry.test_walks import SHAPES, Shape, _check, _graph

POLICY = "share-updatable"
FAMILIES = st.lists(SHAPES, min_size=2, max_size=8).map(
    lambda shapes: [replace(each, value=value) for value, each in enumerate(shapes)]
)


def shape(value: int, cluster: int, function: str = "step", grid: int = 8) -> Shape:
    return Shape(value=value, grid=grid, cluster=cluster, cooperative=False, function=function)


#: Three sizes of one kernel with cluster 2, two of another with cluster 4, of which no grid is one of the three.
SIZES = [
    *(shape(1, 2, grid=8), shape(2, 2, grid=16), shape(3, 2, grid=24)),
    *(shape(4, 4, "other", grid=32), shape(5, 4, "other", grid=40)),
]
#: The first two came first, and each goes with one of the others only.
SPLIT = [
    shape(1, 2, grid=8),
    shape(2, 2, "namesake", grid=16),
    shape(3, 4, "other", grid=16),
    shape(4, 8, "other", grid=8),
]


def registered(rig: Rig, registry: GraphExecRegistry, shapes: Sequence[Shape]) -> list[tuple[GraphEntry, Shape]]:
    return [(registry.register(_graph(rig, each), f"graph {each.value}"), each) for each in shapes]


def partition(entries: Sequence[tuple[GraphEntry, Shape]]) -> set[frozenset[int]]:
    """Return the values of the graphs of each executable."""
    values = {entry: each.value for entry, each in entries}
    return {frozenset((value, *(values[other] for other in entry.shares_with))) for entry, value in values.items()}


@pytest.mark.parametrize("max_execs", [None, 1, 2])
@given(shapes=FAMILIES, choose=st.randoms(use_true_random=False))
@settings(derandomize=True, max_examples=80, deadline=None)
def test_after_sealing_every_launch_is_that_of_an_executable_of_its_own(
    max_execs: int | None, shapes: list[Shape], choose: Random
) -> None:
    """Launched before or not, with other work on the device in between or none, updated in between or not."""
    rig = Rig(Refusing())
    with closed(rig.registry(policy=POLICY, max_execs=max_execs), rig) as registry:
        entries = registered(rig, registry, shapes)
        for _ in range(choose.randrange(6)):
            rig.fake.other_work = choose.random() < 0.5
            _check(rig, *choose.choice(entries))
        before = len(partition(entries)), rig.execs()
        registry.seal()
        found = len(partition(entries))
        assert found <= before[0]
        assert rig.execs() <= max(before[1], 1)
        for _ in range(24):
            rig.fake.other_work = choose.random() < 0.5
            entry, each = choose.choice(entries)
            if choose.random() < 0.2:
                rig.fake.fail("cuGraphLaunch", 400)  # updated, and not launched
                with pytest.raises(DriverCallError):
                    entry.replay()
            _check(rig, entry, each)
        assert registry.stats().fallbacks == 0
        assert found == _least([entry.signature for entry, _ in entries])


def _least(signatures: Sequence[GraphSignature]) -> int:
    """Return how many executables the records alone ask for."""
    registry = SignatureRegistry(POLICY, PROFILE)
    for signature in signatures:
        registry.register(signature)
    registry.seal()
    return len(registry.groups)


def test_groups_whose_updates_are_proven_are_put_together_at_seal() -> None:
    rig = Rig()
    events: list[Event] = []
    with closed(rig.registry(policy=POLICY, on_event=events.append), rig) as registry:
        entries = registered(rig, registry, SIZES)
        assert (rig.execs(), len(registry.groups)) == (2, 2)
        handles = set(rig.fake.execs)
        registry.seal()
        registry.seal()
        assert (rig.execs(), len(registry.groups), registry.stats().merged) == (1, 1, 1)
        assert set(rig.fake.execs) < handles  # none was instantiated for it
        (group,) = registry.groups
        assert [entry.label for entry in group] == [f"graph {value}" for value in range(1, 6)]
        assert {entry.group for entry, _ in entries} == {group}
        assert entries[3][0].reason.code == "shares"
        assert str(entries[3][0].reason) == (
            "shares the executable of graph 1: predicted updatable, accepted by the driver"
        )
        (event,) = (event for event in events if isinstance(event, GraphsRegrouped))
        assert event.execs == (tuple(f"graph {value}" for value in range(1, 6)),)
        assert str(event) == "sealed: 5 graphs, 2 executables became 1 (the fewest)"
        assert registry.report().stats.groups == 1
        for entry, each in entries * 2:
            _check(rig, entry, each)


def test_a_group_is_split_where_that_saves_an_executable() -> None:
    rig = Rig()
    with closed(rig.registry(policy=POLICY), rig) as registry:
        entries = registered(rig, registry, SPLIT)
        assert partition(entries) == {frozenset({1, 2}), frozenset({3}), frozenset({4})}
        registry.seal()
        assert partition(entries) == {frozenset({1, 3}), frozenset({2, 4})}
        assert (rig.execs(), registry.stats().groups) == (2, 2)
        for entry, each in [*entries, *entries[::-1]] * 2:
            _check(rig, entry, each)


def test_an_executable_that_another_graph_has_left_is_not_joined() -> None:
    """Both were released graphs' before: their executables are destroyed, and a new one serves the rest."""
    rig = Rig()
    with closed(rig.registry(policy=POLICY), rig) as registry:
        entries = registered(rig, registry, SIZES)
        entries[0][0].release()
        entries[4][0].release()
        handles = set(rig.fake.execs)
        registry.seal()
        assert (rig.execs(), set(rig.fake.execs) & handles, registry.stats().merged) == (1, set(), 2)
        for entry, each in entries[1:4]:
            _check(rig, entry, each)


@pytest.mark.parametrize("policy", ["exact", "share", "share-functions"])
def test_other_policies_keep_their_executables(policy: str) -> None:
    rig = Rig()
    events: list[Event] = []
    with closed(rig.registry(policy=policy, on_event=events.append), rig) as registry:
        entries = registered(rig, registry, SIZES)
        before = partition(entries)
        registry.seal()
        assert partition(entries) == before
        assert not any(isinstance(event, GraphsRegrouped) for event in events)


def test_under_a_profile_that_the_states_were_not_measured_for_nothing_is_put_together() -> None:
    rig = Rig()
    with closed(rig.registry(policy=POLICY, profile=rig.unknown_profile()), rig) as registry:
        entries = registered(rig, registry, SIZES)
        before = partition(entries)
        registry.seal()
        assert partition(entries) == before


def test_a_graph_that_the_driver_refused_keeps_its_executable() -> None:
    rig = Rig(Refusing())
    with closed(rig.registry(policy=POLICY), rig) as registry:
        entries = registered(rig, registry, SIZES[:1])
        rig.fake.refusing = True  # type: ignore[attr-defined]  # a Refusing
        entries += registered(rig, registry, SIZES[1:2])
        rig.fake.refusing = False  # type: ignore[attr-defined]
        entries += registered(rig, registry, SIZES[3:])
        assert [entry.reason.code for entry, _ in entries] == ["first", "refused", "first", "shares"]
        registry.seal()
        assert partition(entries) == {frozenset({1, 4, 5}), frozenset({2})}
        for entry, each in entries * 2:
            _check(rig, entry, each)


def test_a_driver_that_refuses_at_seal_changes_nothing() -> None:
    rig = Rig(Refusing())
    events: list[Event] = []
    with closed(rig.registry(policy=POLICY, on_event=events.append), rig) as registry:
        entries = registered(rig, registry, SIZES)
        before = partition(entries)
        rig.fake.refusing = True  # type: ignore[attr-defined]  # a Refusing
        registry.seal()
        rig.fake.refusing = False  # type: ignore[attr-defined]
        assert partition(entries) == before
        assert str(events[-1]) == "sealed: 5 graphs, 2 executables became 2 (at least 1 are needed)"
        for entry, each in entries:
            _check(rig, entry, each)


def test_a_graph_of_one_executable_stays_alone() -> None:
    rig = Rig()
    builders = [GraphBuilder(rig.driver) for _ in range(2)]
    with closed(rig.registry(policy=POLICY), rig) as registry:
        for builder in builders:
            builder.alloc(64)
        alone = [registry.register(builder.graph) for builder in builders]
        registered(rig, registry, SIZES)
        registry.seal()
        assert [(entry.reason.code, entry.shares_with) for entry in alone] == [("single-exec", ())] * 2
        assert rig.execs() == 3


# Faults.


SCENARIOS: dict[str, tuple[list[Shape], list[int], dict[str, Any]]] = {
    "a group is split": (SPLIT, [], {}),
    "an executable is made again": (SIZES, [4, 0], {}),
    "bounded": (SIZES, [], {"max_execs": 1}),
    "verified": (SIZES[1:4], [], {"verify": "first-use"}),
}


class Sealing:
    """A registry whose groups are put together, each driver call of which may fail."""

    def __init__(self, scenario: str) -> None:
        shapes, released, options = SCENARIOS[scenario]
        fake = FakeDriver()
        fake.behaviours |= {f"sigcontract_probe_{code}": report for code in range(1, 4)}
        self.rig = Rig(fake)
        self.events: list[Event] = []
        self.registry = self.rig.registry(policy=POLICY, on_event=self.events.append, **options)
        self.entries = registered(self.rig, self.registry, shapes)
        for index in released:
            self.entries.pop(index)[0].release()
        for entry, each in self.entries:
            _check(self.rig, entry, each)
        self.calls_before = sum(fake.calls.values())

    def check(self) -> None:
        for entry, each in self.entries * 2:
            _check(self.rig, entry, each)


@cache
def _calls_of_seal(scenario: str) -> tuple[int, int]:
    """Return how many driver calls a seal makes, and the executables that it leaves."""
    sealing = Sealing(scenario)
    sealing.registry.seal()
    calls = sum(sealing.rig.fake.calls.values()) - sealing.calls_before
    execs = sealing.rig.execs()
    sealing.registry.close()
    return calls, execs


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("result", [2, 400, 700])
def test_a_driver_call_that_fails_anywhere_in_seal_leaves_right_launches_and_nothing_behind(
    result: int, scenario: str
) -> None:
    calls, execs = _calls_of_seal(scenario)
    assert calls
    for index in range(calls):
        sealing = Sealing(scenario)
        rig, registry = sealing.rig, sealing.registry
        rig.fake.fail(None, result, after=index)
        with suppress(DriverCallError):
            registry.seal()
        rig.fake._faults.clear()
        assert registry.sealed
        sealing.check()
        registry.seal()
        sealing.check()
        undestroyed = {event.graph_exec for event in sealing.events if isinstance(event, DestroyFailed)}
        assert registry.stats().execs <= execs + 1, index
        registry.close()
        left = set(rig.fake.execs)
        # A stand-in's executable that cannot be destroyed is no executable of the registry.
        assert left >= undestroyed if scenario == "verified" else left == undestroyed, index
        assert (registry.stats().execs, rig.fake.misuse) == (0, []), index


def test_out_of_memory_while_an_executable_is_made_again_is_raised_and_the_next_call_goes_on() -> None:
    rig = Rig()
    with closed(rig.registry(policy=POLICY), rig) as registry:
        entries = registered(rig, registry, SIZES)
        entries.pop(4)[0].release()
        entries.pop(0)[0].release()
        before = partition(entries)
        rig.fake.fail("cuGraphInstantiateWithFlags", 2)
        with pytest.raises(DriverCallError, match="CUDA_ERROR_OUT_OF_MEMORY"):
            registry.seal()
        assert (registry.sealed, partition(entries), rig.execs()) == (True, before, 2)
        with pytest.raises(RegistryError, match="the registry is sealed"):
            registry.register(rig.graph(9))
        for entry, each in entries:
            _check(rig, entry, each)
        registry.seal()
        assert rig.execs() == 1
        for entry, each in entries:
            _check(rig, entry, each)


@pytest.mark.parametrize("after", range(1, 6))
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_seal_that_was_interrupted_can_be_finished(
    monkeypatch: pytest.MonkeyPatch, scenario: str, after: int
) -> None:
    """Ctrl-C after any update, instantiation or destruction of it."""
    sealing = Sealing(scenario)
    rig, registry = sealing.rig, sealing.registry
    calls = 0

    def count() -> bool:
        nonlocal calls
        calls += 1
        return calls == after

    for name in ("graph_exec_update", "graph_exec_destroy", "graph_instantiate"):
        monkeypatch.setattr(rig.driver, name, _counted(getattr(rig.driver, name), count))
    try:
        registry.seal()
    except KeyboardInterrupt:
        assert registry.sealed
    monkeypatch.undo()
    sealing.check()
    registry.seal()
    sealing.check()
    assert all(len(group) for group in registry.groups)
    assert registry.stats().graphs == len(sealing.entries)
    registry.close()
    assert (rig.fake.misuse, registry.stats().execs, registry.groups) == ([], 0, ())


def _counted(function: Callable[..., Any], interrupts: Callable[[], bool]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        answer = function(*args, **kwargs)
        if interrupts():
            raise KeyboardInterrupt
        return answer

    return call


# Threads.


def test_threads_replay_and_release_while_groups_are_formed() -> None:
    """Each launches exactly its own graph, before, during and after; the released ones are gone."""
    rig = Rig()
    with closed(rig.registry(policy=POLICY), rig) as registry:
        shapes = [shape(value, 2, grid=8 * value) for value in range(1, 9)]
        shapes += [shape(value, 4, "other", grid=8 * value) for value in range(9, 17)]
        entries = registered(rig, registry, shapes)
        barrier, done = Barrier(9), Flag()

        def replay(index: int) -> None:
            barrier.wait()
            entry = entries[index][0]
            count = 0
            while count < 20 or not done.is_set():
                entry.replay(index % 2)
                count += 1
            if index % 4 == 3:
                entry.release()
                with pytest.raises(RegistryError, match="was released"):
                    entry.replay()

        def seal() -> None:
            barrier.wait()
            entries[15][0].release()
            registry.seal()
            entries[14][0].release()
            done.set()

        rig.ran()
        with ThreadPoolExecutor(9) as pool:
            futures = [pool.submit(replay, index) for index in range(8)]
            pool.submit(seal).result(timeout=60)
            for future in futures:
                future.result(timeout=60)
        assert rig.execs() == 1
        assert registry.stats().graphs == 12
        for entry, each in [*entries[8:14], entries[0]]:
            _check(rig, entry, each)


def test_a_release_does_not_wait_for_what_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    with closed(rig.registry(policy=POLICY), rig) as registry:
        entries = registered(rig, registry, SIZES)

        def release_meanwhile(*args: Any) -> Any:
            found = fewest_executables(*args)
            with ThreadPoolExecutor(1) as pool:
                pool.submit(entries[0][0].release).result(timeout=60)
                pool.submit(entries[3][0].release).result(timeout=60)
            return found

        monkeypatch.setattr(lifecycle, "fewest_executables", release_meanwhile)
        registry.seal()
        assert partition([entries[1], entries[2], entries[4]]) == {frozenset({2, 3, 5})}
        for entry, each in (entries[1], entries[2], entries[4]):
            _check(rig, entry, each)


def test_a_registry_that_is_closed_while_groups_are_formed_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    registry = rig.registry(policy=POLICY)
    registered(rig, registry, SIZES)

    def close_meanwhile(*args: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(registry.close).result(timeout=60)
        return fewest_executables(*args)

    monkeypatch.setattr(lifecycle, "fewest_executables", close_meanwhile)
    registry.seal()
    assert (registry.closed, rig.execs(), registry.groups, rig.fake.misuse) == (True, 0, (), [])


def test_a_finaliser_in_the_middle_of_seal_is_deferred(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may release, reset, seal and close; none of them waits for the thread that it runs on."""
    rig = Rig()
    registry = rig.registry(policy=POLICY)
    entries = registered(rig, registry, SIZES)
    captured = registry.register(Capture(rig.builder(9)), "captured")

    def finalise(*args: Any) -> Any:
        entries[0][0].release()
        captured.reset()
        registry.seal()
        assert (entries[0][0].graph, registry.stats().graphs) != (None, 4)  # not yet
        return fewest_executables(*args)

    monkeypatch.setattr(lifecycle, "fewest_executables", finalise)
    registry.seal()
    assert (entries[0][0].graph, registry.stats().graphs) == (None, 4)
    for entry, each in entries[1:]:
        _check(rig, entry, each)
    registry.close()
    assert (rig.execs(), rig.fake.misuse) == (0, [])


def test_sealing_twice_at_once_forms_the_groups_once() -> None:
    rig = Rig()
    events: list[Event] = []
    with closed(rig.registry(policy=POLICY, on_event=events.append), rig) as registry:
        registered(rig, registry, SIZES)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: registry.seal(), range(4)))
        assert sum(isinstance(event, GraphsRegrouped) for event in events) == 1
        assert rig.execs() == 1


def test_thousands_of_graphs_are_sealed_in_few_comparisons() -> None:
    """Layers of a few sizes: what is judged alike is judged once."""
    rig = Rig()
    with closed(rig.registry(policy=POLICY), rig) as registry:
        sizes = [shape(1, 2, grid=8 * size) for size in range(1, 9)]
        sizes += [shape(2, 4, "other", grid=8 * size) for size in range(9, 17)]
        for layer in range(64):
            for each in sizes:
                registry.register(
                    rig.graph(
                        layer,
                        nodes=1,
                        grid=each.grid,
                        cluster=each.cluster,
                        function=rig.step if each.function == "step" else rig.other,
                    )
                )
        registry.seal()
        assert (registry.stats().graphs, rig.execs()) == (1024, 1)
