"""What the registries cost, as ratios measured in one run.

On any machine: ``python -m benchmarks.bench_registry cpu``. With a GPU and cuda-bindings:
``python -m benchmarks.bench_registry gpu --output benchmarks/results/registry-h200-DATE.json``. A run on another host
is added to a file of the same day, device and driver.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from ctypes import byref, c_void_p
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter_ns, process_time_ns
from typing import Any

from sigcontract.model.graph import GraphSignature
from sigcontract.registry import SignatureRegistry
from tests.update.build import H200, graph, kernel

NODES = 400
SIGNATURES = 10_000
WINDOW = 1_000
ROUNDS = 40
CALLS = 100


def measure_signatures() -> dict[str, float]:
    """Register 10,000 signatures of 400 nodes, no two equal; compare the first thousand with the last.

    Each is 16 layers of 25 records, as readers and decoders share the records of equal nodes, but for one node of
    its own. Then register their equals, which join the groups of the first.
    """
    layer = [kernel(name=f"kernel_{number}", func=0xF0 + number) for number in range(25)]
    nodes = tuple(layer * (NODES // len(layer)))
    dependencies = graph(*nodes).dependencies
    registry = SignatureRegistry(profile=H200)

    def batch_from(start: int) -> list[GraphSignature]:
        return [
            GraphSignature(nodes=(kernel(grid=number + 1), *nodes[1:]), dependencies=dependencies)
            for number in range(start, start + WINDOW)
        ]

    windows = []
    for start in (*range(0, SIGNATURES, WINDOW), 0):
        batch = batch_from(start)
        begin = process_time_ns()  # of this process alone, on a machine that others use too
        for one in batch:
            registry.register(one)
        windows.append((process_time_ns() - begin) / WINDOW / 1000)
    assert registry.stats().groups == SIGNATURES
    joining = windows.pop()
    return {
        "first_thousand_us_per_registration": windows[0],
        "last_thousand_us_per_registration": windows[-1],
        "joining_us_per_registration": joining,
        "last_over_first": windows[-1] / windows[0],
        "median_over_first": median(windows) / windows[0],
    }


def measure_device() -> dict[str, float]:
    """Compare the registry with the bare driver calls that it is made of."""
    from lab.capture import build, destroy  # noqa: PLC0415  needs cuda-bindings
    from lab.rig import Rig  # noqa: PLC0415
    from lab.specs import Edge, GraphSpec, Kernel  # noqa: PLC0415

    rig = Rig()

    def chain(value: int, length: int) -> Any:
        kernels = tuple(Kernel(slot=index % 64, value=value) for index in range(length))
        edges = tuple((Edge(node=index - 1),) if index else () for index in range(length))
        return build(rig, GraphSpec(nodes=kernels, dependencies=edges))

    small = [chain(value, 1) for value in range(2)]
    large = [chain(value, NODES) for value in range(4)]
    stream = int(rig.stream)
    results = {
        **_launches(int(small[0].handle), stream),
        **_switches([int(one.handle) for one in large[:2]], stream),
        **_registrations([int(one.handle) for one in large]),
        **(_torch_launches() if find_spec("torch") else {}),
    }
    for built in (*small, *large):
        destroy(built)
    return results


def _launches(graph: int, stream: int) -> dict[str, float]:
    from cuda.bindings import driver as bindings  # noqa: PLC0415  optional

    from sigcontract.driver.cuda.driver import default_driver  # noqa: PLC0415  needs a driver
    from sigcontract.registry import GraphExecRegistry  # noqa: PLC0415

    driver = default_driver()
    graph_exec = driver.graph_instantiate(graph)
    launch = driver.library.bulk("cuGraphLaunch")
    bound_exec, bound_stream = c_void_p.from_param(graph_exec), c_void_p.from_param(stream)
    their_exec, their_stream = bindings.CUgraphExec(graph_exec), bindings.CUstream(stream)
    with GraphExecRegistry() as registry:
        entry = registry.register(graph)
        times = _interleaved(
            lambda: driver.stream_synchronize(stream),
            lambda: launch(bound_exec, bound_stream),
            lambda: bindings.cuGraphLaunch(their_exec, their_stream),
            lambda: entry.replay(stream),
        )
    driver.graph_exec_destroy(graph_exec)
    pointer, bindings_us, replay = times
    return {
        "launch_c_pointer_us": pointer,
        "launch_cuda_bindings_us": bindings_us,
        "replay_without_switch_us": replay,
        "replay_over_c_pointer_us": replay - pointer,
        "replay_over_cuda_bindings_us": replay - bindings_us,
    }


def _torch_launches() -> dict[str, float]:
    """Compare replays of a capture of PyTorch, which is also asked before each whether it was reset."""
    import torch  # noqa: PLC0415  optional

    from sigcontract.registry import GraphExecRegistry  # noqa: PLC0415  needs a driver

    number = torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        number += 1
    graph.replay()
    stream = torch.cuda.current_stream().cuda_stream
    with GraphExecRegistry() as registry:
        entry = registry.register(graph)
        plain, ours, current = _interleaved(
            torch.cuda.synchronize, graph.replay, lambda: entry.replay(stream), entry.replay
        )
    return {
        "torch_replay_us": plain,
        "torch_through_registry_us": ours,
        "torch_through_registry_on_current_stream_us": current,
        "torch_through_registry_over_torch_us": ours - plain,
    }


def _switches(graphs: Sequence[int], stream: int) -> dict[str, float]:
    from sigcontract.driver.cuda.driver import default_driver  # noqa: PLC0415  needs a driver
    from sigcontract.driver.cuda.layouts import UpdateResultInfo  # noqa: PLC0415
    from sigcontract.registry import GraphExecRegistry  # noqa: PLC0415

    driver = default_driver()
    graph_exec = driver.graph_instantiate(graphs[0])
    launch, update = driver.library.bulk("cuGraphLaunch"), driver.library.bulk("cuGraphExecUpdate")
    bound_exec, bound_stream = c_void_p.from_param(graph_exec), c_void_p.from_param(stream)
    bound_graphs = [c_void_p.from_param(graph) for graph in graphs]
    info = UpdateResultInfo()
    turn = [0, 0]

    def bare() -> None:
        turn[0] ^= 1
        assert update(bound_exec, bound_graphs[turn[0]], byref(info)) == 0
        assert launch(bound_exec, bound_stream) == 0

    with GraphExecRegistry() as registry:
        entries = [registry.register(graph) for graph in graphs]
        assert registry.stats().execs == 1

        def replay() -> None:
            turn[1] ^= 1
            entries[turn[1]].replay(stream)

        bare_us, replay_us = _interleaved(lambda: driver.stream_synchronize(stream), bare, replay, calls=10)
    driver.graph_exec_destroy(graph_exec)
    return {
        "update_and_launch_us": bare_us,
        "replay_with_switch_us": replay_us,
        "replay_with_switch_over_bare": replay_us / bare_us,
    }


def _registrations(graphs: Sequence[int]) -> dict[str, float]:
    from sigcontract.driver import read_graph  # noqa: PLC0415  needs a driver
    from sigcontract.driver.cuda.driver import default_driver  # noqa: PLC0415
    from sigcontract.registry import GraphExecRegistry  # noqa: PLC0415

    driver = default_driver()
    rounds: list[tuple[float, float, float]] = []
    for _ in range(ROUNDS):
        begin = perf_counter_ns()
        read_graph(graphs[0])
        graph_exec = driver.graph_instantiate(graphs[0])
        bare = perf_counter_ns() - begin
        driver.graph_exec_destroy(graph_exec)
        with GraphExecRegistry() as registry:
            begin = perf_counter_ns()
            registry.register(graphs[0])
            first = perf_counter_ns() - begin
            begin = perf_counter_ns()
            for graph in graphs[1:]:
                registry.register(graph)
            joined = (perf_counter_ns() - begin) / (len(graphs) - 1)
            assert registry.stats().execs == 1
        rounds.append((bare / 1000, first / 1000, joined / 1000))
    bare_us, first_us, joined_us = (median(column) for column in zip(*rounds, strict=True))
    return {
        "read_and_instantiate_us": bare_us,
        "register_first_us": first_us,
        "register_joining_us": joined_us,
        "register_first_over_bare": first_us / bare_us,
        "register_joining_over_bare": joined_us / bare_us,
    }


def _interleaved(settle: Callable[[], object], *calls_of: Callable[[], object], calls: int = CALLS) -> list[float]:
    """Return the median microseconds per call of each, measured in turn so that drift hits all alike."""
    samples: list[list[float]] = [[] for _ in calls_of]
    for _ in range(ROUNDS):
        for call, times in zip(calls_of, samples, strict=True):
            settle()
            begin = perf_counter_ns()
            for _ in range(calls):
                call()
            times.append((perf_counter_ns() - begin) / calls / 1000)
    settle()
    return [median(times) for times in samples]


def measure_model() -> dict[str, Any]:
    """Run the example of PyTorch under each policy, in processes of their own: what one frees another could take."""
    found: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        for policy in ("exact", "share", "share-functions", "share-updatable"):
            file = Path(folder) / policy
            command = [sys.executable, "-m", "examples.torch_registry", "--policy", policy, "--output", str(file)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  a module of this tree
            counts = json.loads(file.read_text())
            assert counts["outputs_that_differ_from_plain_replay"] == 0
            found |= counts
    return found


def _host() -> str:
    """Return the processor's name and how many there are: what a call from Python costs is the host's."""
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if "model name" in line
    ]
    return f"{models[0]}, {len(models)} processors" if models else "unknown"


def _device_report() -> dict[str, Any]:
    from sigcontract.driver.cuda.driver import default_driver  # noqa: PLC0415  needs a driver
    from sigcontract.driver.reading.process_environment import environment  # noqa: PLC0415  needs a driver

    results = {name: round(value, 3) for name, value in measure_device().items()}
    run: dict[str, Any] = {"host": _host(), "results": results}
    if find_spec("torch"):
        run["model"] = measure_model()
    found = environment(default_driver())
    return {
        "benchmark": "registry, gpu",
        "date": datetime.now(UTC).date().isoformat(),
        "device": found.devices[0].name,
        "display_driver": found.display_driver_version,
        "nodes": NODES,
        "runs": [run],
    }


def _joined(earlier: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    """Return the earlier report with the runs of this one."""
    for name in report.keys() - {"runs"}:
        assert earlier[name] == report[name], f"{name}: the file has {earlier[name]}, this run {report[name]}"
    return {**report, "runs": [*earlier["runs"], *report["runs"]]}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write where a file is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("cpu", "gpu"))
    parser.add_argument("--output", type=Path, help="the JSON file to write")
    options = parser.parse_args(arguments)
    if options.part == "gpu":
        report = _device_report()
    else:
        report = {
            "benchmark": "registry, cpu",
            "date": datetime.now(UTC).date().isoformat(),
            "nodes": NODES,
            "results": {name: round(value, 3) for name, value in measure_signatures().items()},
        }
    if options.part == "gpu" and options.output is not None and options.output.exists():
        report = _joined(json.loads(options.output.read_text()), report)
    text = json.dumps(report, indent=1)
    print(text)
    if options.output is not None:
        options.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
