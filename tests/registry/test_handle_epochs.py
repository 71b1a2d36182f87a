"""Handles come back as other functions."""

from typing import Any

import msgspec
import pytest

from sigcontract.model.graph import GraphSignature
from sigcontract.registry.events import Event, HandleReused
from sigcontract.registry.handle_epochs import HandleEpochs, Reuse
from tests.registry.rig import Rig, closed
from tests.update.build import FACTS, graph, kernel


def _graph(name: str = "step", **facts: Any) -> GraphSignature:
    return graph(
        kernel(name=name, func=0x40, function=msgspec.structs.replace(FACTS, **{"code_sha256": None, **facts}))
    )


def test_a_handle_with_the_same_name_and_facts_is_the_same_function() -> None:
    epochs = HandleEpochs()
    assert epochs.observe(_graph().nodes) == ((), [])
    assert epochs.observe(_graph().nodes) == ((), [])


@pytest.mark.parametrize("change", [{"name": "other"}, {"registers": 33}, {"static_shared_mem_bytes": 16}])
def test_a_handle_whose_name_or_lasting_facts_changed_is_another_function(change: dict[str, Any]) -> None:
    epochs = HandleEpochs()
    epochs.observe(_graph().nodes)
    name = change.get("name", "step")
    assert epochs.observe(_graph(**change).nodes) == (((0x40, 1),), [Reuse(0x40, "step", name)])
    assert epochs.observe(_graph(**change).nodes) == (((0x40, 1),), [])
    assert epochs.observe(_graph().nodes) == (((0x40, 2),), [Reuse(0x40, name, "step")]), "back again is a third load"


@pytest.mark.parametrize("change", [{"max_dynamic_shared_mem_bytes": 65536}, {"preferred_shared_mem_carveout": 50}])
def test_a_setting_of_a_function_that_changed_is_no_other_function(change: dict[str, Any]) -> None:
    epochs = HandleEpochs()
    epochs.observe(_graph().nodes)
    assert epochs.observe(_graph(**change).nodes) == ((), [])


def test_a_fact_learned_later_is_no_other_function_and_is_remembered() -> None:
    epochs = HandleEpochs()
    epochs.observe(_graph().nodes)
    assert epochs.observe(_graph(code_sha256="a" * 64).nodes) == ((), [])
    assert epochs.observe(graph(kernel(name="step", func=0x40, function=None)).nodes) == ((), [])
    assert epochs.observe(_graph().nodes) == ((), []), "facts that are not told again are not forgotten"
    assert epochs.observe(_graph(code_sha256="b" * 64).nodes)[1] == [Reuse(0x40, "step", "step")]


def test_one_kernel_in_the_contexts_of_two_devices_is_no_reuse() -> None:
    """A CUkernel is one handle for all contexts; compiled for each device, its facts differ."""
    epochs = HandleEpochs()
    facts = [
        msgspec.structs.replace(FACTS, registers=registers, binary_version=v) for registers, v in ((32, 90), (40, 100))
    ]
    graphs = [graph(kernel(kern=7, func=0, context=0xC0 + device, function=facts[device])) for device in (0, 1)]
    assert [epochs.observe(graphs[device].nodes) for device in (0, 1, 0, 1)] == [((), [])] * 4


def test_another_name_is_another_function_in_whatever_context() -> None:
    """A name is the kernel's own, and a CUfunction is of one context."""
    epochs = HandleEpochs()
    graphs = [
        graph(kernel(name=name, kern=7, func=0, context=context)) for name, context in (("a", 1), ("b", 2), ("a", 1))
    ]
    assert [epochs.observe(one.nodes) for one in graphs] == [
        ((), []),
        (((7, 1),), [Reuse(7, "a", "b")]),
        (((7, 2),), [Reuse(7, "b", "a")]),
    ]
    other = msgspec.structs.replace(FACTS, registers=40)
    graphs = [
        graph(kernel(name="c", func=0x9, context=1)),
        graph(kernel(name="c", func=0x9, context=2, function=other)),
    ]
    assert [epochs.observe(one.nodes)[1] for one in graphs] == [[], [Reuse(0x9, "c", "c")]]


def test_a_graph_of_a_handle_that_came_back_never_joins_the_graphs_of_the_old_function() -> None:
    rig = Rig()
    events: list[Event] = []
    with closed(rig.registry(on_event=events.append), rig) as registry:
        first = registry.register(rig.graph(1))
        function = rig.fake.functions[rig.step]
        for name in (b"another", b"step"):
            function.name = name
            rig.fake._names.clear()
            entry = registry.register(rig.graph(2))
            assert entry.group is not first.group
        assert rig.execs() == 3
    warnings = [str(event) for event in events if isinstance(event, HandleReused)]
    assert warnings[0] == (
        f"#1: handle {rig.step:#x} was step and is now another: a module was unloaded; "
        "do not replay graphs that were registered with the old function"
    )
    assert len(warnings) == 2
