"""User code that runs in the middle of the registry's work: finalisers, owners, what they raise and hold."""

import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from sigcontract.errors import CloseError, RegistryError
from sigcontract.registry.placement import Placement
from sigcontract.registry.shared_exec import SharedExec
from tests.registry.rig import Capture, Refusing, Rig, closed

if TYPE_CHECKING:
    from sigcontract.registry.events import Event

#: How long a thread is waited for before its test fails.
WAIT_SECONDS = 60


@pytest.mark.parametrize("how", ["release", "close"])
def test_no_lock_is_held_while_the_owner_of_a_graph_dies(how: str) -> None:
    """Its finaliser may wait for a lock of the program, whose holder waits for the registry."""
    rig = Rig()
    users, dying, answers = threading.Lock(), threading.Event(), []

    class Owner(Capture):
        def __del__(self) -> None:
            dying.set()
            answers.append(users.acquire(timeout=WAIT_SECONDS))

    registry = rig.registry()
    entry, other = registry.register(Owner(rig.builder(1))), registry.register(rig.graph(2, cluster=2))
    ready = threading.Event()

    def holds_the_lock_of_the_program() -> None:
        with users:
            ready.set()
            dying.wait(WAIT_SECONDS)
            other.release()

    thread = threading.Thread(target=holds_the_lock_of_the_program)
    thread.start()
    ready.wait(WAIT_SECONDS)
    getattr(entry if how == "release" else registry, how)()
    thread.join(WAIT_SECONDS)
    assert answers == [True]
    registry.close()
    assert rig.execs() == 0


def test_any_number_of_releases_may_be_put_off() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        first, *others = (registry.register(rig.graph(value, nodes=1)) for value in range(400))

        def release_all() -> None:
            for entry in others:
                entry.release()

        rig.on_launch(release_all)
        assert rig.replayed(first.replay) == {0}
        assert registry.entries == (first,)


def test_what_a_call_that_was_put_off_raises_is_logged_and_the_rest_is_done(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig(Refusing())
    events: list[Event] = []

    class Stubborn(Capture):
        def reset(self) -> None:
            super().reset()
            raise LookupError("not now")

    with closed(rig.registry(on_event=events.append), rig) as registry:
        first, second = registry.register(rig.graph(1)), registry.register(rig.graph(2))
        stubborn = registry.register(Stubborn(rig.builder(3)))

        def finalise() -> None:
            stubborn.reset()
            registry.close()

        rig.on_launch(finalise)
        events.clear()
        rig.fake.refusing = True  # type: ignore[attr-defined]  # of Refusing
        with caplog.at_level(logging.ERROR, "sigcontract"):
            assert rig.replayed(second.replay) == {2}
        assert registry.closed
        assert "LookupError: not now" in caplog.text
        assert [type(event).__name__ for event in events][:3] == ["UpdateRefused", "ExecInstantiated", "FellBack"]
        assert first.graph is None


def test_a_reset_that_is_impossible_is_refused_at_once_also_in_the_middle_of_a_replay() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        first, second = registry.register(rig.graph(1)), registry.register(rig.graph(2))
        codes: list[str] = []

        def finalise() -> None:
            try:
                second.reset()
            except RegistryError as error:
                codes.append(error.code)

        rig.on_launch(finalise)
        first.replay()
        assert codes == ["no_reset"]


def test_an_owner_that_is_asked_for_its_graph_may_use_the_registry() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:

        class Curious(Capture):
            def raw_cuda_graph(self) -> int:
                if registry.entries:
                    registry.entries[0].replay(0)
                return super().raw_cuda_graph()

        registry.register(rig.graph(1))
        curious = registry.register(Curious(rig.builder(2)))
        assert rig.replayed(lambda: curious.replay(0)) == {1, 2}


def test_every_capture_is_reset_whatever_another_raises() -> None:
    rig = Rig()

    class Failing(Capture):
        def reset(self) -> None:
            super().reset()
            raise LookupError("reset failed")

    class Odd(Capture):
        @property
        def reset(self) -> Any:
            raise ValueError("no reset today")

    registry = rig.registry()
    captures = [kind(rig.builder(index)) for index, kind in enumerate((Capture, Failing, Odd, Capture))]
    for capture in captures:
        registry.register(capture)
    rig.fake.fail("cuGraphExecDestroy", 700)
    with pytest.raises(CloseError) as caught:
        registry.close(reset=True)
    kinds = [type(error).__name__ for error in caught.value.errors]
    assert kinds == ["DriverCallError", "LookupError", "ValueError"]
    assert [capture.resets for capture in captures] == [1, 1, 0, 1]
    registry.close(reset=True)
    assert [capture.resets for capture in captures] == [1, 1, 0, 1]


def test_a_finaliser_in_the_middle_of_counting_may_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """While another thread releases, and wants to count what the executable did."""
    rig = Rig()
    registry = rig.registry()
    first, second = registry.register(rig.graph(1)), registry.register(rig.graph(2, cluster=2))
    counting, releasing = threading.Event(), threading.Event()
    stats = Placement.stats

    def stats_with_a_finaliser(placement: Placement) -> Any:
        counting.set()
        releasing.wait(WAIT_SECONDS)
        first.release()
        return stats(placement)

    monkeypatch.setattr(Placement, "stats", stats_with_a_finaliser)
    stop = SharedExec.stop

    def stopped(shared: SharedExec) -> None:
        releasing.set()
        stop(shared)

    monkeypatch.setattr(SharedExec, "stop", stopped)

    def release() -> None:
        counting.wait(WAIT_SECONDS)
        second.release()

    threads = [threading.Thread(target=target, daemon=True) for target in (registry.stats, release)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert [thread.is_alive() for thread in threads] == [False, False]
    assert (registry.entries, rig.execs()) == ((), 0)
