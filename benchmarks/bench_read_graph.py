"""`read_graph` against a plain cuda-python walk, on one capture, in one run; needs a CUDA device.

    python -m benchmarks.bench_read_graph [--nodes 2000] [--output FILE]

The plain walk does what a program without sigcontract does, node by node through cuda-bindings: name, handles, dims,
shared memory and the five attributes that the contract before identity had. `read_graph` reads more: all attributes
that the driver gives, function facts, and dependencies in the driver's order.
"""

import argparse
import json
import platform
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from cuda.bindings import driver as cuda  # type: ignore[import-untyped,import-not-found,unused-ignore]

from benchmarks.timing import microseconds
from sigcontract.driver import read_graph
from sigcontract.driver.cuda.driver import CudaDriver
from sigcontract.driver.measuring.rig import Probe, ProbeRig
from sigcontract.driver.reading.process_environment import display_driver_version
from sigcontract.model.attributes import ClusterDim

_FIVE = (
    cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
    cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
)


def plain_walk(graph: int) -> tuple[list[Any], list[Any]]:
    """Read the graph node by node with cuda-bindings."""
    _, _, count = cuda.cuGraphGetNodes(graph)
    _, nodes, _ = cuda.cuGraphGetNodes(graph, count)
    rows: list[tuple[Any, ...]] = []
    for node in nodes:
        _, kind = cuda.cuGraphNodeGetType(node)
        if int(kind) != 0:
            rows.append((int(kind),))
            continue
        _, params = cuda.cuGraphKernelNodeGetParams(node)
        kern, func = int(params.kern), int(params.func)
        _, name = cuda.cuKernelGetName(params.kern) if kern else cuda.cuFuncGetName(params.func)
        attributes = []
        for attribute in _FIVE:
            result, value = cuda.cuGraphKernelNodeGetAttribute(node, attribute)
            if int(result) == 0:
                attributes.append((int(attribute), bytes(value.pad)))
        rows.append(
            (
                name.decode(),
                kern,
                func,
                (params.gridDimX, params.gridDimY, params.gridDimZ),
                (params.blockDimX, params.blockDimY, params.blockDimZ),
                params.sharedMemBytes,
                tuple(attributes),
            )
        )
    answer = cuda.cuGraphGetEdges(graph, 0)
    answer = cuda.cuGraphGetEdges(graph, answer[-1])
    index_of = {int(node): index for index, node in enumerate(nodes)}
    edges = sorted((index_of[int(one)], index_of[int(two)]) for one, two in zip(answer[1], answer[2], strict=True))
    return rows, edges


def measure(nodes: int, rounds: int) -> dict[str, Any]:
    """Capture a stream of kernels of two functions and two cluster sizes, and read it both ways."""
    driver = CudaDriver()
    with ExitStack() as stack:
        rig = ProbeRig(driver, stack)
        clusters = {4: ClusterDim(x=2, y=1, z=1)} if rig.clusters else {}
        pattern = [Probe(), Probe(code=2), Probe(value=7, attributes=clusters), Probe()]
        graph = rig.captured(*(pattern[index % len(pattern)]._replace(value=index) for index in range(nodes)))
        signature = read_graph(graph, driver=driver)
        rows, edges = plain_walk(graph)
        assert len(signature.nodes) == len(rows) == nodes
        assert [node.name for node in signature.kernel_nodes] == [row[0] for row in rows]
        assert len(edges) == sum(map(len, signature.dependencies))
        plain = microseconds(lambda: plain_walk(graph), nodes, rounds)
        ours = microseconds(lambda: read_graph(graph, driver=driver), nodes, rounds)
        return {
            "benchmark": "read_graph",
            "date": datetime.now(UTC).date().isoformat(),
            "device": driver.device_name(rig.device),
            "cuda_driver_version": driver.driver_version(),
            "display_driver_version": display_driver_version(),
            "cuda_bindings": version("cuda-bindings"),
            "python": platform.python_version(),
            "nodes": nodes,
            "rounds": rounds,
            "attributes_read_per_node": sum(one.state == "value" for one in signature.kernel_nodes[0].attributes),
            "plain_walk_us_per_node": {"median": round(median(plain), 3), "best": round(plain[0], 3)},
            "read_graph_us_per_node": {"median": round(median(ours), 3), "best": round(ours[0], 3)},
            "times_faster": {
                "median": round(median(plain) / median(ours), 2),
                "best": round(plain[0] / ours[0], 2),
            },
        }


def main() -> None:
    """Print the result as JSON, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2000, help="kernel nodes of the capture (default 2000)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each walk (default 15)")
    parser.add_argument("--output", type=Path, help="file for the result")
    arguments = parser.parse_args()
    text = json.dumps(measure(arguments.nodes, arguments.rounds), indent=2) + "\n"
    print(text, end="")
    if arguments.output is not None:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
