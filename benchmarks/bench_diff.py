"""What a diff costs, as ratios within one run.

``python benchmarks/bench_diff.py [--json FILE] [--no-deepdiff]``. Needs deepdiff for its first part. The dumps are made
of the layers of ``examples/torch-block.dump.json``, as often as it takes.
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
from functools import partial
from importlib.metadata import version
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import msgspec
from msgspec.structs import replace

import sigcontract as sc
from sigcontract.profiles import shipped_profile
from sigcontract.update import reordered

EXAMPLE = Path(__file__).parents[1] / "examples" / "torch-block.dump.json"
ROUNDS = 5


def chain(nodes: list[sc.KernelNodeSignature]) -> sc.GraphSignature:
    """Return a graph in which each node depends on the one before."""
    edges = [()] + [(sc.Dependency(node=index, from_port=0, to_port=0, type=0),) for index in range(len(nodes) - 1)]
    return sc.GraphSignature(nodes=tuple(nodes), dependencies=tuple(edges))


def layers(example: sc.SignatureDump, count: int) -> list[sc.KernelNodeSignature]:
    """Return that many nodes of the model, its machine code taken for known."""
    nodes = example.graph("decode/bs=1").kernel_nodes
    coded = {
        id(node): replace(node, function=node.function and replace(node.function, code_sha256="ab" * 32))
        for node in nodes
    }
    return [coded[id(nodes[index % len(nodes)])] for index in range(count)]


def dump_of(example: sc.SignatureDump, nodes: list[sc.KernelNodeSignature], run: int) -> sc.SignatureDump:
    """Return a dump of one graph, of its own run."""
    return in_environment(example, chain(nodes), run)


def in_environment(example: sc.SignatureDump, graph: sc.GraphSignature, run: int) -> sc.SignatureDump:
    """Return a dump of that graph, of its own run."""
    environment = replace(example.environment, created_at=f"2026-12-01T00:00:{run:02}Z")
    return replace(example, environment=environment, graphs=(sc.LabeledGraph(label="decode", graph=graph),))


def seconds(call: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Return the median time of a call."""
    took = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        took.append(time.perf_counter() - begin)
    return median(took)


def ran(command: list[str], bytecode: str) -> bytes:
    """Return what a command prints, whatever its exit status says of the dumps.

    Bytecode is kept in a folder, as an installed package keeps it: in a checkout it may be turned off.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env = kept | {"PYTHONPYCACHEPREFIX": bytecode}
    return subprocess.run(command, stdout=subprocess.PIPE, env=env, check=False).stdout  # noqa: S603  our own command line


def changed(node: sc.KernelNodeSignature) -> sc.KernelNodeSignature:
    """Return the launch with one block more."""
    return replace(node, grid_dim=replace(node.grid_dim, x=node.grid_dim.x + 1))


def against_deepdiff(example: sc.SignatureDump) -> dict[str, Any]:
    """One changed value in 10,000 nodes, as decoded from files, and with no two nodes one object."""
    from deepdiff import DeepDiff  # noqa: PLC0415  no other part needs it

    nodes = layers(example, 10_000)
    one_changed = [*nodes[:5000], changed(nodes[5000]), *nodes[5001:]]
    old, new = (
        sc.decode(sc.encode(dump_of(example, each, run)), expect=sc.SignatureDump)
        for run, each in enumerate((nodes, one_changed))
    )
    old_apart, new_apart = (
        msgspec.msgpack.decode(msgspec.msgpack.encode(each), type=sc.SignatureDump) for each in (old, new)
    )
    plain = [msgspec.to_builtins(each) for each in (old, new)]
    profile = shipped_profile("nvidia-h200-cuda-13.0")
    found = sc.diff(old, new, profile)
    assert [f.path for f in found.findings if f.rule == "kernel.grid-dim"] == ["nodes[5000].grid_dim"]
    ours = seconds(lambda: sc.diff(old, new, profile))
    ours_apart = seconds(lambda: sc.diff(old_apart, new_apart, profile))
    theirs = seconds(lambda: DeepDiff(*plain), rounds=1)
    return {
        "nodes": len(nodes),
        "diff_seconds": ours,
        "diff_nodes_apart_seconds": ours_apart,
        "deepdiff_seconds": theirs,
        "times_faster": theirs / ours,
        "times_faster_nodes_apart": theirs / ours_apart,
    }


def one_inserted(example: sc.SignatureDump) -> dict[str, Any]:
    """One inserted node in 100,000: the whole command against importing msgspec."""
    nodes = layers(example, 100_000)
    inserted = [*nodes[:50_003], replace(nodes[0], name="inserted", func=1), *nodes[50_003:]]
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for run, each in enumerate((nodes, inserted)):
            paths.append(f"{folder}/{run}.json")
            sc.save(dump_of(example, each, run), paths[-1])
        command = [sys.executable, "-m", "sigcontract", "diff", *paths]
        found = json.loads(ran([*command, "--format", "json"], folder))
        added = [f for graph in found["graphs"] for f in graph["findings"] if f["rule"] == "node.added"]
        assert [(f["path"], f["count"]) for f in added] == [("nodes[50003]", 1)]
        base = [sys.executable, "-c", "import msgspec"]
        ran(base, folder)
        took: dict[str, list[float]] = {"command": [], "import": []}
        for _ in range(2 * ROUNDS):  # in turns, so that both see the same machine
            for name, line in (("import", base), ("command", command)):
                took[name].append(seconds(partial(ran, line, folder), rounds=1))
    best = {name: min(times) for name, times in took.items()}
    return {
        "nodes": len(nodes),
        "command_seconds": best["command"],
        "import_msgspec_seconds": best["import"],
        "ratio": best["command"] / best["import"],
    }


def growth(example: sc.SignatureDump) -> dict[str, Any]:
    """Time the same ten changes in more and more nodes, and graphs of which every node differs."""
    profile = shipped_profile("nvidia-h200-cuda-13.0")
    few: dict[int, float] = {}
    all_differ: dict[int, float] = {}
    shuffled: dict[int, float] = {}
    for count in (10_000, 20_000, 40_000, 80_000):
        nodes = layers(example, count)
        changed_indices = set(range(count // 20, count, count // 10))
        new = [changed(node) if index in changed_indices else node for index, node in enumerate(nodes)]
        others = [replace(node, name=f"other_{index}", func=index + 1) for index, node in enumerate(nodes)]
        mixed = Random(1).sample(nodes, k=count)  # noqa: S311  a repeatable order, not a secret
        old = dump_of(example, nodes, 0)
        for times, each in ((few, new), (all_differ, others), (shuffled, mixed)):
            other = dump_of(example, each, 1)
            times[count] = seconds(partial(sc.diff, old, other, profile), rounds=3)
    return {
        "few_differ_seconds": few,
        "few_differ_growth_8_times_the_nodes": few[80_000] / few[10_000],
        "all_differ_seconds": all_differ,
        "shuffled_seconds": shuffled,
    }


def in_another_order(graph: sc.GraphSignature, seed: int) -> sc.GraphSignature:
    """Return the same graph with its nodes in another order, each after those that it depends on."""
    random = Random(seed)  # noqa: S311  a repeatable order, not a secret
    waiting = list(map(len, graph.dependencies))
    after: list[list[int]] = [[] for _ in waiting]
    for index, edges in enumerate(graph.dependencies):
        for edge in edges:
            after[edge.node].append(index)
    ready = [index for index, count in enumerate(waiting) if not count]
    order = []
    while ready:
        order.append(ready.pop(random.randrange(len(ready))))
        for index in after[order[-1]]:
            waiting[index] -= 1
            if not waiting[index]:
                ready.append(index)
    return reordered(graph, order)


def branches(nodes: list[sc.KernelNodeSignature], count: int) -> sc.GraphSignature:
    """Return a graph of that many parallel branches between the first node and the last one."""
    edges: list[tuple[int, ...]] = [()]
    length = (len(nodes) - 2) // count
    for branch in range(count):
        edges += [(0,), *((1 + branch * length + at,) for at in range(length - 1))]
    edges.append(tuple(length * (branch + 1) for branch in range(count)))
    return sc.GraphSignature(
        nodes=tuple(nodes[: len(edges)]),
        dependencies=tuple(
            tuple(sc.Dependency(node=node, from_port=0, to_port=0, type=0) for node in before) for before in edges
        ),
    )


def reordering(example: sc.SignatureDump) -> dict[str, Any]:
    """Compare graphs of 10,000 nodes with themselves in another order: processor seconds, as files give them."""
    profile = shipped_profile("nvidia-h200-cuda-13.0")
    several = layers(example, 10_000)
    found: dict[str, Any] = {}
    for name, nodes in (("several_kernels", several), ("all_alike", [several[0]] * 10_000)):
        for count in (4, 100, 1000):
            graph = branches(nodes, count)
            old, new = (
                sc.decode(sc.encode(in_environment(example, each, run)), expect=sc.SignatureDump)
                for run, each in enumerate((graph, in_another_order(graph, 1)))
            )
            assert {f.rule for f in sc.diff(old, new, profile).findings} == {"topology.node-order"}
            took = []
            for _ in range(ROUNDS):
                begin = time.process_time()
                sc.diff(old, new, profile)
                took.append(time.process_time() - begin)
            found[f"{name}_{count}_branches_cpu_seconds"] = median(took)
    return found


def main() -> None:
    """Run all parts and print what they found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--no-deepdiff", action="store_true", help="leave out the comparison, which takes minutes")
    args = parser.parse_args()
    example = sc.load(EXAMPLE, expect=sc.SignatureDump)
    found: dict[str, Any] = {"python": platform.python_version(), "msgspec": version("msgspec")}
    found["one_inserted_in_100000"] = one_inserted(example)
    found["growth"] = growth(example)
    found["reordered_10000"] = reordering(example)
    if not args.no_deepdiff:
        found["against_deepdiff"] = {"deepdiff": version("deepdiff")} | against_deepdiff(example)
    text = json.dumps(found, indent=2)
    print(text)
    if args.json:
        Path(args.json).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
