"""Version 1: what becomes of it, and what can be said in it."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, strategies as st

from sigcontract.errors import InvariantError
from sigcontract.model.attributes import ClusterDim, LaunchAttribute
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.graph import Dependency, GraphSignature
from sigcontract.model.nodes import EmptyNode, KernelNodeSignature
from sigcontract.wire import codec
from sigcontract.wire.arguments import without_arguments
from tests.strategies import LAWS, records

CORPUS = Path(__file__).parents[1] / "corpus"
KERNELS_1 = CORPUS / "sigcontract.dump-1" / "valid" / "kernels.json"
EVERY = CORPUS / "sigcontract.dump-2" / "valid" / "every_node.json"

FIVE = (
    AttributeId.COOPERATIVE,
    AttributeId.CLUSTER_DIMENSION,
    AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    AttributeId.PREFERRED_CLUSTER_DIMENSION,
    AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT,
)


def edge(node: int, *, from_port: int = 0) -> Dependency:
    return Dependency(node=node, from_port=from_port, to_port=0, type=0)


def kernel_of_the_corpus() -> KernelNodeSignature:
    node = codec.load(EVERY, expect=SignatureDump).graphs[2].graph.nodes[0]
    assert isinstance(node, KernelNodeSignature)
    return node


def with_graph(graph: GraphSignature) -> SignatureDump:
    dump = codec.load(EVERY, expect=SignatureDump)
    return msgspec.structs.replace(dump, graphs=(LabeledGraph(label="g", graph=graph),), extensions={})


def again_by_1(dump: SignatureDump) -> SignatureDump:
    return codec.decode(codec.encode(dump, version=1), expect=SignatureDump)


def test_an_upgraded_dump_knows_no_function() -> None:
    dump = codec.load(KERNELS_1, expect=SignatureDump)
    kernels = dump.graphs[0].graph.kernel_nodes
    assert len(kernels) == 3
    assert {(node.kern, node.func, node.context, node.function) for node in kernels} == {(0, 0, 0, None)}
    assert (dump.profile, dump.extensions) == (None, {})


def test_an_upgraded_dump_has_the_five_attributes_and_null_is_unreadable() -> None:
    (node, *_) = codec.load(KERNELS_1, expect=SignatureDump).graphs[0].graph.kernel_nodes
    assert tuple(attribute.id for attribute in node.attributes) == FIVE
    states = {attribute.id: attribute.state for attribute in node.attributes}
    assert states[AttributeId.COOPERATIVE] == "value"
    assert states[AttributeId.PREFERRED_CLUSTER_DIMENSION] == "unreadable"
    assert states[AttributeId.CLUSTER_DIMENSION] == "unreadable"  # it was seen at the launch, not told by the node


def test_dependencies_of_an_upgraded_dump_are_in_the_order_of_the_sorted_edges() -> None:
    nodes = (kernel_of_the_corpus(),) * 3
    graph = GraphSignature(nodes=nodes, dependencies=((), (), (edge(1), edge(0, from_port=1), edge(0))))
    (entry,) = again_by_1(with_graph(graph)).graphs
    assert entry.graph.dependencies == ((), (), (edge(0), edge(0, from_port=1), edge(1)))


def test_what_version_1_says_survives() -> None:
    values: tuple[int | ClusterDim, ...] = (1, ClusterDim(x=2, y=1, z=1), 1, ClusterDim(x=4, y=1, z=1), 50)
    attributes = tuple(
        LaunchAttribute(id=number, state="value", origin="node", value=value)
        for number, value in zip(FIVE, values, strict=True)
    )
    node = msgspec.structs.replace(kernel_of_the_corpus(), attributes=attributes)
    dump = with_graph(GraphSignature(nodes=(node, node), dependencies=((), (edge(0),))))
    (after, _) = again_by_1(dump).graphs[0].graph.kernel_nodes
    assert after == msgspec.structs.replace(node, kern=0, func=0, context=0, function=None)
    assert again_by_1(dump).environment == dump.environment


@LAWS
@given(records(SignatureDump), st.data())
def test_a_dump_that_came_through_version_1_stays_as_it_is(dump: SignatureDump, data: st.DataObject) -> None:
    kernels = data.draw(st.lists(records(KernelNodeSignature), max_size=3))
    links = tuple(tuple(edge(other) for other in range(index)) for index in range(len(kernels)))
    graph = GraphSignature(nodes=tuple(kernels), dependencies=links)
    given_ = msgspec.structs.replace(dump, graphs=(LabeledGraph(label="g", graph=graph),), extensions={})
    once = again_by_1(without_arguments(given_))
    assert again_by_1(once) == once
    assert codec.decode(codec.encode(once)) == once


def test_version_1_refuses_what_it_has_no_word_for() -> None:
    for dump, path, message in (
        (
            with_graph(GraphSignature(nodes=(kernel_of_the_corpus(), EmptyNode()), dependencies=((), ()))),
            "$.graphs[0].graph.nodes[1]",
            "version 1 has kernel nodes only, not EmptyNode; write version 2",
        ),
        (
            with_graph(
                GraphSignature(
                    nodes=(kernel_of_the_corpus(), kernel_of_the_corpus()), dependencies=((), (edge(0), edge(0)))
                )
            ),
            "$.graphs[0].graph.dependencies[1]",
            "version 1 holds each edge once, but this node has one twice; write version 2",
        ),
    ):
        with pytest.raises(InvariantError) as caught:
            codec.encode(dump, version=1)
        assert (caught.value.reason, caught.value.path) == (message, path)


def test_a_file_can_be_written_as_version_1(tmp_path: Path) -> None:
    codec.save(
        with_graph(GraphSignature(nodes=(kernel_of_the_corpus(),), dependencies=((),))), tmp_path / "d.json", version=1
    )
    assert codec.read_header(tmp_path / "d.json").version == 1
