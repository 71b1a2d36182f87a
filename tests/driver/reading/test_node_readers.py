"""Nodes that a test cannot make on every machine: semaphores, types that nobody knows, odd operations."""

import pytest

from sigcontract.driver.cuda.layouts import BatchMemOpNodeParams, ConditionalNodeParams, MemAllocNodeParams
from sigcontract.driver.reading.graph import read_graph
from sigcontract.driver.reading.node_readers import NODE_READERS, body_graphs
from sigcontract.errors import GraphReadError
from sigcontract.model.nodes import (
    BatchMemOpNode,
    EventRecordNode,
    ExtSemasSignalNode,
    ExtSemasWaitNode,
    MemAllocNode,
    MemcpyNode,
    MemOp,
    MemsetNode,
    OpaqueNode,
)
from tests.driver.build import GraphBuilder
from tests.driver.fake import FakeDriver
from tests.driver.fake_base import SEMAPHORE_WAIT, SIGNAL

UNKNOWN_TYPES = [14, 15, 16, 17, 18, 4711]
ATOMIC_REDUCTION, BARRIER = 8, 6


def test_external_semaphores_are_counted(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    fake.add_node(graph.graph, SIGNAL, count=3)
    fake.add_node(graph.graph, SEMAPHORE_WAIT, count=2)
    nodes = read_graph(graph.graph, driver=driver).nodes
    assert nodes == (ExtSemasSignalNode(count=3), ExtSemasWaitNode(count=2))


@pytest.mark.parametrize("node_type", UNKNOWN_TYPES)
def test_a_type_without_a_record_is_opaque_and_not_skipped(fake: FakeDriver, node_type: int) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    before = graph.empty()
    fake.add_node(graph.graph, node_type)
    graph.edge(before, fake.graphs[graph.graph].nodes[1].handle)
    signature = read_graph(graph.graph, driver=driver)
    assert signature.nodes[1] == OpaqueNode(type=node_type)
    assert [edge.node for edge in signature.dependencies[1]] == [0]


def test_an_atomic_reduction_has_no_record_so_its_batch_is_opaque(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    graph.write_value(driver.mem_alloc(8), 1)
    fake.graphs[graph.graph].nodes[0].memory[0][1].operation = ATOMIC_REDUCTION
    assert read_graph(graph.graph, driver=driver).nodes == (OpaqueNode(type=BatchMemOpNode.node_type),)


def test_an_array_that_the_driver_counts_and_does_not_show_makes_its_node_opaque(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    graph.write_value(driver.mem_alloc(8), 1)
    graph.alloc(64)
    operations, alloc = fake.graphs[graph.graph].nodes
    for node, kind, pointer in (
        (operations, BatchMemOpNodeParams, "paramArray"),
        (alloc, MemAllocNodeParams, "accessDescs"),
    ):
        hidden = kind.from_buffer_copy(node.params["raw"])
        setattr(hidden, pointer, None)
        node.params["raw"] = bytes(hidden)
    assert read_graph(graph.graph, driver=driver).nodes == (
        OpaqueNode(type=BatchMemOpNode.node_type),
        OpaqueNode(type=MemAllocNode.node_type),
    )


def test_a_barrier_has_flags_and_no_address(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    graph.write_value(driver.mem_alloc(8), 1)
    for operation in fake.graphs[graph.graph].nodes[0].memory[0]:
        operation.barrier.operation, operation.barrier.flags = BARRIER, 1
    (node,) = read_graph(graph.graph, driver=driver).nodes
    assert isinstance(node, BatchMemOpNode)
    assert node.operations == (MemOp(operation=BARRIER, address=0, value="0x" + "0" * 16, flags=1),) * 2


def test_pageable_host_memory_is_what_the_driver_says_of_it(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    graph.memcpy(0x1234, driver.mem_alloc(64), to_host=True)
    (node,) = read_graph(graph.graph, driver=driver).nodes
    assert isinstance(node, MemcpyNode)
    assert (node.destination.memory_type, node.destination.address) == (1, 0x1234)
    assert node.destination.pointer is not None
    assert (node.destination.pointer.memory_type, node.destination.pointer.device_ordinal) == (0, -2)


def test_an_array_operand_has_no_pointer_facts(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    graph.memcpy(0x10, 0x20)
    node = fake.graphs[graph.graph].nodes[0]
    raw = bytearray(node.params["raw"])
    raw[32] = 3  # srcMemoryType: CU_MEMORYTYPE_ARRAY
    raw[56:58] = (0x77, 0x01)  # srcArray
    node.params["raw"] = bytes(raw)
    (read,) = read_graph(graph.graph, driver=driver).nodes
    assert isinstance(read, MemcpyNode)
    assert (read.source.memory_type, read.source.address, read.source.pointer) == (3, 0x177, None)


def test_pointer_facts_that_the_driver_refuses_are_unknown(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    graph.memset(driver.mem_alloc(16))
    fake.fail("cuPointerGetAttributes", 201)
    (node,) = read_graph(graph.graph, driver=driver).nodes
    assert isinstance(node, MemsetNode)
    assert node.pointer is not None
    assert (node.pointer.memory_type, node.pointer.context, node.pointer.managed) == (None, None, None)


def test_a_handle_that_json_cannot_hold_is_an_error(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    fake.add_node(graph.graph, EventRecordNode.node_type, event=2**53)
    with pytest.raises(GraphReadError) as caught:
        read_graph(graph.graph, driver=driver)
    assert str(caught.value) == (
        "CUevent is 0x20000000000000; numbers above 2**53 - 1 cannot be recorded exactly: please report this"
    )


def test_bodies_that_the_driver_does_not_show_are_unreadable_each() -> None:
    assert body_graphs(ConditionalNodeParams(size=2)) == [0, 0]


def test_types_with_a_reader_are_not_also_read_elsewhere() -> None:
    assert sorted(NODE_READERS) == [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12]
