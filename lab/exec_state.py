"""What an executable's kernel node stores and fixes: chains of updates and launches, with other work in between.

One kernel node; functions of two modules and one with a compiled cluster; clusters, cooperative launches, arguments.
Each chain instantiates a spec, then updates to others, launching after some of the updates. What runs between an
update and the launch is part of the experiment: nothing at all, memsets of two sizes, another kernel, the same
kernel, a device copy, on the same stream and on another; an upload instead of a launch; a second executable of the
same graph launched in between.

The kernels report to pinned host memory, which the host clears and reads itself: nothing runs on the device that is
not part of the experiment. Arguments may stay as they are from one graph to the next; whether they do matters.

Example: ``python -m lab.exec_state --chains 20000 --seed 1 --out exec-state.json``. With ``--quiet``, and one
process on the device, nothing hides what the driver keeps. It writes one JSON object: the chains, each with its specs,
steps, answers and reports, and what the prediction along each history calls safe.
"""

import argparse
import ctypes
import json
import platform
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cuda.bindings import driver

from examples.recording.calls import CallError, check, open_device
from lab.chains import FUNCTIONS, Chain, predicted_clusters, random_chain
from lab.histories import History, history_of_chain, summary, tally
from sigcontract.driver import read_graph, read_profile

if TYPE_CHECKING:
    from sigcontract.model import GraphSignature

WORDS: Final = 9
SLOTS: Final = 2

_KERNEL = """
.visible .entry {name}(.param .u64 report, .param .u32 value) {cluster}
{{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .b64 %rd<1>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    or.b32 %r0, %r0, %r1;
    setp.ne.u32 %p, %r0, 0;
    @%p bra done;
    ld.param.u64 %rd0, [report];
    cvta.to.global.u64 %rd0, %rd0;
    mov.u32 %r2, %cluster_nctaid.x;
    st.global.u32 [%rd0+0], %r2;
    mov.u32 %r2, %nctaid.x;
    st.global.u32 [%rd0+4], %r2;
    mov.u32 %r2, %ntid.x;
    st.global.u32 [%rd0+8], %r2;
    mov.u32 %r2, %dynamic_smem_size;
    st.global.u32 [%rd0+12], %r2;
    ld.param.u32 %r2, [value];
    st.global.u32 [%rd0+16], %r2;
    mov.u32 %r2, {code};
    st.global.u32 [%rd0+20], %r2;
done:
    ret;
}}
"""


def _ptx(names: list[str]) -> bytes:
    texts = [
        _KERNEL.format(
            name=name,
            code=FUNCTIONS[name][0],
            cluster=f".explicitcluster .reqnctapercluster {FUNCTIONS[name][1]}, 1, 1" if FUNCTIONS[name][1] else "",
        )
        for name in names
    ]
    return (".version 7.8\n.target sm_90\n.address_size 64\n" + "".join(texts)).encode() + b"\0"


class Bench:
    """A device, its functions, two streams and memory."""

    def __init__(self) -> None:
        open_device()
        self.functions = {}
        self.modules = []
        for names in (["a1", "b1", "c1", "d1"], ["a2"]):
            module = check(driver.cuModuleLoadData(_ptx(names)))
            self.modules.append(module)
            for name in names:
                self.functions[name] = check(driver.cuModuleGetFunction(module, name.encode()))
        self.streams = [check(driver.cuStreamCreate(1)) for _ in range(2)]
        self.slots = int(check(driver.cuMemHostAlloc(4 * WORDS * SLOTS, 0)))
        self.words = (ctypes.c_uint32 * (WORDS * SLOTS)).from_address(self.slots)
        self.scratch = int(check(driver.cuMemAlloc(2 << 20)))
        self.sink = int(check(driver.cuMemAlloc(4 * WORDS)))

    def node_params(self, spec: dict[str, Any], address: int) -> tuple[Any, list[Any]]:
        """Return CUDA_KERNEL_NODE_PARAMS, and what must live while it is used."""
        arguments = ctypes.c_uint64(address), ctypes.c_uint32(spec["value"])
        pointers = (ctypes.c_void_p * 2)(*map(ctypes.addressof, arguments))
        params = driver.CUDA_KERNEL_NODE_PARAMS()
        params.func = self.functions[spec["function"]]
        params.gridDimX, params.gridDimY, params.gridDimZ = spec["grid"], 1, 1
        params.blockDimX, params.blockDimY, params.blockDimZ = spec["block"], 1, 1
        params.sharedMemBytes = spec["shared_bytes"]
        params.kernelParams = ctypes.addressof(pointers)
        return params, [arguments, pointers]

    def graph(self, spec: dict[str, Any], address: int | None = None) -> Any:
        """Build a graph of one kernel node."""
        graph = check(driver.cuGraphCreate(0))
        params, alive = self.node_params(spec, self.slots + 4 * WORDS * spec["slot"] if address is None else address)
        node = check(driver.cuGraphAddKernelNode(graph, None, 0, params))
        del alive
        ids = driver.CUlaunchAttributeID
        if spec["cluster"]:
            attribute = driver.CUkernelNodeAttrValue()
            attribute.clusterDim.x, attribute.clusterDim.y, attribute.clusterDim.z = spec["cluster"], 1, 1
            check(driver.cuGraphKernelNodeSetAttribute(node, ids.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, attribute))
        if spec["cooperative"]:
            attribute = driver.CUkernelNodeAttrValue()
            attribute.cooperative = 1
            check(driver.cuGraphKernelNodeSetAttribute(node, ids.CU_LAUNCH_ATTRIBUTE_COOPERATIVE, attribute))
        return graph

    def between(self, what: str, stream: Any, function: str, other_exec: Any) -> None:
        """Run other work, and wait for it."""
        if what == "memset-4":
            check(driver.cuMemsetD8Async(self.scratch, 0, 4, stream))
        elif what == "memset-512k":
            check(driver.cuMemsetD8Async(self.scratch, 0, 512 << 10, stream))
        elif what == "copy-512k":
            check(driver.cuMemcpyDtoDAsync(self.scratch + (1 << 20), self.scratch, 512 << 10, stream))
        elif what in ("kernel", "same-kernel"):
            name = function if what == "same-kernel" else next(n for n in ("b1", "a2") if n != function)
            plain = {"function": name, "grid": 8, "block": 32, "shared_bytes": 0, "value": 0}
            params, alive = self.node_params(plain, self.sink)
            check(driver.cuLaunchKernel(self.functions[name], 8, 1, 1, 32, 1, 1, 0, stream, params.kernelParams, 0))
            del alive
        elif what == "exec" and other_exec is not None:
            check(driver.cuGraphLaunch(other_exec, stream))
        if what != "none":
            check(driver.cuStreamSynchronize(stream))


def _used(bench: Bench, step: dict[str, Any], spec: dict[str, Any], execs: list[Any]) -> list[int] | None:
    """Run what comes in between, then use the executable; return what a launch reported."""
    new = check(driver.cuStreamCreate(1)) if step["use"] == "launch-new-stream" else None
    stream = new or bench.streams[0 if step["use"] != "launch-other-stream" else 1]
    beside = bench.streams[0] if step["between_stream"] == "same" else bench.streams[1]
    bench.between(step["between"], beside, spec["function"], execs[1] if len(execs) > 1 else None)
    ctypes.memset(bench.slots, 0, 4 * WORDS * SLOTS)
    if step["use"] == "upload":
        check(driver.cuGraphUpload(execs[0], stream))
    elif step["use"] != "nothing":
        check(driver.cuGraphLaunch(execs[0], stream))
    check(driver.cuStreamSynchronize(stream))
    if new is not None:
        check(driver.cuStreamDestroy(new))
    return bench.words[WORDS * spec["slot"] :][:6] if step["use"].startswith("launch") else None


def run_chain(bench: Bench, chain: Chain) -> tuple[Chain, History]:
    """Carry a chain out; returns it with the driver's answers and what each launch reported, and as a history."""
    specs, steps = chain["specs"], chain["steps"]
    graphs: list[Any] = []
    signatures: list[GraphSignature] = []
    execs: list[Any] = []
    answers: list[str] = []
    reports: list[list[int] | None] = []
    chain = chain | {"answers": answers, "reports": reports}
    try:
        graphs.extend(map(bench.graph, specs))
        signatures.extend(read_graph(int(graph)) for graph in graphs)
        execs.append(check(driver.cuGraphInstantiate(graphs[0], 0)))
        if chain["bystander"]:  # reports to a slot that nobody reads
            graphs.append(bench.graph(specs[0] | {"cooperative": 0}, bench.sink))
            execs.append(check(driver.cuGraphInstantiate(graphs[-1], 0)))
        for index, step in enumerate(steps):
            if index:
                result, info = driver.cuGraphExecUpdate(execs[0], graphs[index])
                if int(result) != 0:  # cuda-bindings give no result info with an error
                    answers.append(result.name)
                    break
                answers.append(info.result.name)
            reports.append(_used(bench, step, specs[index], execs))
    except CallError as error:
        chain["error"] = error.result
    finally:
        for graph_exec in execs:
            driver.cuGraphExecDestroy(graph_exec)
        for graph in graphs:
            driver.cuGraphDestroy(graph)
    seen = [None if report is None else (report[0], report[5]) for report in reports]
    history = history_of_chain(chain, seen)
    return chain, history._replace(graphs=tuple(signatures[: len(history.graphs)]))


def main() -> int:
    """Run the experiment; exit 1 where a launch that was called safe was not right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first chain, to share work out")
    parser.add_argument("--seconds", type=float, default=240, help="start no chain after that long")
    parser.add_argument(
        "--quiet", action="store_true", help="chains with nothing in between; run one process alone on the device"
    )
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    bench, profile, end = Bench(), read_profile(), time.monotonic() + args.seconds
    chains, counts = [], Counter[str]()
    for number in range(args.first, args.first + args.chains):
        if time.monotonic() > end:
            break
        chain, history = run_chain(bench, random_chain(args.seed, number, quiet=args.quiet))
        chains.append(chain)
        counts.update(tally([history], profile))
        if int(driver.cuCtxSynchronize()[0]) != 0:
            break  # an error that stays: what comes after says nothing
    name = check(driver.cuDeviceGetName(64, 0)).split(b"\0")[0].decode()
    result = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": name,
        "cuda_driver_version": int(check(driver.cuDriverGetVersion())),
        "python": platform.python_version(),
        "seed": args.seed,
        "report": ["cluster_x", "grid_x", "block_x", "shared_bytes", "value", "code"],
        "quiet": args.quiet,
        "predicted along the history": {**summary(counts), "counts": dict(sorted(counts.items()))},
        "chains": chains,
    }
    launches = wrong = stale = 0
    for chain in chains:
        for spec, report, cluster in zip(chain["specs"], chain["reports"], predicted_clusters(chain), strict=False):
            if report is not None:
                launches += 1
                wrong += report[0] != cluster or report[5] != FUNCTIONS[spec["function"]][0]
                stale += report[0] != (spec["cluster"] or FUNCTIONS[spec["function"]][1] or 1)
    result["summary"] = {"launches": launches, "not as the model says": wrong, "stale clusters": stale}
    args.out.write_text(json.dumps(result), encoding="utf-8")
    print(json.dumps(result["summary"]))
    print(json.dumps(result["predicted along the history"], indent=1))
    print(f"{len(chains)} chains, {sum(1 for chain in chains if 'error' in chain)} ended with an error")
    return int(counts["called safe, ran wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
