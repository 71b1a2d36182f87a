"""Graphs of one structure: found whatever the order of their nodes, and no others."""

from random import Random

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from sigcontract.model.findings import Verdict
from sigcontract.model.graph import ChildGraphNode, Dependency, GraphSignature
from sigcontract.model.nodes import EventRecordNode, EventWaitNode, KernelNodeSignature
from sigcontract.update import arrangement
from sigcontract.update.arrangement import compact_portable_form, portable_order, structure_key
from sigcontract.update.flat_order import FlatAnswer
from sigcontract.update.groups import group_dumps
from sigcontract.update.policies import key, same
from sigcontract.update.structure import node_order
from sigcontract.wire.canonical import portable_digest, portable_form
from tests.compare.dumps import again, dump
from tests.recaptured import branches, edge, recaptured
from tests.strategies import LAWS, graphs
from tests.update.build import H200, child, graph, kernel


def everywhere_recaptured(captured: GraphSignature, random: Random) -> GraphSignature:
    """Return the graph with its nodes, and those of child graphs, in another order."""
    nodes = tuple(
        replace(node, graph=everywhere_recaptured(node.graph, random)) if isinstance(node, ChildGraphNode) else node
        for node in captured.nodes
    )
    return recaptured(GraphSignature(nodes=nodes, dependencies=captured.dependencies), random)


@LAWS
@given(st.integers(min_value=2, max_value=40), st.randoms(use_true_random=False))
def test_any_graph_of_equal_nodes_is_found_again_in_another_order(size: int, random: Random) -> None:
    edges = [tuple(edge(node) for node in sorted(random.sample(range(index), min(index, 2)))) for index in range(size)]
    captured = GraphSignature(nodes=(kernel(),) * size, dependencies=tuple(edges))
    other = recaptured(captured, random)
    found = node_order([([0] * size, [0] * size)], captured.dependencies, other.dependencies)
    assert found.total
    assert sorted(found.order) == list(range(size))
    at = {index: position for position, index in enumerate(found.order)}
    for index, dependencies in enumerate(captured.dependencies):
        moved = sorted(at[item.node] for item in dependencies)
        assert moved == sorted(item.node for item in other.dependencies[at[index]])


@LAWS
@given(graphs(), st.randoms(use_true_random=False))
def test_a_graph_in_another_order_has_the_same_key_and_is_put_back_in_order(a: GraphSignature, random: Random) -> None:
    b = everywhere_recaptured(a, random)
    assert key("portable", a) == key("portable", b)
    forms = compact_portable_form(a), compact_portable_form(b)
    order = portable_order(*forms)
    if order is None:  # chains and graphs that hold none have one order
        assert forms[0] == forms[1]
        return
    assert portable_form(order.applied(a)) == portable_form(b)
    assert order.inverse.applied(order.applied(a)) == a


@LAWS
@given(graphs(), graphs())
def test_graphs_of_one_structure_are_found_and_no_others(a: GraphSignature, b: GraphSignature) -> None:
    forms = compact_portable_form(a), compact_portable_form(b)
    if structure_key(forms[0]) != structure_key(forms[1]):
        assert portable_digest(a) != portable_digest(b)
        assert portable_order(*forms) is None


KERNELS = st.builds(
    lambda name, func, context: kernel(name=name, func=func, context=context),
    st.sampled_from(["a", "b"]),
    st.integers(1, 3),
    st.integers(1, 2),
)


@LAWS
@given(st.lists(KERNELS, min_size=2, max_size=6), st.randoms(use_true_random=False), st.booleans())
def test_the_search_by_nodes_and_edges_answers_as_the_one_that_follows_every_number(
    nodes: list[KernelNodeSignature], random: Random, changed: bool
) -> None:
    edges = [
        tuple(sorted(random.sample(range(index), random.randint(0, min(index, 2))))) for index in range(len(nodes))
    ]
    captured = graph(*nodes, edges=edges)
    other = recaptured(captured, random)
    if changed:
        at = random.randrange(len(nodes))
        some = replace(other.nodes[at], func=random.randint(1, 3), context=random.randint(1, 2))
        other = replace(other, nodes=(*other.nodes[:at], some, *other.nodes[at + 1 :]))
    forms = compact_portable_form(captured), compact_portable_form(other)
    found = portable_order(*forms)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrangement, "flat_order", lambda *_: FlatAnswer(decided=False, order=None))
        expected = portable_order(*forms)
    assert (found is None) == (expected is None)
    if found is not None:
        assert portable_form(found.applied(captured)) == portable_form(other)


LOOP = branches([["a", "b"], ["a", "b"], ["c"]])
WITH_EVENTS = graph(
    EventRecordNode(event=1), EventRecordNode(event=2), EventWaitNode(event=2), EventWaitNode(event=1),
    edges=[[], [], [0], [1]],
)  # fmt: skip
LOOSE = [kernel(func=1, context=1), kernel(func=1, context=1), kernel(func=1, context=2), kernel(func=1, context=2)]


@pytest.mark.parametrize(
    "captured",
    [
        LOOP,
        graph(child(*LOOP.nodes), kernel(name="beside"), edges=[[], []]),
        replace(graph(child(kernel()), kernel(name="beside"), edges=[[], []]),
                nodes=(ChildGraphNode(graph=LOOP), kernel(name="beside"))),
        WITH_EVENTS,
        GraphSignature(nodes=tuple(LOOSE), dependencies=((),) * 4),
    ],
    ids=["branches", "in a child graph, a chain", "in a child graph", "events", "two contexts without edges"],
)  # fmt: skip
def test_portable_takes_no_account_of_the_order_of_capture(captured: GraphSignature) -> None:
    for seed in range(12):
        other = everywhere_recaptured(captured, Random(seed))  # noqa: S311  seeded data
        answer = same("portable", captured, other, H200)
        assert (answer.same, answer.reasons) == (True, ())
        assert answer.verdict.safe or answer.verdict is Verdict.REJECTED
        (groups,) = group_dumps([dump(captured), again(other)], ["portable"], H200)
        assert len(groups.groups) == 1


def test_numbers_count_in_any_order_of_nodes() -> None:
    """Who equals whom is part of the structure: two contexts of two kernels each, and one of three and one of one."""
    even = GraphSignature(nodes=tuple(LOOSE), dependencies=((),) * 4)
    odd = GraphSignature(nodes=(*LOOSE[:2], LOOSE[0], LOOSE[2]), dependencies=((),) * 4)
    assert key("portable", even) != key("portable", odd)
    assert not same("portable", even, odd, H200).same


def test_another_order_of_the_dependencies_of_a_node_is_another_graph() -> None:
    """The driver pairs by it."""
    a, b = (graph(kernel(name="a"), kernel(name="b"), kernel(), edges=[[], [], edges]) for edges in ([0, 1], [1, 0]))
    assert key("portable", a) != key("portable", b)
    assert not same("portable", a, b, H200).same


def test_a_changed_kernel_in_another_order_is_the_reason_and_not_the_order() -> None:
    captured = branches([["s0", "s1", "s2"], ["r0", "r1", "r2"]])
    nodes = [replace(node, grid_dim=replace(node.grid_dim, x=99)) if node.name == "r1" else node for node in
             captured.kernel_nodes]  # fmt: skip
    changed = recaptured(replace(captured, nodes=tuple(nodes)), Random(3))  # noqa: S311  seeded data
    (reason,) = same("portable", captured, changed, H200).reasons
    assert (reason.rule, reason.subject) == ("kernel.grid-dim", "r1")


def test_graphs_that_colours_cannot_tell_apart_are_no_group() -> None:
    """Two rings of three against one of six, as stages of a pipeline: every node has equal neighbours."""

    def rings(length: int) -> GraphSignature:
        first = [()] * 6
        second = [
            tuple(Dependency(node=node, from_port=0, to_port=0, type=0) for node in sorted((at, _next(at, length))))
            for at in range(6)
        ]
        return GraphSignature(nodes=(kernel(),) * 12, dependencies=(*first, *second))

    three, six = rings(3), rings(6)
    assert not same("portable", three, six, H200).same
    (groups,) = group_dumps([dump(three), again(six)], ["portable"], H200)
    assert len(groups.groups) == 2


def _next(at: int, length: int) -> int:
    return at - at % length + (at + 1) % length
