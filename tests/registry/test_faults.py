"""Every driver call of a scenario fails once, at each point: nothing leaks, nothing is destroyed twice, all goes on.

The calls are counted at run time, so that none is left out when the registry changes.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from sigcontract.errors import CloseError, DriverCallError, DriverError, GraphReadError, SigcontractError
from sigcontract.registry.events import DestroyFailed, Event, ExecRebuilt
from tests.driver.fake_base import report
from tests.registry.rig import Refusing, Rig, closed

if TYPE_CHECKING:
    from sigcontract.registry import GraphEntry, GraphExecRegistry

RESULTS = {"CUDA_ERROR_OUT_OF_MEMORY": 2, "CUDA_ERROR_INVALID_HANDLE": 400, "CUDA_ERROR_ILLEGAL_ADDRESS": 700}


#: The registry as it is by default, bounded so that it evicts at almost every step, and verifying.
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "bounded": {"max_execs": 1},
    "verified": {"verify": "first-use"},
    "updatable": {"policy": "share-updatable"},
    "updatable and bounded": {"policy": "share-updatable", "max_execs": 1},
}


class Scenario:
    """Three registrations, replays, a switch, a new grouping, a fallback, a release and the end; each step may fail."""

    def __init__(self, options: str) -> None:
        self.options = options
        self.fake = Refusing()
        self.fake.behaviours |= {f"sigcontract_probe_{code}": report for code in range(1, 4)}
        self.rig = Rig(self.fake)
        self.graphs = [self.rig.graph(value, cluster=cluster) for value, cluster in ((1, 0), (2, 0), (3, 2))]
        self.events: list[Event] = []
        self.registry = self.rig.registry(on_event=self.events.append, **OPTIONS[options])
        self.entries: dict[int, GraphEntry] = {}
        self.calls_before = sum(self.fake.calls.values())

    def steps(self) -> Iterator[Callable[[], None]]:
        """Yield the steps; what registered is replayed."""
        for value in (1, 2, 3):
            yield lambda value=value: self.register(value)  # type: ignore[misc]  # bound now
        for value in (1, 2, 1, 3):
            yield lambda value=value: self.replay(value)  # type: ignore[misc]  # bound now
        if "policy" in OPTIONS[self.options]:
            yield self.registry.seal  # which forms the groups again
        yield lambda: self.refused_replay(2)
        for value in (1, 2, 3):
            yield lambda value=value: self.replay(value)  # type: ignore[misc]  # bound now
        yield lambda: self.release(3)
        yield self.registry.close

    def register(self, value: int) -> None:
        self.entries[value] = self.registry.register(self.graphs[value - 1], f"graph {value}")

    def replay(self, value: int) -> None:
        if value in self.entries:
            assert self.rig.replayed(self.entries[value].replay) == {value}, "a launch of anything else"

    def refused_replay(self, value: int) -> None:
        self.fake.refusing = True
        try:
            self.replay(value)
        finally:
            self.fake.refusing = False

    def release(self, value: int) -> None:
        if value in self.entries:
            self.entries.pop(value).release()


def _run(scenario: Scenario) -> list[SigcontractError]:
    """Take every step, also after one failed, and return the errors."""
    errors: list[SigcontractError] = []
    for step in scenario.steps():
        try:
            step()
        except SigcontractError as error:
            errors.append(error)
    return errors


@cache
def _calls(options: str) -> int:
    """Return how many driver calls the scenario makes if none fails."""
    scenario = Scenario(options)
    assert _run(scenario) == []
    return sum(scenario.fake.calls.values()) - scenario.calls_before


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("result", RESULTS)
def test_a_driver_call_that_fails_anywhere_leaves_nothing_behind(result: str, options: str) -> None:
    """One test for all places: their number is known only when the scenario has run."""
    assert _calls(options) > 30
    for index in range(_calls(options)):
        scenario = Scenario(options)
        scenario.fake.fail(None, RESULTS[result], after=index)
        errors = _run(scenario)
        _check(scenario, errors, result, index)


def _check(scenario: Scenario, errors: list[SigcontractError], result: str, index: int) -> None:
    fake, registry = scenario.fake, scenario.registry
    assert len(errors) <= 1, (index, errors)
    assert all(isinstance(error, DriverError | CloseError) for error in errors), (index, errors)
    assert all(_result_of(error) == result for error in errors), (index, errors)
    assert fake.misuse == [], index
    undestroyed = [event for event in scenario.events if isinstance(event, DestroyFailed)]
    handles = {event.graph_exec for event in undestroyed}
    # A stand-in's executable that cannot be destroyed is no executable of the registry.
    assert handles <= set(fake.execs) if scenario.options == "verified" else handles == set(fake.execs), index
    assert len(fake.execs) <= 1, index
    assert (registry.closed, registry.stats().execs, registry.stats().graphs) == (True, 0, 0), index


def _result_of(error: BaseException | None) -> str | None:
    """Return the CUresult behind an error."""
    if isinstance(error, DriverCallError):
        return error.result
    return None if error is None else _result_of(error.__cause__)


def test_out_of_memory_on_instantiate_registers_nothing_and_the_next_try_works() -> None:
    rig = Rig()
    registry = rig.registry()
    rig.fake.fail("cuGraphInstantiateWithFlags", 2)
    with pytest.raises(DriverCallError, match="CUDA_ERROR_OUT_OF_MEMORY") as caught:
        registry.register(rig.graph(1))
    assert caught.value.function == "cuGraphInstantiateWithFlags"
    assert (registry.stats().graphs, registry.groups, rig.execs()) == (0, (), 0)
    assert rig.replayed(registry.register(rig.graph(2)).replay) == {2}
    registry.close()


def test_a_failed_update_at_replay_makes_the_executable_again_and_launches() -> None:
    rig = Rig()
    events: list[Event] = []
    registry = rig.registry(on_event=events.append)
    first, second = (registry.register(rig.graph(value), f"graph {value}") for value in (1, 2))
    before = set(rig.fake.execs)
    rig.fake.fail("cuGraphExecUpdate", 700)
    assert rig.replayed(first.replay) == {1}
    assert (rig.execs(), before & set(rig.fake.execs)) == (1, set())
    (rebuilt,) = (event for event in events if isinstance(event, ExecRebuilt))
    assert rebuilt.label == "graph 1"
    assert [rig.replayed(entry.replay) for entry in (second, first)] == [{2}, {1}]
    assert registry.stats().rebuilds == 1
    registry.close()


def test_a_failed_update_at_register_makes_the_executable_again_and_keeps_the_graph_apart() -> None:
    rig = Rig()
    registry = rig.registry()
    first = registry.register(rig.graph(1), "one")
    rig.fake.fail("cuGraphExecUpdate", 700)
    second = registry.register(rig.graph(2))
    assert second.reason.code == "update-failed"
    assert str(second.reason).startswith(
        "an update of the executable of one failed: cuGraphExecUpdate failed with CUDA_ERROR_ILLEGAL_ADDRESS (700)"
    )
    assert [rig.replayed(entry.replay) for entry in (first, second)] == [{1}, {2}]
    assert (rig.execs(), registry.stats().rebuilds) == (2, 1)
    registry.close()


def test_an_executable_that_could_not_be_made_again_is_made_at_the_next_replay() -> None:
    rig = Rig()
    registry = rig.registry()
    first, second = (registry.register(rig.graph(value)) for value in (1, 2))
    rig.fake.fail("cuGraphExecUpdate", 700)
    rig.fake.fail("cuGraphInstantiateWithFlags", 2)
    with pytest.raises(DriverCallError, match="CUDA_ERROR_OUT_OF_MEMORY"):
        first.replay()
    assert rig.execs() == 0
    assert [rig.replayed(entry.replay) for entry in (second, first)] == [{2}, {1}]
    registry.close()
    assert rig.fake.misuse == []


def test_a_launch_on_a_destroyed_stream_is_a_typed_error_and_the_next_launch_works() -> None:
    rig = Rig()
    registry = rig.registry()
    entry = registry.register(rig.graph(1))
    rig.fake.fail("cuGraphLaunch", 400)
    with pytest.raises(DriverCallError, match="CUDA_ERROR_INVALID_HANDLE") as caught:
        entry.replay(0x77)
    assert caught.value.function == "cuGraphLaunch"
    assert registry.stats().launches == 0
    assert rig.replayed(entry.replay) == {1}
    registry.close()


def test_a_graph_destroyed_behind_the_registrys_back_fails_typed_and_the_others_go_on() -> None:
    rig = Rig()
    registry = rig.registry()
    builder = rig.builder(1)
    first, second = registry.register(builder.graph), registry.register(rig.graph(2))
    builder.destroy()
    with pytest.raises(DriverCallError):
        first.replay()
    assert rig.replayed(second.replay) == {2}
    with pytest.raises(GraphReadError):
        registry.register(builder.graph)
    registry.close()


def test_a_failed_measurement_of_memory_fails_nothing() -> None:
    rig = Rig()
    registry: GraphExecRegistry = rig.registry()
    rig.fake.fail("cuMemGetInfo", 999)
    entry = registry.register(rig.graph(1))
    assert rig.replayed(entry.replay) == {1}
    registry.close()


def test_an_executable_that_could_not_be_made_again_admits_nobody() -> None:
    """Nothing could be tried on it; the next replay makes it again."""
    rig = Rig(Refusing())
    with closed(rig.registry(), rig) as registry:
        first, _second = registry.register(rig.graph(1)), registry.register(rig.graph(2))
        rig.fake.fail("cuGraphExecUpdate", 700)
        rig.fake.fail("cuGraphInstantiateWithFlags", 2)
        with pytest.raises(DriverCallError):
            first.replay()
        third = registry.register(rig.graph(3))
        assert (third.reason.code, third.shares_with) == ("update-failed", ())
        assert str(third.reason) == (
            "the executable of #0 could not be instantiated again after an error, so no update was tried"
        )
        assert [rig.replayed(entry.replay) for entry in registry.entries] == [{1}, {2}, {3}]
