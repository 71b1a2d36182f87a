"""Whether the other nodes of a graph hide what its executable keeps: updates and launches, nothing in between.

A graph of one kernel node, launched, updated to another function and launched again, may run what it ran before as
long as no other work ran on the device (`lab.exec_state`). Here the graph has one to three kernel nodes, some beside a
memset or a copy, in sequence or in parallel; each kernel changes its function and cluster from one update to the next,
or does not. In half of the chains other work runs between the launches, outside of any graph. Every kernel reports;
what the model without an adversary does not give (`predicted_clusters`, and the function of the update) was kept.

Example: ``python -m lab.companions --seed 1 --seconds 60 --out companions.json``, one process alone on the device. It
writes counts for each arrangement, and the first chains that kept something. Exit 1 if a launch is not among the
outcomes of `ExecState`, or was kept after other work.
"""

import argparse
import ctypes
import json
import time
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from cuda.bindings import driver

from examples.recording.calls import CallError, check
from lab.chains import FUNCTIONS, LAUNCHES, compiled_cluster, predicted_clusters, random_spec
from lab.exec_state import WORDS, Bench
from lab.histories import one_kernel
from sigcontract.driver import read_profile
from sigcontract.model import DriverProfile, GraphSignature
from sigcontract.update import ExecState, predict_update

_KERNELS: Final = 3
_OTHERS: Final = ("none", "none", "memset-4", "memset-512k", "copy-512k")
#: Work outside of the graphs, before an update or after it.
_OUTSIDE: Final = ("memset-512k", "copy-512k", "kernel", "same-kernel")
_EXAMPLES: Final = 3


def random_arrangement(seed: int, number: int) -> dict[str, Any]:
    """Return a chain: for each kernel node its specs, and the order and other node of every graph."""
    random = Random(f"companions {seed}:{number}")  # noqa: S311  a repeatable chain, no secret
    count, length = random.randint(1, _KERNELS), random.randint(2, 5)
    nodes = [_specs(random, slot, length) for slot in range(count)]
    if count > 1 and random.random() < 0.4:  # a companion that is the same kernel
        nodes[1] = [spec | {"slot": 1} for spec in nodes[0]]
    return {
        "seed": seed,
        "number": number,
        "order": random.choice(["sequence", "parallel"]),
        "other": random.choice(_OTHERS),
        "other_first": random.random() < 0.5,
        "outside": random.choice(["none", random.choice(_OUTSIDE)]),
        "outside_first": random.random() < 0.5,
        "kernels": nodes,
        "uses": [random.choice(["launch", "launch", "launch", "upload", *LAUNCHES[1:]]) for _ in range(length - 1)]
        + ["launch"],
    }


def _specs(random: Random, slot: int, length: int) -> list[dict[str, Any]]:
    first = random_spec(random) | {"slot": slot, "value": 1}
    specs, changes = [first], random.random() < 0.8
    while len(specs) < length:
        spec = random.choice(specs[-2:])
        if changes:
            other = random_spec(random)
            fields = ["function", "cluster", *random.sample(["grid", "block", "value"], random.choice([0, 0, 0, 1]))]
            spec = spec | {field: other[field] for field in fields}
            if compiled_cluster(spec) and spec["cluster"]:
                spec["cluster"] = compiled_cluster(spec)
        specs.append(spec)
    return specs


class Outcome(NamedTuple):
    """The clusters and codes that a launch may report, and whether its update is called safe."""

    clusters: frozenset[int]
    codes: frozenset[int]
    safe: bool


class Companions(Bench):
    """A device with memory for the reports of three kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.slots = int(check(driver.cuMemHostAlloc(4 * WORDS * _KERNELS, 0)))
        self.words = (ctypes.c_uint32 * (WORDS * _KERNELS)).from_address(self.slots)
        self.context = check(driver.cuCtxGetCurrent())

    def graph_of(self, chain: dict[str, Any], index: int) -> Any:
        """Build the graph of one step: its kernels and the other node, in sequence or in parallel."""
        graph, after = check(driver.cuGraphCreate(0)), list[Any]()
        nodes: list[Any] = [specs[index] for specs in chain["kernels"]]
        if chain["other"] != "none":
            nodes.insert(0 if chain["other_first"] else len(nodes), chain["other"])
        for what in nodes:
            node = self._add(graph, after, what) if isinstance(what, str) else self._add_kernel(graph, after, what)
            if chain["order"] == "sequence":
                after = [node]
        return graph

    def _add_kernel(self, graph: Any, after: list[Any], spec: dict[str, Any]) -> Any:
        params, alive = self.node_params(spec, self.slots + 4 * WORDS * spec["slot"])
        node = check(driver.cuGraphAddKernelNode(graph, after, len(after), params))
        del alive
        ids, value = driver.CUlaunchAttributeID, driver.CUkernelNodeAttrValue()
        if spec["cluster"]:
            value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = spec["cluster"], 1, 1
            check(driver.cuGraphKernelNodeSetAttribute(node, ids.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value))
        if spec["cooperative"]:
            value = driver.CUkernelNodeAttrValue()
            value.cooperative = 1
            check(driver.cuGraphKernelNodeSetAttribute(node, ids.CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value))
        return node

    def _add(self, graph: Any, after: list[Any], what: str) -> Any:
        if what == "copy-512k":
            copy = driver.CUDA_MEMCPY3D()
            copy.srcMemoryType = copy.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
            copy.srcDevice, copy.dstDevice = self.scratch, self.scratch + (1 << 20)
            copy.WidthInBytes, copy.Height, copy.Depth = 512 << 10, 1, 1
            return check(driver.cuGraphAddMemcpyNode(graph, after, len(after), copy, self.context))
        memset = driver.CUDA_MEMSET_NODE_PARAMS()
        memset.dst, memset.elementSize, memset.height = self.scratch, 1, 1
        memset.width = 4 if what == "memset-4" else 512 << 10
        return check(driver.cuGraphAddMemsetNode(graph, after, len(after), memset, self.context))

    def run(self, chain: dict[str, Any]) -> list[list[tuple[int, int]] | None]:
        """Carry a chain out; return what each launch's kernels reported (cluster, code), None for an upload."""
        graphs: list[Any] = []
        found: list[list[tuple[int, int]] | None] = []
        graph_exec = None
        try:
            graphs.extend(self.graph_of(chain, index) for index in range(len(chain["uses"])))
            graph_exec = check(driver.cuGraphInstantiate(graphs[0], 0))
            for index, use in enumerate(chain["uses"]):
                function = chain["kernels"][0][index]["function"]
                if index and chain["outside_first"]:
                    self.between(chain["outside"], self.streams[0], function, None)
                if index and int(driver.cuGraphExecUpdate(graph_exec, graphs[index])[0]) != 0:
                    break
                if index and not chain["outside_first"]:
                    self.between(chain["outside"], self.streams[0], function, None)
                found.append(self._use(use, graph_exec, len(chain["kernels"])))
        finally:
            if graph_exec is not None:
                driver.cuGraphExecDestroy(graph_exec)
            for graph in graphs:
                driver.cuGraphDestroy(graph)
        return found

    def _use(self, use: str, graph_exec: Any, count: int) -> list[tuple[int, int]] | None:
        stream = check(driver.cuStreamCreate(1)) if use == "launch-new-stream" else self.streams[use.count("other")]
        ctypes.memset(self.slots, 0, 4 * WORDS * _KERNELS)
        call: Any = driver.cuGraphUpload if use == "upload" else driver.cuGraphLaunch
        check(call(graph_exec, stream))
        check(driver.cuStreamSynchronize(stream))
        if use == "launch-new-stream":
            check(driver.cuStreamDestroy(stream))
        if use == "upload":
            return None
        return [(self.words[WORDS * slot], self.words[WORDS * slot + 5]) for slot in range(count)]


def expected(chain: dict[str, Any]) -> list[list[tuple[int, int]]]:
    """Return, for each kernel, the cluster and code of each step by the model without an adversary."""
    steps = [{"use": use} for use in chain["uses"]]
    found = []
    for specs in chain["kernels"]:
        clusters = predicted_clusters({"specs": specs, "steps": steps})
        codes = [FUNCTIONS[spec["function"]][0] for spec in specs]
        found.append(list(zip(clusters, codes, strict=True)))
    return found


def outcomes(chain: dict[str, Any], profile: DriverProfile | None) -> list[list[Outcome]]:
    """Return, for each kernel, what each step may launch by the state of an executable, and whether it is called safe.

    Without outside work in between, that is with an adversary.
    """
    found = []
    for specs in chain["kernels"]:
        state, steps = ExecState.instantiated(_graph(specs[0]), profile), []
        for index, (spec, use) in enumerate(zip(specs, chain["uses"], strict=True)):
            safe = True
            if index:
                if chain["outside"] != "none":
                    state = state.after_other_work()
                safe = predict_update(state.held, _graph(spec), profile, state).verdict.safe
                state = state.updated(_graph(spec), profile)
            (kernel,) = state.kernels.values()
            clusters = {1 if one == "none" else int(one.partition("x")[0]) for one in kernel.clusters}
            codes = {node.func for node in kernel.functions}
            steps.append(Outcome(frozenset(clusters), frozenset(codes), safe))
            state = state.used(launched=use != "upload")
        found.append(steps)
    return found


def _graph(spec: dict[str, Any]) -> GraphSignature:
    return _graph_of(tuple(sorted(spec.items())))


@cache
def _graph_of(items: tuple[tuple[str, Any], ...]) -> GraphSignature:
    spec = dict(items)
    code, compiled = FUNCTIONS[spec["function"]]
    return one_kernel(code, compiled, spec)


def arrangement_of(chain: dict[str, Any]) -> str:
    """Return the group that a chain is counted in."""
    kernels = len(chain["kernels"])
    alike = ", two the same" if kernels > 1 and _alike(chain["kernels"][0], chain["kernels"][1]) else ""
    between = "nothing" if chain["outside"] == "none" else chain["outside"]
    order = chain["order"] if kernels > 1 else "one"
    return f"{between} between: {kernels} kernels{alike}, {chain['other']}, {order}"


def _alike(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> bool:
    return all(left | {"slot": 0} == right | {"slot": 0} for left, right in zip(one, other, strict=True))


def main() -> int:
    """Run the experiment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="start no chain after that long")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    bench, end, number = Companions(), time.monotonic() + args.seconds, 0
    counts: Counter[str] = Counter()
    kept: list[dict[str, Any]] = []
    missed: list[dict[str, Any]] = []
    profile = read_profile()
    while time.monotonic() < end:
        chain, number = random_arrangement(args.seed, number), number + 1
        group = arrangement_of(chain)
        try:
            reports = bench.run(chain)
        except CallError as error:
            counts[f"{group}: {error.result}"] += 1
            if int(driver.cuCtxSynchronize()[0]) != 0:
                break
            continue
        wanted, possible, deviates = expected(chain), outcomes(chain, profile), False
        for step, report in enumerate(reports):
            for slot, seen in enumerate(report or ()):
                runs = seen != (0, 0)  # a grid that is no multiple of the stored cluster does not run
                same = seen == wanted[slot][step]
                if step:
                    counts[f"{group}: {'as the model' if same else 'kept' if runs else 'did not run'}"] += 1
                    one, spec = possible[slot][step], chain["kernels"][slot][step]
                    right = seen == (spec["cluster"] or compiled_cluster(spec) or 1, FUNCTIONS[spec["function"]][0])
                    called = "safe" if one.safe else "not safe"
                    between = "nothing between" if chain["outside"] == "none" else "work between"
                    counts[f"{between}, called {called}, ran {'right' if right else 'wrong'}"] += 1
                    if runs and not (seen[0] in one.clusters and seen[1] in one.codes):
                        missed.append({"chain": chain, "reports": reports, "slot": slot, "step": step})
                deviates |= runs and not same
        if deviates and sum(one["group"] == group for one in kept) < _EXAMPLES:
            kept.append({"group": group, "chain": chain, "reports": reports, "model": wanted})
    name = check(driver.cuDeviceGetName(64, 0)).split(b"\0")[0].decode()
    result = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": name,
        "cuda_driver_version": int(check(driver.cuDriverGetVersion())),
        "seed": args.seed,
        "chains": number,
        "counts": dict(sorted(counts.items())),
        "not among the outcomes": len(missed),
        "missed": missed[:_EXAMPLES],
        "kept": kept,
    }
    args.out.write_text(json.dumps(result), encoding="utf-8")
    print(json.dumps({key: value for key, value in result.items() if key not in ("kept", "missed")}, indent=1))
    wrong = [key for key in counts if key.endswith("called safe, ran wrong")]
    return int(bool(missed or wrong))


if __name__ == "__main__":
    raise SystemExit(main())
