"""A stack of PyTorch transformer blocks through the registry: outputs bit-equal to plain replay."""

import ctypes
import threading
from random import Random
from typing import Any

import pytest
from cuda.bindings import driver as cuda

from examples import torch_registry
from examples.recording.calls import check, compile_source
from sigcontract.driver.cuda.driver import default_driver
from sigcontract.model.cuda import UpdateResult
from sigcontract.registry import GraphExecRegistry

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("policy", ["exact", "share", "share-functions", "share-updatable"])
def test_outputs_are_bit_equal_to_plain_replay(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """After a thousand alternating replays; execs and device memory of both ways are printed, for the record."""
    assert torch_registry.main(["--policy", policy]) == 0
    assert "outputs that differ from plain replay: none" in capsys.readouterr().out


@pytest.mark.parametrize(("policy", "execs"), [("share-functions", 6), ("share-updatable", 1)])
def test_each_of_ten_thousand_random_replays_is_bit_equal(policy: str, execs: int) -> None:
    """Twelve sizes, half of the replays before the graphs are regrouped; what they gave is compared on the device."""
    from examples.recording.torch_block import LAYERS, Block  # noqa: PLC0415  imports torch

    torch.manual_seed(0)
    random = Random(13)  # noqa: S311  a repeatable order, no secret
    with torch.inference_mode(), GraphExecRegistry(policy=policy) as registry:
        blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS)).to(device="cuda", dtype=torch.bfloat16)
        steps = [torch_registry.capture(blocks, batch) for batch in torch_registry.BATCHES]
        expected = torch_registry.outputs_of(steps, lambda step: step.graph.replay())
        entries = [registry.register(step.graph, step.label) for step in steps]
        wrong = torch.zeros((), dtype=torch.int64, device="cuda")
        for turn in range(10_000):
            if turn == 5_000:
                registry.seal()
            step, entry = random.choice(list(zip(steps, entries, strict=True)))
            step.output.fill_(torch.nan)
            entry.replay()
            wrong += (step.output != expected[step.label]).any()
        assert int(wrong) == 0
        assert registry.stats().execs == execs


def test_the_next_kernel_is_not_blamed_for_a_refused_update() -> None:
    """The runtime remembers an error until asked, as PyTorch does after each launch; ours leaves none."""
    number = torch.zeros(1, device="cuda")

    def captured(launches: int) -> Any:
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            for _ in range(launches):
                number.add_(1)
        return graph

    one, two = captured(1), captured(2)
    driver = default_driver()
    graph_exec = driver.graph_instantiate(one.raw_cuda_graph())
    try:
        outcome = driver.graph_exec_update(graph_exec, two.raw_cuda_graph())
        assert outcome.result == UpdateResult.ERROR_TOPOLOGY_CHANGED
        assert number.add_(41).item() == 41
    finally:
        driver.graph_exec_destroy(graph_exec)


def test_a_replay_without_a_stream_is_on_the_current_one() -> None:
    number = torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        number += 1
    side = torch.cuda.Stream()
    with GraphExecRegistry() as registry:
        entry = registry.register(graph)
        torch.cuda.synchronize()
        gate = torch.zeros(1, dtype=torch.int32, device="cuda")
        torch.cuda.synchronize()
        check(cuda.cuStreamWaitValue32(side.cuda_stream, gate.data_ptr(), 1, 0))  # until it is 1 or more
        try:
            with torch.cuda.stream(side):
                entry.replay()
            assert number.item() == 0  # asked on the default stream, which does not wait
        finally:
            gate.fill_(1)
        side.synchronize()
        assert number.item() == 1


#: Waits until the host sets the word to anything but 0.
WAIT = r"""
extern "C" __global__ void wait_for_host(volatile unsigned *word) { while (*word == 0) { } }
"""
#: Only a failure takes so long: where an update waits for the launch before it, the host must still open the gate.
OPENS_AFTER_SECONDS = 60


def test_an_executable_is_switched_in_the_middle_of_a_launch() -> None:
    """An update is of later launches only: each runs what it was launched as, long after the update."""
    counts = [torch.zeros(1, device="cuda") for _ in range(2)]
    gate = torch.zeros(1, dtype=torch.int32, pin_memory=True)  # mapped: the device reads it at the same address
    word = ctypes.c_uint64(gate.data_ptr())
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(word))
    major, minor = torch.cuda.get_device_capability()
    module = check(cuda.cuModuleLoadData(compile_source(WAIT, f"sm_{major}{minor}")))
    wait_for_host = check(cuda.cuModuleGetFunction(module, b"wait_for_host"))

    def captured(count: Any) -> Any:
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            stream = torch.cuda.current_stream().cuda_stream
            check(cuda.cuLaunchKernel(wait_for_host, 1, 1, 1, 1, 1, 1, 0, stream, ctypes.addressof(arguments), 0))
            count += 1
            count *= 3
        return graph

    def open_gate() -> None:
        gate[0] = 1

    graphs = [captured(count) for count in counts]
    side = torch.cuda.Stream()
    guard = threading.Timer(OPENS_AFTER_SECONDS, open_gate)
    with GraphExecRegistry() as registry:
        entries = [registry.register(graph) for graph in graphs]
        assert registry.stats().execs == 1
        torch.cuda.synchronize()
        guard.start()
        try:
            for turn in range(8):
                entries[turn % 2].replay(side)
            switched_while_running = gate[0] == 0 and not side.query()
        finally:
            open_gate()
            guard.cancel()
            side.synchronize()
        stats = registry.stats()
    assert switched_while_running
    assert (stats.launches, stats.repoints, stats.fallbacks) == (8, 8, 0)
    assert [count.item() for count in counts] == [120.0, 120.0]  # 0, 3, 12, 39, 120
