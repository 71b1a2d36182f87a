"""Arguments of real kernels: every kind of memory, PyTorch's allocator, Triton, torch.compile."""

import ctypes
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from cuda.bindings import driver as cuda

import sigcontract as sc
from examples.recording.calls import check, open_device
from sigcontract.driver import read_graph, torch_blocks
from sigcontract.driver.cuda.api import KernelLaunch
from sigcontract.driver.cuda.driver import CudaDriver, default_driver
from sigcontract.model.arguments import ArgumentPointer, KernelArgument, PointerTarget
from sigcontract.model.graph import GraphSignature
from tests.driver.build import GraphBuilder
from tests.driver.fake import ptx

ROOT = Path(__file__).resolve().parents[2]
SIZE = 3 << 20
ELEMENTS = 1 << 20


def word(value: int) -> bytes:
    return value.to_bytes(8, "little")


class Bench:
    """A device, graphs of one kernel, and memory of every kind."""

    def __init__(self, driver: CudaDriver, stack: ExitStack) -> None:
        self.driver = driver
        self.stack = stack
        self.stream = check(cuda.cuStreamCreate(0))
        stack.callback(cuda.cuStreamDestroy, self.stream)

    def function(self, *parameters: int) -> int:
        module = self.driver.module_load(ptx("add", parameters=parameters))
        self.stack.callback(self.driver.module_unload, module)
        return self.driver.module_function(module, "add")

    def graph(self) -> GraphBuilder:
        graph = GraphBuilder(self.driver)
        self.stack.callback(graph.destroy)
        return graph

    def read(self, *arguments: bytes) -> tuple[KernelArgument, ...]:
        """Return what a kernel with these arguments is read as."""
        graph = self.graph()
        graph.kernel(self.function(*map(len, arguments)), arguments=arguments)
        return arguments_of(read_graph(graph.graph, driver=self.driver, arguments=True))

    def target(self, address: int) -> PointerTarget | None:
        """Return where one pointer leads; it must be one."""
        (argument,) = self.read(word(address))
        (pointer,) = argument.pointers
        assert pointer.address == address
        assert argument.value == "00" * 8
        return pointer.target


def arguments_of(signature: GraphSignature) -> tuple[KernelArgument, ...]:
    (node,) = signature.kernel_nodes
    assert node.arguments is not None
    return node.arguments


@pytest.fixture
def bench() -> Iterator[Bench]:
    open_device()
    with ExitStack() as stack:
        yield Bench(default_driver(), stack)


def test_memory_of_cu_mem_alloc(bench: Bench) -> None:
    address = bench.driver.mem_alloc(SIZE)
    target = bench.target(address + 1024)
    assert target is not None
    allocation = target.allocation
    assert (allocation.address, target.offset_bytes, target.block) == (address, 1024, None)
    assert allocation.size_bytes is not None
    assert allocation.size_bytes >= SIZE
    assert (allocation.memory_type, allocation.device_ordinal) == (2, 0)
    assert (allocation.managed, allocation.pooled) == (False, False)
    bench.driver.mem_free(address)
    assert bench.target(address + 1024) is None


def test_memory_of_a_pool(bench: Bench) -> None:
    address = int(check(cuda.cuMemAllocAsync(SIZE, bench.stream)))
    check(cuda.cuStreamSynchronize(bench.stream))
    try:
        target = bench.target(address + 8)
        assert target is not None
        assert (target.allocation.address, target.offset_bytes, target.allocation.pooled) == (address, 8, True)
    finally:
        check(cuda.cuMemFreeAsync(address, bench.stream))
        check(cuda.cuStreamSynchronize(bench.stream))
    # Pools are below 1 TiB, where a freed address cannot be distinguished from two integers side by side.
    assert address < 1 << 40
    (freed,) = bench.read(word(address + 8))
    assert (freed.value, freed.pointers) == (word(address + 8).hex(), ())


def test_managed_memory(bench: Bench) -> None:
    address = int(check(cuda.cuMemAllocManaged(SIZE, int(cuda.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL))))
    try:
        target = bench.target(address + 8)
    finally:
        check(cuda.cuMemFree(address))
    assert target is not None
    assert (target.allocation.address, target.offset_bytes, target.allocation.managed) == (address, 8, True)


def test_pinned_host_memory(bench: Bench) -> None:
    address = int(check(cuda.cuMemHostAlloc(SIZE, 0)))
    try:
        target = bench.target(address + 8)
    finally:
        check(cuda.cuMemFreeHost(address))
    assert target is not None
    assert (target.allocation.address, target.offset_bytes, target.allocation.memory_type) == (address, 8, 1)


def test_pageable_host_memory_is_in_no_allocation(bench: Bench) -> None:
    pageable = ctypes.create_string_buffer(64 << 20)  # mapped, not on the heap
    (argument,) = bench.read(word(ctypes.addressof(pageable)))
    assert all(pointer.target is None for pointer in argument.pointers)


def test_a_reservation_without_memory_is_in_no_allocation(bench: Bench) -> None:
    """The mapped half of a reservation is an allocation; the other half is not, whichever is asked for first."""
    props = cuda.CUmemAllocationProp()
    props.type = cuda.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    props.location.type = cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    props.location.id = 0
    option = cuda.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    size = int(check(cuda.cuMemGetAllocationGranularity(props, option)))
    start = int(check(cuda.cuMemAddressReserve(2 * size, 0, 0, 0)))
    handle = check(cuda.cuMemCreate(size, props, 0))
    check(cuda.cuMemMap(start, size, 0, handle, 0))
    try:
        mapped, unmapped = bench.read(word(start + 64), word(start + size + 64))
        last, first = bench.read(word(start + size + 64), word(start + 64))
    finally:
        check(cuda.cuMemUnmap(start, size))
        check(cuda.cuMemRelease(handle))
        check(cuda.cuMemAddressFree(start, 2 * size))
    (pointer,) = mapped.pointers
    assert pointer.target is not None
    assert (pointer.target.allocation.address, pointer.target.offset_bytes) == (start, 64)
    assert [pointer.target for pointer in unmapped.pointers] == [None]
    assert (first.pointers, last.pointers) == (mapped.pointers, unmapped.pointers)


def test_scalars_and_structs_by_value(bench: Bench) -> None:
    address = bench.driver.mem_alloc(SIZE)
    try:
        struct = b"".join(word(one) for one in (1, address, 2048 << 32 | 128, address + 64)) + (9).to_bytes(4, "little")
        scalar, argument = bench.read((1 << 20).to_bytes(4, "little"), struct)
    finally:
        bench.driver.mem_free(address)
    assert (scalar.value, scalar.pointers) == ("00001000", ())
    first_aligned = -argument.offset_bytes % 8
    assert first_aligned == 4  # the struct is at offset 4, so its words of 8 bytes are not aligned
    assert argument.value is not None
    assert len(argument.value) == 2 * len(struct)


def test_an_aligned_struct_has_its_pointers_found(bench: Bench) -> None:
    address = bench.driver.mem_alloc(SIZE)
    try:
        struct = b"".join(word(one) for one in (1, address, 2048 << 32 | 128, address + 64, 5))
        _first, argument = bench.read(word(address), struct)
    finally:
        bench.driver.mem_free(address)
    assert [(one.offset_bytes, one.address) for one in argument.pointers] == [(8, address), (24, address + 64)]
    assert argument.value == b"".join(word(one) for one in (1, 0, 2048 << 32 | 128, 0, 5)).hex()


def test_a_packed_buffer_and_a_capture_are_read_like_an_added_node(bench: Bench) -> None:
    address = bench.driver.mem_alloc(SIZE)
    function = bench.function(8, 4, 8)
    values = (word(address), (7).to_bytes(4, "little"), word(address + 512))
    single, packed = bench.graph(), bench.graph()
    single.kernel(function, arguments=values)
    packed.kernel(function, packed=values[0] + values[1] + bytes(4) + values[2])
    stream = int(bench.stream)
    bench.driver.begin_capture(stream)
    bench.driver.launch_kernel(KernelLaunch(function, (8, 1, 1), (32, 1, 1), values), stream)
    captured = bench.driver.end_capture(stream)
    try:
        forms = [
            arguments_of(read_graph(graph, driver=bench.driver, arguments=True))
            for graph in (single.graph, packed.graph, captured)
        ]
    finally:
        bench.driver.graph_destroy(captured)
        bench.driver.mem_free(address)
    assert forms[0] == forms[1] == forms[2]
    assert [[one.address for one in argument.pointers] for argument in forms[0]] == [[address], [], [address + 512]]


def test_a_parameter_of_4_kilobytes(bench: Bench) -> None:
    address = bench.driver.mem_alloc(SIZE)
    try:
        data = b"".join(word(address if index == 500 else index) for index in range(511))
        _first, argument = bench.read(word(address), data)
    finally:
        bench.driver.mem_free(address)
    assert argument.size_bytes == 4088
    assert [one.offset_bytes for one in argument.pointers] == [4000]


def test_a_launch_after_a_read_runs_as_before(bench: Bench) -> None:
    """The driver's copy of the arguments is not touched: read twice, launched in between."""
    address = bench.driver.mem_alloc(SIZE)
    graph = bench.graph()
    graph.kernel(bench.function(8, 4), arguments=(word(address), bytes(4)))
    before = read_graph(graph.graph, driver=bench.driver, arguments=True)
    graph_exec = bench.driver.graph_instantiate(graph.graph)
    try:
        bench.driver.graph_launch(graph_exec, 0)
        bench.driver.stream_synchronize(0)
        assert read_graph(graph.graph, driver=bench.driver, arguments=True) == before
    finally:
        bench.driver.graph_exec_destroy(graph_exec)
        bench.driver.mem_free(address)


# PyTorch


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def captured(torch: Any, launch: Callable[[], object]) -> Any:
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        launch()
    return graph


def read(graph: Any) -> GraphSignature:
    return read_graph(graph, arguments=True, blocks=torch_blocks(graph))


def pointers(signature: GraphSignature) -> list[ArgumentPointer]:
    """Return every pointer of every kernel; each kernel has arguments."""
    found: list[ArgumentPointer] = []
    for node in signature.kernel_nodes:
        assert node.arguments is not None, node.name
        found += [pointer for argument in node.arguments for pointer in argument.pointers]
    return found


def blocks(signature: GraphSignature) -> set[tuple[str, str]]:
    """Return state and pool of every block that a pointer leads into."""
    targets = [pointer.target for pointer in pointers(signature)]
    found = [target.block for target in targets if target is not None]
    return {(block.state, block.pool) for block in found if block is not None}


def pointed(signature: GraphSignature, tensors: Sequence[Any]) -> list[int]:
    """Return how many pointers each tensor has."""
    addresses = [pointer.address for pointer in pointers(signature)]
    return [addresses.count(tensor.data_ptr()) for tensor in tensors]


def test_a_healthy_graph_has_no_freed_memory(torch: Any) -> None:
    source, target = torch.ones(ELEMENTS, device="cuda"), torch.empty(ELEMENTS, device="cuda")
    signature = read(captured(torch, lambda: torch.add(source, 1.0, out=target)))
    assert pointed(signature, [source, target]) == [1, 1]
    assert blocks(signature) == {("allocated", "default")}
    assert all(pointer.target is not None for pointer in pointers(signature))


def test_a_freed_input_is_a_free_block_and_without_its_segment_no_allocation(torch: Any) -> None:
    target = torch.empty(12 << 20, device="cuda")

    def capture() -> tuple[Any, int]:
        source = torch.ones(12 << 20, device="cuda")
        return captured(torch, lambda: torch.add(source, 1.0, out=target)), source.data_ptr()

    graph, address = capture()
    assert ("free", "default") in blocks(read(graph))
    torch.cuda.empty_cache()
    (gone,) = [pointer for pointer in pointers(read(graph)) if pointer.target is None]
    assert gone.address == address
    assert pointed(read(graph), [target]) == [1]


def test_intermediates_are_in_the_pool_of_the_graph(torch: Any) -> None:
    source = torch.ones(ELEMENTS, device="cuda")
    kept: list[Any] = []

    def launch() -> None:
        kept[:] = [(source + 1.0) * 2.0]

    graph = captured(torch, launch)
    assert blocks(read(graph)) == {("allocated", "default"), ("allocated", "graph"), ("free", "graph")}
    without = read_graph(graph, arguments=True, blocks=torch_blocks())
    assert {pool for _state, pool in blocks(without)} == {"default", "unknown"}


def test_stacks_lead_to_the_line_that_allocated(torch: Any) -> None:
    torch.cuda.memory._record_memory_history()
    try:
        source = torch.ones(ELEMENTS, device="cuda")
        signature = read(captured(torch, lambda: source.mul_(2.0)))
    finally:
        torch.cuda.memory._record_memory_history(enabled=None)
    (target,) = {pointer.target for pointer in pointers(signature) if pointer.address == source.data_ptr()}
    assert target is not None
    assert target.block is not None
    assert any(__file__ in line for line in target.block.stack)


def test_two_inputs_that_are_one_buffer(torch: Any) -> None:
    one, two = torch.ones(ELEMENTS, device="cuda"), torch.ones(ELEMENTS, device="cuda")
    target = torch.empty_like(one)
    distinct = read(captured(torch, lambda: torch.add(one, two, out=target)))
    aliased = read(captured(torch, lambda: torch.add(one, one, out=target)))
    assert pointed(distinct, [one, two, target]) == [1, 1, 1]
    assert pointed(aliased, [one, two, target]) == [2, 0, 1]


def test_another_scalar_is_another_value_and_nothing_else(torch: Any) -> None:
    source, target = torch.ones(ELEMENTS, device="cuda"), torch.empty(ELEMENTS, device="cuda")

    def scaled(by: float) -> tuple[KernelArgument, ...]:
        return arguments_of(read(captured(torch, lambda: torch.mul(source, by, out=target))))

    first, second = scaled(2.0), scaled(3.0)
    different = [index for index, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1]]
    assert len(different) == 1
    (index,) = different
    values = first[index].value, second[index].value
    assert all(value is not None for value in values)
    assert bytes.fromhex(values[0] or "").find(b"\x00\x00\x00\x40") >= 0  # 2.0f
    assert bytes.fromhex(values[1] or "").find(b"\x00\x00\x40\x40") >= 0  # 3.0f
    assert first[index].pointers == second[index].pointers


def test_copies_and_memsets_of_torch_lead_into_blocks(torch: Any) -> None:
    source, target = torch.ones(ELEMENTS, device="cuda"), torch.empty(ELEMENTS, device="cuda")

    def launch() -> None:
        target.copy_(source)
        source.zero_()

    signature = read(captured(torch, launch))
    found = [node.pointer for node in signature.nodes if hasattr(node, "pointer")]
    found += [side.pointer for node in signature.nodes if hasattr(node, "source") for side in (node.source,)]
    assert found
    for facts in found:
        assert facts is not None
        assert facts.target is not None
        assert facts.target.block is not None
        assert facts.target.block.state == "allocated"


# torch.compile imports a module of torch that uses its own deprecated torch.jit.script_method (torch/utils/mkldnn.py).
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is:DeprecationWarning")
def test_arguments_of_torch_compile(torch: Any) -> None:
    pytest.importorskip("triton")
    source = torch.randn(64, 512, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(512, 512, device="cuda", dtype=torch.bfloat16)

    def eager(hidden: Any) -> Any:
        return torch.nn.functional.layer_norm(torch.relu(hidden @ weight) + hidden, (512,))

    net = torch.compile(eager, dynamic=False)
    with torch.inference_mode():
        net(source)
        signature = read(captured(torch, lambda: net(source)))
    assert len(signature.kernel_nodes) >= 2
    assert sum(pointed(signature, [source, weight])) >= 2
    assert ("free", "default") not in blocks(signature)


def test_arguments_of_triton(torch: Any) -> None:
    triton = pytest.importorskip("triton")
    from examples.recording.argument_cases import scale  # noqa: PLC0415  needs Triton

    assert triton is not None
    source, target = torch.ones(4096, device="cuda"), torch.empty(4096, device="cuda")
    graph = captured(torch, lambda: scale[(4,)](source, target, 2.5, 4096, BLOCK=1024))
    signature = read(graph)
    assert pointed(signature, [source, target]) == [1, 1]
    values = [argument.value for argument in arguments_of(signature)]
    assert "00002040" in values  # 2.5f
    assert blocks(signature) == {("allocated", "default")}


PROGRAM = """
import torch
source = torch.ones(1 << 20, device="cuda")
source + 1
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    target = source * 2.0
graph.replay()
torch.cuda.synchronize()
"""


@pytest.mark.parametrize("redact", [False, True])
def test_recorded_arguments_of_a_program(torch: Any, tmp_path: Path, redact: bool) -> None:
    assert torch is not None
    file, dumps = tmp_path / "program.py", tmp_path / "dumps"
    file.write_text(PROGRAM, encoding="utf-8")
    options = ["--arguments", *["--redact"] * redact]
    command = [sys.executable, "-m", "sigcontract", "record", "-o", str(dumps), *options, "--", sys.executable]
    ended = subprocess.run([*command, str(file)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    (path,) = dumps.glob("*.dump.json")
    dump = sc.load(path)
    assert isinstance(dump, sc.SignatureDump)
    assert dump.extensions["sigcontract.record"]["problems"] == []
    (entry,) = dump.graphs
    assert blocks(entry.graph) == {("allocated", "default"), ("allocated", "graph")}
    values = [argument.value for argument in arguments_of(entry.graph)]
    addresses = {pointer.address for pointer in pointers(entry.graph)}
    if redact:
        assert set(values) == {None}
        assert addresses == {0}
    else:
        assert any("00000040" in value for value in values if value is not None)  # 2.0f
        assert 0 not in addresses
