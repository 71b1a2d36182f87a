"""What observing and recording cost, on a real GPU.

Run it as ``python -m benchmarks.bench_observe RESULT.json``. It captures launches of an empty kernel with and
without observation, hashes generated modules, and times a PyTorch program plain and under ``sigcontract record``.
"""

import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cuda.bindings import driver

from examples.recording.calls import check, compile_source, open_device
from sigcontract.driver import environment, read_graph
from sigcontract.driver.cuda.layouts import LaunchAttribute, LaunchConfig
from sigcontract.driver.observing.cubin import kernel_hashes
from sigcontract.driver.observing.session import observe

LAUNCHES = 2000
REPEATS = 9
ROOT = Path(__file__).resolve().parents[1]

EMPTY = 'extern "C" __global__ void empty(int *to, int value) {}'
KERNEL = (
    'extern "C" __global__ void busy{0}(float *a, float b) {{ for (int i = 0; i < {0} + 8; i++) a[i] = a[i] / b; }}'
)

PROGRAM = """
import torch
width, layers = 1024, 12
torch.manual_seed(0)
weights = [torch.randn(width, width, device="cuda", dtype=torch.bfloat16) for _ in range(layers)]
def net(x):
    for weight in weights:
        x = torch.nn.functional.layer_norm(torch.relu(x @ weight), (width,))
    return x
graphs = []
for batch in (1, 2, 4, 8, 16, 32, 64, 128):
    x = torch.randn(batch, width, device="cuda", dtype=torch.bfloat16)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        net(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x)
    graphs.append(graph)
for _ in range(2000):
    for graph in graphs:
        graph.replay()
torch.cuda.synchronize()
"""


class Launcher:
    """Launches of an empty kernel with cluster dimensions, at the least cost Python allows."""

    def __init__(self) -> None:
        open_device()
        self.libcuda = ctypes.CDLL("libcuda.so.1")
        module = check(driver.cuModuleLoadData(compile_source(EMPTY, "sm_90")))
        self.function = ctypes.c_void_p(int(check(driver.cuModuleGetFunction(module, b"empty"))))
        self.stream = int(check(driver.cuStreamCreate(1)))
        self._values = (ctypes.c_void_p(int(check(driver.cuMemAlloc(64)))), ctypes.c_int(7))
        self.arguments = (ctypes.c_void_p * 2)(*[ctypes.addressof(value) for value in self._values])
        self._attributes = (LaunchAttribute * 1)()
        self._attributes[0].id = 4
        ctypes.memmove(ctypes.addressof(self._attributes) + 8, b"\2\0\0\0\1\0\0\0\1\0\0\0", 12)
        self.config = LaunchConfig()
        for name in ("gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ"):
            setattr(self.config, name, 8 if name == "gridDimX" else 32 if name == "blockDimX" else 1)
        self.config.hStream = self.stream
        self.config.attrs = ctypes.addressof(self._attributes)
        self.config.numAttrs = 1

    def launches(self, count: int) -> float:
        """Launch, and return microseconds per launch."""
        launch, config = self.libcuda.cuLaunchKernelEx, ctypes.byref(self.config)
        function, arguments = self.function, self.arguments
        started = time.perf_counter()
        for _ in range(count):
            launch(config, function, arguments, None)
        return (time.perf_counter() - started) / count * 1e6

    def capture(self) -> tuple[float, Any]:
        """Capture, and return microseconds per launch and the graph."""
        check(driver.cuStreamBeginCapture(self.stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED))
        cost = self.launches(LAUNCHES)
        return cost, check(driver.cuStreamEndCapture(self.stream))

    def eager(self) -> float:
        """Launch outside of a capture, few enough that the queue never fills, and return microseconds per launch."""
        costs = []
        for _ in range(10):
            costs.append(self.launches(200))
            check(driver.cuStreamSynchronize(self.stream))
        return statistics.median(costs)

    def measure(self) -> dict[str, float]:
        """Return medians: microseconds per launch, milliseconds per instantiation and destruction of the graph."""
        rows: list[dict[str, float]] = []
        for _ in range(REPEATS):
            cost, graph = self.capture()
            instantiation, executable = timed(lambda graph=graph: check(driver.cuGraphInstantiate(graph, 0)))  # type: ignore[misc]
            check(driver.cuGraphExecDestroy(executable))
            destruction, _ = timed(lambda graph=graph: check(driver.cuGraphDestroy(graph)))  # type: ignore[misc]
            rows.append(
                {
                    "captured_launch_us": cost,
                    "eager_launch_us": self.eager(),
                    "instantiate_ms": instantiation * 1e3,
                    "destroy_ms": destruction * 1e3,
                }
            )
        return {name: round(statistics.median(row[name] for row in rows), 3) for name in rows[0]}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return seconds and result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def observing(launcher: Launcher) -> dict[str, Any]:
    """Measure captures with and without observation, and what observation holds and reading costs."""
    launcher.measure()  # warm
    plain = launcher.measure()
    with observe() as seen:
        observed = launcher.measure()
        tracemalloc.start()
        _, graph = launcher.capture()
        held = tracemalloc.get_traced_memory()[0] / LAUNCHES
        tracemalloc.stop()
        reading, signature = timed(lambda: read_graph(graph, observations=seen))
        assert len(signature.nodes) == LAUNCHES
        assert list(seen.problems) == []
    unseen, _ = timed(lambda: read_graph(graph))
    return {
        "launches": LAUNCHES,
        "not_observed": plain,
        "observed": observed,
        "after": launcher.measure(),
        "held_bytes_per_node": round(held),
        "read_graph_ms": {"observed": round(reading * 1e3, 2), "not_observed": round(unseen * 1e3, 2)},
    }


def hashing() -> list[dict[str, float]]:
    """Hash every kernel of generated modules of several sizes."""
    rows = []
    for kernels in (1, 30, 300):
        image = compile_source("\n".join(KERNEL.format(number) for number in range(kernels)), "sm_90")
        seconds = min(timed(lambda image=image: kernel_hashes(image))[0] for _ in range(3))  # type: ignore[misc]
        size = len(image) / 2**20
        rows.append(
            {
                "kernels": kernels,
                "image_mib": round(size, 3),
                "ms": round(seconds * 1e3, 2),
                "ms_per_mib": round(seconds * 1e3 / size, 1),
            }
        )
    return rows


def recording() -> dict[str, Any]:
    """Time a PyTorch program plain and recorded, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text(PROGRAM, encoding="utf-8")
        plain_command = [sys.executable, str(program)]
        recorded_command = [
            *[sys.executable, "-m", "sigcontract", "record", "-o", folder, "--", *plain_command],
        ]
        plain, recorded = [], []
        run(plain_command)  # warm the file cache
        for _ in range(3):
            plain.append(timed(lambda: run(plain_command))[0])
            recorded.append(timed(lambda: run(recorded_command))[0])
        dump = max(Path(folder).glob("*.dump.json"), key=os.path.getmtime)
        return {
            "plain_s": round(statistics.median(plain), 3),
            "recorded_s": round(statistics.median(recorded), 3),
            "ratio": round(statistics.median(recorded) / statistics.median(plain), 3),
            "dump_bytes": dump.stat().st_size,
        }


def run(command: list[str]) -> None:
    """Run to the end, quietly; fail where it fails."""
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)  # noqa: S603  our own program


def main() -> None:
    """Measure everything and write it."""
    output = Path(sys.argv[1])
    here = environment()
    result = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "device": here.devices[0].name,
        "display_driver": here.display_driver_version,
        "cuda_driver": here.cuda_driver_version,
        "python": sys.version.split()[0],
        "observing": observing(Launcher()),
        "hashing": hashing(),
        "recording": recording(),
    }
    output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
