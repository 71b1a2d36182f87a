"""What a registry keeps alive, and that it gives everything back, once."""

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from sigcontract.errors import CloseError, GraphReadError, RegistryError
from tests.registry.rig import Capture, Rig, closed

ROOT = Path(__file__).parents[2]


def test_a_registered_owner_lives_as_long_as_an_update_may_need_it() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        captures = [Capture(rig.builder(value)) for value in (1, 2)]
        entries = [registry.register(capture) for capture in captures]
        owners = [weakref.ref(capture) for capture in captures]
        del captures
        gc.collect()
        assert all(owner() is not None for owner in owners)
        assert [rig.replayed(lambda entry=entry: entry.replay(0)) for entry in entries] == [{1}, {2}]  # type: ignore[misc]  # bound now
        entries[0].release()
        assert owners[0]() is None
        assert owners[1]() is not None
    assert owners[1]() is None


def test_releasing_the_last_graph_of_an_executable_destroys_it() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        first, second = registry.register(rig.graph(1)), registry.register(rig.graph(2))
        first.release()
        first.release()
        assert (rig.execs(), first.graph) == (1, None)
        assert rig.replayed(second.replay) == {2}
        second.release()
        assert (rig.execs(), registry.entries) == (0, ())


def test_a_released_entry_says_so() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(rig.graph(1), "decode")
        entry.release()
        with pytest.raises(RegistryError, match="decode: the entry was released; register the graph again") as caught:
            entry.replay()
        assert caught.value.code == "released"


def test_the_executable_is_not_updated_from_a_graph_that_was_released() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        builder = rig.builder(1)
        first, second = registry.register(builder.graph), registry.register(rig.graph(2))
        first.release()
        builder.destroy()
        third = registry.register(rig.graph(3))
        assert third.shares_with == (second,)
        assert [rig.replayed(entry.replay) for entry in (second, third, second)] == [{2}, {3}, {2}]


def test_a_graph_that_was_reset_is_an_error_and_never_updated_from() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        captures = [Capture(rig.builder(value)) for value in (1, 2)]
        first, second = (registry.register(capture, f"bs={index}") for index, capture in enumerate(captures))
        captures[0].reset()
        for _ in range(2):
            with pytest.raises(RegistryError, match="bs=0: the captured graph was reset; release") as caught:
                first.replay(0)
            assert caught.value.code == "reset_graph"
        assert rig.replayed(lambda: second.replay(0)) == {2}
        captures[1].reset()
        with pytest.raises(RegistryError, match="bs=1: the captured graph was reset"):
            second.replay(0)


def test_reset_of_an_entry_resets_the_capture_as_its_own_reset_does() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        capture = Capture(rig.builder(1))
        entry = registry.register(capture)
        entry.reset()
        entry.reset()
        assert (capture.resets, rig.execs()) == (1, 0)
        with pytest.raises(RegistryError, match=r"a int has no reset\(\); call release\(\)"):
            registry.register(rig.graph(2)).reset()


def test_after_seal_nothing_is_registered_and_everything_replays() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(rig.graph(1))
        registry.seal()
        registry.seal()
        assert (registry.sealed, registry.closed) == (True, False)
        with pytest.raises(RegistryError, match=r"the registry is sealed; register graphs before seal\(\)"):
            registry.register(rig.graph(2))
        assert rig.replayed(entry.replay) == {1}


def test_close_destroys_every_executable_once_and_may_be_repeated() -> None:
    rig = Rig()
    registry = rig.registry()
    entry = registry.register(rig.graph(1), "decode")
    registry.register(rig.graph(2, cluster=2))
    registry.close()
    registry.close()
    registry.seal()
    assert (registry.sealed, registry.closed, rig.execs(), rig.fake.misuse) == (True, True, 0, [])
    with pytest.raises(RegistryError, match="decode: the registry is closed; register with a new one") as caught:
        entry.replay()
    assert caught.value.code == "closed"
    with pytest.raises(RegistryError, match="the registry is closed; make a new one"):
        registry.register(rig.graph(3))
    entry.release()


def test_close_goes_on_where_a_destruction_fails_and_reports_every_failure() -> None:
    rig = Rig()
    registry = rig.registry()
    for cluster in (0, 2, 4):
        registry.register(rig.graph(1, cluster=cluster))
    for _ in range(2):
        rig.fake.fail("cuGraphExecDestroy", 700)
    with pytest.raises(CloseError, match="not destroyed, whose memory may leak: 2; the first") as caught:
        registry.close()
    assert [error.result for error in caught.value.errors] == ["CUDA_ERROR_ILLEGAL_ADDRESS"] * 2  # type: ignore[attr-defined]  # of the call
    assert (rig.execs(), rig.fake.misuse, rig.fake.calls["cuGraphExecDestroy"]) == (2, [], 3)
    registry.close()
    assert rig.fake.calls["cuGraphExecDestroy"] == 3, "a failed destruction is not repeated"


def test_a_driver_that_was_shut_down_has_freed_everything_itself() -> None:
    rig = Rig()
    registry = rig.registry()
    registry.register(rig.graph(1))
    rig.fake.fail("cuGraphExecDestroy", 4)
    registry.close()
    assert registry.closed


def test_a_registry_that_is_forgotten_gives_its_executables_back() -> None:
    rig = Rig()
    registry = rig.registry()
    entry = registry.register(rig.graph(1))
    del registry
    gc.collect()
    assert rig.execs() == 1, "the entry keeps its registry"
    assert rig.replayed(entry.replay) == {1}
    del entry
    gc.collect()
    assert (rig.execs(), rig.fake.misuse) == (0, [])


def test_a_forgotten_registry_of_another_process_leaves_the_handles_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    registry = rig.registry()
    registry.register(rig.graph(1))
    monkeypatch.setattr(registry._lifecycle.origin, "forked", True)
    del registry
    gc.collect()
    assert rig.fake.calls["cuGraphExecDestroy"] == 0


def test_an_entry_of_another_registry_is_refused() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        other = rig.registry()
        foreign = other.register(rig.graph(1), "decode")
        for call in (registry.replay, registry.release):
            with pytest.raises(RegistryError, match="decode: the entry belongs to another registry") as caught:
                call(foreign)
            assert caught.value.code == "foreign_entry"
        other.close()


def test_a_finaliser_may_close_the_registry_in_the_middle_of_a_replay() -> None:
    rig = Rig()
    registry = rig.registry()
    entries = [registry.register(rig.graph(value)) for value in (1, 2)]

    execs_inside: list[int] = []

    def close_inside() -> None:
        registry.close()
        execs_inside.append(rig.execs())

    rig.on_launch(close_inside)
    assert rig.replayed(entries[0].replay) == {1}
    assert execs_inside == [1], "put off until the replay returns"
    assert (registry.closed, rig.execs(), rig.fake.misuse) == (True, 0, [])


@pytest.mark.parametrize("call", ["entry.reset", "registry.close"])
def test_a_capture_is_not_reset_in_the_middle_of_a_replay_of_it(call: str) -> None:
    rig = Rig()
    registry = rig.registry()
    captures = [Capture(rig.builder(value)) for value in (1, 2)]
    first, _ = (registry.register(capture) for capture in captures)
    resets_inside: list[int] = []

    def let_go() -> None:
        if call == "entry.reset":
            first.reset()
        else:
            registry.close(reset=True)
        resets_inside.append(captures[0].resets)

    rig.on_launch(let_go)
    first.replay(0)
    assert (resets_inside, captures[0].resets) == ([0], 1)
    registry.close()
    assert (rig.execs(), rig.fake.misuse) == (0, [])


def test_a_finaliser_may_release_and_not_replay_in_the_middle_of_a_replay() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        first, second = (registry.register(rig.graph(value)) for value in (1, 2))
        refusals: list[str] = []

        def release_inside() -> None:
            second.release()
            for call in (first.replay, lambda: registry.register(graph)):
                try:
                    call()
                except RegistryError as error:
                    refusals.append(error.code)

        graph = rig.graph(3)
        rig.on_launch(release_inside)
        assert rig.replayed(first.replay) == {1}
        assert refusals == ["reentrant", "reentrant"]
        assert registry.entries == (first,)


def test_the_context_manager_closes_also_after_an_error() -> None:
    rig = Rig()
    registry = rig.registry()
    registry.register(rig.graph(1))
    with pytest.raises(GraphReadError), registry:
        registry.register(None)
    assert registry.closed
    assert rig.execs() == 0


def test_what_was_released_is_forgotten_and_its_like_starts_anew() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        for index in range(3):
            entry = registry.register(rig.graph(1))
            assert (entry.group.index, entry.reason.code) == (index, "first")
            entry.release()
        assert (registry.groups, registry._placement._open) == ((), {})


def test_a_release_by_another_thread_is_seen_before_the_graph_is_used() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        first, second = (registry.register(rig.graph(value)) for value in (1, 2))
        shared, graph = first._member.shared, first._member.graph
        first.release()
        assert shared is not None
        with pytest.raises(RegistryError, match="the entry was released") as caught:
            shared.run(graph, 0, [])
        assert caught.value.code == "released"
        assert rig.replayed(second.replay) == {2}


def test_the_interpreter_exits_in_order_while_a_daemon_thread_replays() -> None:
    """Nothing is destroyed under the feet of a thread that may be launching; the process gives everything back."""
    program = """
import threading
from tests.registry.rig import Rig

rig = Rig()
entry = rig.registry().register(rig.graph(1))
started = threading.Event()

def replay():
    while True:
        entry.replay()
        started.set()

threading.Thread(target=replay, daemon=True).start()
started.wait()
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
