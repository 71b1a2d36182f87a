"""Live graphs as signatures, on the fake driver and on a real one."""

import pytest

from sigcontract.driver.cuda.api import KernelLaunch
from sigcontract.driver.cuda.driver import CudaDriver
from sigcontract.driver.reading.attribute_values import encode_attribute
from sigcontract.driver.reading.graph import read_graph
from sigcontract.errors import AttributeUnknownError, DriverCallError, GraphReadError
from sigcontract.model.attributes import ClusterDim
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dims import Dim3
from sigcontract.model.graph import ChildGraphNode, ConditionalNode, Dependency, GraphSignature
from sigcontract.model.nodes import (
    BatchMemOpNode,
    EmptyNode,
    EventRecordNode,
    EventWaitNode,
    HostNode,
    MemAccess,
    MemAllocNode,
    MemcpyNode,
    MemFreeNode,
    MemOp,
    MemsetNode,
)
from sigcontract.wire.canonical import digest
from sigcontract.wire.limits import MAX_GRAPH_DEPTH
from tests.driver.build import GraphBuilder
from tests.driver.conftest import Workshop
from tests.driver.fake import FakeDriver, ptx

DEFAULT = {"from_port": 0, "to_port": 0, "type": 0}
POINTER = bytes(8)


def launch(function: int) -> KernelLaunch:
    return KernelLaunch(function, (8, 1, 1), (32, 1, 1), (POINTER,))


def test_an_empty_graph_has_no_nodes(workshop: Workshop) -> None:
    assert read_graph(workshop.graph().graph, driver=workshop.driver) == GraphSignature(nodes=(), dependencies=())


def test_a_kernel_node_is_read_as_it_was_added(workshop: Workshop) -> None:
    function = workshop.function("add", parameters=(8, 8, 4))
    graph = workshop.graph()
    graph.kernel(function, grid=(4, 2, 1), block=(64, 1, 1), shared=1024, arguments=(POINTER, POINTER, bytes(4)))
    (node,) = read_graph(graph.graph, driver=workshop.driver).kernel_nodes
    assert (node.name, node.func, node.kern) == ("add", function, 0)
    assert node.context == workshop.driver.current_context()
    assert node.grid_dim == Dim3(x=4, y=2, z=1)
    assert node.block_dim == Dim3(x=64, y=1, z=1)
    assert node.dynamic_shared_mem_bytes == 1024
    assert node.cluster_dim is None
    assert not node.cooperative
    assert node.function is not None
    assert node.function.parameters is not None
    assert [(one.offset_bytes, one.size_bytes) for one in node.function.parameters] == [(0, 8), (8, 8), (16, 4)]
    assert node.function.max_threads_per_block == 1024
    assert node.function.required_cluster_dim == Dim3(x=0, y=0, z=0)


def test_every_attribute_is_asked_for_and_a_refusal_is_recorded(workshop: Workshop) -> None:
    graph = workshop.graph()
    graph.kernel(workshop.function(), arguments=(POINTER,))
    (node,) = read_graph(graph.graph, driver=workshop.driver).kernel_nodes
    assert [one.id for one in node.attributes] == [*range(1, 15), 16, 17, 18]
    states = {one.id: one.state for one in node.attributes}
    assert {states[one] for one in (2, 4, 8)} == {"value"}
    assert states[AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION] == "unreadable"
    with pytest.raises(AttributeUnknownError):
        node.attribute_value(AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION)


def test_a_cluster_set_on_the_node_is_read_back(workshop: Workshop) -> None:
    graph = workshop.graph()
    graph.kernel(workshop.function(), arguments=(POINTER,), attributes={4: ClusterDim(x=2, y=1, z=1)})
    (node,) = read_graph(graph.graph, driver=workshop.driver).kernel_nodes
    assert node.cluster_dim == Dim3(x=2, y=1, z=1)


def test_a_cluster_compiled_in_is_a_fact_and_of_a_captured_launch_an_attribute_too(workshop: Workshop) -> None:
    function = workshop.function(cluster=(2, 1, 1))
    graph = workshop.graph()
    graph.kernel(function, arguments=(POINTER,))
    captured = workshop.captured(launch(function))
    nodes = [read_graph(one, driver=workshop.driver).kernel_nodes[0] for one in (graph.graph, captured)]
    assert [node.cluster_dim for node in nodes] == [None, Dim3(x=2, y=1, z=1)]
    for node in nodes:
        assert node.function is not None
        assert node.function.required_cluster_dim == Dim3(x=2, y=1, z=1)
        assert node.function.cluster_size_must_be_set == 1


def test_captures_of_the_same_kernel_give_equal_signatures(workshop: Workshop) -> None:
    function = workshop.function()
    graphs = [workshop.captured(*[launch(function)] * 3) for _ in range(2)]
    first, second = (read_graph(graph, driver=workshop.driver) for graph in graphs)
    assert first == second
    assert [node.name for node in first.kernel_nodes] == ["add"] * 3
    assert first.nodes[0] is first.nodes[2]


def test_the_same_code_from_two_modules_gives_different_signatures(workshop: Workshop) -> None:
    signatures = []
    for _ in range(2):
        graph = workshop.graph()
        graph.kernel(workshop.function(), arguments=(POINTER,))
        signatures.append(read_graph(graph.graph, driver=workshop.driver))
    (one,), (other,) = (signature.kernel_nodes for signature in signatures)
    assert one != other
    assert one.func != other.func
    assert (one.name, one.function, one.attributes) == (other.name, other.function, other.attributes)


def test_a_library_kernel_shows_both_handles(workshop: Workshop) -> None:
    builder = workshop.graph()
    library = builder.load_library(ptx("add"))
    workshop.stack.callback(builder.unload_library, library)
    kern = builder.library_kernel(library, "add")
    (node,) = read_graph(workshop.captured(launch(kern)), driver=workshop.driver).kernel_nodes
    assert node.kern == kern
    assert node.func not in (0, kern)
    assert node.name == "add"


def test_dependencies_keep_the_order_in_which_they_were_added(workshop: Workshop) -> None:
    graph = workshop.graph()
    first, second, third = (graph.empty() for _ in range(3))
    graph.empty(after=[third, first, second])
    signature = read_graph(graph.graph, driver=workshop.driver)
    assert signature.nodes == (EmptyNode(),) * 4
    assert signature.dependencies[:3] == ((), (), ())
    assert [edge.node for edge in signature.dependencies[3]] == [2, 0, 1]


def test_a_programmatic_launch_is_an_edge(workshop: Workshop) -> None:
    function = workshop.function()
    serialized = launch(function)._replace(attributes={6: encode_attribute(6, 1)})
    signature = read_graph(workshop.captured(launch(function), serialized), driver=workshop.driver)
    assert signature.dependencies == ((), (Dependency(node=0, from_port=1, to_port=0, type=1),))


def test_edges_with_data_and_without_it_may_meet_in_one_node(workshop: Workshop) -> None:
    function = workshop.function()
    graph = workshop.graph()
    one, two = (graph.kernel(function, arguments=(POINTER,)) for _ in range(2))
    graph.kernel(function, arguments=(POINTER,), after=[two, (one, 1, 1)])
    signature = read_graph(graph.graph, driver=workshop.driver)
    assert signature.dependencies[2] == (
        Dependency(node=1, **DEFAULT),
        Dependency(node=0, from_port=1, to_port=0, type=1),
    )


def test_a_fill_is_read_with_the_facts_of_its_address(workshop: Workshop) -> None:
    graph, address = workshop.graph(), workshop.memory()
    graph.memset(address, value=7, width=8, height=2, element_size=4, pitch=64)
    (node,) = read_graph(graph.graph, driver=workshop.driver).nodes
    assert isinstance(node, MemsetNode)
    assert (node.destination, node.value, node.element_size_bytes) == (address, 7, 4)
    assert (node.width, node.height, node.pitch_bytes) == (8, 2, 64)
    assert node.pointer is not None
    assert (node.pointer.memory_type, node.pointer.device_ordinal, node.pointer.managed) == (2, 0, False)
    assert node.pointer.context == workshop.driver.current_context()


def test_a_copy_is_read_with_both_operands(workshop: Workshop) -> None:
    graph, source, destination = workshop.graph(), workshop.memory(), workshop.memory()
    graph.memcpy(destination, source, width=32)
    (node,) = read_graph(graph.graph, driver=workshop.driver).nodes
    assert isinstance(node, MemcpyNode)
    assert (node.source.address, node.destination.address) == (source, destination)
    assert (node.source.memory_type, node.destination.memory_type) == (2, 2)
    assert (node.width_bytes, node.height, node.depth) == (32, 1, 1)


def test_events_and_empty_nodes_are_read(workshop: Workshop) -> None:
    graph, event = workshop.graph(), workshop.event()
    graph.record(event, after=[graph.empty()])
    graph.wait(event)
    nodes = read_graph(graph.graph, driver=workshop.driver).nodes
    assert nodes == (EmptyNode(), EventRecordNode(event=event), EventWaitNode(event=event))


def test_a_host_function_is_read_as_its_addresses(workshop: Workshop) -> None:
    graph = workshop.graph()
    graph.host(0x1000, 0x2000)
    nodes = read_graph(graph.graph, driver=workshop.driver).nodes
    assert nodes == (HostNode(function_address=0x1000, user_data=0x2000),)


def test_a_child_graph_is_read_inside_its_node(workshop: Workshop) -> None:
    child, graph = workshop.graph(), workshop.graph()
    child.kernel(workshop.function(), arguments=(POINTER,))
    graph.child(child.graph, after=[graph.empty()])
    signature = read_graph(graph.graph, driver=workshop.driver)
    node = signature.nodes[1]
    assert isinstance(node, ChildGraphNode)
    assert node.graph == read_graph(child.graph, driver=workshop.driver)


def test_an_allocation_and_its_free_are_read(workshop: Workshop) -> None:
    graph = workshop.graph()
    allocation, address = graph.alloc(1000)
    graph.free(address, after=[allocation])
    alloc, free = read_graph(graph.graph, driver=workshop.driver).nodes
    assert isinstance(alloc, MemAllocNode)
    assert (alloc.address, alloc.size_bytes) == (address, 1000)
    assert (alloc.allocation_type, alloc.location_type, alloc.location_id) == (1, 1, 0)
    assert MemAccess(location_type=1, location_id=0, flags=3) in alloc.accesses
    assert free == MemFreeNode(address=address)


def test_memory_operations_are_read_in_order(workshop: Workshop) -> None:
    graph, address = workshop.graph(), workshop.memory()
    graph.write_value(address, 0x1_0000_0007)
    (node,) = read_graph(graph.graph, driver=workshop.driver).nodes
    assert isinstance(node, BatchMemOpNode)
    assert node.operations == (
        MemOp(operation=5, address=address, value="0x0000000100000007", flags=0),
        MemOp(operation=2, address=address, value="0x0000000000000007", flags=0),
    )


def test_bodies_of_a_conditional_are_read_where_the_driver_has_the_call(workshop: Workshop) -> None:
    graph = workshop.graph()
    _node, (body,) = graph.conditional()
    body.kernel(workshop.function(), arguments=(POINTER,))
    (node,) = read_graph(graph.graph, driver=workshop.driver).nodes
    assert isinstance(node, ConditionalNode)
    if workshop.driver.library.has("cuGraphNodeGetParams"):
        assert node.kind == 0
        assert node.bodies is not None
        assert [len(inner.nodes) for inner in node.bodies if inner is not None] == [1]
    else:
        assert node == ConditionalNode(kind=None, handle=None, bodies=None)


def test_bodies_of_a_conditional_from_cuda_13_2_on() -> None:
    driver = FakeDriver(version=13020).driver()
    graph = GraphBuilder(driver)
    _node, (yes, no) = graph.conditional(kind=0, size=2)
    no.empty()
    (node,) = read_graph(graph.graph, driver=driver).nodes
    assert node == ConditionalNode(
        kind=0,
        handle="0x8000000000000001",
        bodies=(read_graph(yes.graph, driver=driver), read_graph(no.graph, driver=driver)),
    )


def test_reading_changes_nothing_and_two_readings_are_equal(workshop: Workshop) -> None:
    graph = workshop.graph()
    one = graph.kernel(workshop.function(), arguments=(b"12345678",))
    graph.memset(workshop.memory(), after=[one])
    first = read_graph(graph.graph, driver=workshop.driver)
    assert read_graph(graph.graph, driver=workshop.driver) == first
    launched = workshop.instantiate(graph.graph)
    assert workshop.driver.graph_exec_update(launched, graph.graph).result == 0


def test_memory_of_the_driver_is_read_only_to_us(fake: FakeDriver) -> None:
    """kernelParams point to the argument bytes of the node: they are the same after a read."""
    driver = fake.driver()
    module = driver.module_load(ptx("add"))
    graph = GraphBuilder(driver)
    handle = graph.kernel(driver.module_function(module, "add"), arguments=(b"12345678",))
    graph.write_value(driver.mem_alloc(8), 3)
    before = [bytes(block) for node in fake.nodes.values() for block in node.memory]
    read_graph(graph.graph, driver=driver)
    assert [bytes(block) for node in fake.nodes.values() for block in node.memory] == before
    assert b"12345678" in before
    assert handle in fake.nodes


def test_a_destroyed_graph_is_an_error_that_says_so(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = driver.graph_create()
    driver.graph_destroy(graph)
    with pytest.raises(GraphReadError, match=r"no graph that the driver knows .+ before it is") as caught:
        read_graph(graph, driver=driver)
    assert caught.value.code == "graph_read"
    assert isinstance(caught.value.__cause__, DriverCallError)


def test_an_edge_that_leads_out_of_the_graph_is_an_error(fake: FakeDriver) -> None:
    """As where another thread adds a node between two calls."""
    driver = fake.driver()
    graph = GraphBuilder(driver)
    graph.empty(after=[graph.empty()])
    hidden = fake.graphs[graph.graph].nodes[0]

    class Late(CudaDriver):
        def graph_nodes(self, graph: int) -> list[int]:
            return [node for node in super().graph_nodes(graph) if node != hidden.handle]

    with pytest.raises(GraphReadError, match="leads out of it; do not change a graph while it is read"):
        read_graph(graph.graph, driver=Late(fake.resolve))


def test_graphs_nested_deeper_than_a_dump_can_hold_are_refused(fake: FakeDriver) -> None:
    driver = fake.driver()
    inner = GraphBuilder(driver)
    for _ in range(MAX_GRAPH_DEPTH + 1):
        outer = GraphBuilder(driver)
        outer.child(inner.graph)
        inner = outer
    with pytest.raises(GraphReadError) as caught:
        read_graph(inner.graph, driver=driver)
    assert str(caught.value) == ("graphs are nested more than 32 deep, which no dump can hold; flatten the innermost")
    deepest = read_graph(fake.graphs[inner.graph].nodes[0].children[0].handle, driver=driver)
    assert digest(deepest)


def test_the_driver_of_the_process_is_asked_by_default(monkeypatch: pytest.MonkeyPatch, fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    graph.empty()
    monkeypatch.setattr("sigcontract.driver.reading.graph.default_driver", lambda: driver)
    assert read_graph(graph.graph).nodes == (EmptyNode(),)


@pytest.mark.parametrize("graph", [0, None, "a graph"])
def test_what_is_no_graph_is_named_before_the_driver_is_missed(graph: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sigcontract.driver.reading.graph.default_driver", lambda: pytest.fail("the driver was asked for")
    )
    with pytest.raises(GraphReadError):
        read_graph(graph)


@pytest.mark.parametrize("node_count", [1, 17, 400])
def test_one_call_gives_all_edges_of_a_chain(fake: FakeDriver, node_count: int) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    last: list[int] = []
    for _ in range(node_count):
        last = [graph.empty(after=last)]
    fake.calls.clear()
    signature = read_graph(graph.graph, driver=driver)
    assert [edge.node for edges in signature.dependencies for edge in edges] == list(range(node_count - 1))
    assert fake.calls["cuGraphNodeGetDependencies"] == 0
    assert fake.calls["cuGraphGetEdges"] <= 2
