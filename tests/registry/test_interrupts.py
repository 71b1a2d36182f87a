"""KeyboardInterrupt at the worst moments: nothing is lost, and what was begun can be finished."""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from sigcontract.errors import RegistryError
from sigcontract.registry import entries, placement
from sigcontract.registry.exec_pool import ExecPool
from sigcontract.registry.shared_exec import Counts, SharedExec
from tests.registry.rig import Capture, Rig, closed


def interrupted(function: Callable[..., Any], *, after: int = 1) -> Callable[..., Any]:
    """Return the function; it does its work, and at that call raises instead of returning."""
    calls = 0

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        answer = function(*args, **kwargs)
        if calls == after:
            raise KeyboardInterrupt
        return answer

    return call


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_close_that_was_interrupted_can_be_finished(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    rig = Rig()
    registry = rig.registry()
    held = [registry.register(rig.graph(1, cluster=cluster)) for cluster in (0, 2, 4)]
    monkeypatch.setattr(rig.driver, "graph_exec_destroy", interrupted(rig.driver.graph_exec_destroy, after=after))
    with pytest.raises(KeyboardInterrupt):
        registry.close()
    registry.close()
    assert (rig.execs(), registry.groups, registry.stats().execs) == (0, (), 0)
    for entry in held:
        with pytest.raises(RegistryError, match="the registry is closed"):
            entry.replay()
    assert rig.fake.misuse == []


def test_a_reset_that_was_interrupted_does_not_keep_the_others_from_being_reset() -> None:
    rig = Rig()
    captures = [Capture(rig.builder(index)) for index in range(3)]
    registry = rig.registry()
    for capture in captures:
        registry.register(capture)
    captures[0].reset = interrupted(captures[0].reset)  # type: ignore[method-assign]  # Ctrl-C in the middle of it
    with pytest.raises(KeyboardInterrupt):
        registry.close(reset=True)
    registry.close(reset=True)
    assert [capture.resets for capture in captures] == [1, 1, 1]


@pytest.mark.parametrize("point", ["mem_get_info", "graph_instantiate"])
def test_an_executable_of_an_interrupted_registration_is_destroyed_by_close(
    monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        if point == "mem_get_info":
            monkeypatch.setattr(rig.driver, point, interrupted(rig.driver.mem_get_info, after=2))
        else:
            monkeypatch.setattr(placement, "GraphEntry", interrupted(entries.GraphEntry))
        with pytest.raises(KeyboardInterrupt):
            registry.register(rig.graph(1))
        assert (rig.execs(), registry.groups) == (1, ())
        monkeypatch.undo()
        assert rig.replayed(registry.register(rig.graph(2)).replay) == {2}


def test_an_executable_of_an_interrupted_registration_is_destroyed_with_its_registry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    registry = rig.registry()
    monkeypatch.setattr(rig.driver, "mem_get_info", interrupted(rig.driver.mem_get_info, after=2))
    with pytest.raises(KeyboardInterrupt):
        registry.register(rig.graph(1))
    del registry
    gc.collect()
    assert rig.execs() == 0


@pytest.mark.parametrize("max_execs", [None, 1])
@pytest.mark.parametrize("call", ["replay", "register"])
def test_wherever_a_call_is_interrupted_the_thread_can_call_again(call: str, max_execs: int | None) -> None:
    """Wherever Python code of the registry is entered, which is where CPython looks for signals."""
    rig = Rig()
    done = index = 0
    with closed(rig.registry(max_execs=max_execs), rig) as registry:
        first = registry.register(rig.graph(1))
        second = registry.register(rig.graph(2, cluster=0 if max_execs is None else 2))  # another one, to be evicted
        while not done:
            index += 1
            left = index

            def trace(frame: FrameType, _event: str, _argument: object) -> None:
                nonlocal left
                if "/sigcontract/registry/" in frame.f_code.co_filename:
                    left -= 1
                    if left == 0:
                        sys.settrace(None)
                        raise KeyboardInterrupt

            graph, before = rig.graph(3), sys.gettrace()  # a measurement of coverage may be at work
            sys.settrace(trace)
            try:
                (second.replay if call == "replay" else lambda graph=graph: registry.register(graph).release())()
                done = left > 0
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(before)
            assert rig.replayed(first.replay) == {1}
            assert rig.replayed(second.replay) == {2}
    assert index > {"replay": 3, "register": 30}[call]


def test_an_interrupt_while_the_driver_instantiates_leaves_no_executable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python raises it when the C call returns, with the handle in nobody's hands."""
    rig = Rig()
    call = rig.driver._call

    def late(name: str, *arguments: object) -> None:
        call(name, *arguments)
        if name == "cuGraphInstantiateWithFlags":
            raise KeyboardInterrupt

    with closed(rig.registry(), rig) as registry:
        monkeypatch.setattr(rig.driver, "_call", late)
        with pytest.raises(KeyboardInterrupt):
            registry.register(rig.graph(1))
        assert rig.execs() == 0


def test_an_entry_may_be_released_after_an_interrupted_close(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(rig.graph(1))
        monkeypatch.setattr(rig.driver, "graph_exec_destroy", interrupted(rig.driver.graph_exec_destroy))
        with pytest.raises(KeyboardInterrupt):
            registry.close()
        entry.release()
        assert registry.groups == ()


@pytest.mark.parametrize("after", range(1, 6))
def test_a_release_that_was_interrupted_is_finished_by_the_next(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """At each of the steps that it is made of."""
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(rig.graph(1))
        steps = [
            (SharedExec, "forget"),
            (SharedExec, "stop"),
            (Counts, "add"),
            (ExecPool, "destroy"),
            (SharedExec, "destroy"),
        ]
        owner, name = steps[after - 1]
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, interrupted(getattr(owner, name)))
            with pytest.raises(KeyboardInterrupt):
                entry.release()
        entry.release()
        assert (registry.entries, registry.groups, entry.graph) == ((), (), None)
