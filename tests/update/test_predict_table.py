"""What a driver answered to each kind of change, one at a time, and what the exec then launched.

Measured on an H200, driver 580.159.04 (CUDA 13.0), 2026-12-01, with kernels that report what they see; the rows and
the further facts are in ``data/updates-h200.json``, as they were recorded.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sigcontract.model.attributes import ClusterDim
from sigcontract.model.cuda import AttributeId, UpdateResult
from sigcontract.model.dims import Dim3
from sigcontract.model.findings import UpdatePrediction, Verdict
from sigcontract.model.graph import ConditionalNode, GraphSignature
from sigcontract.model.nodes import EmptyNode, EventRecordNode, EventWaitNode, MemAllocNode
from sigcontract.update.policies import same
from sigcontract.update.predict import predict_update
from tests.update.build import (
    BLACKWELL,
    FACTS,
    H200,
    HOST,
    child,
    cluster,
    cooperative,
    edge,
    graph,
    kernel,
    memcpy,
    memset,
    operand,
    pointer,
    value,
)

RECORDED = json.loads((Path(__file__).parent / "data" / "updates-h200.json").read_text())
ROWS: list[dict[str, Any]] = RECORDED["updates"]
FURTHER: dict[str, Any] = RECORDED["further"]

Pair = tuple[GraphSignature, GraphSignature]

PLAIN = kernel()
OTHER = kernel(name="probe2", func=0xF2)
COMPILED = msgspec.structs.replace(
    FACTS, cluster_size_must_be_set=1, required_cluster_dim=Dim3(x=2, y=1, z=1), code_sha256="cd" * 32
)
#: The getter reports a compiled cluster as the attribute.
CLUSTERED = kernel(cluster(2), name="probec", func=0xFC, function=COMPILED)
PROGRAMMATIC = edge(1, from_port=1, kind=1)


def one(held: Any, candidate: Any) -> Pair:
    return graph(held), graph(candidate)


def branches(*order: Any, joined: tuple[int, ...]) -> GraphSignature:
    """Return roots in an order, and an empty node that joins them in another."""
    return graph(*order, EmptyNode(), edges=[*([] for _ in order), joined])


def conditional(*, grid: int) -> ConditionalNode:
    return ConditionalNode(kind=0, handle="0x0000000000000001", bodies=(graph(kernel(grid=grid)),))


def attribute(attribute_id: int, given: Any) -> Any:
    return kernel(value(attribute_id, given))


CHAIN = graph(PLAIN, PLAIN, PLAIN)
DIAMOND = graph(PLAIN, PLAIN, PLAIN, edges=[[], [0], [0, 1]])

PAIRS: dict[str, Pair] = {
    "identical": (CHAIN, CHAIN),
    "param value": one(PLAIN, PLAIN),
    "grid": one(PLAIN, kernel(grid=16)),
    "block": one(PLAIN, kernel(block=128)),
    "shared memory": one(PLAIN, kernel(shared=1024)),
    "function, same module": one(PLAIN, OTHER),
    "function of same name, other module": one(PLAIN, kernel(func=0xF3)),
    "CUfunction to CUkernel of another library": one(PLAIN, kernel(kern=0xA0, func=0xF4)),
    "cluster none to 2": one(PLAIN, kernel(cluster(2))),
    "cluster 2 to none": one(kernel(cluster(2)), PLAIN),
    "cluster 2 to 4": one(kernel(cluster(2)), kernel(cluster(4))),
    "cluster 4 to 2": one(kernel(cluster(4)), kernel(cluster(2))),
    "cluster shape 2x1 to 1x2": one(kernel(cluster(2)), kernel(cluster(1, 2))),
    "plain function to __cluster_dims__ function": one(PLAIN, CLUSTERED),
    "__cluster_dims__ function to plain": one(CLUSTERED, PLAIN),
    "cluster attr 4 on f to other function with none": one(kernel(cluster(4)), OTHER),
    "cluster none on f to other function with 2": one(PLAIN, kernel(cluster(2), name="probe2", func=0xF2)),
    "__cluster_dims__ function to same-cluster attr on plain": one(CLUSTERED, kernel(cluster(2))),
    "cluster 4 grid 8 to grid 6 cluster 2": one(kernel(cluster(4), grid=8), kernel(cluster(2), grid=6)),
    "preferred cluster none to 4": one(
        kernel(value(AttributeId.PREFERRED_CLUSTER_DIMENSION, ClusterDim(x=0, y=0, z=0), observed=True)),
        kernel(value(AttributeId.PREFERRED_CLUSTER_DIMENSION, ClusterDim(x=4, y=1, z=1), observed=True)),
    ),
    "cooperative to not": one(kernel(cooperative()), PLAIN),
    "not to cooperative": one(PLAIN, kernel(cooperative())),
    "priority": one(PLAIN, attribute(AttributeId.PRIORITY, -1)),
    "carveout": one(PLAIN, attribute(AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT, 100)),
    "sync domain": one(PLAIN, attribute(AttributeId.MEM_SYNC_DOMAIN, 1)),
    "scheduling policy": one(PLAIN, attribute(AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE, 2)),
    "programmatic edges none to all": (CHAIN, graph(PLAIN, PLAIN, PLAIN, edges=[[], [0], [PROGRAMMATIC]])),
    "programmatic edges all to none": (graph(PLAIN, PLAIN, PLAIN, edges=[[], [0], [PROGRAMMATIC]]), CHAIN),
    "node added": (CHAIN, graph(PLAIN, PLAIN, PLAIN, PLAIN)),
    "node removed": (CHAIN, graph(PLAIN, PLAIN)),
    "priority, exec instantiated with USE_NODE_PRIORITY": one(PLAIN, attribute(AttributeId.PRIORITY, -1)),
    "memset value": one(memset(fill=1), memset(fill=2)),
    "memset width": one(memset(width=64), memset(width=128)),
    "memset wider 64 to 100000": one(memset(width=64), memset(width=100_000)),
    "memset element size": one(memset(size=4), memset(size=1)),
    "memset destination": one(memset(destination=0x1000), memset(destination=0x2000)),
    "memset 1D to 2D": one(memset(), memset(height=4)),
    "memset 2D value": one(memset(height=4, fill=1), memset(height=4, fill=2)),
    "memset 2D height": one(memset(height=4), memset(height=2)),
    "memcpy size": one(memcpy(width=64), memcpy(width=32)),
    "memcpy source": one(memcpy(operand(address=0x1000)), memcpy(operand(address=0x3000))),
    "memcpy device to host kind": one(memcpy(), memcpy(destination=operand(HOST))),
    "memcpy pinned to pageable host": one(
        memcpy(destination=operand(HOST, facts=pointer(HOST))),
        memcpy(destination=operand(HOST, 0x7000, facts=pointer(0, context=0))),
    ),
    "empty to kernel": one(EmptyNode(), PLAIN),
    "kernel to empty": one(PLAIN, EmptyNode()),
    "kernel to memset": one(PLAIN, memset()),
    "event record event": one(EventRecordNode(event=1), EventRecordNode(event=2)),
    "event wait event": one(EventWaitNode(event=1), EventWaitNode(event=2)),
    "child graph inner parameter": one(child(PLAIN), child(PLAIN)),
    "child graph inner grid": one(child(PLAIN), child(kernel(grid=4))),
    "child graph inner node added": one(child(PLAIN), child(PLAIN, PLAIN)),
    "child graph flattened": one(child(PLAIN), PLAIN),
    "parallel branches created in another order, same functions": (
        branches(PLAIN, kernel(grid=16), joined=(0, 1)),
        branches(kernel(grid=16), PLAIN, joined=(1, 0)),
    ),
    "parallel branches in another order, dependency order kept": (
        branches(memset(), PLAIN, joined=(0, 1)),
        branches(memset(), PLAIN, joined=(1, 0)),
    ),
    "two kernels swapped in parallel": (
        branches(PLAIN, OTHER, joined=(0, 1)),
        branches(OTHER, PLAIN, joined=(0, 1)),
    ),
    "edge added": (graph(PLAIN, PLAIN, PLAIN, edges=[[], [0], [1]]), DIAMOND),
    "edge rerouted, same counts": (
        graph(PLAIN, PLAIN, PLAIN, PLAIN, edges=[[], [0], [0], [1, 2]]),
        graph(PLAIN, PLAIN, PLAIN, PLAIN, edges=[[], [0], [1], [1, 2]]),
    ),
    "shared memory above 48 KiB after raising the function limit": one(PLAIN, kernel(shared=100_000)),
    "conditional body parameter": one(conditional(grid=1), conditional(grid=2)),
}


def predict(change: str) -> UpdatePrediction:
    flags = 8 if change.endswith("USE_NODE_PRIORITY") else 0
    return predict_update(*PAIRS[change], H200, flags=flags)


@pytest.mark.parametrize("row", ROWS, ids=[row["change"] for row in ROWS])
def test_answer_and_launch_come_out_as_measured(row: dict[str, Any]) -> None:
    prediction = predict(row["change"])
    assert prediction.result is UpdateResult[row["result"]]
    assert (prediction.result is UpdateResult.SUCCESS) == row["accepted"]
    assert (prediction.verdict is Verdict.REJECTED) == (not row["accepted"])
    if "error_node" in row:
        assert prediction.node == f"nodes[{row['error_node']}]"
    if "error_from_node" in row:
        assert prediction.from_node == f"nodes[{row['error_from_node']}]"
    if "launch_matches_fresh_instantiation" in row:
        assert prediction.verdict.safe == row["launch_matches_fresh_instantiation"]


#: Changes that were accepted, and of which no kernel could see the effect: what is said of them all the same.
UNSEEN = {
    "preferred cluster none to 4": ("kernel.preferred-cluster-dim", Verdict.HARMLESS, "measured"),
    "priority": ("kernel.priority", Verdict.HARMLESS, "documented"),
    "carveout": ("kernel.carveout", Verdict.HARMLESS, "measured"),
    "sync domain": ("kernel.mem-sync-domain", Verdict.UNDETERMINED, "assumed"),
    "scheduling policy": ("kernel.cluster-scheduling-policy", Verdict.UNDETERMINED, "assumed"),
}


@pytest.mark.parametrize("change", UNSEEN)
def test_what_a_kernel_cannot_see_is_reported_with_its_evidence(change: str) -> None:
    (finding,) = predict(change).findings
    assert (finding.rule, finding.verdict, finding.evidence) == UNSEEN[change]


def test_cluster_along_a_walk_of_updates_stays_that_of_the_first_launch() -> None:
    """Instantiated and launched with 2, then updated to none, 4 and 2: it launched 2, 2, 2 and 2."""
    key = "cluster width launched after: instantiate with 2, update to none, update to 4, update to 2"
    fixed = held = graph(kernel(cluster(2)))
    safe = []
    for width in (2, 0, 4, 2):
        candidate = graph(kernel(cluster(width)))
        safe.append(predict_update(held, candidate, H200, fixed).verdict.safe)
        held = candidate
    wanted = [2, 1, 4, 2]
    assert safe == [launched == wish for launched, wish in zip(FURTHER[key], wanted, strict=True)]


def test_cluster_before_the_first_launch_is_carried_but_to_none() -> None:
    """An exec that never ran follows an update, so the updated graph is the one that fixes it."""
    recorded = FURTHER["cluster width launched when the exec was never launched or uploaded before the update"]
    assert [recorded[change] for change in ("2 to 4", "4 to 2", "none to 2", "2 to none")] == [4, 2, 2, 2]
    for held, candidate in ((2, 4), (4, 2), (0, 2)):
        graphs = graph(kernel(cluster(held))), graph(kernel(cluster(candidate)))
        assert predict_update(*graphs, H200, fixed=graphs[1]).verdict is Verdict.HARMLESS


def test_compiled_cluster_is_effective_without_an_attribute() -> None:
    recorded = FURTHER["node of a function compiled with __cluster_dims__(2,1,1), launched with no attribute"]
    assert (recorded["attr"], recorded["required"], recorded["must"]) == ([2, 1, 1], [2, 1, 1], 1)
    no_attribute = kernel(cluster(0), name="probec", func=0xFC, function=COMPILED)
    assert predict_update(graph(CLUSTERED), graph(no_attribute), H200).verdict is Verdict.IDENTICAL


def test_order_of_dependencies_decides_who_is_paired() -> None:
    """Same nodes and same edge list, and a join that lists its dependencies in another order."""
    key = (
        "same nodes, same edge list from cuGraphGetEdges, one join node lists its dependencies in another order "
        "(cuGraphNodeGetDependencies)"
    )
    nodes = PLAIN, PLAIN, memset(), PLAIN
    a, b = (graph(*nodes, edges=FURTHER[key]["dependencies as read, both"][side]) for side in (0, 1))
    for held, candidate, direction in ((a, b, "A to B"), (b, a, "B to A")):
        _, result, node, _ = FURTHER[key][direction]
        prediction = predict_update(held, candidate, H200)
        assert prediction.result is UpdateResult[result]
        assert prediction.node == f"nodes[{node}]"
        assert prediction.from_node is None


def test_two_sinks_created_in_another_order_are_refused() -> None:
    _, result, node, _ = FURTHER["two sink nodes (kernel, memset) created in another order"]
    held = graph(EmptyNode(), PLAIN, memset(), edges=[[], [0], [0]])
    candidate = graph(EmptyNode(), memset(), PLAIN, edges=[[], [0], [0]])
    prediction = predict_update(held, candidate, H200)
    assert (prediction.result, prediction.node) == (UpdateResult[result], f"nodes[{node}]")


def test_triton_kernels_of_one_name_and_equal_facts_are_two_functions() -> None:
    recorded = FURTHER["two Triton kernels of one name (a constexpr differs)"]
    assert recorded["cuGraphExecUpdate from one to the other"] == "SUCCESS"
    a, b = graph(kernel()), graph(kernel(func=0xF9, function=msgspec.structs.replace(FACTS, code_sha256="ef" * 32)))
    prediction = predict_update(a, b, H200)
    assert prediction.result is UpdateResult.SUCCESS
    assert [finding.rule for finding in prediction.findings] == ["kernel.function"]
    assert [same(policy, a, b, H200).same for policy in ("exact", "share", "portable")] == [False, False, False]


def test_function_of_a_cooperative_node_is_stale() -> None:
    recorded = FURTHER["cooperative node, only the function changes, exec launched before"]
    assert (recorded["update"], recorded["runs"]) == ("SUCCESS", "the old function")
    held, candidate = graph(kernel(cooperative())), graph(kernel(cooperative(), name="probe2", func=0xF2))
    prediction = predict_update(held, candidate, H200)
    assert prediction.result is UpdateResult.SUCCESS
    (finding,) = prediction.findings
    assert (finding.rule, finding.verdict) == ("kernel.cooperative-function", Verdict.STALE)
    assert (finding.evidence, finding.old, finding.new) == ("measured", "probe", "probe2")


def test_carveout_is_named_as_kept_and_dynamic_shared_memory_as_carried() -> None:
    recorded = FURTHER["CUPTI kernel activity after an update (cupti-python 13.0.1)"]
    assert "kept stale" in recorded["preferred shared memory carveout 0 to 100 and 100 to none"]
    assert "applied" in recorded["dynamic shared memory 1024 to 8192"]
    held = graph(kernel(shared=1024))
    candidate = graph(kernel(value(AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT, 100), shared=8192))
    findings = {finding.rule: finding.verdict for finding in predict_update(held, candidate, H200).findings}
    assert findings == {"kernel.dynamic-shared-mem": Verdict.UPDATABLE, "kernel.carveout": Verdict.HARMLESS}
    assert not same("share", held, candidate, H200).same


def test_preferred_cluster_is_compared_once_observed_and_without_effect_on_hopper() -> None:
    """A node gives no preferred cluster; the launch callback does."""
    recorded = FURTHER["observed through CUPTI callbacks while capturing (cupti-python 13.0.1, CUPTI 13.0.85)"]
    assert "11: [4,1,1]" in recorded["cuLaunchKernelEx with cluster 2 and preferred cluster 4"]
    unreadable = graph(kernel(cluster(2)))
    preferred = value(AttributeId.PREFERRED_CLUSTER_DIMENSION, ClusterDim(x=4, y=1, z=1), observed=True)
    observed = graph(kernel(cluster(2), preferred))
    assert predict_update(unreadable, observed, H200).verdict is Verdict.HARMLESS
    assert predict_update(unreadable, observed).verdict is Verdict.HARMLESS
    unread, seen = (graph(kernel(cluster(2), *more, function=BLACKWELL)) for more in ((), (preferred,)))
    assert predict_update(unread, seen).verdict is Verdict.UNDETERMINED


def test_graph_with_an_allocation_cannot_be_shared_with_another_allocation() -> None:
    assert FURTHER["second instantiation of a graph that holds an allocation node"] == "CUDA_ERROR_NOT_SUPPORTED"
    one_kind = {"allocation_type": 1, "handle_types": 0, "location_type": 1, "location_id": 0}
    held, candidate = (
        graph(MemAllocNode(size_bytes=64, address=address, accesses=(), **one_kind)) for address in (0x1000, 0x2000)
    )
    prediction = predict_update(held, candidate, H200)
    assert (prediction.verdict, prediction.result, prediction.node) == (
        Verdict.UNDETERMINED,
        UpdateResult.SUCCESS,
        None,
    )


def test_kernel_handle_that_came_back_with_other_facts_is_another_function() -> None:
    """CUkernel numbers came back after 20 of 20 unloads."""
    assert FURTHER["CUkernel number after cuLibraryUnload and reload of the same code"].startswith("reused 20 times")
    reloaded = kernel(function=msgspec.structs.replace(FACTS, registers=40))
    (finding,) = predict_update(graph(PLAIN), graph(reloaded), H200).findings
    assert (finding.rule, finding.old, finding.new) == ("kernel.handle-reused", "registers 32", "registers 40")


def test_handles_are_read_as_each_loader_gives_them() -> None:
    """A kernel of a library has both handles, one of a module only CUfunction: either proves the function."""
    assert FURTHER["kern and func as read"]["Triton"] == "kern 0, func set"
    for kern, func in ((0, 0xF0), (0xA0, 0xF0), (0xA0, 0)):
        node = graph(kernel(kern=kern, func=func))
        assert predict_update(node, node, H200).verdict is Verdict.IDENTICAL


def test_every_recorded_change_has_a_pair() -> None:
    assert {row["change"] for row in ROWS} == set(PAIRS)
