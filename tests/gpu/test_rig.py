"""The oracle's eyes: what it says it compares, it can tell apart."""

from dataclasses import replace
from typing import Any

import pytest
from cuda.bindings import driver

from examples.recording.calls import check
from lab.capture import build, destroy
from lab.memory import spaces_of
from lab.rig import Rig
from lab.specs import (
    BatchMemOps,
    Child,
    Conditional,
    EventRecord,
    GraphSpec,
    Host,
    Kernel,
    Memcpy,
    MemOp,
    Memset,
    NodeSpec,
)

KERNEL = Kernel(slot=0, value=1)
MEMSET = Memset(slot=1, value=1)
MEMCPY = Memcpy(slot=2)
WRITE = MemOp(kind="write32", slot=3, value=1)


def _alone(node: NodeSpec, *, captured: bool = False) -> GraphSpec:
    return GraphSpec(nodes=(node,), dependencies=((),), captured=captured)


def _seen(rig: Rig, spec: GraphSpec) -> dict[str, Any]:
    graph = build(rig, spec)
    try:
        graph_exec = check(driver.cuGraphInstantiate(graph.handle, 0))
        try:
            return rig.launch(graph_exec, spaces_of(spec.walk()), events=True)
        finally:
            check(driver.cuGraphExecDestroy(graph_exec))
    finally:
        destroy(graph)


DIFFERENT: tuple[tuple[NodeSpec, NodeSpec], ...] = (
    (KERNEL, replace(KERNEL, function="rep2")),
    (KERNEL, replace(KERNEL, function="rep@2")),
    (KERNEL, replace(KERNEL, function="rep@lib")),
    (KERNEL, replace(KERNEL, grid=(16, 1, 1))),
    (KERNEL, replace(KERNEL, block=64)),
    (KERNEL, replace(KERNEL, shared_bytes=1024)),
    (KERNEL, replace(KERNEL, value=2)),
    (KERNEL, replace(KERNEL, cluster=(2, 1, 1))),
    (replace(KERNEL, cluster=(2, 1, 1)), replace(KERNEL, cluster=(4, 1, 1))),
    (MEMSET, replace(MEMSET, value=2)),
    (MEMSET, replace(MEMSET, alternate=True)),
    (MEMSET, replace(MEMSET, width=32)),
    (MEMCPY, replace(MEMCPY, source="pinned")),
    (MEMCPY, replace(MEMCPY, source="array")),
    (MEMCPY, replace(MEMCPY, source_alternate=True)),
    (MEMCPY, replace(MEMCPY, target_alternate=True)),
    (MEMCPY, replace(MEMCPY, target="pinned")),
    (MEMCPY, replace(MEMCPY, target="pageable")),
    (MEMCPY, replace(MEMCPY, height=2)),
    (Host(slot=4), Host(slot=4, function="sem_trywait")),
    (Host(slot=4), Host(slot=4, alternate=True)),
    (EventRecord(event=0), EventRecord(event=1)),
    (BatchMemOps(operations=(WRITE,)), BatchMemOps(operations=(replace(WRITE, value=2),))),
    (Child(graph=_alone(KERNEL)), Child(graph=_alone(replace(KERNEL, value=2)))),
    (
        Conditional(kind=0, default=0, bodies=(_alone(KERNEL),)),
        Conditional(kind=0, default=1, bodies=(_alone(KERNEL),)),
    ),
)


@pytest.mark.parametrize(("first", "second"), DIFFERENT, ids=lambda node: type(node).__name__)
def test_a_change_that_a_launch_can_show_is_seen(rig: Rig, first: NodeSpec, second: NodeSpec) -> None:
    assert _seen(rig, _alone(first)) != _seen(rig, _alone(second))


@pytest.mark.parametrize("node", [KERNEL, MEMSET, MEMCPY, Host(slot=4), EventRecord(event=2)], ids=repr)
def test_a_captured_node_does_what_an_added_one_does(rig: Rig, node: NodeSpec) -> None:
    assert _seen(rig, _alone(node)) == _seen(rig, _alone(node, captured=True))
