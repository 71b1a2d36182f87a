"""What kernels are passed: bytes by layout, addresses by allocation, and nothing that is guessed."""

from collections.abc import Sequence
from ctypes import addressof, c_char, create_string_buffer
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sigcontract.driver.cuda.driver import CudaDriver
from sigcontract.driver.reading.allocations import AllocationTable
from sigcontract.driver.reading.graph import read_graph
from sigcontract.model.arguments import Allocation, AllocatorBlock, KernelArgument, PointerTarget
from sigcontract.model.nodes import MemcpyNode, MemsetNode
from tests.driver.build import GraphBuilder
from tests.driver.conftest import Workshop
from tests.driver.fake import FakeDriver, ptx
from tests.driver.fake_state import FakeMemory


def word(value: int) -> bytes:
    return value.to_bytes(8, "little")


def number(value: int) -> bytes:
    return value.to_bytes(4, "little")


def function(driver: CudaDriver, *parameters: int) -> int:
    return driver.module_function(driver.module_load(ptx("add", parameters=parameters)), "add")


def arguments_of(driver: CudaDriver, graph: GraphBuilder) -> tuple[KernelArgument, ...]:
    (node,) = read_graph(graph.graph, driver=driver, arguments=True).kernel_nodes
    assert node.arguments is not None
    return node.arguments


def one_kernel(driver: CudaDriver, *arguments: bytes) -> GraphBuilder:
    """Return a graph of one kernel with parameters as long as these arguments."""
    graph = GraphBuilder(driver)
    graph.kernel(function(driver, *map(len, arguments)), arguments=arguments)
    return graph


def targets(arguments: Sequence[KernelArgument]) -> list[list[tuple[int, PointerTarget | None]]]:
    return [[(one.offset_bytes, one.target) for one in argument.pointers] for argument in arguments]


def allocate(fake: FakeDriver, offset: int, size_bytes: int = 64) -> int:
    """Make an allocation known at an address that no process maps; nothing reads through it."""
    start = (0x65 << 40) + offset
    fake.memory[start] = (c_char * size_bytes)()
    return start


def test_arguments_are_read_only_if_asked_for(workshop: Workshop) -> None:
    graph = workshop.graph()
    graph.kernel(workshop.function("add", parameters=(8, 4)), arguments=(word(0), number(7)))
    (without,) = read_graph(graph.graph, driver=workshop.driver).kernel_nodes
    (node,) = read_graph(graph.graph, driver=workshop.driver, arguments=True).kernel_nodes
    assert without.arguments is None
    assert node.arguments == (
        KernelArgument(offset_bytes=0, size_bytes=8, value="00" * 8, pointers=()),
        KernelArgument(offset_bytes=8, size_bytes=4, value="07000000", pointers=()),
    )
    assert (node.name, node.attributes, node.function) == (without.name, without.attributes, without.function)


def test_a_pointer_leads_into_its_allocation(workshop: Workshop) -> None:
    address = workshop.memory(4096)
    graph = workshop.graph()
    graph.kernel(workshop.function("add", parameters=(8, 8)), arguments=(word(address), word(address + 256)))
    first, second = arguments_of(workshop.driver, graph)
    assert (first.value, second.value) == ("00" * 8, "00" * 8)
    ((pointer,), (other,)) = first.pointers, second.pointers
    assert pointer.address == address
    assert pointer.target is not None
    assert other.target is not None
    assert (pointer.target.offset_bytes, other.target.offset_bytes) == (0, 256)
    assert pointer.target.allocation == other.target.allocation
    allocation = pointer.target.allocation
    assert (allocation.address, allocation.memory_type, allocation.device_ordinal) == (address, 2, 0)
    assert allocation.size_bytes is not None
    assert allocation.size_bytes >= 4096
    assert (allocation.managed, allocation.pooled) == (False, False)


def test_a_kernel_without_parameters_has_no_arguments(workshop: Workshop) -> None:
    graph = workshop.graph()
    graph.kernel(workshop.function("add", parameters=()))
    assert arguments_of(workshop.driver, graph) == ()


def test_a_struct_is_scanned_by_words_aligned_in_the_buffer(workshop: Workshop) -> None:
    """A struct at offset 4 of 28 bytes: its first aligned word is 4 bytes into it."""
    address = workshop.memory()
    driver = workshop.driver
    graph = workshop.graph()
    struct = number(1) + word(address) + number(2) + word(address + 8)[:4] + word(address)
    graph.kernel(workshop.function("add", parameters=(4, 28)), arguments=(number(9), struct))
    _scalar, argument = arguments_of(driver, graph)
    assert [pointer.offset_bytes for pointer in argument.pointers] == [4, 20]
    assert argument.value == (number(1) + bytes(8) + number(2) + word(address + 8)[:4] + bytes(8)).hex()


def test_a_packed_buffer_is_read_like_single_parameters(workshop: Workshop) -> None:
    address = workshop.memory()
    loaded = workshop.function("add", parameters=(8, 4))
    single, packed = workshop.graph(), workshop.graph()
    single.kernel(loaded, arguments=(word(address), number(5)))
    packed.kernel(loaded, packed=word(address) + number(5))
    assert arguments_of(workshop.driver, packed) == arguments_of(workshop.driver, single)


def test_a_packed_buffer_shorter_than_the_layout_is_not_recorded(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    graph.kernel(function(driver, 8, 4), packed=word(1))
    (node,) = read_graph(graph.graph, driver=driver, arguments=True).kernel_nodes
    assert node.arguments is None


def test_a_layout_that_cannot_be_one_is_not_recorded(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = one_kernel(driver, word(1), word(2))
    fake.functions[next(iter(fake.functions))].parameters = ((0, 8), (4, 8))
    (node,) = read_graph(graph.graph, driver=driver, arguments=True).kernel_nodes
    assert node.arguments is None


def test_a_parameter_of_4_kilobytes_is_read_whole(workshop: Workshop) -> None:
    address = workshop.memory()
    data = b"".join(word(address) if index == 500 else word(index) for index in range(511))
    graph = workshop.graph()
    graph.kernel(workshop.function("add", parameters=(8, len(data))), arguments=(word(address), data))
    _first, argument = arguments_of(workshop.driver, graph)
    assert [pointer.offset_bytes for pointer in argument.pointers] == [4000]
    assert argument.value == data.replace(word(address), bytes(8)).hex()


def test_a_function_without_parameter_info_has_no_arguments() -> None:
    fake = FakeDriver(missing=frozenset({"cuFuncGetParamInfo"}))
    driver = fake.driver()
    (node,) = read_graph(one_kernel(driver, word(1)).graph, driver=driver, arguments=True).kernel_nodes
    assert node.arguments is None


def test_parameters_that_the_driver_keeps_apart_are_put_together(fake: FakeDriver) -> None:
    """The driver measured keeps one packed copy, which is read at once; cuda.h promises one pointer per parameter."""
    driver = fake.driver()
    graph = one_kernel(driver, word(5), number(6))
    node = fake.graphs[graph.graph].nodes[0]
    packed = arguments_of(driver, graph)
    first, second = create_string_buffer(word(5), 8), create_string_buffer(number(6), 4)
    node.memory[0][0], node.memory[0][1] = addressof(first), addressof(second)
    assert arguments_of(driver, graph) == packed
    node.memory[0][1] = None
    (read,) = read_graph(graph.graph, driver=driver, arguments=True).kernel_nodes
    assert read.arguments is None


def test_reading_writes_nothing_of_the_driver(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = one_kernel(driver, word(driver.mem_alloc(64)), number(6), bytes(range(40)))
    before = [bytes(block) for block in fake.graphs[graph.graph].nodes[0].memory]
    read_graph(graph.graph, driver=driver, arguments=True)
    assert [bytes(block) for block in fake.graphs[graph.graph].nodes[0].memory] == before


@pytest.mark.parametrize(
    "kind",
    [
        FakeMemory(pool=0x7),
        FakeMemory(managed=True),
        FakeMemory(memory_type=1),
        FakeMemory(device=3),
        FakeMemory(has_range=False),
        FakeMemory(mapped=((0, 64),)),
    ],
    ids=["pool", "managed", "pinned host", "peer", "no range", "reservation"],
)
def test_kinds_of_memory_are_as_the_driver_reports_them(fake: FakeDriver, kind: FakeMemory) -> None:
    driver = fake.driver()
    address = driver.mem_alloc(64)
    fake.memory_kinds[address] = kind
    (argument,) = arguments_of(driver, one_kernel(driver, word(address)))
    assert targets([argument]) == [
        [
            (
                0,
                PointerTarget(
                    allocation=Allocation(
                        address=address,
                        size_bytes=64 if kind.has_range else None,
                        memory_type=kind.memory_type,
                        device_ordinal=kind.device,
                        managed=kind.managed,
                        pooled=kind.pool != 0,
                    ),
                    offset_bytes=0,
                    block=None,
                ),
            )
        ]
    ]


def test_a_freed_allocation_is_a_pointer_that_leads_nowhere(fake: FakeDriver) -> None:
    driver = fake.driver()
    alive, gone = allocate(fake, 0), allocate(fake, 1 << 30)
    graph = one_kernel(driver, word(gone), word(alive))
    assert [target is None for ((_offset, target),) in targets(arguments_of(driver, graph))] == [False, False]
    del fake.memory[gone]
    freed, _alive = arguments_of(driver, graph)  # each read asks again
    assert targets([freed]) == [[(0, None)]]
    assert (freed.pointers[0].address, freed.value) == (gone, "00" * 8)


def test_a_freed_allocation_alone_is_found_where_libraries_are_mapped(fake: FakeDriver) -> None:
    driver = fake.driver()
    gone = (driver.code_address() >> 40 << 40) + 0x1000
    assert targets(arguments_of(driver, one_kernel(driver, word(gone)))) == [[(0, None)]]


def test_whether_a_word_looks_like_an_address_does_not_depend_on_its_position(fake: FakeDriver) -> None:
    driver = fake.driver()
    alive = allocate(fake, 1 << 30)
    first = arguments_of(driver, one_kernel(driver, word(alive - 8), word(alive)))
    last = arguments_of(driver, one_kernel(driver, word(alive), word(alive - 8)))
    assert targets(first)[0] == targets(last)[1] == [(0, None)]


@pytest.mark.parametrize(
    "value",
    [
        0,
        (1 << 32) - 1,
        2048 << 32 | 128,  # two counts side by side
        200 << 32 | 1,
        0x3FF0_0000_0000_0000,  # 1.0
        (1 << 64) - 1,
    ],
    ids=hex,
)
def test_what_is_no_address_is_a_value(fake: FakeDriver, value: int) -> None:
    driver = fake.driver()
    argument, _pointer = arguments_of(driver, one_kernel(driver, word(value), word(driver.mem_alloc(8))))
    assert argument == KernelArgument(offset_bytes=0, size_bytes=8, value=word(value).hex(), pointers=())


def test_an_allocation_is_asked_for_once_and_so_is_a_word_that_is_no_address(fake: FakeDriver) -> None:
    driver = fake.driver()
    address = driver.mem_alloc(4096)
    loaded = function(driver, 8, 8)
    graph = GraphBuilder(driver)
    for index in range(40):
        graph.kernel(loaded, arguments=(word(address + 16 * index), word(5 << 40 | index % 2)))
    fake.calls.clear()
    nodes = read_graph(graph.graph, driver=driver, arguments=True).kernel_nodes
    assert fake.calls["cuPointerGetAttributes"] == 3
    assert len(nodes) == 40
    read_graph(graph.graph, driver=driver, arguments=True)
    assert fake.calls["cuPointerGetAttributes"] == 6


@pytest.mark.parametrize("mapped_first", [True, False])
def test_the_part_of_a_reservation_that_is_not_mapped_is_in_no_allocation(fake: FakeDriver, mapped_first: bool) -> None:
    driver = fake.driver()
    start = allocate(fake, 0, 3 << 20)
    fake.memory_kinds[start] = FakeMemory(mapped=((0, 1 << 20), (2 << 20, 1 << 20)))
    words = [word(start + 64), word(start + (1 << 20) + 64), word(start + (2 << 20) + 64)]
    found = arguments_of(driver, one_kernel(driver, *(words if mapped_first else words[::-1])))
    first, gone, last = (target for ((_offset, target),) in targets(found if mapped_first else found[::-1]))
    assert gone is None
    assert first is not None
    assert last is not None
    assert first.allocation == last.allocation
    assert (first.allocation.address, first.allocation.size_bytes) == (start, 3 << 20)
    assert (first.offset_bytes, last.offset_bytes) == (64, (2 << 20) + 64)


def test_an_address_in_a_mapping_behind_an_allocation_is_in_none(fake: FakeDriver) -> None:
    """A mapping is padded: 512 bytes of cuMemAlloc have one of 2 MiB."""
    driver = fake.driver()
    start = allocate(fake, 0, 512)
    inside, behind = arguments_of(driver, one_kernel(driver, word(start + 511), word(start + 512)))
    assert [target is None for ((_offset, target),) in targets([inside, behind])] == [False, True]


def test_each_mapping_of_a_reservation_is_asked_for_once(fake: FakeDriver) -> None:
    start = allocate(fake, 0, 3 << 20)
    fake.memory_kinds[start] = FakeMemory(mapped=((0, 1 << 20), (1 << 20, 1 << 20)))
    table = AllocationTable(fake.driver(), None)
    fake.calls.clear()
    for address in range(start, start + (2 << 20), 1 << 18):
        assert table.target(address) is not None
    assert fake.calls["cuPointerGetAttributes"] == 2


def test_freed_memory_of_a_pool_is_a_value(fake: FakeDriver) -> None:
    """Pools are below 1 TiB, where two integers side by side are too, so a freed address cannot be distinguished."""
    driver = fake.driver()
    start = 0x3_0200_0000
    fake.memory[start] = (c_char * 64)()
    fake.memory_kinds[start] = FakeMemory(pool=0x7)
    graph = one_kernel(driver, word(start + 8))
    ((found,),) = targets(arguments_of(driver, graph))
    assert found[1] is not None
    del fake.memory[start]
    assert arguments_of(driver, graph) == (
        KernelArgument(offset_bytes=0, size_bytes=8, value=word(start + 8).hex(), pointers=()),
    )


def test_an_allocation_made_during_the_read_takes_the_range_of_one_freed_before(fake: FakeDriver) -> None:
    start = allocate(fake, 4096, 256)
    table = AllocationTable(fake.driver(), None)

    def allocation_at(address: int) -> int | None:
        target = table.target(address)
        return None if target is None else target.allocation.address

    assert allocation_at(start + 128) == start
    del fake.memory[start]
    assert allocation_at(start + 64) == start  # as it was before
    later = allocate(fake, 4096 - 64, 72)
    assert allocation_at(start - 8) == later
    assert allocation_at(start + 1) == later
    assert allocation_at(start + 200) is None


def test_where_the_driver_returns_an_error_nothing_is_recorded(fake: FakeDriver) -> None:
    driver = fake.driver()
    address = driver.mem_alloc(64)
    graph = GraphBuilder(driver)
    loaded = function(driver, 8)
    graph.kernel(loaded, arguments=(word(address),))
    graph.kernel(loaded, arguments=(word(3),))
    fake.fail("cuPointerGetAttributes", 201)
    pointer, scalar = read_graph(graph.graph, driver=driver, arguments=True).kernel_nodes
    assert pointer.arguments is None
    assert scalar.arguments is not None


def test_a_refused_word_of_a_struct_costs_its_node_alone_the_arguments(fake: FakeDriver) -> None:
    driver = fake.driver()
    loaded = function(driver, 4, 28)
    graph = GraphBuilder(driver)
    for value in (3, 5 << 40, 4):
        graph.kernel(loaded, arguments=(number(9), number(1) + word(value) + word(2) + word(7)))
    fake.fail("cuPointerGetAttributes", 201)
    nodes = read_graph(graph.graph, driver=driver, arguments=True).kernel_nodes
    assert [node.arguments is None for node in nodes] == [False, True, False]


#: Words of a struct: addresses in one allocation, one that looks like an address, and values.
_WORDS = st.sampled_from(["start", "middle", "behind", 0, 1, 1 << 33, (1 << 64) - 1])
_STRUCTS = st.tuples(st.sampled_from([bytes(4), b"edge"]), _WORDS, _WORDS, _WORDS, st.sampled_from([bytes(3), b"end"]))


@given(st.lists(_STRUCTS, min_size=1, max_size=8))
def test_nodes_read_together_have_the_arguments_of_each_alone(structs: list[tuple[Any, ...]]) -> None:
    """A struct at offset 4: four bytes, three aligned words, three bytes."""
    fake = FakeDriver()
    driver = fake.driver()
    start = allocate(fake, 1 << 30)
    named = {"start": start, "middle": start + 8, "behind": start + 64}
    loaded = function(driver, 4, 31)
    together = GraphBuilder(driver)
    alone = []
    for before, *words, after in structs:
        struct = before + b"".join(word(named.get(one, one)) for one in words) + after
        # The second word is always an address, so that one behind the allocation looks like an address as well.
        arguments = (number(9), struct[:12] + word(start) + struct[20:])
        single = GraphBuilder(driver)
        for graph in (together, single):
            graph.kernel(loaded, arguments=arguments)
        alone.append(arguments_of(driver, single))
    nodes = read_graph(together.graph, driver=driver, arguments=True).kernel_nodes
    assert [node.arguments for node in nodes] == alone


def test_copies_and_memsets_lead_into_the_same_allocations(workshop: Workshop) -> None:
    address = workshop.memory(256)
    graph = workshop.graph()
    graph.kernel(workshop.function(), arguments=(word(address),))
    graph.memset(address + 16, width=16)
    graph.memcpy(address + 64, address + 128, width=16)
    signature = read_graph(graph.graph, driver=workshop.driver, arguments=True)
    (kernel,) = signature.kernel_nodes
    assert kernel.arguments is not None
    pointed = kernel.arguments[0].pointers[0].target
    memset = next(node for node in signature.nodes if isinstance(node, MemsetNode))
    memcpy = next(node for node in signature.nodes if isinstance(node, MemcpyNode))
    assert pointed is not None
    found = [memset.pointer, memcpy.destination.pointer, memcpy.source.pointer]
    assert [one.target.offset_bytes for one in found if one is not None and one.target is not None] == [16, 64, 128]
    assert {one.target.allocation for one in found if one is not None and one.target is not None} == {
        pointed.allocation
    }
    plain = read_graph(graph.graph, driver=workshop.driver)
    assert all(node.pointer.target is None for node in plain.nodes if isinstance(node, MemsetNode) and node.pointer)


def test_memory_of_the_graph_itself_is_an_allocation_before_a_launch(workshop: Workshop) -> None:
    graph = workshop.graph()
    alloc, address = graph.alloc(4096)
    kernel = graph.kernel(workshop.function(), arguments=(word(address + 32),), after=[alloc])
    graph.free(address, after=[kernel])
    (argument,) = arguments_of(workshop.driver, graph)
    ((_offset, target),) = targets([argument])[0]
    assert target is not None
    assert (target.allocation.address, target.allocation.size_bytes) == (address, 4096)
    assert (target.offset_bytes, target.allocation.device_ordinal) == (32, 0)


def test_memory_of_the_graph_comes_before_an_allocation_around_it(fake: FakeDriver) -> None:
    start = allocate(fake, 0, 4096)
    table = AllocationTable(fake.driver(), None)
    table.add_graph_memory(start + 1024, 512, 0)
    inside = (start + 1024, start + 1535)
    outside = (start, start + 1023, start + 1536)
    found = table.pointers([*outside, *inside])
    assert {word: target and target.allocation.address for word, target in found.items()} == {
        **dict.fromkeys(outside, start),
        **dict.fromkeys(inside, start + 1024),
    }


def test_blocks_of_an_allocator_are_joined(workshop: Workshop) -> None:
    address = workshop.memory(256)
    graph = workshop.graph()
    graph.kernel(workshop.function("add", parameters=(8, 8)), arguments=(word(address + 8), word(4)))
    block = AllocatorBlock(
        allocator="mine", state="free", pool="default", size_bytes=64, offset_bytes=8, stack=("model.py:3 forward",)
    )
    asked: list[int] = []

    class Blocks:
        def block_at(self, wanted: int) -> AllocatorBlock | None:
            asked.append(wanted)
            return block if wanted == address + 8 else None

    signature = read_graph(graph.graph, driver=workshop.driver, arguments=True, blocks=Blocks())
    (node,) = signature.kernel_nodes
    assert node.arguments is not None
    (pointer,) = node.arguments[0].pointers
    assert pointer.target is not None
    assert pointer.target.block == block
    assert asked == [address + 8]


def test_equal_nodes_share_one_record(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    loaded = function(driver, 8, 4)
    for index in range(6):
        graph.kernel(loaded, arguments=(word(64), number(index % 2)))
    nodes = read_graph(graph.graph, driver=driver, arguments=True).kernel_nodes
    assert len({id(node) for node in nodes}) == 2
    first, second = nodes[0].arguments, nodes[1].arguments
    assert first is not None
    assert second is not None
    assert first[0] is second[0]
