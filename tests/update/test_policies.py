"""Same for what: the four policies, their reasons and their keys."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from sigcontract.errors import UsageError
from sigcontract.model.attributes import ClusterDim, DeviceUpdatableNode, LaunchAttribute
from sigcontract.model.cuda import AttributeId, UpdateResult
from sigcontract.model.findings import Verdict
from sigcontract.model.graph import ConditionalNode, GraphSignature, NodeSignature
from sigcontract.model.nodes import EmptyNode, EventRecordNode, HostNode, KernelNodeSignature, OpaqueNode
from sigcontract.model.profile import DriverProfile
from sigcontract.update.function_changes import is_durable
from sigcontract.update.policies import POLICIES, key, same
from sigcontract.update.predict import predict_update
from tests.strategies import LAWS, graphs, records
from tests.update.build import (
    BLACKWELL,
    FACTS,
    H200,
    HOST,
    child,
    cluster,
    cooperative,
    edge,
    graph,
    kernel,
    memcpy,
    memset,
    operand,
    pointer,
    value,
    without_value,
)

PLAIN = kernel()
FOLLOWS = msgspec.structs.replace(H200, cluster_fixed_at="never")
PREFERRED = value(AttributeId.PREFERRED_CLUSTER_DIMENSION, ClusterDim(x=4, y=1, z=1), observed=True)
EVERYTHING = graph(PLAIN, memset(), memcpy(), child(kernel(cluster(2)), EmptyNode()), EventRecordNode(event=1))


def other_code(node: KernelNodeSignature, digit: str = "c") -> KernelNodeSignature:
    """Return the node with other machine code and nothing else changed."""
    assert node.function is not None
    facts = msgspec.structs.replace(node.function, code_sha256=digit * 64)
    return msgspec.structs.replace(node, function=facts)


def verdicts(a: GraphSignature, b: GraphSignature) -> dict[str, bool]:
    return {policy: same(policy, a, b, H200).same for policy in POLICIES}


def test_the_policies() -> None:
    assert POLICIES == ("exact", "share", "share-functions", "portable")


@pytest.mark.parametrize("policy", POLICIES)
def test_an_equal_graph_is_the_same_under_every_policy(policy: str) -> None:
    equal = msgspec.structs.replace(EVERYTHING)
    answer = same(policy, EVERYTHING, equal, H200)
    assert (answer.policy, answer.same, answer.verdict, answer.reasons) == (policy, True, Verdict.IDENTICAL, ())
    assert key(policy, EVERYTHING, H200) == key(policy, equal, H200)
    assert key(policy, EVERYTHING, H200).startswith(f"{policy}:sha256:")


def one(held: NodeSignature, candidate: NodeSignature) -> tuple[GraphSignature, GraphSignature]:
    return graph(held), graph(candidate)


#: exact, share, share-functions, portable.
DIFFERENCES: dict[str, tuple[tuple[GraphSignature, GraphSignature], str]] = {
    "grid": (one(PLAIN, kernel(grid=4)), "no yes yes no"),
    "block": (one(PLAIN, kernel(block=32)), "no yes yes no"),
    "shared memory": (one(PLAIN, kernel(shared=64)), "no yes yes no"),
    "priority": (one(PLAIN, kernel(value(AttributeId.PRIORITY, -1))), "no yes yes no"),
    "function, another handle of equal code": (one(PLAIN, kernel(func=0xF2)), "no no yes yes"),
    "function, other code": (one(PLAIN, other_code(kernel(func=0xF2))), "no no yes no"),
    "function of a cooperative node": (
        one(kernel(cooperative()), kernel(cooperative(), func=0xF2, name="probe2")),
        "no no no no",
    ),
    "one handle, other code": (one(PLAIN, other_code(PLAIN)), "no no yes no"),
    "one handle, other name": (one(PLAIN, kernel(name="probe2")), "no no yes no"),
    "cluster": (one(kernel(cluster(2)), kernel(cluster(4))), "no no no no"),
    "no cluster against one block": (one(PLAIN, kernel(cluster(1))), "no no no no"),
    "carveout": (one(PLAIN, kernel(value(AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT, 50))), "no no no no"),
    "memory sync domain": (one(PLAIN, kernel(value(AttributeId.MEM_SYNC_DOMAIN, 1))), "no no no no"),
    "cooperative": (one(PLAIN, kernel(cooperative())), "no no no no"),
    "context": (one(PLAIN, kernel(context=0xC1)), "no no no yes"),
    "memset value": (one(memset(fill=1), memset(fill=2)), "no yes yes no"),
    "memset address": (one(memset(), memset(destination=0x9000)), "no yes yes yes"),
    "memset to 2D": (one(memset(), memset(height=2)), "no no no no"),
    "memcpy size": (one(memcpy(), memcpy(width=8)), "no yes yes no"),
    "memcpy address": (one(memcpy(), memcpy(operand(address=0x9000))), "no yes yes yes"),
    "2D memcpy address": (one(memcpy(height=2), memcpy(operand(address=0x9000), height=2)), "no no no yes"),
    "memcpy kind": (one(memcpy(), memcpy(destination=operand(HOST))), "no no no no"),
    "owner known on one side": (
        one(memset(), msgspec.structs.replace(memset(), pointer=None)),
        "no no no no",
    ),
    "host function": (
        one(HostNode(function_address=1, user_data=0), HostNode(function_address=2, user_data=0)),
        "no yes yes yes",
    ),
    "event": (one(EventRecordNode(event=1), EventRecordNode(event=2)), "no yes yes yes"),
    "inner grid": (one(child(PLAIN), child(kernel(grid=4))), "no yes yes no"),
    "inner cluster": (one(child(PLAIN), child(kernel(cluster(2)))), "no no no no"),
    "type": (one(PLAIN, EmptyNode()), "no no no no"),
    "count": ((graph(PLAIN), graph(PLAIN, PLAIN)), "no no no no"),
    "edge data": (
        (graph(PLAIN, PLAIN), graph(PLAIN, PLAIN, edges=[[], [edge(0, from_port=1, kind=1)]])),
        "no no no no",
    ),
    "order of nodes that the pairing undoes": (
        (
            graph(PLAIN, memset(), EmptyNode(), edges=[[], [], [0, 1]]),
            graph(memset(), PLAIN, EmptyNode(), edges=[[], [], [1, 0]]),
        ),
        "no yes yes yes",
    ),
    "order of dependencies": (
        (
            graph(PLAIN, memset(), EmptyNode(), edges=[[], [], [0, 1]]),
            graph(PLAIN, memset(), EmptyNode(), edges=[[], [], [1, 0]]),
        ),
        "no no no no",
    ),
}


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_what_each_policy_keeps_apart(difference: str) -> None:
    (a, b), wanted = DIFFERENCES[difference]
    answers = [same(policy, a, b, H200) for policy in POLICIES]
    assert ["yes" if answer.same else "no" for answer in answers] == wanted.split()
    assert all(answer.same != bool(answer.reasons) for answer in answers)
    assert [key(policy, a, H200) == key(policy, b, H200) for policy in POLICIES] == [a.same for a in answers]


def test_share_says_what_may_differ_in_its_verdict() -> None:
    answer = same("share", graph(PLAIN), graph(kernel(grid=4)), H200)
    assert (answer.same, answer.verdict) == (True, Verdict.UPDATABLE)


def test_priority_parts_under_share_where_the_exec_has_the_flag() -> None:
    a, b = one(PLAIN, kernel(value(AttributeId.PRIORITY, -1)))
    assert not same("share", a, b, H200, flags=8).same
    assert key("share", a, H200, flags=8) != key("share", b, H200, flags=8)


#: Nodes that are the same as nothing, with the rule that says why.
UNKNOWN: dict[str, tuple[NodeSignature, set[str]]] = {
    "opaque": (OpaqueNode(type=14), {"node.opaque"}),
    "conditional": (ConditionalNode(kind=None, handle=None, bodies=None), {"conditional.unreadable"}),
    "unreadable attribute": (kernel(without_value(AttributeId.MEM_SYNC_DOMAIN)), {"kernel.attribute-unknown"}),
    "unreadable cooperative": (kernel(without_value(AttributeId.COOPERATIVE)), {"kernel.attribute-unknown"}),
    "unreadable cluster": (kernel(without_value(AttributeId.CLUSTER_DIMENSION)), {"kernel.attribute-unknown"}),
    "inside a child": (child(OpaqueNode(type=14)), {"node.opaque"}),
    "in a body": (ConditionalNode(kind=0, handle=None, bodies=(graph(OpaqueNode(type=14)),)), {"node.opaque"}),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("case", UNKNOWN)
def test_the_unknown_is_not_even_the_same_as_itself(policy: str, case: str) -> None:
    node, rules = UNKNOWN[case]
    unknown = graph(node)
    answer = same(policy, unknown, unknown, H200)
    assert unknown == graph(node)
    assert (answer.same, answer.verdict) == (False, Verdict.UNDETERMINED)
    assert {reason.rule for reason in answer.reasons} == rules


def test_an_attribute_that_nobody_asked_for_parts_all_but_exact_which_compares_what_is_recorded() -> None:
    unasked = graph(kernel(drop=[AttributeId.MEM_SYNC_DOMAIN]))
    assert [same(policy, unasked, unasked, H200).same for policy in POLICIES] == [True, False, False, False]


@pytest.mark.parametrize("policy", ["exact", "share", "share-functions"])
def test_a_function_without_a_handle_proves_nothing(policy: str) -> None:
    """As every kernel of a version 1 document."""
    nameless = graph(kernel(func=0, function=None))
    answer = same(policy, nameless, nameless, H200)
    assert [reason.rule for reason in answer.reasons] == ["kernel.function-unknown"]


def test_portable_needs_the_code_and_no_handle() -> None:
    nameless = graph(kernel(func=0))
    assert same("portable", nameless, nameless, H200).same
    unobserved = msgspec.structs.replace(FACTS, code_sha256=None)
    cases: list[tuple[NodeSignature, str]] = [
        (kernel(function=unobserved), "function.code-unknown"),
        (kernel(function=None), "function.facts-unknown"),
        (
            kernel(function=msgspec.structs.replace(FACTS, max_dynamic_shared_mem_bytes=None)),
            "function.facts-unknown",
        ),
        (kernel(name="func:140213"), "function.name-not-durable"),
    ]
    for node, rule in cases:
        answer = same("portable", graph(node), graph(node), H200)
        assert (answer.same, answer.verdict) == (False, Verdict.UNDETERMINED)
        assert [reason.rule for reason in answer.reasons] == [rule]


def test_compiled_facts_may_be_unknown_where_the_code_is_known() -> None:
    facts = msgspec.structs.replace(FACTS, registers=None, parameters=None)
    node = graph(kernel(function=facts))
    assert same("portable", node, node, H200).same


def test_share_wants_one_functions_facts_known_alike() -> None:
    """A third graph may contradict the facts of one side and not of the other."""
    partly = kernel(function=msgspec.structs.replace(FACTS, registers=None))
    answer = same("share", graph(PLAIN), graph(partly), H200)
    (reason,) = answer.reasons
    assert (reason.rule, reason.old, reason.new) == ("function.facts-unknown", "known", "unknown: registers")
    assert predict_update(graph(PLAIN), graph(partly), H200).verdict is Verdict.IDENTICAL


def test_portable_compares_handles_as_a_correspondence() -> None:
    """Two nodes of one function against two functions of one name: a split, whichever numbers they have."""
    joined = graph(kernel(func=1), kernel(func=1))
    renumbered = graph(kernel(func=7), kernel(func=7))
    split = graph(kernel(func=7), kernel(func=8))
    assert same("portable", joined, renumbered, H200).same
    for a, b in ((joined, split), (split, joined)):
        answer = same("portable", a, b, H200)
        assert [reason.rule for reason in answer.reasons] == ["portable.function"]
    contexts = graph(kernel(context=1), kernel(context=2))
    reasons = same("portable", joined, contexts, H200).reasons
    assert "portable.context" in {reason.rule for reason in reasons}


@pytest.mark.parametrize(
    ("name", "durable"),
    [
        ("func:140213", False),
        ("kern:0x7f00aa", False),
        ("_Z4gemmv", True),
        ("triton_poi_fused_add_0", True),
        ("func:gemm", True),
    ],
)
def test_names_made_from_handles(name: str, durable: bool) -> None:
    assert is_durable(name) is durable


def test_names_made_from_handles_are_unknown_not_different() -> None:
    answer = same("portable", graph(kernel(name="func:140213")), graph(kernel(name="func:150099")), H200)
    assert answer.verdict is Verdict.UNDETERMINED
    assert {reason.rule for reason in answer.reasons} == {"function.name-not-durable"}


@pytest.mark.parametrize("function", [same, key])
def test_an_unknown_policy_is_a_usage_error(function: Callable[..., Any]) -> None:
    with pytest.raises(UsageError) as caught:
        function("strict", EVERYTHING, EVERYTHING)
    pairs_alone = "" if function is key else "share-updatable, "  # which has no key
    assert str(caught.value) == f"no policy 'strict'; policies: exact, share, share-functions, {pairs_alone}portable"


# Public reports, by where they were filed.


def test_report_hang_after_a_successful_update() -> None:
    """https://github.com/sgl-project/sglang/pull/37657: the function first, then the preferred cluster unknown."""
    preferred = value(AttributeId.PREFERRED_CLUSTER_DIMENSION, ClusterDim(x=4, y=1, z=1), observed=True)
    answer = same("share", graph(kernel(preferred, function=BLACKWELL)), graph(kernel(func=0xF2, function=BLACKWELL)))
    assert not answer.same
    first, second = answer.reasons[:2]
    assert first.rule == "kernel.function"
    assert (second.rule, second.path) == (
        "kernel.attribute-unknown",
        "nodes[0].attributes[preferred_cluster_dimension]",
    )
    assert (second.old, second.new) == ("4x1x1", "unreadable")


def test_report_cluster_dims_not_updated() -> None:
    """https://github.com/ml-explore/mlx/pull/2813: not shareable, though a live update reports success."""
    a, b = one(kernel(cluster(1)), kernel(cluster(2)))
    assert predict_update(a, b, H200).result is UpdateResult.SUCCESS
    (reason,) = same("share", a, b, H200).reasons
    assert (reason.rule, reason.verdict) == ("kernel.cluster-dim", Verdict.STALE)


def test_report_same_name_with_different_source() -> None:
    """https://github.com/ml-explore/mlx/issues/4275: never merged on a name."""
    a, b = one(PLAIN, other_code(kernel(func=0xF2)))
    assert verdicts(a, b) == {"exact": False, "share": False, "share-functions": True, "portable": False}


def test_report_topology_only_key() -> None:
    """Equal topology and other functions: apart under share, and each change is listed."""
    a, b = graph(kernel(), kernel()), graph(kernel(name="f", func=1), kernel(name="g", func=2))
    assert [reason.new for reason in same("share", a, b, H200).reasons] == ["f", "g"]
    prediction = predict_update(a, b, H200)
    assert [finding.rule for finding in prediction.findings] == ["kernel.function", "kernel.function"]


def test_report_handle_of_an_unloaded_module() -> None:
    """https://github.com/triton-lang/triton/pull/9444: an equal handle in another load epoch is no identity."""
    (reason,) = same("share", graph(PLAIN), graph(other_code(PLAIN)), H200).reasons
    assert reason.rule == "kernel.handle-reused"
    assert reason.new == f"code_sha256 {'c' * 64}"


def test_report_refused_without_a_reason() -> None:
    """https://github.com/google-research/multinerf/issues/139: the node and the rule are named."""
    (reason,) = same("share", graph(PLAIN, PLAIN), graph(PLAIN, memcpy()), H200).reasons
    assert (reason.rule, reason.path, reason.old, reason.new) == ("node.type", "nodes[1]", "probe", "memcpy")


def test_report_one_key_for_two_shapes() -> None:
    """https://github.com/ggml-org/llama.cpp/issues/28652: a batch of 1 and a batch of 4 of one first node."""
    a, b = one(PLAIN, kernel(grid=32))
    assert key("exact", a) != key("exact", b)
    (reason,) = same("exact", a, b, H200).reasons
    assert (reason.rule, reason.old, reason.new) == ("kernel.grid-dim", "8x1x1", "32x1x1")


def test_report_programmatic_edges() -> None:
    """https://github.com/sgl-project/sglang/pull/18596: with and without PDL is a difference of edge data alone."""
    a, b = graph(PLAIN, PLAIN), graph(PLAIN, PLAIN, edges=[[], [edge(0, from_port=1, kind=1)]])
    for policy in POLICIES:
        assert {reason.rule for reason in same(policy, a, b, H200).reasons} == {"edge.data"}


# Laws.

FEW_NODES: list[NodeSignature] = [
    PLAIN,
    kernel(grid=4),
    kernel(func=0xF2),
    kernel(cluster(2)),
    kernel(cooperative()),
    kernel(cooperative(), function=None),
    kernel(PREFERRED),
    kernel(PREFERRED, function=None),
    kernel(PREFERRED, function=BLACKWELL),
    other_code(PLAIN),
    kernel(value(AttributeId.PRIORITY, -1)),
    kernel(without_value(AttributeId.MEM_SYNC_DOMAIN)),
    memset(),
    memset(height=2),
    msgspec.structs.replace(memset(), pointer=pointer(device=1)),
    memcpy(),
    memcpy(operand(3)),
    child(PLAIN),
    child(kernel(cluster(2))),
    EmptyNode(),
    OpaqueNode(type=16),
]


@st.composite
def near_graphs(draw: st.DrawFn) -> GraphSignature:
    """Return a graph of one or two nodes out of a few, so that two of them are often the same in some way."""
    nodes = draw(st.lists(st.sampled_from(FEW_NODES), min_size=1, max_size=2))
    edges: list[list[list[int]]] = [[[], []], [[], [0]]]
    return graph(*nodes, edges=draw(st.sampled_from(edges))[: len(nodes)])


NEAR = st.one_of(near_graphs(), graphs())
PROFILES = st.sampled_from([H200, FOLLOWS, None]) | records(DriverProfile)


@LAWS
@given(a=NEAR, b=NEAR, profile=PROFILES)
def test_law_policies_widen_in_order(a: GraphSignature, b: GraphSignature, profile: DriverProfile | None) -> None:
    """What exact calls the same, share does, unless the driver never updates such a graph; so does the next."""
    exact, share, functions = (same(policy, a, b, profile) for policy in ("exact", "share", "share-functions"))
    if exact.same and not share.same:
        assert {reason.rule for reason in share.reasons} <= {"kernel.device-updatable"}
    if share.same:
        assert functions.same


@LAWS
@given(a=NEAR, b=NEAR, profile=PROFILES)
def test_law_the_same_is_symmetric_and_has_one_key(
    a: GraphSignature, b: GraphSignature, profile: DriverProfile | None
) -> None:
    for policy in POLICIES:
        there, back = same(policy, a, b, profile), same(policy, b, a, profile)
        assert there.same == back.same
        assert there.same != bool(there.reasons)
        if there.same:
            assert key(policy, a, profile) == key(policy, b, profile)


def device_node(number: int) -> LaunchAttribute:
    return value(AttributeId.DEVICE_UPDATABLE_KERNEL_NODE, DeviceUpdatableNode(device_updatable=0, device_node=number))


@pytest.mark.parametrize(
    ("policy", "a", "b", "profile"),
    [
        pytest.param("share", kernel(cluster(2)), kernel(cluster(4)), FOLLOWS, id="clusters follow an update"),
        pytest.param("share", kernel(device_node(0)), kernel(device_node(0xD)), H200, id="device node of no such node"),
        pytest.param("share", PLAIN, kernel(PREFERRED), None, id="code of a device without preferred clusters"),
        pytest.param("share-functions", PLAIN, kernel(PREFERRED, func=0xF1), None, id="the same of other functions"),
    ],
)
def test_graphs_that_are_the_same_have_one_key(
    policy: str, a: KernelNodeSignature, b: KernelNodeSignature, profile: DriverProfile | None
) -> None:
    assert same(policy, graph(a), graph(b), profile).same
    assert key(policy, graph(a), profile) == key(policy, graph(b), profile)


@pytest.mark.parametrize(
    ("a", "b", "profile"),
    [
        pytest.param(
            kernel(cooperative(), function=None), kernel(cooperative()), H200, id="function of a cooperative node"
        ),
        pytest.param(kernel(PREFERRED, function=None), kernel(PREFERRED, func=0xF1), None, id="device of the code"),
    ],
)
def test_share_functions_wants_the_facts_that_count_known_alike(
    a: KernelNodeSignature, b: KernelNodeSignature, profile: DriverProfile | None
) -> None:
    for there, back in ((a, b), (b, a)):
        (reason,) = same("share-functions", graph(there), graph(back), profile).reasons
        assert (reason.rule, reason.path) == ("function.facts-unknown", "nodes[0].function")
    assert same("share-functions", graph(kernel(function=None)), graph(kernel(func=0xF1)), H200).same


@LAWS
@given(a=NEAR, b=NEAR, profile=PROFILES)
def test_law_equal_keys_part_only_by_what_is_unknown(
    a: GraphSignature, b: GraphSignature, profile: DriverProfile | None
) -> None:
    for policy in POLICIES:
        if key(policy, a, profile) == key(policy, b, profile):
            for reason in same(policy, a, b, profile).reasons:
                assert reason.verdict is Verdict.UNDETERMINED or reason.rule in {
                    "kernel.device-updatable",
                    "kernel.attribute-unknown",
                }


@LAWS
@given(a=NEAR, b=NEAR, profile=PROFILES)
def test_law_share_promises_an_update_that_is_taken_and_carried_out(
    a: GraphSignature, b: GraphSignature, profile: DriverProfile | None
) -> None:
    for policy in ("share", "share-functions"):
        if same(policy, a, b, profile).same:
            prediction = predict_update(a, b, profile)
            assert (prediction.result, prediction.verdict.safe) == (UpdateResult.SUCCESS, True)


@LAWS
@given(walk=st.lists(near_graphs(), min_size=3, max_size=3))
def test_law_share_holds_along_a_walk_of_updates(walk: list[GraphSignature]) -> None:
    """An exec launched with the first and updated to the second may take the third."""
    fixed, held, candidate = walk
    for policy in ("share", "share-functions"):
        if same(policy, fixed, held, H200).same and same(policy, held, candidate, H200).same:
            assert same(policy, fixed, candidate, H200).same
            assert predict_update(held, candidate, H200, fixed).verdict.safe


def test_bodies_of_other_kinds_of_node_are_compared_by_their_nodes() -> None:
    a, b = (graph(ConditionalNode(kind=0, handle=None, bodies=(graph(node),))) for node in (PLAIN, memset()))
    (reason,) = same("exact", a, b, H200).reasons
    assert (reason.rule, reason.path, reason.count) == ("node.type", "nodes[0].bodies[0].nodes[0]", 1)


@pytest.mark.parametrize("policy", ["share", "share-functions"])
def test_a_function_without_a_handle_is_the_same_as_none_whatever_its_name(policy: str) -> None:
    known, unknown = graph(kernel()), graph(kernel(name="other", kern=0, func=0))
    for a, b in ((known, unknown), (unknown, known), (unknown, unknown)):
        answer = same(policy, a, b, H200)
        assert "kernel.function-unknown" in {finding.rule for finding in answer.reasons}
