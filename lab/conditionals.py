"""May a graph with a conditional node be updated, though it may have one executable only? Run by hand.

A loop that is captured anew for each round and updated in place is how people use such graphs. Each question runs in
a process of its own, because an exec that faults takes its process with it. What the exec runs is read from memory
that the body writes to; the body itself ends its loop with ``cudaGraphSetConditional``.

Example: ``python -m lab.conditionals > conditionals.json``. It needs NVRTC 12.4 or later.
"""

import argparse
import ctypes
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from typing import Any, Final, NamedTuple

from sigcontract.driver import environment
from sigcontract.model.cuda import UpdateResult

__all__ = ["main"]

_SOURCE = r"""
typedef __device_builtin__ unsigned long long cudaGraphConditionalHandle;
extern "C" __device__ __cudart_builtin__
void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value);
__device__ void step(unsigned *to, unsigned amount, unsigned rounds, cudaGraphConditionalHandle handle, unsigned code) {
  if (blockIdx.x || threadIdx.x) return;
  to[0] += amount; to[1] += 1; to[2] = gridDim.x; to[3] = code;
  cudaGraphSetConditional(handle, to[1] < rounds);
}
extern "C" __global__ void one(unsigned *to, unsigned amount, unsigned rounds, cudaGraphConditionalHandle handle) {
  step(to, amount, rounds, handle, 1);
}
extern "C" __global__ void two(unsigned *to, unsigned amount, unsigned rounds, cudaGraphConditionalHandle handle) {
  step(to, amount, rounds, handle, 2);
}
"""
_FUNCTIONS = ("one", "two")
_WORDS = 4  # sum of the amounts, rounds run, blocks of the last, which function
_WHILE: Final = 1
_KINDS: Final[Mapping[str, int]] = {"if": 0, "while": _WHILE}
_MAKINGS = ("built", "captured")
_STALL_SECONDS = 60
_ASSIGN_DEFAULT = 1  # CU_GRAPH_COND_ASSIGN_DEFAULT


class _Loop(NamedTuple):
    """A conditional, and its body: a kernel that adds ``amount`` and ends a loop after ``rounds``."""

    amount: int
    rounds: int = 3
    blocks: int = 1
    function: str = "one"
    default: int = 1

    def expected(self, kind: int) -> tuple[int, ...]:
        """Return the words that a right launch leaves."""
        runs = 0 if self.default == 0 else self.rounds if kind == _WHILE else 1
        return (self.amount * runs, runs, self.blocks, _FUNCTIONS.index(self.function) + 1) if runs else (0,) * _WORDS


class _Arguments:
    """The arguments of a kernel, in memory that lives as long as this object."""

    def __init__(self, memory: int, loop: _Loop, handle: Any) -> None:
        self._values = (
            ctypes.c_uint64(memory),
            ctypes.c_uint32(loop.amount),
            ctypes.c_uint32(loop.rounds),
            ctypes.c_uint64(int(handle)),
        )
        self._array = (ctypes.c_void_p * 4)(*(ctypes.addressof(value) for value in self._values))

    @property
    def address(self) -> int:
        return ctypes.addressof(self._array)


class _Bench:
    """The device, the two kernels and the memory that they write to; keeps what was seen."""

    def __init__(self, kind: int, making: str) -> None:
        from cuda.bindings import driver  # noqa: PLC0415  CUDA in the working processes alone

        from examples.recording.calls import check, compile_source, compute_capability, open_device  # noqa: PLC0415  only here

        self.driver, self.check = driver, check
        device, self.context = open_device()
        module = self._module(compute_capability(device), compile_source)
        self.functions = {name: check(driver.cuModuleGetFunction(module, name.encode())) for name in _FUNCTIONS}
        self.memory = int(check(driver.cuMemAlloc(4 * _WORDS)))
        self.stream = check(driver.cuStreamCreate(1))
        self.kind, self.making = kind, making
        self.updates: list[str] = []
        self.launches: list[dict[str, Any]] = []

    def _module(self, capability: int, compile_source: Callable[[str, str], bytes]) -> Any:
        """Load the kernels, from machine code or, where the driver does not link that, from PTX."""
        status, module = self.driver.cuModuleLoadData(compile_source(_SOURCE, f"sm_{capability}"))
        if int(status) == 0:
            return module
        return self.check(self.driver.cuModuleLoadData(compile_source(_SOURCE, f"compute_{capability}")))

    def graph(self, loop: _Loop) -> Any:
        """Return a graph of one conditional node."""
        if self.making == "captured":
            return self._captured(loop)
        graph = self.check(self.driver.cuGraphCreate(0))
        params, handle = self._conditional(graph, loop)
        self.check(self.driver.cuGraphAddNode(graph, None, None, 0, params))
        body = self.driver.CUgraph(int(params.conditional.phGraph_out[0]))
        self.check(self.driver.cuGraphAddKernelNode(body, [], 0, self._kernel(loop, handle)))
        return graph

    def two_conditionals(self, first: _Loop, *, swapped: bool) -> Any:
        """Return a graph of two conditional nodes, the second after the first, their handles made in either order."""
        graph = self.check(self.driver.cuGraphCreate(0))
        made = [self._conditional(graph, loop) for loop in (first, first._replace(default=0))]
        if swapped:
            made = [(params, handle) for params, (_, handle) in zip((made[0][0], made[1][0]), made[::-1], strict=True)]
        before: list[Any] = []
        for params, handle in made:
            params.conditional.handle = handle
            node = self.check(self.driver.cuGraphAddNode(graph, before or None, None, len(before), params))
            body = self.driver.CUgraph(int(params.conditional.phGraph_out[0]))
            self.check(self.driver.cuGraphAddKernelNode(body, [], 0, self._kernel(first, handle)))
            before = [node]
        return graph

    def _captured(self, loop: _Loop) -> Any:
        check, driver, stream = self.check, self.driver, self.stream
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        check(driver.cuStreamBeginCapture(stream, mode))
        graph = check(driver.cuStreamGetCaptureInfo(stream))[2]
        params, handle = self._conditional(graph, loop)
        node = check(driver.cuGraphAddNode(graph, None, None, 0, params))
        data = [driver.CUgraphEdgeData()]
        check(driver.cuStreamUpdateCaptureDependencies(stream, [node], data, 1, 1))  # 1: set
        inner = check(driver.cuStreamCreate(1))
        body = driver.CUgraph(int(params.conditional.phGraph_out[0]))
        check(driver.cuStreamBeginCaptureToGraph(inner, body, None, None, 0, mode))
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = loop.blocks, 1, 1
        config.blockDimX, config.blockDimY, config.blockDimZ = 1, 1, 1
        config.hStream = inner
        self._arguments = _Arguments(self.memory, loop, handle)
        check(driver.cuLaunchKernelEx(config, self.functions[loop.function], self._arguments.address, 0))
        check(driver.cuStreamEndCapture(inner))
        check(driver.cuStreamDestroy(inner))
        return check(driver.cuStreamEndCapture(stream))

    def _conditional(self, graph: Any, loop: _Loop) -> tuple[Any, Any]:
        driver = self.driver
        handle = self.check(driver.cuGraphConditionalHandleCreate(graph, self.context, loop.default, _ASSIGN_DEFAULT))
        params = driver.CUgraphNodeParams()
        params.type = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
        params.conditional.handle = handle
        params.conditional.type = driver.CUgraphConditionalNodeType(self.kind)
        params.conditional.size = 1
        params.conditional.ctx = self.context
        return params, handle

    def _kernel(self, loop: _Loop, handle: Any) -> Any:
        params = self.driver.CUDA_KERNEL_NODE_PARAMS()
        params.func = self.functions[loop.function]
        params.gridDimX, params.gridDimY, params.gridDimZ = loop.blocks, 1, 1
        params.blockDimX, params.blockDimY, params.blockDimZ = 1, 1, 1
        self._arguments = _Arguments(self.memory, loop, handle)  # alive until the call that copies them
        params.kernelParams = self._arguments.address
        return params

    def instantiate(self, graph: Any) -> Any:
        """Return an executable."""
        return self.check(self.driver.cuGraphInstantiate(graph, 0))

    def instantiate_result(self, graph: Any) -> str:
        """Return the CUresult of an instantiation, whose executable is destroyed again."""
        status, graph_exec = self.driver.cuGraphInstantiate(graph, 0)
        if int(status) == 0:
            self.check(self.driver.cuGraphExecDestroy(graph_exec))
        return str(status.name)

    def update(self, graph_exec: Any, graph: Any) -> None:
        """Update, and keep the answer."""
        from lab.oracle import updated  # noqa: PLC0415  CUDA in the working processes alone

        status, info = updated(graph_exec, int(graph))
        self.updates.append(f"{status} {UpdateResult(info.result).name}")

    def launch(self, graph_exec: Any, expected: tuple[int, ...]) -> None:
        """Launch on cleared memory, and keep what the kernels left there beside what they should have."""
        seen = (ctypes.c_uint32 * _WORDS)()
        self.check(self.driver.cuMemsetD8Async(self.memory, 0, 4 * _WORDS, self.stream))
        self.check(self.driver.cuGraphLaunch(graph_exec, self.stream))
        self.check(self.driver.cuStreamSynchronize(self.stream))
        self.check(self.driver.cuMemcpyDtoH(ctypes.addressof(seen), self.memory, 4 * _WORDS))
        self.launches.append({"expected": list(expected), "seen": list(seen), "right": tuple(seen) == expected})


_HELD = _Loop(amount=3)


def _to_and_fro(bench: _Bench, other: _Loop) -> None:
    """Update one executable to another graph and back, three times, and launch it after each."""
    graphs = {loop: bench.graph(loop) for loop in (_HELD, other)}
    graph_exec = bench.instantiate(graphs[_HELD])
    bench.launch(graph_exec, _HELD.expected(bench.kind))
    for loop in (other, _HELD) * 3:
        bench.update(graph_exec, graphs[loop])
        bench.launch(graph_exec, loop.expected(bench.kind))


def _to_and_fro_unlaunched(bench: _Bench) -> None:
    """Update to the other graph and back with no launch between, as a registry tries an update."""
    other = _HELD._replace(amount=5, blocks=4)
    graphs = {loop: bench.graph(loop) for loop in (_HELD, other)}
    graph_exec = bench.instantiate(graphs[_HELD])
    for loop in (other, _HELD, other):
        bench.update(graph_exec, graphs[loop])
    bench.launch(graph_exec, other.expected(bench.kind))
    bench.update(graph_exec, graphs[_HELD])
    bench.launch(graph_exec, _HELD.expected(bench.kind))


def _anew(bench: _Bench) -> None:
    """Capture the loop anew twelve times, update in place, and destroy the graph that was held before."""
    held = bench.graph(_HELD)
    graph_exec = bench.instantiate(held)
    for amount in range(1, 13):
        loop = _HELD._replace(amount=amount, rounds=1 + amount % 4, blocks=1 + amount % 5)
        graph = bench.graph(loop)
        bench.update(graph_exec, graph)
        bench.check(bench.driver.cuGraphDestroy(held))
        bench.launch(graph_exec, loop.expected(bench.kind))
        held = graph


def _both_instantiated(bench: _Bench) -> None:
    """Update an executable to a graph that has one of its own, and that one back."""
    other = _HELD._replace(amount=5)
    first, second = bench.graph(_HELD), bench.graph(other)
    execs = bench.instantiate(first), bench.instantiate(second)
    bench.update(execs[0], second)
    for graph_exec in execs:
        bench.launch(graph_exec, other.expected(bench.kind))
    bench.update(execs[1], first)
    bench.launch(execs[1], _HELD.expected(bench.kind))
    bench.launch(execs[0], other.expected(bench.kind))


def _own_after_shared(bench: _Bench) -> None:
    """Update to a graph, then give that graph an executable of its own beside the updated one."""
    other = _HELD._replace(amount=5)
    first, second = bench.graph(_HELD), bench.graph(other)
    shared = bench.instantiate(first)
    bench.update(shared, second)
    own = bench.instantiate(second)
    for graph_exec in (own, shared):
        bench.launch(graph_exec, other.expected(bench.kind))
    bench.update(shared, first)
    bench.launch(shared, _HELD.expected(bench.kind))
    bench.launch(own, other.expected(bench.kind))


def _second_exec(bench: _Bench) -> None:
    """Instantiate one graph twice, and again after the first executable is destroyed. Facts, no sharing."""
    graph = bench.graph(_HELD)
    graph_exec = bench.instantiate(graph)
    bench.updates.append(f"a second exec: {bench.instantiate_result(graph)}")
    bench.check(bench.driver.cuGraphExecDestroy(graph_exec))
    bench.updates.append(f"after the first was destroyed: {bench.instantiate_result(graph)}")


def _handles_swapped(bench: _Bench) -> None:
    """Update to a graph whose two handles were made in the other order. Documented as what must match."""
    first = bench.two_conditionals(_HELD, swapped=False)
    graph_exec = bench.instantiate(first)
    bench.launch(graph_exec, _HELD.expected(bench.kind))
    bench.update(graph_exec, bench.two_conditionals(_HELD, swapped=True))
    bench.launch(graph_exec, _HELD.expected(bench.kind))


_QUESTIONS: Final[Mapping[str, Callable[[_Bench], None]]] = {
    "to and fro: argument": lambda bench: _to_and_fro(bench, _HELD._replace(amount=5)),
    "to and fro: grid": lambda bench: _to_and_fro(bench, _HELD._replace(blocks=4)),
    "to and fro: function": lambda bench: _to_and_fro(bench, _HELD._replace(function="two")),
    "to and fro: default": lambda bench: _to_and_fro(bench, _HELD._replace(default=0)),
    "to and fro: unlaunched": _to_and_fro_unlaunched,
    "captured anew": _anew,
    "both instantiated": _both_instantiated,
    "own executable after a shared one": _own_after_shared,
    # Facts beside the question: what they answer decides nothing.
    "fact: second executable": _second_exec,
    "fact: handles in the other order": _handles_swapped,
}


def _ask(kind: str, making: str, question: str) -> dict[str, Any]:
    """Answer one question in this process."""
    from examples.recording.calls import CallError  # noqa: PLC0415  CUDA in the working processes alone

    error, bench = None, _Bench(_KINDS[kind], making)
    try:
        _QUESTIONS[question](bench)
    except CallError as failure:
        error = failure.result
    accepted = all(answer == "CUDA_SUCCESS SUCCESS" for answer in bench.updates)
    right = error is None and accepted and all(launch["right"] for launch in bench.launches)
    return {"updates": bench.updates, "launches": bench.launches, "error": error, "right": right}


def _asked(kind: str, making: str, question: str) -> dict[str, Any]:
    """Answer one question in a process of its own."""
    command = [sys.executable, "-X", "faulthandler", "-m", "lab.conditionals"]
    command += ["--ask", kind, making, question]
    asked = {"kind": kind, "making": making, "question": question}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_STALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return asked | {"error": f"no answer in {_STALL_SECONDS} s", "right": False}
    if done.returncode != 0:
        return asked | {"error": f"status {done.returncode}: {done.stderr[-1500:]}", "right": False}
    answer: dict[str, Any] = json.loads(done.stdout)
    return asked | answer


def main(argv: Sequence[str] | None = None) -> int:
    """Ask everything and print one JSON object; exit 1 where a question of sharing was not answered as hoped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ask", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.ask is not None:
        print(json.dumps(_ask(*arguments.ask)))
        return 0
    answers = [_asked(*question) for question in product(_KINDS, _MAKINGS, _QUESTIONS)]
    decisive = [answer for answer in answers if not answer["question"].startswith("fact: ")]
    here = environment()
    record = {
        "benchmark": "updates of graphs with conditional nodes, gpu",
        "date": datetime.now(UTC).date().isoformat(),
        "gpu": [device.name for device in here.devices],
        "display_driver": here.display_driver_version,
        "cuda_driver_version": here.cuda_driver_version,
        "updates_are_safe": all(answer["right"] for answer in decisive),
        "not_right": [f"{a['kind']}, {a['making']}: {a['question']}" for a in decisive if not a["right"]],
        "answers": answers,
    }
    print(json.dumps(record, indent=1))
    return int(not record["updates_are_safe"])


if __name__ == "__main__":
    sys.exit(main())
