"""Graphs whose nodes were captured in another order, renamed kernels, and wrappers more or less."""

from random import Random

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from sigcontract.compare.dumps import diff
from sigcontract.compare.fail_on import gate
from sigcontract.model.findings import Verdict
from sigcontract.model.graph import GraphSignature, NodeSignature
from sigcontract.model.nodes import KernelNodeSignature
from sigcontract.update.policies import same
from sigcontract.update.undetermined import is_difference
from tests.compare.dumps import again, dump, kernel, only
from tests.recaptured import branches, edge, recaptured
from tests.strategies import LAWS, graphs
from tests.update.build import FACTS, H200, child, graph


@LAWS
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
)
def test_another_order_of_capture_is_no_node_removed_or_added(names: list[list[str]], random: Random) -> None:
    captured = branches(names)
    found = diff(dump(captured), again(recaptured(captured, random)), H200)
    assert {finding.rule for finding in found.findings} <= {"topology.node-order", "topology.dependency"}


@LAWS
@given(graphs(), st.randoms(use_true_random=False))
def test_a_diff_of_another_order_finds_the_order_and_what_is_unknown_alone(a: GraphSignature, random: Random) -> None:
    b = recaptured(a, random)
    found = diff(dump(a), again(b), H200)
    differences = {f.rule for f in found.findings if is_difference(f.rule, f.old, f.new)}
    assert differences <= {"topology.node-order"}
    assert (gate(found, "any") == "passed") == same("portable", a, b, H200).same


def test_two_streams_captured_in_another_order_are_the_same_graph_and_an_update_is_taken() -> None:
    names = [["s0", "s1", "s2"], ["r0", "r1", "r2"]]
    captured = branches(names)
    order = [0, 4, 1, 5, 2, 6, 3, 7]
    at = {index: position for position, index in enumerate(order)}
    interleaved = GraphSignature(
        nodes=tuple(captured.nodes[index] for index in order),
        dependencies=tuple(tuple(edge(at[item.node]) for item in captured.dependencies[index]) for index in order),
    )
    finding = only(diff(dump(captured), again(interleaved), H200))
    assert (finding.rule, finding.verdict, finding.path) == ("topology.node-order", Verdict.HARMLESS, "nodes")


def test_a_changed_kernel_is_found_in_a_graph_of_another_order() -> None:
    captured = branches([["s0", "s1", "s2"], ["r0", "r1", "r2"]])
    nodes = [replace(node, grid_dim=replace(node.grid_dim, x=99)) if node.name == "r1" else node for node in
             captured.kernel_nodes]  # fmt: skip
    changed = recaptured(replace(captured, nodes=tuple(nodes)), Random(3))  # noqa: S311  seeded data
    found = diff(dump(captured), again(changed), H200)
    by_rule = {finding.rule: finding for finding in found.findings}
    assert by_rule["kernel.grid-dim"].subject == "r1"
    assert not {"node.added", "node.removed"}.intersection(by_rule)


def test_ten_thousand_nodes_alike_in_another_order_are_matched() -> None:
    captured = branches([["k"] * 1000] * 10)
    found = diff(dump(captured), again(recaptured(captured, Random(1))), H200)  # noqa: S311  seeded data
    assert {finding.rule for finding in found.findings} <= {"topology.node-order", "topology.dependency"}


def coded(name: str, code: str, func: int, **changed: int) -> KernelNodeSignature:
    return kernel(name=name, func=func, function=replace(FACTS, code_sha256=code * 64, **changed))


def test_kernels_that_a_compiler_numbered_otherwise_are_renamed_and_not_others() -> None:
    old = [coded(f"triton_poi_fused_{code}_{at}", code, at + 1) for at, code in enumerate("abcdef")]
    inserted = coded("triton_red_fused_new_1", "9", 50)
    new = [coded(f"triton_poi_fused_{code}_{at + (at > 0)}", code, at + 1) for at, code in enumerate("abcdef")]
    found = diff(dump(graph(*old)), again(graph(new[0], inserted, *new[1:])), H200)
    assert [(finding.rule, finding.path) for finding in found.findings] == [
        ("node.added", "nodes[1]"),
        *(("kernel.renamed", f"nodes[{index}].name") for index in range(2, 7)),
    ]


def test_another_name_with_other_code_is_another_kernel() -> None:
    found = diff(dump(graph(coded("k_1", "a", 1))), again(graph(coded("k_2", "b", 1))), H200)
    assert only(found).rule == "kernel.function"


@pytest.mark.parametrize("depth", [1, 2])
def test_a_wrapper_more_does_not_hide_the_kernel_inside(depth: int) -> None:
    node = kernel()
    wrapped: NodeSignature = kernel(grid=99)
    for _ in range(depth):
        wrapped = child(wrapped)
    findings = diff(dump(graph(node)), again(graph(wrapped)), H200).findings
    assert [(f.rule, f.path, f.old, f.new) for f in findings] == [
        ("child.wrapper", "nodes[0]", "kernel", "graph of " * depth + "kernel"),
        ("kernel.grid-dim", f"nodes[0]{'.graph.nodes[0]' * depth}.grid_dim", "8x1x1", "99x1x1"),
    ]


def test_a_substitution_amid_equal_nodes_is_where_it_is() -> None:
    fused, gemm, gelu = (kernel(name=name, func=at + 1) for at, name in enumerate(("fused", "gemm", "gelu")))
    new = [node for at in range(12) for node in ([gemm, gelu] if at in (2, 8) else [fused])]
    found = diff(dump(graph(*[fused] * 12)), again(graph(*new)), H200)
    places = {(f.rule, f.subject): (f.path, *f.also) for f in found.findings}
    assert places["node.removed", "fused"] == ("nodes[2]", "nodes[8]")
    assert places["node.added", "gemm"] == ("nodes[2]", "nodes[9]")


def test_a_change_in_three_of_fifty_layers_is_found_in_those() -> None:
    layer = [kernel(name=name, func=at + 1) for at, name in enumerate(("norm", "gemm", "act", "gemm", "add"))]
    tuned = [layer[0], kernel(name="gemm_split", func=77), kernel(name="reduce", func=78), *layer[2:]]
    new = [node for at in range(50) for node in (tuned if at in (3, 17, 40) else layer)]
    found = diff(dump(graph(*layer * 50)), again(graph(*new)), H200)
    removed = next(f for f in found.findings if f.rule == "node.removed")
    assert (removed.path, *removed.also) == ("nodes[16]", "nodes[86]", "nodes[201]")


def test_one_changed_kernel_amid_twins_in_another_order_is_one_finding() -> None:
    """What comes before a node does not tell it from its twins, and what comes after leads to the change."""
    random = Random(5)  # noqa: S311  seeded data
    edges = [
        tuple(edge(node) for node in sorted(random.sample(range(max(0, at - 20), at), min(at, 2)))) for at in range(600)
    ]
    captured = GraphSignature(nodes=(kernel(),) * 600, dependencies=tuple(edges))
    other = recaptured(captured, random)
    changed = kernel(grid=99)
    nodes = (*other.nodes[:300], changed, *other.nodes[301:])
    found = diff(dump(captured), again(replace(other, nodes=nodes)), H200)
    assert {(f.rule, f.path) for f in found.findings} == {
        ("topology.node-order", "nodes"),
        ("kernel.grid-dim", "nodes[300].grid_dim"),
    }
