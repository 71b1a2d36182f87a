"""One judge: a field has one rule and one verdict, whichever policy, diff or prediction tells of it."""

from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from sigcontract.compare.dumps import diff
from sigcontract.model.attributes import DeviceUpdatableNode
from sigcontract.model.cuda import AttributeId
from sigcontract.model.findings import Finding, Verdict
from sigcontract.model.graph import ChildGraphNode, Dependency, GraphSignature, NodeSignature, inner_graphs
from sigcontract.model.nodes import PointerFacts
from sigcontract.update.policies import POLICIES, same
from sigcontract.update.predict import predict_update
from tests.compare.dumps import dump
from tests.strategies import LAWS, graphs, records
from tests.update.build import H200, cluster, cooperative, graph, kernel, memcpy, memset, operand, value

BY_VALUE = ("exact", "share", "share-functions")
FLAGS = st.sampled_from([0, 8])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[GraphSignature, GraphSignature]:
    """Draw a graph and another one: the same but for some fields of some nodes, or any other."""
    held = draw(graphs())
    if draw(st.integers(0, 5)) == 0:
        return held, draw(graphs())
    changed: dict[int, NodeSignature] = {}
    for node in held.nodes:
        changed.setdefault(id(node), draw(_changed(node)))
    return held, replace(held, nodes=tuple(changed[id(node)] for node in held.nodes))


@st.composite
def _changed(draw: st.DrawFn, node: NodeSignature) -> NodeSignature:
    other = draw(records(type(node)))
    names = draw(st.sets(st.sampled_from(node.__struct_fields__), max_size=2)) if node.__struct_fields__ else set()
    found: NodeSignature = replace(node, **{name: getattr(other, name) for name in names})
    return found


def _told(findings: tuple[Finding, ...]) -> Iterator[tuple[tuple[object, ...], tuple[str, Verdict]]]:
    """Yield path, field, values and verdict of each finding."""
    for finding in findings:
        for path in (finding.path, *finding.also):
            yield (path, finding.old, finding.new), (finding.rule, finding.verdict)


def _edges(graph: GraphSignature) -> list[tuple[tuple[Dependency, ...], ...]]:
    """Return the dependencies of a graph and of all that are nested in it."""
    nested = [inner for _, node in graph.walk() for _, inner in inner_graphs(node) if inner is not None]
    return [graph.dependencies, *(inner.dependencies for inner in nested)]


@pytest.mark.parametrize("policy", BY_VALUE)
@LAWS
@given(pairs(), FLAGS)
def test_a_policys_reason_carries_the_rule_and_verdict_of_the_prediction(
    policy: str, pair: tuple[GraphSignature, GraphSignature], flags: int
) -> None:
    predicted = dict(_told(predict_update(*pair, H200, flags=flags).findings))
    for index, said in _told(same(policy, *pair, H200, flags=flags).reasons):
        assert predicted.get(index, said) == said


@LAWS
@given(pairs(), FLAGS)
def test_what_a_prediction_says_of_a_field_that_differs_is_a_reason_of_exact(
    pair: tuple[GraphSignature, GraphSignature], flags: int
) -> None:
    if _edges(pair[0]) != _edges(pair[1]):
        return  # nodes are paired otherwise than by index, and the fields are those of other nodes
    answer = same("exact", *pair, H200, flags=flags)
    told = dict(_told(answer.reasons))
    prediction = predict_update(*pair, H200, flags=flags)
    for index, said in _told(prediction.findings):
        if index[1] != index[2] and said[0] != "kernel.argument":  # exact names each argument
            assert told.get(index) == said
    if prediction.verdict is Verdict.REJECTED and answer.reasons:
        assert answer.verdict is Verdict.REJECTED


@pytest.mark.parametrize("policy", POLICIES)
@LAWS
@given(pairs(), FLAGS)
def test_in_one_capture_a_diff_has_the_verdict_of_the_prediction(
    policy: str, pair: tuple[GraphSignature, GraphSignature], flags: int
) -> None:
    (found,) = diff(dump(pair[0]), dump(pair[1]), H200, policy=policy, flags=flags).graphs
    prediction = predict_update(*pair, H200, flags=flags)
    if pair[0] == pair[1]:
        return  # a copy of the dump, which is no update
    if found.findings:
        assert found.verdict is prediction.verdict
    elif policy == "portable":
        assert prediction.verdict.safe
    if prediction.verdict.safe and policy == "portable":
        assert all(finding.verdict.safe for finding in found.findings)


@pytest.mark.parametrize("policy", BY_VALUE)
@LAWS
@given(pairs(), FLAGS)
def test_in_one_capture_a_diff_finds_nothing_where_the_policy_says_same(
    policy: str, pair: tuple[GraphSignature, GraphSignature], flags: int
) -> None:
    found = diff(dump(pair[0]), dump(pair[1]), H200, policy=policy, flags=flags)
    if same(policy, *pair, H200, flags=flags).same:
        assert found.findings == ()


@pytest.mark.parametrize("policy", ["exact", "share"])
@LAWS
@given(pairs())
def test_in_one_capture_a_diff_judges_a_field_as_the_prediction_does(
    policy: str, pair: tuple[GraphSignature, GraphSignature]
) -> None:
    predicted = dict(_told(predict_update(*pair, H200).findings))
    for index, said in _told(diff(dump(pair[0]), dump(pair[1]), H200, policy=policy).findings):
        assert predicted.get(index, said) == said


CONTEXT = PointerFacts(memory_type=2, device_ordinal=0, context=0xC1, managed=False)
SINGLE: dict[str, tuple[NodeSignature, NodeSignature]] = {
    "width of a 1D memset": (memset(width=32), memset(width=64)),
    "address of a memset": (memset(), memset(destination=0x2000)),
    "context of a memset": (memset(), replace(memset(), pointer=CONTEXT)),
    "width of a 2D copy": (memcpy(width=64, height=2), memcpy(width=128, height=2)),
    "address of a 2D copy": (memcpy(height=2), memcpy(operand(address=0x9000), height=2)),
    "function of a cooperative node": (kernel(cooperative()), kernel(cooperative(), func=0xF2)),
    "cluster": (kernel(cluster(2)), kernel(cluster(4))),
    "priority": (kernel(), kernel(value(AttributeId.PRIORITY, -1))),
}


@pytest.mark.parametrize("case", SINGLE)
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "in a child graph"])
def test_one_field_has_one_rule_and_one_verdict_everywhere(case: str, inside: bool) -> None:
    a, b = (graph(ChildGraphNode(graph=graph(node)) if inside else node) for node in SINGLE[case])
    prediction = predict_update(a, b, H200, flags=8)
    said = [(finding.rule, finding.verdict, finding.path, finding.old, finding.new) for finding in prediction.findings]
    for policy in POLICIES:
        answer = same(policy, a, b, H200, flags=8)
        told = [(r.rule, r.verdict, r.path, r.old, r.new) for r in answer.reasons]
        assert told == said or (not told and policy != "exact")
        assert answer.verdict is prediction.verdict or policy == "portable"
        found = diff(dump(a), dump(b), H200, policy=policy, flags=8)
        assert [(f.rule, f.verdict, f.path) for f in found.findings] == [s[:3] for s in told] or policy == "portable"


def test_exact_reports_that_no_update_is_accepted_where_handles_are_unknown_too() -> None:
    updatable = value(AttributeId.DEVICE_UPDATABLE_KERNEL_NODE, DeviceUpdatableNode(device_updatable=1, device_node=0))
    unknown = graph(kernel(updatable, func=0, kern=0))
    answer = same("exact", unknown, unknown, H200)
    assert answer.verdict is predict_update(unknown, unknown, H200).verdict is Verdict.REJECTED
    assert {"kernel.device-updatable", "kernel.function-unknown"} <= {reason.rule for reason in answer.reasons}
    known = graph(kernel(updatable))
    assert same("exact", known, known, H200).same  # every recorded field is equal


def test_the_default_diff_of_one_capture_sees_contexts() -> None:
    a, b = graph(kernel()), graph(kernel(context=0xC1))
    (finding,) = diff(dump(a), dump(b), H200).findings
    assert (finding.rule, finding.path, finding.old, finding.new) == (
        "kernel.context",
        "nodes[0].context",
        "0xc0",
        "0xc1",
    )
    assert diff(dump(a), dump(b, process_id=2), H200).findings == ()
