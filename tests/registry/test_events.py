"""What a registry tells, to a callback and to the log."""

import logging

import msgspec
import pytest

from sigcontract.errors import CloseError
from sigcontract.registry.events import Event, ExecInstantiated, FellBack, GraphRegistered, UpdateRefused
from tests.registry.rig import Refusing, Rig, closed


def test_events_come_in_order_as_frozen_values() -> None:
    rig = Rig()
    events: list[Event] = []
    with closed(rig.registry(on_event=events.append), rig) as registry:
        registry.register(rig.graph(1), "one")
        registry.register(rig.graph(2), "two")
    assert [type(event).__name__ for event in events] == [
        "ExecInstantiated",
        "GraphRegistered",
        "GraphRegistered",
        "RegistryClosed",
    ]
    assert events[0] == ExecInstantiated(label="one", nodes=2, device_bytes=0)
    assert events[1] == GraphRegistered(label="one", group=0, shared=False, reason="the first of its group")
    with pytest.raises(AttributeError):
        events[0].label = "other"  # type: ignore[misc]  # frozen, and that is the test


def test_an_event_encodes_with_its_name() -> None:
    event = GraphRegistered(label="one", group=0, shared=False, reason="the first of its group")
    assert msgspec.json.decode(msgspec.json.encode(event)) == {
        "event": "graph_registered",
        "label": "one",
        "group": 0,
        "shared": False,
        "reason": "the first of its group",
    }


def test_a_refusal_is_expected_and_a_fallback_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "sigcontract")
    rig = Rig(Refusing())
    events: list[Event] = []
    with closed(rig.registry(on_event=events.append), rig) as registry:
        first, second = (registry.register(rig.graph(value), f"graph {value}") for value in (1, 2))
        second.replay()
        rig.fake.refusing = True  # type: ignore[attr-defined]  # of this fake
        for _ in range(3):
            first.replay()
            second.replay()
    (refused,) = (event for event in events if isinstance(event, UpdateRefused))
    assert (refused.result, refused.when, refused.node != 0) == ("ERROR_TOPOLOGY_CHANGED", "replay", True)
    assert sum(isinstance(event, FellBack) for event in events) == 1
    warnings = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert warnings[0] == (
        "graph 1: the driver refused an update at replay (ERROR_TOPOLOGY_CHANGED) that it accepted at register; "
        "the graph has its own executable from now on"
    )
    assert all(record.name == "sigcontract" for record in caplog.records)


def test_a_callback_may_use_the_registry_for_no_lock_is_held() -> None:
    rig = Rig()
    seen: list[int] = []

    def callback(event: Event) -> None:
        if isinstance(event, GraphRegistered):
            (entry,) = registry.entries
            entry.replay()
            seen.append(registry.stats().launches)
            registry.close()

    registry = rig.registry(on_event=callback)
    registry.register(rig.graph(1))
    assert (seen, registry.closed, rig.execs()) == ([1], True, 0)


def test_what_a_callback_raises_leaves_the_call_that_had_done_its_work() -> None:
    rig = Rig()

    def callback(event: Event) -> None:
        told.append(type(event).__name__)
        raise LookupError(str(event))

    told: list[str] = []
    registry = rig.registry(on_event=callback)
    with pytest.raises(LookupError, match="one: instantiated, 2 nodes"):
        registry.register(rig.graph(1), "one")
    assert told == ["ExecInstantiated", "GraphRegistered"], "the other events are told all the same"
    (entry,) = registry.entries
    assert rig.replayed(entry.replay) == {1}
    rig.fake.fail("cuGraphExecDestroy", 700)
    with pytest.raises(CloseError) as caught:
        registry.close()
    assert [type(error).__name__ for error in caught.value.errors] == ["DriverCallError", "LookupError"]
    assert str(caught.value).startswith(
        "executables not destroyed, whose memory may leak: 1; "
        "failed calls of reset() or of the callback: 1; the first: cuGraphExecDestroy"
    )
    assert registry.closed
