"""A dump as a mapping of labels, and as rows."""

from pathlib import Path

import pytest
from msgspec.structs import force_setattr, replace

from sigcontract.model.cuda import AttributeId
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.equality import equal_dumps
from sigcontract.model.function import ParameterLayout
from sigcontract.model.graph import ChildGraphNode, GraphSignature, NodeSignature
from sigcontract.model.nodes import EmptyNode
from sigcontract.wire.codec import load
from tests.compare.dumps import dump
from tests.update.build import FACTS, graph, kernel

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_a_dump_is_read_by_label() -> None:
    first, second = graph(kernel()), graph(kernel(), kernel())
    given = dump(first, second)
    assert list(given) == ["g0", "g1"]
    assert given["g1"] is second
    assert "g0" in given
    assert "g2" not in given
    with pytest.raises(KeyError, match="g2"):
        given["g2"]


def test_of_two_graphs_with_one_label_the_first_is_given() -> None:
    first, second = graph(kernel()), graph(kernel(), kernel())
    entries = tuple(LabeledGraph(label="same", graph=each) for each in (first, second))
    given = replace(dump(), graphs=entries)
    assert list(given) == ["same", "same"]
    assert given["same"] is first


def test_an_empty_dump_is_not_false() -> None:
    assert bool(dump())


def test_rows_have_the_same_keys_for_every_node() -> None:
    node = kernel(grid=4)
    child = ChildGraphNode(graph=GraphSignature(nodes=(node,), dependencies=((),)))
    rows = list(dump(graph(child, EmptyNode())).rows())
    assert [(row["label"], row["path"], row["type"]) for row in rows] == [
        ("g0", "nodes[0]", "graph"),
        ("g0", "nodes[0].graph.nodes[0]", "kernel"),
        ("g0", "nodes[1]", "empty"),
    ]
    assert len({tuple(row) for row in rows}) == 1
    assert (rows[1]["grid_x"], rows[1]["grid_y"], rows[1]["name"]) == (4, 1, node.name)
    assert rows[2]["name"] is None


def test_a_cluster_that_is_not_set_is_0_and_one_that_is_not_known_is_none() -> None:
    recorded = load(EXAMPLES / "clusters.dump.json", expect=SignatureDump)
    clusters = {row["label"]: row["cluster_x"] for row in recorded.rows()}
    assert (clusters["cluster none"], clusters["cluster 2"]) == (0, 2)
    unreadable = kernel(drop=[AttributeId.CLUSTER_DIMENSION])
    assert [row["cluster_x"] for row in dump(graph(unreadable)).rows()] == [None]


def test_equal_dumps_compare_a_graph_of_many_labels_once() -> None:
    def labelled(size: int) -> SignatureDump:
        held = graph(*[kernel()] * size)
        return replace(dump(held), graphs=tuple(LabeledGraph(label=f"g{index}", graph=held) for index in range(size)))

    compared = []

    class Counted(tuple[NodeSignature, ...]):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            compared.append(1)
            return tuple.__eq__(self, other)

        __hash__ = tuple.__hash__

    a, b = labelled(16), labelled(16)
    force_setattr(a.graphs[0].graph, "nodes", Counted(a.graphs[0].graph.nodes))
    assert equal_dumps(a, b)
    assert len(compared) == 1


def test_equal_dumps_compare_what_nodes_share_once() -> None:
    compared = []

    class Counted(int):
        def __eq__(self, other: object) -> bool:
            compared.append(1)
            return int.__eq__(self, other)

        __hash__ = int.__hash__

    def sharing(size: int) -> SignatureDump:
        layout = tuple(ParameterLayout(offset_bytes=Counted(index), size_bytes=1) for index in range(size))
        function = replace(FACTS, parameters=layout)
        return dump(graph(*(kernel(grid=index + 1, function=function) for index in range(size))))

    assert equal_dumps(sharing(50), sharing(50))
    assert len(compared) == 50


def test_equal_dumps_are_those_that_are_equal() -> None:
    one, two = dump(graph(kernel())), dump(graph(kernel(), kernel()))
    named = replace(one, graphs=(replace(one.graphs[0], label="other"),))
    others = [two, named, replace(one, graphs=()), replace(one, complete=False), replace(one, extensions={"x": 1})]
    others.append(replace(one, graphs=list(one.graphs)))
    for other in others:
        assert not equal_dumps(one, other)
        assert not equal_dumps(other, one)
    assert equal_dumps(one, replace(one, graphs=tuple(replace(entry) for entry in one.graphs)))
