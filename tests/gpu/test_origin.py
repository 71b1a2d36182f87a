"""The two checks of the origin, on live graphs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cuda.bindings import driver

from examples.recording.calls import check
from lab.capture import build, destroy
from lab.rig import Rig
from lab.specs import Edge, GraphSpec, Kernel
from sigcontract.driver import read_graph, read_profile
from sigcontract.model.graph import GraphSignature
from sigcontract.update.policies import same


def _captured(rig: Rig, function: str, value: int = 0) -> GraphSignature:
    nodes = tuple(Kernel(slot=slot, function=function, value=value) for slot in range(3))
    spec = GraphSpec(nodes=nodes, dependencies=((), (Edge(node=0),), (Edge(node=1),)), captured=True)
    with _graph(rig, spec) as handle:
        return read_graph(handle)


@contextmanager
def _graph(rig: Rig, spec: GraphSpec) -> Iterator[int]:
    built = build(rig, spec)
    try:
        yield int(built.handle)
    finally:
        destroy(built)


def test_captures_of_the_same_kernel_give_equal_signatures(rig: Rig) -> None:
    first, second = _captured(rig, "rep"), _captured(rig, "rep", value=3)
    assert first == second
    assert hash(first) == hash(second)
    assert same("exact", first, second, read_profile()).same
    assert same("share", first, second, read_profile()).same


def test_the_same_image_from_two_modules_gives_different_signatures(rig: Rig) -> None:
    first, second = _captured(rig, "rep"), _captured(rig, "rep@again")
    assert [node.name for node in first.kernel_nodes] == [node.name for node in second.kernel_nodes]
    assert [node.function for node in first.kernel_nodes] == [node.function for node in second.kernel_nodes]
    assert first != second
    assert not same("exact", first, second, read_profile()).same
    assert not same("share", first, second, read_profile()).same


def test_kernels_of_one_name_and_other_code_are_not_the_same(rig: Rig) -> None:
    first, second = _captured(rig, "rep"), _captured(rig, "rep@2")
    assert {node.name for node in first.kernel_nodes} == {node.name for node in second.kernel_nodes} == {"rep"}
    assert not same("share", first, second, read_profile()).same


def test_a_graph_reads_the_same_twice(rig: Rig) -> None:
    spec = GraphSpec(nodes=(Kernel(slot=0, cluster=(2, 1, 1)),), dependencies=((),))
    with _graph(rig, spec) as handle:
        assert read_graph(handle) == read_graph(handle)
        (node,) = read_graph(handle).kernel_nodes
    assert (node.cluster_dim, node.cooperative) == (node.cluster_dim, False)
    assert str(node.cluster_dim) == "2x1x1"


def test_reading_leaves_the_graph_as_it_was(rig: Rig) -> None:
    spec = GraphSpec(nodes=(Kernel(slot=0),), dependencies=((),))
    with _graph(rig, spec) as handle:
        read_graph(handle)
        graph: Any = check(driver.cuGraphInstantiate(driver.CUgraph(handle), 0))
        seen = rig.launch(graph, ("device",), events=False)
        check(driver.cuGraphExecDestroy(graph))
    assert seen["reports"][:4] == (1).to_bytes(4, "little")
