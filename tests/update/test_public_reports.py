"""What people reported of graphs that were compared, shared or replayed: each kind of input, and the right answer.

Reports about single policies stand in `test_policies`; each test here names the threads that it is about.
"""

from collections import Counter

import pytest
from msgspec.structs import replace

from sigcontract.compare.dumps import diff
from sigcontract.compare.fail_on import gate
from sigcontract.model.cuda import UpdateResult
from sigcontract.model.dims import Dim3
from sigcontract.model.dump import SignatureDump
from sigcontract.model.findings import Finding, Verdict
from sigcontract.model.graph import ConditionalNode, GraphSignature
from sigcontract.model.groups import GraphGroup, GraphName, PolicyGroups
from sigcontract.registry import SignatureRegistry
from sigcontract.update.groups import group_dumps
from sigcontract.update.policies import POLICIES, key, same
from sigcontract.update.predict import predict_update
from tests.compare.dumps import dump, kernel, kinds, of_another_process
from tests.update.build import FACTS, H200, graph, memcpy, operand

GEMM = kernel(name="gemm_128x64", func=0xA1)
LAYER = (kernel(name="norm", func=0xA0), GEMM, kernel(name="add", func=0xA2))
DECODE = graph(*LAYER * 12)


def rank(number: int, captured: GraphSignature = DECODE) -> SignatureDump:
    """Return the dump of one rank: a process of its own, with its own numbers for the same functions."""
    return dump(of_another_process(captured), rank=number, process_id=2000 + number)


def across(*dumps: SignatureDump) -> PolicyGroups:
    (found,) = group_dumps(dumps, ["portable"], H200)
    return found


def shared(found: PolicyGroups) -> list[GraphGroup]:
    return [group for group in found.groups if len(group.members) > 1]


def lone(found: PolicyGroups) -> GraphGroup:
    (group,) = (group for group in found.groups if len(group.members) == 1)
    return group


def reasons(group: GraphGroup) -> tuple[Finding, ...]:
    assert group.nearest is not None
    return group.nearest.findings


def changed(index: int, **parts: object) -> GraphSignature:
    nodes = list(DECODE.nodes)
    nodes[index] = replace(nodes[index], **parts)
    return replace(DECODE, nodes=tuple(nodes))


# Ranks that captured other kernels.


@pytest.mark.parametrize("outlier", [2, 5])
def test_one_rank_chose_another_tactic(outlier: int) -> None:
    """https://github.com/flashinfer-ai/flashinfer/issues/3186: the ranks deadlock. Rank, node and field are named."""
    other = changed(4, name="gemm_256x128", func=0xB1)
    found = across(*(rank(number, other if number == outlier else DECODE) for number in range(8)))
    assert [[name.dump for name in group.members] for group in shared(found)] == [[n for n in range(8) if n != outlier]]
    alone = lone(found)
    assert alone.members == (GraphName(dump=outlier, label="g0"),)
    named = next(reason for reason in reasons(alone) if reason.rule == "kernel.function")
    assert (named.path, named.old, named.new) == ("nodes[4].name", "gemm_128x64", "gemm_256x128")


def test_one_rank_chose_a_slower_tactic() -> None:
    """https://github.com/flashinfer-ai/flashinfer/issues/3537, https://github.com/NVIDIA/TensorRT-LLM/pull/9378."""
    found = across(*(rank(n, changed(7, grid_dim=Dim3(x=2, y=1, z=1)) if n == 3 else DECODE) for n in range(4)))
    alone = lone(found)
    assert alone.members[0].dump == 3
    assert [(reason.rule, reason.path) for reason in reasons(alone)] == [("kernel.grid-dim", "nodes[7].grid_dim")]


def test_ranks_that_stall_with_equal_graphs_are_reported_to_be_equal() -> None:
    """https://github.com/ROCm/rccl/issues/2179, https://github.com/pytorch/pytorch/issues/196133: a useful negative."""
    found = across(*map(rank, range(8)))
    assert [len(group.members) for group in found.groups] == [8]
    assert diff(rank(0), rank(7), H200).findings == ()


# Updates that were refused, and nobody knew why.


def test_a_refused_update_names_the_first_node_and_the_rule() -> None:
    """https://github.com/ggml-org/llama.cpp/issues/12420: "CUDA graph update failed", again and again."""
    longer = graph(*DECODE.nodes, LAYER[0])
    prediction = predict_update(DECODE, longer, H200)
    assert (prediction.result, prediction.node) == (UpdateResult.ERROR_TOPOLOGY_CHANGED, None)
    assert [finding.rule for finding in prediction.findings] == ["topology.node-count"]
    other_type = replace(DECODE, nodes=(*DECODE.nodes[:20], memcpy(), *DECODE.nodes[21:]))
    prediction = predict_update(DECODE, other_type, H200)
    assert (prediction.result, prediction.node) == (UpdateResult.ERROR_NODE_TYPE_CHANGED, "nodes[20]")
    (finding,) = (finding for finding in prediction.findings if finding.verdict is Verdict.REJECTED)
    assert (finding.rule, finding.path) == ("node.type", "nodes[20]")


# Keys that were too coarse.


def test_a_copy_from_another_address_is_a_difference_of_what_is_recorded() -> None:
    """https://github.com/ikawrakow/ik_llama.cpp/pull/2136: a copy's source was left out of the key, and went stale."""
    a, b = (graph(memcpy(source=operand(address=address))) for address in (0x7000, 0x9000))
    assert key("exact", a) != key("exact", b)
    found = diff(dump(a), dump(b), H200, policy="exact")
    assert kinds(found) == [("memcpy.address", "nodes[0].source.address", 1)]
    assert same("share", a, b, H200).verdict is Verdict.UPDATABLE, "an update carries it"


def test_other_source_shapes_with_equal_results_are_another_launch() -> None:
    """https://github.com/ikawrakow/ik_llama.cpp/pull/2096: arguments are not recorded, launches are."""
    a, b = graph(GEMM), graph(replace(GEMM, block_dim=Dim3(x=128, y=1, z=1)))
    assert all(key(policy, a, H200) != key(policy, b, H200) for policy in ("exact", "portable"))


def test_many_graphs_are_counted_by_groups_and_singletons() -> None:
    """https://github.com/ikawrakow/ik_llama.cpp/issues/1232: hundreds of graphs were kept, and nobody saw it grow."""
    registry = SignatureRegistry("share", H200)
    sizes = []
    for step in range(60):
        registry.register(graph(*[GEMM] * (1 + step % 20)))
        sizes.append(len(registry))
    stats = registry.stats()
    assert (stats.graphs, stats.groups, stats.singletons, stats.largest) == (60, 20, 0, 3)
    assert sizes[-41:] == [20] * 41, "no growth once every shape was seen"


# What cannot be seen is not equal.


def test_bodies_that_nobody_can_read_are_never_equal() -> None:
    """https://github.com/pytorch/pytorch/pull/191845: conditional bodies were left out without a word."""
    hidden = graph(ConditionalNode(kind=0, handle=None, bodies=(None,)))
    for policy in POLICIES:
        answer = same(policy, hidden, hidden, H200)
        assert not answer.same
        assert {reason.rule for reason in answer.reasons} == {"conditional.unreadable"}
    assert gate(diff(rank(0, hidden), rank(1, hidden), H200), "any") == "undetermined"


def test_a_kernel_of_one_name_that_was_built_anew_is_another_kernel() -> None:
    """https://github.com/facebookexperimental/triton/pull/1289: two processes, one handle, another binary."""
    built = replace(GEMM, function=replace(FACTS, code_sha256="cd" * 32))
    found = diff(dump(graph(GEMM), process_id=1), dump(graph(built), process_id=2), H200)
    assert kinds(found) == [("function.code", "nodes[0].function.code_sha256", 1)]


def test_repeated_layers_of_one_name_keep_their_position() -> None:
    """https://github.com/neuralmagic/nm-vllm/pull/332, https://github.com/pytorch/pytorch/issues/186026."""
    found = diff(rank(0), rank(1, changed(19, grid_dim=Dim3(x=9, y=1, z=1))), H200)
    assert Counter(node.name for node in DECODE.kernel_nodes)["gemm_128x64"] == 12
    assert kinds(found) == [("kernel.grid-dim", "nodes[19].grid_dim", 1)]
