"""Reading a graph with arguments against reading it without, and the size of both dumps; needs a CUDA device.

    python -m benchmarks.bench_arguments [--nodes 2000] [--json FILE]

Three captures: the kernels of ``bench_read_graph`` (a pointer and a scalar each); kernels with five pointers, two
scalars and a struct of 64 bytes each, as ATen's have, in which a pointer is new in every node; and, where PyTorch is
installed, the layers of a net. Both reads are of one capture in one run.
"""

import argparse
import json
import platform
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import sigcontract as sc
from benchmarks.timing import microseconds
from sigcontract.driver import environment, read_graph, torch_blocks
from sigcontract.driver.cuda.api import KernelLaunch
from sigcontract.driver.cuda.driver import CudaDriver
from sigcontract.driver.measuring.rig import Probe, ProbeRig
from sigcontract.driver.reading.process_environment import display_driver_version
from sigcontract.model.dump import LabeledGraph
from sigcontract.model.graph import GraphSignature
from tests.driver.fake import ptx

_BUFFERS = 32
_LAYERS_OF_NET = 500


def launches(driver: CudaDriver, stack: ExitStack, count: int) -> Iterator[KernelLaunch]:
    """Yield launches of a kernel with five pointers, two scalars and a struct."""
    module = driver.module_load(ptx("wide", parameters=(8, 8, 8, 8, 8, 4, 4, 64)))
    stack.callback(driver.module_unload, module)
    function = driver.module_function(module, "wide")
    buffers = [driver.mem_alloc(1 << 20) for _ in range(_BUFFERS)]
    weights = driver.mem_alloc(count * 4096)
    for address in (*buffers, weights):
        stack.callback(driver.mem_free, address)

    def word(value: int) -> bytes:
        return value.to_bytes(8, "little")

    for index in range(count):
        used = [buffers[(index + step) % _BUFFERS] for step in range(4)]
        struct = b"".join((word(used[0]), word(used[1]), *(word(index % 7 << 32 | step) for step in range(6))))
        scalars = (index % 5).to_bytes(4, "little"), (4096).to_bytes(4, "little")
        arguments = (*map(word, used), word(weights + 4096 * index), *scalars, struct)
        yield KernelLaunch(function, (8, 1, 1), (128, 1, 1), arguments)


def captured(driver: CudaDriver, stack: ExitStack, all_launches: Iterator[KernelLaunch]) -> int:
    """Capture the launches from one stream."""
    ready = list(all_launches)  # memory is not allocated and modules are not loaded during a capture
    stream = driver.stream_create()
    stack.callback(driver.stream_destroy, stream)
    driver.begin_capture(stream)
    for launch in ready:
        driver.launch_kernel(launch, stream)
    graph = driver.end_capture(stream)
    stack.callback(driver.graph_destroy, graph)
    return graph


def net_graph() -> tuple[Any, list[Any]]:
    """Capture the layers of a net: matrix products, activations and norms, each layer with weights of its own.

    Returns the graph, and the tensors that it reads.
    """
    import torch  # noqa: PLC0415  only where it is installed

    width = 512
    torch.manual_seed(0)
    options: dict[str, Any] = {"device": "cuda", "dtype": torch.bfloat16}
    weights = [torch.randn(width, width, **options) for _ in range(_LAYERS_OF_NET)]
    hidden = torch.randn(16, width, **options)

    def net() -> Any:
        out = hidden
        for weight in weights:
            out = torch.nn.functional.layer_norm(torch.relu(out @ weight) + out, (width,))
        return out

    side = torch.cuda.Stream()
    with torch.inference_mode(), torch.cuda.stream(side):
        net()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.inference_mode(), torch.cuda.graph(graph):
        net()
    return graph, [hidden, *weights]


def sizes(signature: GraphSignature) -> dict[str, int]:
    """Return the bytes of a dump of one graph."""
    dump = sc.SignatureDump(
        environment=environment(),
        profile=None,
        complete=True,
        graphs=(LabeledGraph(label="graph", graph=signature),),
        extensions={},
    )
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("json", "json.zst", "msgpack.zst"):
            path = Path(folder) / f"graph.dump.{suffix}"
            sc.save(dump, path)
            found[suffix] = path.stat().st_size
    return found


def compared(graph: Any, rounds: int, blocks: Callable[[], Any] = lambda: None) -> dict[str, Any]:
    """Read one graph both ways, and save both."""
    without, with_arguments = read_graph(graph), read_graph(graph, arguments=True, blocks=blocks())
    kernels = with_arguments.kernel_nodes
    recorded = [node.arguments for node in kernels if node.arguments is not None]
    plain = microseconds(lambda: read_graph(graph), len(without.nodes), rounds)
    ours = microseconds(lambda: read_graph(graph, arguments=True, blocks=blocks()), len(without.nodes), rounds)
    smaller, larger = sizes(without), sizes(with_arguments)
    return {
        "nodes": len(without.nodes),
        "kernels": len(kernels),
        "kernels_with_arguments": len(recorded),
        "arguments": sum(map(len, recorded)),
        "pointers": sum(len(argument.pointers) for arguments in recorded for argument in arguments),
        "without_us_per_node": {"median": round(median(plain), 3), "best": round(plain[0], 3)},
        "with_us_per_node": {"median": round(median(ours), 3), "best": round(ours[0], 3)},
        "times_slower": {"median": round(median(ours) / median(plain), 2), "best": round(ours[0] / plain[0], 2)},
        "without_bytes": smaller,
        "with_bytes": larger,
        "times_larger": {suffix: round(larger[suffix] / size, 2) for suffix, size in smaller.items()},
    }


def measure(nodes: int, rounds: int) -> dict[str, Any]:
    """Measure every capture."""
    driver = CudaDriver()
    with ExitStack() as stack:
        rig = ProbeRig(driver, stack)
        captures: dict[str, Any] = {
            "probes": rig.captured(*(Probe(code=1 + index % 2, value=index) for index in range(nodes))),
            "wide": captured(driver, stack, launches(driver, stack, nodes)),
        }
        found = {name: compared(graph, rounds) for name, graph in captures.items()}
        if find_spec("torch") is not None:
            graph, _kept = net_graph()
            found["net"] = compared(graph, rounds)
            found["net, with torch's blocks"] = compared(graph, rounds, lambda: torch_blocks(graph))
        return {
            "benchmark": "arguments",
            "date": datetime.now(UTC).date().isoformat(),
            "device": driver.device_name(rig.device),
            "cuda_driver_version": driver.driver_version(),
            "display_driver_version": display_driver_version(),
            "cuda_bindings": version("cuda-bindings"),
            "python": platform.python_version(),
            "rounds": rounds,
            "captures": found,
        }


def main() -> None:
    """Print the result as JSON, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2000, help="kernel nodes of a capture (default 2000)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each read (default 15)")
    parser.add_argument("--json", type=Path, help="file for the result")
    arguments = parser.parse_args()
    text = json.dumps(measure(arguments.nodes, arguments.rounds), indent=1) + "\n"
    print(text, end="")
    if arguments.json is not None:
        arguments.json.write_text(text)


if __name__ == "__main__":
    main()
