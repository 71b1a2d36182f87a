"""Predictions against the graph of the exec's first launch, which fixes what is stale."""

import pytest

from sigcontract.model.cuda import UpdateResult
from sigcontract.model.findings import Verdict
from sigcontract.model.graph import ConditionalNode, GraphSignature
from sigcontract.model.nodes import EmptyNode, OpaqueNode
from sigcontract.update.predict import predict_update
from tests.update.build import H200, child, cluster, cooperative, graph, kernel, memset


def branches(*bodies: GraphSignature | None) -> GraphSignature:
    return graph(ConditionalNode(kind=0, handle=None, bodies=bodies))


PLAIN = kernel()
BODY = graph(kernel(), child(EmptyNode()))


@pytest.mark.parametrize(
    ("fixed", "held", "rule", "paths"),
    [
        (branches(None), branches(BODY), "conditional.unreadable", ["nodes[0].bodies[0]"]),
        (branches(None, BODY), branches(BODY, BODY), "conditional.unreadable", ["nodes[0].bodies[0]"]),
        (
            branches(branches(None)),
            branches(branches(BODY)),
            "conditional.unreadable",
            ["nodes[0].bodies[0].nodes[0].bodies[0]"],
        ),
        (graph(OpaqueNode(type=4)), graph(child(kernel())), "node.opaque", ["nodes[0]"]),
    ],
)
def test_what_the_graph_of_the_first_launch_hides_is_undetermined(
    fixed: GraphSignature, held: GraphSignature, rule: str, paths: list[str]
) -> None:
    prediction = predict_update(held, held, H200, fixed)
    assert (prediction.verdict, prediction.result) == (Verdict.UNDETERMINED, UpdateResult.SUCCESS)
    assert [finding.path for finding in prediction.findings if finding.rule == rule] == paths
    assert predict_update(held, held, H200, held).verdict is Verdict.IDENTICAL


def test_stale_is_judged_against_the_first_launch() -> None:
    """Fixed with 2 and updated to 4, which was kept stale: 4 is stale still, 2 is what it launches."""
    fixed, held = graph(kernel(cluster(2))), graph(kernel(cluster(4)))
    still = predict_update(held, held, H200, fixed)
    assert (still.verdict, still.findings[0].old, still.findings[0].new) == (Verdict.STALE, "2x1x1", "4x1x1")
    assert predict_update(held, fixed, H200, fixed).verdict is Verdict.HARMLESS


def test_cluster_that_may_have_been_carried_with_another_function_is_undetermined() -> None:
    fixed = graph(kernel(cluster(2)))
    held = graph(kernel(cluster(4), func=0xF2, name="probe2"))
    prediction = predict_update(held, fixed, H200, fixed)
    assert prediction.verdict is Verdict.UNDETERMINED
    assert "kernel.cluster-carried" in {finding.rule for finding in prediction.findings}


def test_function_of_a_cooperative_node_is_only_sure_where_it_never_changed() -> None:
    first, second = graph(kernel(cooperative())), graph(kernel(cooperative(), name="probe2", func=0xF2))
    assert predict_update(first, first, H200, first).verdict is Verdict.IDENTICAL
    assert predict_update(second, second, H200, first).verdict is Verdict.STALE
    assert predict_update(second, first, H200, first).verdict is Verdict.UNDETERMINED
    assert predict_update(first, second).verdict is Verdict.UNDETERMINED


def test_first_launch_is_followed_through_the_pairing_not_by_index() -> None:
    """Two roots in another order: node 0 at the first launch is node 1 now."""
    wide, narrow = kernel(cluster(4)), kernel(cluster(2))
    fixed = graph(wide, narrow, memset(), edges=[[], [], [0, 1]])
    held = graph(narrow, wide, memset(), edges=[[], [], [1, 0]])
    assert predict_update(held, held, H200, fixed).verdict is Verdict.IDENTICAL


def test_first_launch_that_the_exec_cannot_have_had_is_undetermined() -> None:
    held = graph(PLAIN)
    prediction = predict_update(held, held, H200, graph(PLAIN, PLAIN))
    assert (prediction.verdict, prediction.result) == (Verdict.UNDETERMINED, UpdateResult.SUCCESS)
    assert [finding.rule for finding in prediction.findings] == ["topology.fixed-unrelated"]


def test_first_launch_of_a_node_without_a_record_is_undetermined() -> None:
    """A document may know a node by its type's number alone."""
    held = graph(PLAIN)
    prediction = predict_update(held, held, H200, graph(OpaqueNode(type=0)))
    assert prediction.verdict is Verdict.UNDETERMINED
    assert [(f.rule, f.old, f.new) for f in prediction.findings] == [("node.opaque", "node of type 0", "probe")]
