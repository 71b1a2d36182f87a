"""``verify="first-use"``: a driver that answers success is held to it."""

import pytest

from sigcontract.driver.cuda.layouts import UpdateResultInfo
from sigcontract.errors import UsageError
from sigcontract.registry import GraphExecRegistry
from sigcontract.registry.events import Event, FellBack, UpdateUnverified
from sigcontract.registry.verification import doubt_of_update
from tests.driver.fake import FakeDriver
from tests.driver.fake_base import report
from tests.registry.rig import PROFILE, Refusing, Rig, closed


class Idle(FakeDriver):
    """A driver that answers SUCCESS to every update as long as `idle` is set, and changes nothing."""

    idle = True

    def _update(self, handle: int, graph: int, out: int) -> int:
        if not self.idle:
            return super()._update(handle, graph, out) or 0
        info = UpdateResultInfo.from_address(out)
        info.result, info.errorNode, info.errorFromNode = 0, None, None
        return 0


def reporting(fake: FakeDriver) -> Rig:
    """Return a rig whose stand-in kernels report."""
    fake.behaviours |= {f"sigcontract_probe_{code}": report for code in range(1, 9)}
    return Rig(fake)


def test_a_driver_that_answers_success_and_changes_nothing_is_caught_at_register() -> None:
    rig = reporting(Idle())
    events: list[Event] = []
    with closed(rig.registry(verify="first-use", on_event=events.append), rig) as registry:
        entries = [registry.register(rig.graph(value, grid=8 * value), f"graph {value}") for value in (1, 2, 3)]
        assert [entry.reason.code for entry in entries] == ["first", "unverified", "shares"]
        assert str(entries[1].reason) == (
            "the driver accepted an update of the executable of graph 1 that stand-in kernels do not confirm"
        )
        assert str(next(event for event in events if isinstance(event, UpdateUnverified))) == (
            "graph 2: the driver accepted an update at register that stand-in kernels do not confirm (kernels launched "
            "differently than by a fresh executable: 2, the first at nodes[0]); the graph has its own executable"
        )


@pytest.mark.parametrize("change", ["arguments", "grid", "function"])
def test_no_launch_is_wrong_under_a_driver_that_changes_nothing(change: str) -> None:
    rig = reporting(Idle())
    shapes = {"arguments": {}, "grid": {"grid": 16}, "function": {"function": rig.other}}
    with closed(rig.registry(policy="share-functions", verify="first-use"), rig) as registry:
        values = (1, 2, 3, 4)
        entries = [registry.register(rig.graph(value, **shapes[change] if value % 2 else {})) for value in values]
        for _ in range(3):
            for value, entry in zip(values, entries, strict=True):
                entry.replay()
                assert rig.ran()[-2:] == [value, value]
        assert registry.stats().unverified > 0
        assert registry.stats().fallbacks == 0


def test_without_verification_such_a_driver_is_believed() -> None:
    """What the option is for: the same graphs, and the second launches the first."""
    rig = reporting(Idle())
    with closed(rig.registry(), rig) as registry:
        registry.register(rig.graph(1))
        second = registry.register(rig.graph(2))
        assert second.reason.code == "shares"
        assert rig.replayed(second.replay) == {1}


def test_a_driver_that_stops_carrying_updates_out_is_caught_at_the_first_replay_of_a_graph() -> None:
    fake = Idle()
    fake.idle = False
    rig = reporting(fake)
    events: list[Event] = []
    with closed(rig.registry(verify="first-use", on_event=events.append), rig) as registry:
        first, second = registry.register(rig.graph(1), "one"), registry.register(rig.graph(2), "two")
        assert second.reason.code == "shares"
        fake.idle = True
        first.replay()
        assert rig.ran()[-2:] == [1, 1]
        assert (first.reason.code, first.shares_with) == ("unverified", ())
        assert str(first.reason) == (
            "at replay the driver accepted an update of the executable of one that is not confirmed"
        )
        assert not any(isinstance(event, FellBack) for event in events)
        assert rig.replayed(second.replay) == {2}


def test_a_graph_is_verified_once() -> None:
    rig = reporting(FakeDriver())
    with closed(rig.registry(verify="first-use"), rig) as registry:
        entries = [registry.register(rig.graph(value)) for value in (1, 2)]
        for entry in entries:
            entry.replay()
        modules = rig.fake.calls["cuModuleLoadDataEx"] + rig.fake.calls["cuModuleLoadData"]
        for _ in range(3):
            assert [rig.replayed(entry.replay) for entry in entries] == [{1}, {2}]
        assert rig.fake.calls["cuModuleLoadDataEx"] + rig.fake.calls["cuModuleLoadData"] == modules
        assert (rig.execs(), registry.stats().unverified) == (1, 0)


def test_an_update_that_cannot_be_verified_is_not_used() -> None:
    rig = reporting(FakeDriver())
    events: list[Event] = []
    with closed(rig.registry(verify="first-use", on_event=events.append), rig) as registry:
        registry.register(rig.graph(1))
        rig.fake.fail("cuMemAlloc", 2)
        second = registry.register(rig.graph(2))
        assert second.reason.code == "unverified"
        (doubt,) = (event.doubt for event in events if isinstance(event, UpdateUnverified))
        assert "CUDA_ERROR_OUT_OF_MEMORY" in doubt
        assert rig.replayed(second.replay) == {2}


def test_stand_ins_that_the_driver_refuses_to_update_confirm_nothing() -> None:
    fake = Refusing()
    rig = reporting(fake)
    with closed(rig.registry(), rig) as registry:
        held, candidate = (registry.register(rig.graph(value)).signature for value in (1, 2))
        fake.refusing = True
        assert doubt_of_update(rig.driver, held, candidate) == (
            "the update of the stand-ins is refused, ERROR_TOPOLOGY_CHANGED"
        )


def test_verification_with_a_bound_leaves_no_launch_wrong() -> None:
    rig = reporting(Idle())
    with closed(rig.registry(verify="first-use", max_execs=2), rig) as registry:
        entries = [registry.register(rig.graph(value)) for value in range(6)]
        for _ in range(2):
            for value, entry in enumerate(entries):
                entry.replay()
                assert rig.ran()[-2:] == [value, value]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"verify": "always"}, "verify is 'never' or 'first-use', not 'always'"),
    ],
)
def test_another_way_to_verify_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        GraphExecRegistry(Rig().driver, profile=PROFILE, **options)  # type: ignore[arg-type]  # the mistake


def test_a_driver_that_cannot_load_kernels_cannot_verify() -> None:
    class Minimal:
        def graph_exec_update(self) -> None: ...

    with pytest.raises(UsageError, match="a Minimal cannot load stand-in kernels; omit verify='first-use'"):
        GraphExecRegistry(Minimal(), profile=PROFILE, verify="first-use")  # type: ignore[arg-type]  # the mistake
