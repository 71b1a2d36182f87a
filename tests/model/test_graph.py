"""Graphs: what fits together, and what can be asked of them."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from sigcontract.errors import InvariantError
from sigcontract.model.graph import ChildGraphNode, ConditionalNode, Dependency, GraphSignature
from sigcontract.model.nodes import EmptyNode, EventWaitNode, OpaqueNode
from tests.strategies import LAWS, graphs


def edges(*found: int) -> tuple[Dependency, ...]:
    return tuple(Dependency(node=node, from_port=0, to_port=0, type=0) for node in found)


def empty(*dependencies: tuple[Dependency, ...]) -> GraphSignature:
    return GraphSignature(nodes=(EmptyNode(),) * len(dependencies), dependencies=dependencies)


@pytest.mark.parametrize(
    ("dependencies", "message"),
    [
        (
            ((), edges(2)),
            "node 2 is not among the 2 nodes; drop the edge or add the node (at /dependencies/1/0/node)",
        ),
        (
            ((), edges(0, 9)),
            "node 9 is not among the 2 nodes; drop the edge or add the node (at /dependencies/1/1/node)",
        ),
        ((edges(0),), "nodes depend on each other in a cycle (0 -> 0); a CUDA graph has none (at /dependencies)"),
        (
            (edges(2), edges(0), edges(1)),
            "nodes depend on each other in a cycle (0 -> 1 -> 2 -> 0); a CUDA graph has none (at /dependencies)",
        ),
    ],
)
def test_edges_lead_to_nodes_and_never_round(dependencies: Any, message: str) -> None:
    with pytest.raises(InvariantError) as caught:
        empty(*dependencies)
    assert str(caught.value) == message


def test_there_is_a_list_of_dependencies_per_node() -> None:
    with pytest.raises(InvariantError) as caught:
        GraphSignature(nodes=(EmptyNode(),), dependencies=())
    assert str(caught.value) == "1 nodes have 0 dependency lists; give one list per node (at /dependencies)"


def test_an_edge_may_lead_forward_in_node_order() -> None:
    assert empty(edges(1), ()).sinks == (0,)


@LAWS
@given(st.permutations(range(5)))
def test_a_chain_in_any_node_order_is_a_graph_and_closed_it_is_none(order: list[int]) -> None:
    before = {node: previous for previous, node in pairwise(order)}
    links = [edges(before[node]) if node in before else () for node in range(5)]
    assert empty(*links).sinks == (order[-1],)
    links[order[0]] = edges(order[-1])
    with pytest.raises(InvariantError, match="in a cycle"):
        empty(*links)


@LAWS
@given(graphs())
def test_equal_graphs_have_equal_hashes(graph: GraphSignature) -> None:
    copy = msgspec.json.decode(msgspec.json.encode(graph), type=GraphSignature)
    assert copy == graph
    assert hash(copy) == hash(graph)


def test_a_graph_is_shown_by_what_it_counts_and_not_node_by_node() -> None:
    graph = GraphSignature(nodes=(EmptyNode(), OpaqueNode(type=99), EmptyNode()), dependencies=((), edges(0), ()))
    assert repr(graph) == "GraphSignature(3 nodes (2 empty, 1 opaque), 1 edge)"
    assert repr(ChildGraphNode(graph=empty())) == "ChildGraphNode(graph=GraphSignature(0 nodes, 0 edges))"


def test_a_walk_goes_through_children_and_readable_bodies() -> None:
    leaf = GraphSignature(nodes=(OpaqueNode(type=14),), dependencies=((),))
    conditional = ConditionalNode(kind=0, handle=None, bodies=(None, leaf))
    unread = ConditionalNode(kind=None, handle=None, bodies=None)
    graph = GraphSignature(
        nodes=(ChildGraphNode(graph=leaf), conditional, unread, EventWaitNode(event=1)), dependencies=((),) * 4
    )
    assert [path for path, _ in graph.walk()] == [
        "nodes[0]",
        "nodes[0].graph.nodes[0]",
        "nodes[1]",
        "nodes[1].bodies[1].nodes[0]",
        "nodes[2]",
        "nodes[3]",
    ]


def test_every_node_knows_its_type_in_cuda() -> None:
    assert EmptyNode().node_type == 5
    assert OpaqueNode(type=18).node_type == 18
    assert ChildGraphNode.node_type == 4


def test_the_orders_of_nodes_and_of_dependencies_count() -> None:
    one = GraphSignature(nodes=(EmptyNode(), OpaqueNode(type=14)), dependencies=((), ()))
    assert one != GraphSignature(nodes=one.nodes[::-1], dependencies=((), ()))
    assert empty((), (), edges(0, 1)) != empty((), (), edges(1, 0))
