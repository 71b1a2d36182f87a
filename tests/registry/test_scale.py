"""Work grows with the number of graphs and no faster. Python's profiler counts calls; no time is measured."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from sigcontract.registry import GraphExecRegistry
from sigcontract.registry.entries import Member
from tests.registry.rig import Refusing, Rig


def operations(work: Callable[[], object]) -> int:
    """Return how many functions were called, those of C included, and how often a generator was resumed."""
    count = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.fixture(autouse=True)
def _comparisons_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a search through a list of members show: each comparison becomes a call."""
    monkeypatch.setattr(Member, "__eq__", lambda one, other: one is other)
    monkeypatch.setattr(Member, "__hash__", object.__hash__)


def filled(graphs: int, *, refused: bool) -> GraphExecRegistry:
    rig = Rig(Refusing())
    rig.fake.refusing = refused  # type: ignore[attr-defined]  # of this fake
    registry = rig.registry()
    for value in range(graphs):
        registry.register(rig.graph(value, nodes=1))
    assert rig.execs() == (graphs if refused else 1)
    return registry


def in_order(registry: GraphExecRegistry) -> None:
    for entry in registry.entries:
        entry.release()


def newest_first(registry: GraphExecRegistry) -> None:
    for entry in reversed(registry.entries):
        entry.release()


def all_at_once(registry: GraphExecRegistry) -> None:
    registry.close()


@pytest.mark.parametrize("refused", [False, True], ids=["one executable", "own executables"])
@pytest.mark.parametrize("release", [in_order, newest_first, all_at_once])
def test_releasing_all_graphs_of_one_group_is_linear(
    release: Callable[[GraphExecRegistry], None], *, refused: bool
) -> None:
    sizes = [25, 50, 100, 200]
    counts = []
    for graphs in sizes:
        registry = filled(graphs, refused=refused)
        counts.append(operations(lambda registry=registry: release(registry)))  # type: ignore[misc]  # bound now
        assert registry.groups == ()
        registry.close()
    steps = [(b - a) / (n - m) for a, b, m, n in zip(counts, counts[1:], sizes, sizes[1:], strict=False)]
    assert max(steps) <= 1.01 * min(steps), counts
