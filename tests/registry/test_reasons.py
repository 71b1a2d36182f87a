"""Why a graph shares or not, in a code and a sentence."""

import pytest

from sigcontract.driver.cuda.api import UpdateOutcome
from sigcontract.model.attributes import DeviceUpdatableNode
from sigcontract.model.cuda import AttributeId
from sigcontract.registry import reasons
from sigcontract.registry.shared_exec import Judgement
from sigcontract.update.predict import predict_update
from tests.driver.fake import FakeDriver
from tests.driver.fake_base import READABLE
from tests.registry.rig import Rig, closed
from tests.update.build import BLACKWELL, H200, cluster, graph, kernel

DEVICE_UPDATABLE = AttributeId.DEVICE_UPDATABLE_KERNEL_NODE


def test_what_would_go_stale_is_named_with_its_place_rule_and_values() -> None:
    prediction = predict_update(graph(kernel(cluster(2))), graph(kernel(cluster(4))), H200)
    reason = reasons.not_joined(Judgement(prediction), "decode/bs=1")
    assert reason.code == "predicted"
    assert str(reason) == (
        "an update of the executable of decode/bs=1 is predicted stale: "
        "nodes[0].attributes[cluster_dimension] kernel.cluster-dim, 2x1x1 -> 4x1x1"
    )
    assert reason.findings == prediction.findings


def test_what_would_be_refused_says_so() -> None:
    prediction = predict_update(graph(kernel()), graph(kernel(), kernel()), H200)
    reason = reasons.not_joined(Judgement(prediction), "one")
    assert str(reason).startswith("an update of the executable of one is predicted rejected: ")


def test_what_is_unknown_is_undetermined_and_names_the_first_unknown() -> None:
    prediction = predict_update(graph(kernel(function=BLACKWELL)), graph(kernel(function=BLACKWELL)), None)
    reason = reasons.not_joined(Judgement(prediction), "one")
    assert reason.code == "undetermined"
    assert str(reason).startswith("an update of the executable of one cannot be proven safe: nodes[0].attributes[")


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (UpdateOutcome(2, 0, 0), "ERROR_TOPOLOGY_CHANGED"),
        (UpdateOutcome(2, 0x10, 0x20), "ERROR_TOPOLOGY_CHANGED at node 0x10, dependency 0x20"),
        (UpdateOutcome(77, 0, 0), "RESULT_77"),
    ],
)
def test_a_refusal_is_reported_with_the_answer_of_the_driver(outcome: UpdateOutcome, words: str) -> None:
    prediction = predict_update(graph(kernel()), graph(kernel()), H200)
    reason = reasons.not_joined(Judgement(prediction, outcome), "one")
    assert str(reason) == f"the driver refused an update of the executable of one: {words}"


def _updatable_by_the_device(rig: Rig) -> int:
    builder = rig.builder(1)
    builder.kernel(rig.step, attributes={DEVICE_UPDATABLE: DeviceUpdatableNode(device_updatable=1, device_node=0)})
    return builder.graph


def test_a_graph_that_the_device_updates_is_neither_shared_nor_probed() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entries = [registry.register(_updatable_by_the_device(rig)) for _ in range(2)]
        assert [str(entry.reason) for entry in entries] == [
            "nodes[2] is device-updatable, which cuGraphExecUpdate rejects, so it is not shared"
        ] * 2
        assert (rig.execs(), rig.fake.calls["cuGraphExecUpdate"]) == (2, 0)


def test_where_it_cannot_be_read_whether_the_device_updates_nothing_is_shared() -> None:
    rig = Rig(FakeDriver(readable=READABLE - {DEVICE_UPDATABLE}))
    with closed(rig.registry(), rig) as registry:
        entries = [registry.register(rig.graph(1)) for _ in range(2)]
        assert [(entry.reason.code, str(entry.reason)) for entry in entries] == [
            (
                "undetermined",
                (
                    "cannot be proven the same as any graph: nodes[0].attributes[device_updatable_kernel_node] "
                    "kernel.attribute-unknown, unreadable -> unreadable"
                ),
            )
        ] * 2


def test_the_report_says_what_can_have_one_executable_only() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        for _ in range(2):
            builder = rig.builder(1)
            builder.alloc(64)
            registry.register(builder.graph)
        report = registry.report()
        assert report.singletons == (0, 1)
        assert [[finding.rule for finding in group.alone] for group in report.groups] == [["graph.single-exec"]] * 2
