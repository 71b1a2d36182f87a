"""SGLang's registry beside `GraphExecRegistry`, on the same captures: executables, memory, times, outputs.

Captures of PyTorch: a stack of transformer blocks at twelve batch sizes, a compiled model at six, and one model
captured twice. Contenders: ``plain`` (PyTorch's own executables), ``described`` (`lab.sglang_dedup`), ``sglang`` (the
class of an installed SGLang) and the policies of `GraphExecRegistry`. Each runs in its own process: memory that one
frees another could take. Outputs are compared with plain replay, bit by bit.

Example: ``python -m lab.side_by_side --out lab/results/side-by-side-h200-DATE.json``. Needs a GPU and PyTorch; exit 1
if an output of ours differs.
"""

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter_ns
from typing import Any, Final

from examples.torch_registry import BATCHES, Step, capture, outputs_of, unequal
from lab.sglang_dedup import DescribedRegistry
from sigcontract.registry import GraphExecRegistry

__all__ = ["CONTENDERS", "Measured", "made", "main", "measure"]

_MIXIN: Final = "sglang.srt.model_executor.runner_backend.cuda_graph_dedup_mixin"
_POLICIES: Final = ("share", "share-functions", "share-updatable")
CONTENDERS: Final = ("plain", "described", "sglang", *_POLICIES)
WORKLOADS: Final = ("torch-block", "compiled", "twice")
REPLAYS: Final = 1200


@dataclass(frozen=True)
class Measured:
    """What one contender needed for one workload."""

    executables: int
    device_bytes: int
    register_us: float
    seal_us: float
    replay_us: float


class _Plain:
    """PyTorch's own executables, with the methods of SGLang's class."""

    def __init__(self) -> None:
        self._graphs: list[Any] = []

    def register(self, graph: Any) -> Any:
        self._graphs.append(graph)
        graph.replay()  # instantiates it
        return graph

    def replay(self, graph: Any, _stream: int) -> None:
        graph.replay()

    def seal(self) -> None:
        """Do nothing: there is no end of registration."""

    def stats(self) -> tuple[int, int]:
        return len(self._graphs), len(self._graphs)


class _Ours:
    """`GraphExecRegistry` with the methods of SGLang's class; captures are not reset at its end."""

    def __init__(self, policy: str) -> None:
        self._registry = GraphExecRegistry(policy=policy)
        self.register = self._registry.register
        self.replay = self._registry.replay
        self.seal = self._registry.seal

    def stats(self) -> tuple[int, int]:
        stats = self._registry.stats()
        return stats.graphs, stats.execs


def made(contender: str) -> Any:
    """Return a registry with the methods ``register``, ``replay``, ``seal`` and ``stats``."""
    if contender == "plain":
        return _Plain()
    if contender == "described":
        return DescribedRegistry()
    if contender == "sglang":
        return importlib.import_module(_MIXIN).DedupedCudaGraphRegistry()
    return _Ours(contender)


def measure(contender: Any, steps: Sequence[Step], bench: Any) -> tuple[Measured, dict[str, Any]]:
    """Register, seal and replay in turn; return what it took, and the outputs of the last replays.

    Parameters
    ----------
    contender
        A registry of `made`.
    steps
        The captures.
    bench
        ``settled()`` waits for the device, ``free_bytes()`` returns its free memory, ``stream()`` the current stream.
    """
    bench.settled()
    before = bench.free_bytes()
    entries, times = {}, []
    for step in steps:
        begin = perf_counter_ns()
        entries[step.label] = contender.register(step.graph)
        times.append((perf_counter_ns() - begin) / 1000)
    begin = perf_counter_ns()
    contender.seal()
    seal_us = (perf_counter_ns() - begin) / 1000
    for entry in entries.values():  # uploads what is instantiated
        contender.replay(entry, bench.stream())
    bench.settled()
    taken = before - bench.free_bytes()
    in_turn, replays = list(entries.values()), []
    for turn in range(REPLAYS):
        begin = perf_counter_ns()
        contender.replay(in_turn[turn % len(in_turn)], bench.stream())
        replays.append((perf_counter_ns() - begin) / 1000)
        if turn % len(in_turn) == len(in_turn) - 1:
            bench.settled()  # so that the queue of launches is never full
    outputs = outputs_of(steps, lambda step: contender.replay(entries[step.label], bench.stream()))
    _, executables = contender.stats()
    return Measured(executables, taken, round(median(times), 1), round(seal_us, 1), round(median(replays), 2)), outputs


class _Torch:
    """The device as PyTorch shows it."""

    def __init__(self) -> None:
        import torch  # noqa: PLC0415  what compares is tested without it

        self._torch = torch
        self.settled: Callable[[], None] = torch.cuda.synchronize

    def free_bytes(self) -> int:
        return int(self._torch.cuda.mem_get_info()[0])

    def stream(self) -> int:
        return int(self._torch.cuda.current_stream().cuda_stream)


def captures(workload: str) -> list[Step]:
    """Capture a workload."""
    import torch  # noqa: PLC0415  as above
    from torch import nn  # noqa: PLC0415  torch is optional

    from examples.recording.torch_block import LAYERS, Block  # noqa: PLC0415  imports torch

    if workload == "compiled":
        return _compiled(torch, nn)
    blocks = nn.ModuleList(Block() for _ in range(LAYERS)).to(device="cuda", dtype=torch.bfloat16)
    batches = BATCHES if workload == "torch-block" else [BATCHES[3]] * 2
    steps = [capture(blocks, batch) for batch in batches]
    if workload == "twice":
        steps = [replace(step, label=f"capture {number}") for number, step in enumerate(steps)]
    return [replace(step, inputs=(*step.inputs, blocks)) for step in steps]  # a graph does not keep its weights


def _compiled(torch: Any, nn: Any) -> list[Step]:
    width = 1024
    model = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.LayerNorm(width))
    compiled = torch.compile(model.to(device="cuda", dtype=torch.bfloat16), dynamic=False)
    steps = []
    for batch in BATCHES[:6]:
        inputs = torch.randn(batch, width, device="cuda", dtype=torch.bfloat16)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            compiled(inputs)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            output = compiled(inputs)
        steps.append(Step(f"bs={batch}", graph, (inputs, compiled), output))
    return steps


def _one(contender: str, workload: str) -> dict[str, Any]:
    """Measure in this process. Plain replay comes last: it instantiates PyTorch's own executables."""
    import torch  # noqa: PLC0415  as above

    torch.manual_seed(0)
    with torch.inference_mode():
        steps = captures(workload)
        measured, outputs = measure(made(contender), steps, _Torch())
        plain = outputs_of(steps, lambda step: step.graph.replay())
    return asdict(measured) | {"graphs": len(steps), "outputs_that_differ": unequal(plain, outputs, torch.equal)}


def _in_a_process(contender: str, workload: str, file: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "lab.side_by_side", "--one", contender, workload, "--out", str(file)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1:]}  # SGLang is not installed, or an update was refused
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure each contender on each workload; exit 1 if one of ours failed or an output differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("CONTENDER", "WORKLOAD"), help="measure one, in this process")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args(argv)
    if args.one:
        args.out.write_text(json.dumps(_one(*args.one)), encoding="utf-8")
        return 0
    from sigcontract.driver.cuda.driver import default_driver  # noqa: PLC0415  needs a driver
    from sigcontract.driver.reading.process_environment import environment  # noqa: PLC0415  needs a driver

    with TemporaryDirectory() as folder:
        found = {
            workload: {name: _in_a_process(name, workload, Path(folder) / "one.json") for name in CONTENDERS}
            for workload in WORKLOADS
        }
    seen = environment(default_driver())
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "device": seen.devices[0].name,
        "display_driver": seen.display_driver_version,
        "replays": REPLAYS,
        "workloads": found,
    }
    text = json.dumps(report, indent=1)
    print(text)
    args.out.write_text(text + "\n", encoding="utf-8")
    ours = [found[workload][policy] for workload in WORKLOADS for policy in _POLICIES]
    return int(any("failed" in one or one["outputs_that_differ"] for one in ours))


if __name__ == "__main__":
    sys.exit(main())
