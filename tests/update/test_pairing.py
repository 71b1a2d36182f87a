"""How the driver pairs two graphs, step by step."""

from sigcontract.model.cuda import UpdateResult
from sigcontract.model.graph import ConditionalNode, GraphSignature, NodeSignature
from sigcontract.model.nodes import EmptyNode, EventRecordNode
from sigcontract.update.pairing import Doubt, NodeRefusal, Pairing, pair_graphs
from tests.update.build import child, edge, graph, kernel, memset

K, M, E = kernel(), memset(), EmptyNode()


def takes_all(held: NodeSignature, candidate: NodeSignature) -> tuple[Doubt, ...]:
    """Forbid nothing."""
    del held, candidate
    return ()


def pair(held: GraphSignature, candidate: GraphSignature) -> Pairing:
    return pair_graphs(held, candidate, takes_all)


def test_sinks_are_paired_in_node_order_and_taken_last_first() -> None:
    pairing = pair(graph(K, K, K, edges=[[], [], []]), graph(K, K, K, edges=[[], [], []]))
    assert pairing.pairs == [(2, 2), (1, 1), (0, 0)]
    assert pairing.refusal is None


def test_dependencies_are_paired_in_the_order_of_their_edges_breadth_first() -> None:
    held = graph(K, K, K, K, edges=[[], [0], [0], [2, 1]])
    candidate = graph(K, K, K, K, edges=[[], [0], [0], [1, 2]])
    assert pair(held, candidate).pairs == [(3, 3), (2, 1), (1, 2), (0, 0)]


def test_another_number_of_nodes_names_no_node() -> None:
    refusal = pair(graph(K), graph(K, K)).refusal
    assert refusal is not None
    assert (refusal.rule, refusal.result) == ("topology.node-count", UpdateResult.ERROR_TOPOLOGY_CHANGED)
    assert (refusal.node, refusal.from_node, refusal.old, refusal.new) == (None, None, 1, 2)


def test_more_sinks_in_the_candidate_name_one_of_them() -> None:
    """The driver names the candidate's sink of number (its sinks - the exec's sinks - 1)."""
    refusal = pair(graph(K, K, K), graph(K, K, K, edges=[[], [], []])).refusal
    assert refusal is not None
    assert (refusal.rule, refusal.node) == ("topology.sink-count", "nodes[1]")


def test_fewer_sinks_in_the_candidate_name_no_node() -> None:
    refusal = pair(graph(K, K, edges=[[], []]), graph(K, K)).refusal
    assert refusal is not None
    assert (refusal.rule, refusal.node) == ("topology.sink-count", None)


def test_number_of_dependencies_is_looked_at_before_the_type() -> None:
    held = graph(K, K, K, edges=[[], [0], [1]])
    candidate = graph(K, K, M, edges=[[], [0], [0, 1]])
    refusal = pair(held, candidate).refusal
    assert refusal is not None
    assert (refusal.rule, refusal.node, refusal.old, refusal.new) == ("topology.dependency-count", "nodes[2]", 1, 2)


def test_type_is_looked_at_before_what_the_node_forbids() -> None:
    def forbids_all(held: NodeSignature, candidate: NodeSignature) -> NodeRefusal:
        del held, candidate
        return NodeRefusal("memset.shape", UpdateResult.ERROR_PARAMETERS_CHANGED, ".height", 1, 2)

    refusal = pair_graphs(graph(K), graph(M), forbids_all).refusal
    assert refusal is not None
    assert (refusal.rule, refusal.old, refusal.new) == ("node.type", "probe", "memset")
    refusal = pair_graphs(graph(M), graph(M), forbids_all).refusal
    assert refusal is not None
    assert (refusal.rule, refusal.node, refusal.path) == ("memset.shape", "nodes[0]", "nodes[0].height")


def test_edge_data_names_the_dependency() -> None:
    refusal = pair(graph(K, K), graph(K, K, edges=[[], [edge(0, from_port=1, kind=1)]])).refusal
    assert refusal is not None
    assert (refusal.rule, refusal.node, refusal.from_node) == ("edge.data", "nodes[1]", "nodes[0]")
    assert (refusal.old, refusal.new) == ("from_port 0, to_port 0, type 0", "from_port 1, to_port 0, type 1")
    assert refusal.path == "dependencies[1][0]"


def test_dependency_that_is_paired_with_another_node_is_named() -> None:
    held = graph(K, K, K, K, edges=[[], [0], [0], [1, 2]])
    candidate = graph(K, K, K, K, edges=[[], [0], [1], [1, 2]])
    refusal = pair(held, candidate).refusal
    assert refusal is not None
    assert (refusal.rule, refusal.node, refusal.from_node) == ("topology.dependency", "nodes[2]", "nodes[1]")


def test_of_two_faults_the_one_nearer_to_the_last_sink_is_found() -> None:
    held = graph(E, K, K, E, edges=[[], [0], [], [2]])
    candidate = graph(E, M, K, K, edges=[[], [0], [], [2]])
    refusal = pair(held, candidate).refusal
    assert refusal is not None
    assert refusal.node == "nodes[3]"


def test_child_graph_gives_its_own_result_with_the_node_inside() -> None:
    held, candidate = graph(K, child(E, child(K, K))), graph(K, child(E, child(K, M)))
    refusal = pair(held, candidate).refusal
    assert refusal is not None
    assert refusal.result is UpdateResult.ERROR_NODE_TYPE_CHANGED
    assert refusal.node == "nodes[1].graph.nodes[1].graph.nodes[1]"
    refusal = pair(graph(child(K)), graph(child(K, K))).refusal
    assert refusal is not None
    assert (refusal.node, refusal.path) == (None, "nodes[0].graph.nodes")


def test_fault_inside_a_child_comes_before_the_edges_of_its_node() -> None:
    held = graph(K, child(K))
    candidate = graph(K, child(M), edges=[[], [edge(0, from_port=1, kind=1)]])
    refusal = pair(held, candidate).refusal
    assert refusal is not None
    assert refusal.rule == "node.type"


def test_walk_yields_nodes_of_children_and_of_bodies_that_both_can_be_read() -> None:
    conditional = ConditionalNode(kind=2, handle=None, bodies=(None, graph(K)))
    held, candidate = graph(conditional, child(M)), graph(conditional, child(M))
    found = [(p.held_path, p.candidate_path) for p in pair(held, candidate).walk(held, candidate)]
    assert found == [
        ("nodes[1]", "nodes[1]"),
        ("nodes[1].graph.nodes[0]", "nodes[1].graph.nodes[0]"),
        ("nodes[0]", "nodes[0]"),
        ("nodes[0].bodies[1].nodes[0]", "nodes[0].bodies[1].nodes[0]"),
    ]


def test_doubt_does_not_stop_the_pairing() -> None:
    def doubts_events(held: NodeSignature, candidate: NodeSignature) -> tuple[Doubt, ...]:
        del held
        return (Doubt("node.opaque", "", 1, 1),) if isinstance(candidate, EventRecordNode) else ()

    record = EventRecordNode(event=1)
    pairing = pair_graphs(graph(K, record, child(record)), graph(M, record, child(record)), doubts_events)
    assert pairing.doubtful
    assert set(pairing.doubts) == {1}
    assert pairing.refusal is not None
    assert pairing.refusal.node == "nodes[0]"


def test_a_graph_without_nodes_is_paired_with_itself() -> None:
    empty = graph()
    assert pair(empty, empty) == Pairing([], None, {}, {})
    assert pair(graph(child()), graph(child())).refusal is None
