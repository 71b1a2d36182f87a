"""Kernel nodes in bulk: states of attributes, observed launches, rows that are equal."""

from collections.abc import Mapping

import pytest

from sigcontract.driver.cuda.driver import CudaDriver
from sigcontract.driver.reading import kernel_nodes
from sigcontract.driver.reading.attribute_values import ATTRIBUTE_CUDA_VERSION, encode_attribute
from sigcontract.driver.reading.graph import read_graph
from sigcontract.errors import DriverCallError, GraphReadError
from sigcontract.model.attributes import AttributeValue, ClusterDim, RawValue
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dims import Dim3
from sigcontract.model.nodes import KernelNodeSignature
from tests.driver.build import GraphBuilder
from tests.driver.fake import FakeDriver, ptx

POINTER = bytes(8)


def kernel_graph(driver: CudaDriver, count: int = 1) -> GraphBuilder:
    """Return a chain of `count` equal kernels."""
    module = driver.module_load(ptx("add"))
    function = driver.module_function(module, "add")
    graph = GraphBuilder(driver)
    last: list[int] = []
    for _ in range(count):
        last = [graph.kernel(function, arguments=(POINTER,), after=last)]
    return graph


class Seen:
    """Launches as an observer gives them."""

    def __init__(self, launches: Mapping[int, Mapping[int, bytes]], code: str | None = None) -> None:
        self.launches = launches
        self.code = code

    def attributes(self, node: int) -> Mapping[int, bytes] | None:
        return self.launches.get(node)

    def code_sha256(self, func: int, kern: int) -> str | None:
        return self.code if func or kern else None


def states(node: KernelNodeSignature) -> dict[int, tuple[str, str]]:
    return {one.id: (one.state, one.origin) for one in node.attributes}


def test_an_id_newer_than_the_driver_is_unsupported_and_an_older_one_unreadable(fake: FakeDriver) -> None:
    (node,) = read_graph(kernel_graph(fake.driver()).graph, driver=fake.driver()).kernel_nodes
    found = {one.id: one.state for one in node.attributes}
    assert {one for one, state in found.items() if state == "value"} == {1, 2, 4, 5, 8, 9, 10, 13, 14}
    assert {one for one, state in found.items() if state == "unreadable"} == {3, 6, 7, 11, 12, 16}
    assert {one for one, state in found.items() if state == "unsupported"} == {17, 18}


@pytest.mark.parametrize(
    ("version", "unsupported"),
    [(12030, {11, 13, 14, 16, 17, 18}), (12040, {11, 14, 16, 17, 18}), (12080, {16, 17, 18}), (13020, set())],
)
def test_which_ids_are_unsupported_follows_the_version_of_the_driver(version: int, unsupported: set[int]) -> None:
    fake = FakeDriver(version=version, readable=frozenset({2, 4}))
    (node,) = read_graph(kernel_graph(fake.driver()).graph, driver=fake.driver()).kernel_nodes
    assert {one.id for one in node.attributes if one.state == "unsupported"} == unsupported


def test_a_driver_that_gives_an_attribute_of_a_later_version_is_believed() -> None:
    fake = FakeDriver(version=12080, readable=frozenset({2, 4, 16}))
    (node,) = read_graph(kernel_graph(fake.driver()).graph, driver=fake.driver()).kernel_nodes
    assert node.attribute_value(AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING) == 0


def test_a_driver_that_gives_nothing_leaves_every_attribute_unreadable() -> None:
    fake = FakeDriver(version=13020, readable=frozenset())
    (node,) = read_graph(kernel_graph(fake.driver()).graph, driver=fake.driver()).kernel_nodes
    assert {one.state for one in node.attributes} == {"unreadable"}
    assert len(node.attributes) == len(ATTRIBUTE_CUDA_VERSION)


def test_one_refusal_among_readable_values_is_unreadable_on_that_node_alone(fake: FakeDriver) -> None:
    graph = kernel_graph(fake.driver(), 3)
    # 17 questions to the first node of the function, then three nodes are asked for attribute 1 and for attribute 2
    fake.fail("cuGraphKernelNodeGetAttribute", 1, after=17 + 3 + 1)
    nodes = read_graph(graph.graph, driver=fake.driver()).kernel_nodes
    assert [states(node)[2] for node in nodes] == [("value", "node"), ("unreadable", "node"), ("value", "node")]
    assert nodes[0] == nodes[2] != nodes[1]


def test_a_failure_that_is_no_refusal_is_an_error(fake: FakeDriver) -> None:
    graph = kernel_graph(fake.driver())
    fake.fail("cuGraphKernelNodeGetAttribute", 700)
    with pytest.raises(DriverCallError) as caught:
        read_graph(graph.graph, driver=fake.driver())
    assert str(caught.value) == (
        "cuGraphKernelNodeGetAttribute failed with CUDA_ERROR_ILLEGAL_ADDRESS (700): "
        "a kernel of this process read or wrote a wrong address; nothing works in this process any more"
    )


def test_attributes_are_asked_in_vain_once_per_function(fake: FakeDriver) -> None:
    graph = kernel_graph(fake.driver(), 50)
    fake.calls.clear()
    read_graph(graph.graph, driver=fake.driver())
    assert fake.calls["cuGraphKernelNodeGetAttribute"] == 17 + 50 * 9
    assert fake.calls["cuFuncGetName"] == 1


def test_what_was_seen_at_the_launch_fills_what_the_node_will_not_give(fake: FakeDriver) -> None:
    graph = kernel_graph(fake.driver())
    (handle,) = fake.driver().graph_nodes(graph.graph)
    preferred = encode_attribute(11, ClusterDim(x=4, y=1, z=1))
    seen = Seen({handle: {11: preferred, 2: encode_attribute(2, 1), 15: bytes(range(64))}}, code="ab" * 32)
    (node,) = read_graph(graph.graph, driver=fake.driver(), observations=seen).kernel_nodes
    assert states(node)[11] == ("value", "launch")
    assert node.preferred_cluster_dim == Dim3(x=4, y=1, z=1)
    assert states(node)[2] == ("value", "node")
    assert not node.cooperative
    assert node.attribute_value(15) == RawValue(hex=bytes(range(64)).hex())
    assert [one.id for one in node.attributes] == sorted(one.id for one in node.attributes)
    assert node.function is not None
    assert node.function.code_sha256 == "ab" * 32


def test_a_launch_seen_without_an_attribute_that_only_launches_carry_had_its_default(fake: FakeDriver) -> None:
    graph = kernel_graph(fake.driver())
    (handle,) = fake.driver().graph_nodes(graph.graph)
    (node,) = read_graph(graph.graph, driver=fake.driver(), observations=Seen({handle: {}})).kernel_nodes
    assert node.preferred_cluster_dim is None
    assert node.attribute_value(6) == 0
    assert {one: states(node)[one] for one in (3, 16)} == dict.fromkeys((3, 16), ("unreadable", "node"))
    assert states(node)[17] == ("unsupported", "node")


def test_a_launch_that_carried_an_attribute_newer_than_the_driver_is_believed(fake: FakeDriver) -> None:
    graph = kernel_graph(fake.driver())
    (handle,) = fake.driver().graph_nodes(graph.graph)
    seen = Seen({handle: {17: encode_attribute(17, 2)}})
    (node,) = read_graph(graph.graph, driver=fake.driver(), observations=seen).kernel_nodes
    assert states(node)[17] == ("value", "launch")
    assert node.attribute_value(17) == 2


def test_nodes_whose_launch_was_not_seen_stay_unreadable(fake: FakeDriver) -> None:
    graph = kernel_graph(fake.driver(), 2)
    handles = fake.driver().graph_nodes(graph.graph)
    seen = Seen({handles[0]: {}})
    first, second = read_graph(graph.graph, driver=fake.driver(), observations=seen).kernel_nodes
    assert states(first)[11] == ("value", "launch")
    assert states(second)[11] == ("unreadable", "node")


def test_an_observed_value_of_a_wrong_size_is_an_error(fake: FakeDriver) -> None:
    graph = kernel_graph(fake.driver())
    (handle,) = fake.driver().graph_nodes(graph.graph)
    with pytest.raises(GraphReadError, match="the value of launch attribute 11 has 4 bytes"):
        read_graph(graph.graph, driver=fake.driver(), observations=Seen({handle: {11: bytes(4)}}))


def test_equal_nodes_are_one_record(fake: FakeDriver) -> None:
    nodes = read_graph(kernel_graph(fake.driver(), 10).graph, driver=fake.driver()).kernel_nodes
    assert len({id(node) for node in nodes}) == 1


def test_nodes_that_differ_in_an_attribute_alone_are_two_records(fake: FakeDriver) -> None:
    driver = fake.driver()
    function = driver.module_function(driver.module_load(ptx("add")), "add")
    graph = GraphBuilder(driver)
    for priority, width in ((0, 2), (-1, 2), (0, 4), (0, 2)):
        attributes: dict[int, AttributeValue] = {8: priority, 4: ClusterDim(x=width, y=1, z=1)}
        graph.kernel(function, arguments=(POINTER,), attributes=attributes)
    nodes = read_graph(graph.graph, driver=driver).kernel_nodes
    assert [(node.priority, node.cluster_dim) for node in nodes] == [
        (priority, Dim3(x=width, y=1, z=1)) for priority, width in ((0, 2), (-1, 2), (0, 4), (0, 2))
    ]
    assert nodes[0] is nodes[3]


def test_nodes_beyond_one_pass_are_read_like_those_within(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = kernel_graph(fake.driver(), 7)
    whole = read_graph(graph.graph, driver=fake.driver())
    monkeypatch.setattr(kernel_nodes, "_CHUNK", 3)
    assert read_graph(graph.graph, driver=fake.driver()) == whole


def test_a_kernel_whose_module_was_unloaded_is_an_error_that_says_so(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = kernel_graph(driver)
    driver.module_unload(next(iter(fake.modules)))
    with pytest.raises(GraphReadError, match="keep modules loaded as long as graphs that use them"):
        read_graph(graph.graph, driver=driver)
