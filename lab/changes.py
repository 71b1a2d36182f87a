"""One change at a time, of every kind of node: what the driver answers to an update, and what then runs.

``python -m lab.changes --out FILE`` writes the table, one JSON object a line. `test_changes` holds the
prediction against it.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from examples.recording.calls import CallError
from lab.memory import SPACES
from lab.oracle import Step, Walk, run_walk
from lab.rig import Rig
from lab.specs import (
    Alloc,
    BatchMemOps,
    Child,
    Conditional,
    Edge,
    Empty,
    EventRecord,
    EventWait,
    Free,
    GraphSpec,
    Host,
    Kernel,
    Memcpy,
    MemOp,
    Memset,
    NodeSpec,
)
from sigcontract.driver import read_graph, read_profile

__all__ = ["CHANGES", "HAZARDS", "Change", "step_of"]


@dataclass(frozen=True)
class Change:
    """Two graphs, and how they differ, in words."""

    words: str
    held: GraphSpec
    candidate: GraphSpec
    stream: str = "busy"


def alone(*nodes: NodeSpec, captured: bool = False) -> GraphSpec:
    """Return a graph of nodes one after the other."""
    dependencies = tuple((Edge(node=index - 1),) if index else () for index in range(len(nodes)))
    return GraphSpec(nodes=nodes, dependencies=dependencies, captured=captured)


def _one_node(words: str, held: NodeSpec, candidate: NodeSpec) -> Change:
    return Change(words, alone(held), alone(candidate))


def _variants(kind: str, base: NodeSpec, changes: Mapping[str, dict[str, Any]]) -> Iterator[Change]:
    for words, fields in changes.items():
        yield _one_node(f"{kind}: {words}", base, replace(base, **fields))


def _kernels() -> Iterator[Change]:
    plain = Kernel(slot=0)
    cooperative = replace(plain, cooperative=True)
    yield from _variants(
        "kernel",
        plain,
        {
            "identical": {},
            "function, same module": {"function": "rep2"},
            "function of other parameters": {"function": "rep3"},
            "function with static shared memory": {"function": "reps"},
            "function of one name, other code": {"function": "rep@2"},
            "function of the same image in another module": {"function": "rep@again"},
            "CUfunction to CUkernel": {"function": "rep@lib"},
            "to a function with compiled clusters": {"function": "repc"},
            "grid": {"grid": (16, 1, 1)},
            "grid y": {"grid": (8, 2, 1)},
            "block": {"block": 64},
            "shared memory": {"shared_bytes": 8192},
            "argument": {"value": 3},
            "cluster none to 1": {"cluster": (1, 1, 1)},
            "cluster none to 2": {"cluster": (2, 1, 1)},
            "cooperative": {"cooperative": True},
            "priority": {"priority": -2},
            "carveout": {"carveout_percent": 100},
            "sync domain": {"sync_domain": 1},
            "sync domain map": {"sync_domain_map": (2, 3)},
            "scheduling policy": {"scheduling_policy": 2},
            "access policy window": {"window": (4096, 0.5, 2)},
            "device-updatable": {"device_updatable": True},
        },
    )
    yield _one_node("kernel: cluster 2 to 4", replace(plain, cluster=(2, 1, 1)), replace(plain, cluster=(4, 1, 1)))
    yield _one_node("kernel: cluster 2 to none", replace(plain, cluster=(2, 1, 1)), plain)
    yield _one_node("kernel: cluster 1 to none", replace(plain, cluster=(1, 1, 1)), plain)
    yield _one_node(
        "kernel: cluster 2x1 to 1x2",
        replace(plain, cluster=(2, 1, 1), grid=(8, 2, 1)),
        replace(plain, cluster=(1, 2, 1), grid=(8, 2, 1)),
    )
    for stream in ("busy", "idle", "new"):
        words = f"kernel: cooperative, function, on a stream that is {stream}"
        yield Change(words, alone(cooperative), alone(replace(cooperative, function="rep2")), stream)
    yield _one_node("kernel: cooperative, module", cooperative, replace(cooperative, function="rep@2"))
    both = replace(cooperative, function="rep2", value=3)
    yield _one_node("kernel: cooperative, function and argument", cooperative, both)
    yield _one_node(
        "kernel: device-updatable, argument",
        replace(plain, device_updatable=True),
        replace(plain, device_updatable=True, value=3),
    )
    updatable = replace(plain, device_updatable=True)
    yield _one_node("kernel: no longer device-updatable", updatable, plain)
    yield Change("kernel: device-updatable, and a node more", alone(plain), alone(updatable, Empty()))
    yield Change(
        "kernel: preferred cluster none to 4, captured",
        alone(replace(plain, cluster=(2, 1, 1)), captured=True),
        alone(replace(plain, cluster=(2, 1, 1), preferred_cluster=(4, 1, 1)), captured=True),
    )


def _memory() -> Iterator[Change]:
    memset = Memset(slot=0, value=1, element_bytes=4)
    yield from _variants(
        "memset",
        memset,
        {
            "value": {"value": 2},
            "width": {"width": 32},
            "element size": {"element_bytes": 2},
            "destination": {"alternate": True},
            "1D to 2D": {"height": 2},
            **{f"destination in {space} memory": {"space": space} for space in ("pool", "mapped", "managed")},
        },
    )
    plane = replace(memset, height=4)
    yield from _variants(
        "memset 2D",
        plane,
        {
            "value": {"value": 2},
            "width": {"width": 32},
            "height": {"height": 2},
            "element size": {"element_bytes": 2},
            "destination": {"alternate": True},
            "destination in pool memory": {"space": "pool"},
        },
    )
    copy = Memcpy(slot=0)
    yield from _variants(
        "memcpy",
        copy,
        {
            "size": {"width": 32},
            "source": {"source_alternate": True},
            "destination": {"target_alternate": True},
            "1D to 2D": {"height": 2},
            "destination named as unified": {"unified": True},
            "source an array": {"source": "array"},
        },
    )
    for before in SPACES:
        for after in SPACES:
            if before != after:
                words = f"memcpy: destination from {before} to {after}"
                yield _one_node(words, replace(copy, target=before), replace(copy, target=after))
                words = f"memcpy: source from {before} to {after}"
                yield _one_node(words, replace(copy, source=before), replace(copy, source=after))
    yield from (change for change in _unified() if not _is_hazard(change))
    array = replace(copy, source="array")
    yield _one_node("memcpy from an array: other array", array, replace(array, source_alternate=True))
    yield _one_node("memcpy from an array: size", array, replace(array, width=32))
    plane_copy = replace(copy, height=2)
    yield from _variants(
        "memcpy 2D",
        plane_copy,
        {
            "nothing": {},
            "source": {"source_alternate": True},
            "destination": {"target_alternate": True},
            "width": {"width": 32},
            "height": {"height": 4},
            "depth": {"depth": 2},
        },
    )


def _others() -> Iterator[Change]:
    yield _one_node("host: function", Host(slot=0), Host(slot=0, function="sem_trywait"))
    yield _one_node("host: argument", Host(slot=0), Host(slot=0, alternate=True))
    yield _one_node("event record: event", EventRecord(event=0), EventRecord(event=1))
    yield _one_node("event wait: event", EventWait(event=0), EventWait(event=1))
    yield _one_node("empty to event wait", Empty(), EventWait(event=1))
    write = MemOp(kind="write32", slot=0, value=1)
    wait = MemOp(kind="wait_geq", slot=1)
    for words, held, candidate in (
        ("identical", (write,), (write,)),
        ("value", (write,), (replace(write, value=2),)),
        ("address", (write,), (replace(write, alternate=True),)),
        ("one more", (write,), (write, replace(write, slot=2))),
        ("32 to 64 bits", (write,), (replace(write, kind="write64"),)),
        ("write to wait", (write,), (replace(wait, slot=0),)),
        ("wait type", (wait,), (replace(wait, kind="wait_eq"),)),
        ("wait address", (wait,), (replace(wait, alternate=True),)),
    ):
        before, after = BatchMemOps(operations=held), BatchMemOps(operations=candidate)
        yield _one_node(f"batch mem op: {words}", before, after)
    inner, other = alone(Kernel(slot=1)), alone(Kernel(slot=1, value=2))
    yield _one_node("child: argument", Child(graph=inner), Child(graph=other))
    nested = Child(graph=alone(Child(graph=inner)))
    yield _one_node("child of child: argument", nested, Child(graph=alone(Child(graph=other))))
    cluster = alone(Kernel(slot=1, cluster=(2, 1, 1)))
    yield _one_node("child of child: cluster", nested, Child(graph=alone(Child(graph=cluster))))
    yield _one_node("child of child: type", nested, Child(graph=alone(Child(graph=alone(Memset(slot=1))))))
    branch = Conditional(kind=0, default=1, bodies=(inner,))
    yield from _variants(
        "conditional",
        branch,
        {
            "identical": {},
            "default": {"default": 0},
            "body argument": {"bodies": (other,)},
            "body cluster": {"bodies": (cluster,)},
            "body node added": {"bodies": (alone(Kernel(slot=1), Kernel(slot=2)),)},
            "body node type": {"bodies": (alone(Memset(slot=1)),)},
            "else branch added": {"bodies": (inner, alone(Kernel(slot=2)))},
            "if to switch": {"kind": 2},
        },
    )


def _allocations() -> Iterator[Change]:
    alloc, free = Alloc(), Free()
    memset, copy = Memset(slot=0, space="alloc", value=1), Memcpy(slot=1, source="alloc")
    yield Change("alloc and free: identical", alone(alloc, free), alone(alloc, free))
    yield Change("alloc and free: size", alone(alloc, free), alone(replace(alloc, size_bytes=8 << 20), free))
    used = alone(alloc, memset, copy, free)
    yield Change("alloc, fill, copy, free: identical", used, used)
    other = alone(alloc, replace(memset, value=2), copy, free)
    yield Change("alloc, fill, copy, free: fill value", used, other)
    bigger = alone(replace(alloc, size_bytes=8 << 20), memset, copy, free)
    yield Change("alloc, fill, copy, free: size", used, bigger)


def _unified() -> Iterator[Change]:
    named = Memcpy(slot=0, unified=True)
    for before in SPACES:
        for after in SPACES:
            if before != after:
                words = f"memcpy: destination named as unified from {before} to {after}"
                yield _one_node(words, replace(named, target=before), replace(named, target=after))


def _is_hazard(change: Change) -> bool:
    """Whether a copy from or to pageable memory is launched; with a pool's or mapped memory the update is refused."""
    return "pageable" in change.words and not {"pool", "mapped"} & set(change.words.split())


def _hazards() -> Iterator[Change]:
    """Yield what may take the context, and all later tests, with it."""
    alloc, free = Alloc(), Free()
    relay = Kernel(slot=0, function="rep3", through_allocation=True, value=1)
    yield Change("alloc, kernel, free: identical", alone(alloc, relay, free), alone(alloc, relay, free))
    other = alone(alloc, replace(relay, value=2), free)
    yield Change("alloc, kernel, free: argument", alone(alloc, relay, free), other)
    yield from (change for change in _unified() if _is_hazard(change))
    to_host, from_host = (
        Memcpy(slot=0, source="managed", target="pinned"),
        Memcpy(slot=0, source="pinned", target="managed"),
    )
    yield _one_node(
        "memcpy: from managed memory, to pinned and then pageable", to_host, replace(to_host, target="pageable")
    )
    words = "memcpy: to managed memory, from pinned and then pageable"
    yield _one_node(words, from_host, replace(from_host, source="pageable"))


CHANGES = (*_kernels(), *_memory(), *_others(), *_allocations())
HAZARDS = tuple(_hazards())


def step_of(rig: Rig, change: Change, profile: Any) -> Step:
    """Instantiate, launch, update, launch."""
    (step,) = run_walk(rig, Walk(specs=(change.held, change.candidate), stream=change.stream), read_graph, profile)
    return step


def main() -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--hazard", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    path: Path = arguments.out
    with path.open("a" if arguments.hazard is not None else "w") as table:
        rig, profile = Rig(), read_profile()
        changes = CHANGES if arguments.hazard is None else (HAZARDS[arguments.hazard],)
        for change in changes:
            row, alive = _row(rig, change, profile)
            table.write(json.dumps(row) + "\n")
            table.flush()  # what is known so far is kept where a change takes the process with it
            if not alive:
                return 1
    if arguments.hazard is None:
        for index in range(len(HAZARDS)):
            command = [sys.executable, "-m", "lab.changes", "--out", str(path), "--hazard", str(index)]
            subprocess.run(command, check=False, timeout=60)
    return 0


def _row(rig: Rig, change: Change, profile: Any) -> tuple[dict[str, Any], bool]:
    """Return a row of the table, and whether the device can go on."""
    row: dict[str, Any] = {"change": change.words}
    try:
        step = step_of(rig, change, profile)
    except CallError as error:
        return {**row, "not built": error.result}, rig.recover()
    row.update(step.answer._asdict())
    row["launch_matches_fresh_instantiation"] = step.honest
    if step.difference:
        row["difference"] = step.difference
    predicted = step.prediction
    result = None if predicted.result is None else predicted.result.name
    row["predicted"] = [str(predicted.verdict), result, predicted.node, predicted.from_node]
    row["rules"] = sorted({finding.rule for finding in predicted.findings})
    return row, rig.alive()


if __name__ == "__main__":
    sys.exit(main())
