"""Distinct nodes answer for a whole graph."""

import pytest
from hypothesis import given

from sigcontract.compare.policies import POLICIES, same
from sigcontract.model.graph import ConditionalNode, GraphSignature
from sigcontract.model.nodes import EmptyNode, OpaqueNode
from sigcontract.registry.distinct import distinct_nodes, unknowns
from tests.compare.build import H200, child, graph, kernel
from tests.strategies import LAWS, graphs


def test_each_object_is_given_once_however_often_it_occurs_also_inside() -> None:
    node, other = kernel(), EmptyNode()
    branch = ConditionalNode(kind=0, handle=None, bodies=(graph(other), None))
    holder = child(node, other)
    found = distinct_nodes(graph(node, node, holder, branch))
    assert [id(one) for one in found] == [id(one) for one in (node, holder, branch, other)]


@given(graph=graphs())
@LAWS
@pytest.mark.parametrize("policy", POLICIES)
def test_a_graph_has_unknowns_exactly_where_it_is_not_the_same_as_itself(policy: str, graph: GraphSignature) -> None:
    answer = same(policy, graph, graph, H200)
    assert unknowns(policy, graph, H200) == answer.reasons
    assert bool(answer.reasons) != answer.same


def test_the_path_of_an_unknown_is_that_in_the_whole_graph() -> None:
    found = unknowns("exact", graph(EmptyNode(), EmptyNode(), child(OpaqueNode(type=99))), H200)
    assert {finding.path for finding in found} == {"nodes[2].graph.nodes[0]"}
