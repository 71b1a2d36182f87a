"""The example's own logic, on captures of the fake driver: what it would overlook, it would overlook on a GPU too."""

from types import SimpleNamespace
from typing import Any

from examples.torch_registry import Step, alternate, outputs_of, unequal
from tests.registry.rig import Rig, closed


class Output:
    """A tensor of one number, as far as the example needs one."""

    def __init__(self) -> None:
        self.number = -1

    def zero_(self) -> None:
        self.number = 0

    def clone(self) -> int:
        return self.number


def _step(label: str) -> Step:
    return Step(label, SimpleNamespace(), (), Output())


def test_an_output_is_emptied_before_the_replay_so_that_an_old_one_cannot_pass() -> None:
    steps = [_step("a"), _step("b")]

    def replay(step: Step) -> None:
        if step.label == "a":
            step.output.number = 7

    assert outputs_of(steps, replay) == {"a": 7, "b": 0}


def test_outputs_that_differ_or_are_missing_are_named() -> None:
    def equal(one: Any, other: Any) -> bool:
        return bool(one == other)

    assert unequal({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3}, equal) == ["b", "c"]
    assert unequal({"a": 1}, {"a": 1}, equal) == []


def test_entries_are_replayed_in_turn() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entries = [registry.register(rig.graph(value, nodes=1)) for value in (1, 2, 3)]
        rig.ran()
        alternate(entries, 7)
        assert rig.ran() == [1, 2, 3, 1, 2, 3, 1]
        assert registry.stats().repoints == 7
