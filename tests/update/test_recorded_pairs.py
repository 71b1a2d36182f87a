"""500 random pairs of graphs, each updated by a real driver and launched: every answer must come out the same.

Measured on an H200, driver 580.159.04 (CUDA 13.0), 2026-12-01. Each exec was launched before the update and after it;
a launch is honest where kernels, copies and fills did what a fresh instantiation of the candidate does.
"""

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from sigcontract.model.cuda import AttributeId, UpdateResult
from sigcontract.model.dims import Dim3
from sigcontract.model.findings import UpdatePrediction
from sigcontract.model.graph import ChildGraphNode, Dependency, GraphSignature, NodeSignature
from sigcontract.model.nodes import EmptyNode, EventRecordNode, EventWaitNode
from sigcontract.update.policies import key, same
from sigcontract.update.predict import predict_update
from tests.update.build import (
    DEVICE,
    FACTS,
    H200,
    HOST,
    cluster,
    cooperative,
    kernel,
    memcpy,
    memset,
    operand,
    value,
)

Recorded = dict[str, Any]

#: CUkernel and CUfunction of the five functions: two of one module, one of a second, one of a library, one clustered.
FUNCTIONS = {"rep": (0, 1), "rep2": (0, 2), "repc": (0, 3), "rep@2": (0, 4), "rep@lib": (5, 6)}
COMPILED_CLUSTER = Dim3(x=2, y=1, z=1)


@cache
def recorded_pairs() -> list[Recorded]:
    data = gzip.decompress((Path(__file__).parent / "data" / "update-pairs-h200.json.gz").read_bytes())
    pairs: list[Recorded] = json.loads(data)
    return pairs


def kernel_node(kind: Recorded) -> NodeSignature:
    compiled = kind["f"] == "repc"
    kern, func = FUNCTIONS[kind["f"]]
    facts = msgspec.structs.replace(
        FACTS,
        registers=func,
        code_sha256=None,
        cluster_size_must_be_set=int(compiled),
        required_cluster_dim=COMPILED_CLUSTER if compiled else Dim3(x=0, y=0, z=0),
    )
    return kernel(
        cluster(COMPILED_CLUSTER.x if compiled else kind["cluster"]),  # what the getter reports
        cooperative(on=kind["coop"]),
        value(AttributeId.PRIORITY, kind["prio"]),
        value(AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT, kind["carve"] or 0),
        name=kind["f"].partition("@")[0],
        kern=kern,
        func=func,
        grid=kind["grid"],
        block=kind["block"],
        shared=kind["smem"],
        function=facts,
    )


def memcpy_node(kind: Recorded) -> NodeSignature:
    source = operand(address=0x1000 + 0x100 * kind.get("from", 0), pitch=256)
    target = DEVICE if kind["dst"] == "device" else HOST
    destination = operand(target, 0x9000 + 0x100 * kind.get("slot", 0), pitch=256)
    return memcpy(source, destination, width=kind["w"], height=kind["h"])


def memset_node(kind: Recorded) -> NodeSignature:
    destination = 0x5000 + 0x100 * kind.get("slot", 0)
    return memset(fill=kind["v"], width=kind["w"], height=kind["h"], size=kind["es"], destination=destination)


NODE_OF_KIND: dict[str, Callable[[Recorded], NodeSignature]] = {
    "kernel": kernel_node,
    "memcpy": memcpy_node,
    "memset": memset_node,
    "child": lambda kind: ChildGraphNode(graph=inner_graph(kind["g"])),
    "record": lambda kind: EventRecordNode(event=0xE0 + kind["e"]),
    "wait": lambda kind: EventWaitNode(event=0xE0 + kind["e"]),
    "empty": lambda _: EmptyNode(),
}


def node_of(kind: Recorded) -> NodeSignature:
    return NODE_OF_KIND[kind["t"]](kind)


def inner_graph(spec: Recorded) -> GraphSignature:
    """Build a child graph, whose nodes were created with their dependencies at once and are listed so."""
    programmatic = {tuple(edge) for edge in spec["pdl"]}
    dependencies = tuple(
        tuple(
            Dependency(node=d, from_port=int((d, i) in programmatic), to_port=0, type=int((d, i) in programmatic))
            for d in into
        )
        for i, into in enumerate(spec["deps"])
    )
    return GraphSignature(nodes=tuple(map(node_of, spec["kinds"])), dependencies=dependencies)


def listed_graph(spec: Recorded, listed: Recorded) -> GraphSignature:
    """Build a graph as the driver listed it: nodes, and the dependencies of each, in its order."""
    return GraphSignature(
        nodes=tuple(node_of(spec["kinds"][created]) for created in listed["order"]),
        dependencies=tuple(
            tuple(Dependency(node=n, from_port=f, to_port=t, type=k) for n, f, t, k in into) for into in listed["deps"]
        ),
    )


def graphs_of(recorded: Recorded) -> tuple[GraphSignature, GraphSignature]:
    return listed_graph(recorded["A"], recorded["LA"]), listed_graph(recorded["B"], recorded["LB"])


@cache
def predictions() -> list[UpdatePrediction]:
    return [predict_update(*graphs_of(recorded), H200, flags=recorded["flags"]) for recorded in recorded_pairs()]


def test_share_is_sound_and_its_keys_agree_with_it() -> None:
    """What share calls the same was accepted and launched what a fresh exec launches; its keys say the same."""
    found = 0
    for recorded in recorded_pairs():
        a, b = graphs_of(recorded)
        for policy in ("share", "share-functions"):
            answer = same(policy, a, b, H200, flags=recorded["flags"])
            keys = [key(policy, graph, H200, flags=recorded["flags"]) for graph in (a, b)]
            assert answer.same == (keys[0] == keys[1])
            assert answer.same != bool(answer.reasons)
            if answer.same:
                assert recorded["result"] == "SUCCESS"
                assert recorded["honest"]
                found += 1
    assert found > 200


def outermost(path: str | None) -> int | None:
    """Return the index of a node of the outermost graph; the recording knows no nodes of children."""
    return int(path[len("nodes[") : -1]) if path is not None and path.count("nodes[") == 1 else None


def test_result_node_and_from_node_are_exact_in_all_pairs() -> None:
    found = [(p.result, outermost(p.node), outermost(p.from_node)) for p in predictions()]
    recorded = [(UpdateResult[r["result"]], r["node"], r["frm"]) for r in recorded_pairs()]
    assert len(recorded) == 500
    assert found == recorded


def test_no_wrong_launch_is_called_safe() -> None:
    wrong = [p.verdict for p, r in zip(predictions(), recorded_pairs(), strict=True) if r.get("honest") is False]
    assert len(wrong) == 51
    assert [verdict for verdict in wrong if verdict.safe] == []


def test_at_most_two_percent_of_the_good_launches_are_called_unsafe() -> None:
    good = [p.verdict for p, r in zip(predictions(), recorded_pairs(), strict=True) if r.get("honest") is True]
    unsafe = [verdict for verdict in good if not verdict.safe]
    assert len(good) == 219
    assert len(unsafe) <= 0.02 * len(good)
    assert len(unsafe) == 1
