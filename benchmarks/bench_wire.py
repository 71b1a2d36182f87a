"""What reading documents and importing the package cost, as ratios within one run.

``python benchmarks/bench_wire.py [--json FILE]``. Each ratio is that of the medians of runs that take turns. The dump
with a model's repetition is made from ``examples/torch-block.dump.json``: its six graphs at ever new grid sizes.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import orjson
from msgspec.structs import replace

import sigcontract as sc
from sigcontract.wire.documents import FORMS

ROOT = Path(__file__).parents[1]
TORCH_BLOCK = ROOT / "examples" / "torch-block.dump.json"
NODES = 100_000
ROUNDS = 5


def with_grid(node: sc.KernelNodeSignature, blocks: int) -> sc.KernelNodeSignature:
    """Return the same launch of another number of blocks."""
    return replace(node, grid_dim=replace(node.grid_dim, x=blocks))


def repeated(dump: sc.SignatureDump) -> sc.SignatureDump:
    """Return a dump of NODES nodes: the graphs of a model at more and more batch sizes."""
    graphs: list[sc.LabeledGraph] = []
    count = size = 0
    while count < NODES:
        for entry in dump.graphs:
            size += 1
            distinct = {node: with_grid(node, node.grid_dim.x + size) for node in set(entry.graph.kernel_nodes)}
            nodes = tuple(distinct[node] for node in entry.graph.kernel_nodes)
            graphs.append(sc.LabeledGraph(label=f"bs={size}", graph=replace(entry.graph, nodes=nodes)))
            count += len(nodes)
    return replace(dump, graphs=tuple(graphs))


def distinct(dump: sc.SignatureDump, *, sharing: bool) -> sc.SignatureDump:
    """Return a dump of one graph of NODES nodes, no two equal; with sharing, of the functions of a model."""
    kernels = sorted(set(dump.graphs[0].graph.kernel_nodes), key=lambda node: node.name)
    nodes = []
    for index in range(NODES):
        node = with_grid(kernels[index % len(kernels)], index + 1)
        if not sharing:
            priority = sc.LaunchAttribute(id=8, state="value", origin="node", value=index)
            attributes = tuple(priority if entry.id == priority.id else entry for entry in node.attributes)
            node = replace(node, func=index + 1, attributes=attributes)
        nodes.append(node)
    edges = [(sc.Dependency(node=index, from_port=0, to_port=0, type=0),) for index in range(NODES - 1)]
    graph = sc.GraphSignature(nodes=tuple(nodes), dependencies=((), *edges))
    return replace(dump, graphs=(sc.LabeledGraph(label="distinct", graph=graph),))


def medians(calls: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median seconds of each call, all of them called in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            kept = call()
            seconds[name].append(time.perf_counter() - start)
            del kept
    return {name: median(found) for name, found in seconds.items()}


def reading(dump: sc.SignatureDump, folder: Path) -> dict[str, Any]:
    """Compare `load` with orjson and msgspec on the same graphs."""
    file = folder / "dump.json"
    sc.save(dump, file)
    document = file.read_bytes()
    written_out = msgspec.json.encode(dump)
    records = msgspec.json.Decoder(sc.SignatureDump)
    wire = FORMS["sigcontract.dump", 2].json
    packed = folder / "dump.msgpack"
    sc.save(dump, packed)
    packed_document = packed.read_bytes()
    packed_wire = msgspec.msgpack.Decoder(FORMS["sigcontract.dump", 2].wire)
    assert sc.load(file) == sc.load(packed) == dump
    seconds = medians(
        {
            "load": lambda: sc.load(file),
            "load_verify": lambda: sc.load(file, verify=True),
            "read_header": lambda: sc.read_header(file),
            "orjson_loads_written_out": lambda: orjson.loads(written_out),
            "msgspec_decode_written_out": lambda: records.decode(written_out),
            "msgspec_decode_same_document": lambda: wire.decode(document),
            "save": lambda: sc.save(dump, file),
            "load_msgpack": lambda: sc.load(packed),
            "load_verify_msgpack": lambda: sc.load(packed, verify=True),
            "read_header_msgpack": lambda: sc.read_header(packed),
            "msgspec_decode_same_msgpack_document": lambda: packed_wire.decode(packed_document),
            "save_msgpack": lambda: sc.save(dump, packed),
        }
    )
    nodes = sum(len(entry.graph.nodes) for entry in dump.graphs)
    return {
        "nodes": nodes,
        "bytes_per_node": round(len(document) / nodes, 1),
        "bytes_per_node_msgpack": round(len(packed_document) / nodes, 1),
        "bytes_per_node_written_out": round(len(written_out) / nodes, 1),
        "milliseconds": {name: round(found * 1e3, 1) for name, found in seconds.items()},
        "times_faster_than_orjson_written_out": round(seconds["orjson_loads_written_out"] / seconds["load"], 1),
        "times_msgspec_written_out": round(seconds["load"] / seconds["msgspec_decode_written_out"], 2),
        "times_msgspec_same_document": round(seconds["load"] / seconds["msgspec_decode_same_document"], 2),
        "times_msgspec_same_msgpack_document": round(
            seconds["load_msgpack"] / seconds["msgspec_decode_same_msgpack_document"], 2
        ),
    }


def sizes(dump: sc.SignatureDump, folder: Path) -> dict[str, float]:
    """Return the bytes per node of the recorded model in each form."""
    nodes = sum(len(entry.graph.nodes) for entry in dump.graphs)
    found = {}
    for suffix in (".json", ".json.gz", ".json.zst", ".msgpack", ".msgpack.zst"):
        file = folder / f"size{suffix}"
        sc.save(dump, file)
        found[suffix] = round(file.stat().st_size / nodes, 2)
    return found


def versions(dump: sc.SignatureDump, folder: Path) -> dict[str, Any]:
    """Compare version 3 of the dump with version 2: size and load time, as ratios to version 2."""
    found: dict[str, Any] = {}
    for suffix in (".json", ".json.zst", ".msgpack"):
        files = {version: folder / f"version-{version}{suffix}" for version in (2, 3)}
        for version, file in files.items():
            sc.save(dump, file, version=version)
        seconds = medians({str(version): lambda file=file: sc.load(file) for version, file in files.items()})  # type: ignore[misc]
        found[suffix] = {
            "size": round(files[3].stat().st_size / files[2].stat().st_size, 3),
            "load": round(seconds["3"] / seconds["2"], 2),
        }
    return found


def starting() -> dict[str, Any]:
    """Compare the start of processes: seconds beyond a bare interpreter for imports, in all for the command."""

    def process(*arguments: str) -> Callable[[], object]:
        command = [sys.executable, *arguments]
        return lambda: subprocess.run(command, check=True, capture_output=True)  # noqa: S603  this interpreter

    seconds = medians(
        {
            "python": process("-c", "pass"),
            "import_msgspec": process("-c", "import msgspec"),
            "import_sigcontract": process("-c", "import sigcontract"),
            "import_and_first_use": process("-c", "import sigcontract; sigcontract.load; sigcontract.GraphSignature"),
            "version": process("-m", "sigcontract", "--version"),
        },
        rounds=21,
    )
    msgspec_alone = seconds["import_msgspec"] - seconds["python"]
    return {
        "milliseconds": {name: round(found * 1e3, 1) for name, found in seconds.items()},
        "import_to_import_msgspec": round((seconds["import_sigcontract"] - seconds["python"]) / msgspec_alone, 2),
        "first_use_to_import_msgspec": round((seconds["import_and_first_use"] - seconds["python"]) / msgspec_alone, 2),
        "version_to_python_importing_msgspec": round(seconds["version"] / seconds["import_msgspec"], 2),
    }


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    dump = sc.load(TORCH_BLOCK, expect=sc.SignatureDump)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            "python": platform.python_version(),
            "msgspec": msgspec.__version__,
            "orjson": orjson.__version__,
            "load_average": [round(load, 1) for load in os.getloadavg()],
            "torch_block_bytes_per_node": sizes(dump, folder),
            "version_3_to_version_2": {
                "torch_block": versions(dump, folder),
                "model_repetition": versions(repeated(dump), folder),
                "distinct_nodes_of_few_functions": versions(distinct(dump, sharing=True), folder),
                "distinct_in_everything": versions(distinct(dump, sharing=False), folder),
            },
            "model_repetition": reading(repeated(dump), folder),
            "distinct_nodes_of_few_functions": reading(distinct(dump, sharing=True), folder),
            "distinct_in_everything": reading(distinct(dump, sharing=False), folder),
            "start": starting(),
        }
    text = json.dumps(found, indent=2)
    sys.stdout.write(f"{text}\n")
    if arguments.json:
        arguments.json.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
