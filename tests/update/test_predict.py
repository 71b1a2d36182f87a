"""Predictions beyond the measured table: what is documented, what is unknown, and against which graph."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from sigcontract.errors import NotComparableError
from sigcontract.model.attributes import (
    AccessPolicyWindow,
    ClusterDim,
    DeviceUpdatableNode,
    LaunchCompletionEvent,
    MemSyncDomainMap,
    ProgrammaticEvent,
    RawValue,
)
from sigcontract.model.cuda import AttributeId, UpdateResult
from sigcontract.model.findings import Verdict
from sigcontract.model.graph import ConditionalNode, GraphSignature, NodeSignature
from sigcontract.model.nodes import (
    BatchMemOpNode,
    ExtSemasSignalNode,
    ExtSemasWaitNode,
    HostNode,
    MemFreeNode,
    MemOp,
    OpaqueNode,
)
from sigcontract.model.profile import AttributeProfile, DriverProfile, UpdateEffect
from sigcontract.profiles import check_profile
from sigcontract.update.predict import predict_update
from tests.strategies import LAWS, graphs, records
from tests.update.build import (
    BLACKWELL,
    FACTS,
    H200,
    child,
    cluster,
    cooperative,
    environment,
    graph,
    kernel,
    memcpy,
    memset,
    operand,
    pointer,
    value,
    without_value,
)

PLAIN = kernel()


def profile_with(attribute_id: int, update: UpdateEffect, **changed: Any) -> DriverProfile:
    """Return the shipped profile with another answer for one attribute, and other fields."""
    entry = AttributeProfile(
        id=attribute_id, readable="yes", settable="yes", becomes_edge="no", has_effect="yes", update=update, note=""
    )
    others = [known for known in H200.attributes if known.id != attribute_id]
    attributes = tuple(sorted([*others, entry], key=lambda known: known.id))
    return msgspec.structs.replace(H200, attributes=attributes, **changed)


def mem_op(operation: int = 1, address: int = 0x10, flags: int = 0) -> MemOp:
    return MemOp(operation=operation, address=address, value="0x0000000000000001", flags=flags)


def batch(*operations: MemOp, context: int = 1, flags: int = 0) -> BatchMemOpNode:
    return BatchMemOpNode(context=context, flags=flags, operations=operations)


def conditional(kind: int | None = 0, *bodies: GraphSignature | None, handle: str = "0x0000000000000001") -> Any:
    return ConditionalNode(kind=kind, handle=handle, bodies=bodies)


OTHER_CONTEXT = kernel(context=0xC1, func=0xF7)
UPDATABLE = value(AttributeId.DEVICE_UPDATABLE_KERNEL_NODE, DeviceUpdatableNode(device_updatable=1, device_node=9))
FLUSH = 1 << 30
MANAGED = msgspec.structs.replace(pointer(), managed=True)
PERHAPS_MANAGED = msgspec.structs.replace(pointer(), managed=None)
PINNED = pointer(1)
NO_ALLOCATION = msgspec.structs.replace(pointer(), memory_type=0, device_ordinal=-2, context=0)

#: What the table of single changes does not hold: rule, verdict, the driver's result where the header ties one to it.
DOCUMENTED: dict[str, tuple[NodeSignature, NodeSignature, str, Verdict, UpdateResult | None]] = {
    "context of a kernel": (
        PLAIN, OTHER_CONTEXT, "kernel.context", Verdict.REJECTED, UpdateResult.ERROR_UNSUPPORTED_FUNCTION_CHANGE,
    ),
    "device-updatable, even unchanged": (
        kernel(UPDATABLE), kernel(UPDATABLE), "kernel.device-updatable", Verdict.REJECTED, None,
    ),
    "host function": (
        HostNode(function_address=1, user_data=0), HostNode(function_address=2, user_data=0), "host.function",
        Verdict.UPDATABLE, UpdateResult.SUCCESS,
    ),
    "host user data": (
        HostNode(function_address=1, user_data=1), HostNode(function_address=1, user_data=2), "host.user-data",
        Verdict.UPDATABLE, UpdateResult.SUCCESS,
    ),
    "semaphores signalled": (
        ExtSemasSignalNode(count=1), ExtSemasSignalNode(count=2), "semaphores.count", Verdict.REJECTED,
        UpdateResult.ERROR_PARAMETERS_CHANGED,
    ),
    "semaphores waited for": (
        ExtSemasWaitNode(count=1), ExtSemasWaitNode(count=2), "semaphores.count", Verdict.REJECTED,
        UpdateResult.ERROR_PARAMETERS_CHANGED,
    ),
    "free": (
        MemFreeNode(address=1), MemFreeNode(address=2), "free.address", Verdict.UNDETERMINED, UpdateResult.SUCCESS,
    ),
    "batch context": (batch(), batch(context=2), "batch-mem-op.context", Verdict.REJECTED, None),
    "batch count": (
        batch(mem_op()), batch(), "batch-mem-op.count", Verdict.REJECTED, UpdateResult.ERROR_PARAMETERS_CHANGED,
    ),
    "batch operation": (
        batch(mem_op(1)), batch(mem_op(4)), "batch-mem-op.operation", Verdict.REJECTED,
        UpdateResult.ERROR_PARAMETERS_CHANGED,
    ),
    "batch address": (
        batch(mem_op()), batch(mem_op(address=0x20)), "batch-mem-op.target", Verdict.UPDATABLE, UpdateResult.SUCCESS,
    ),
    "wait comparison": (
        batch(mem_op()), batch(mem_op(flags=1)), "batch-mem-op.wait-type", Verdict.UPDATABLE, UpdateResult.SUCCESS,
    ),
    "wait flush bit": (batch(mem_op()), batch(mem_op(flags=FLUSH)), "batch-mem-op.flags", Verdict.REJECTED, None),
    "write barrier": (batch(mem_op(2)), batch(mem_op(2, flags=1)), "batch-mem-op.flags", Verdict.REJECTED, None),
    "batch flags": (batch(), batch(flags=1), "batch-mem-op.batch-flags", Verdict.UNDETERMINED, None),
    "conditional kind": (
        conditional(0), conditional(1), "conditional.kind", Verdict.REJECTED, UpdateResult.ERROR_NOT_SUPPORTED,
    ),
    "conditional bodies": (
        conditional(0, graph(PLAIN)), conditional(0, graph(PLAIN), graph(PLAIN)), "conditional.bodies",
        Verdict.REJECTED, UpdateResult.ERROR_NOT_SUPPORTED,
    ),
    "conditional handle": (
        conditional(0), conditional(0, handle="0x0000000000000002"), "conditional.handle", Verdict.UPDATABLE,
        UpdateResult.SUCCESS,
    ),
    "conditional, not readable": (
        ConditionalNode(kind=None, handle=None, bodies=None), ConditionalNode(kind=None, handle=None, bodies=None),
        "conditional.unreadable", Verdict.UNDETERMINED, None,
    ),
    "conditional, one body not readable": (
        conditional(0, None), conditional(0, graph(PLAIN)), "conditional.unreadable", Verdict.UNDETERMINED, None,
    ),
    "opaque, even unchanged": (
        OpaqueNode(type=14), OpaqueNode(type=14), "node.opaque", Verdict.UNDETERMINED, None,
    ),
    "opaque by its number against a record": (
        OpaqueNode(type=0), PLAIN, "node.opaque", Verdict.UNDETERMINED, None,
    ),
    "owner of a fill": (
        memset(), msgspec.structs.replace(memset(), pointer=pointer(device=1)), "memory.owner", Verdict.REJECTED,
        UpdateResult.ERROR_PARAMETERS_CHANGED,
    ),
    "owner of a copy": (
        memcpy(), memcpy(operand(facts=pointer(context=7))), "memory.owner", Verdict.REJECTED,
        UpdateResult.ERROR_PARAMETERS_CHANGED,
    ),
    "copy from a pool, which has no context": (
        memcpy(), memcpy(operand(facts=pointer(context=0))), "memory.owner", Verdict.REJECTED,
        UpdateResult.ERROR_PARAMETERS_CHANGED,
    ),
    "copy from managed memory": (
        memcpy(), memcpy(operand(facts=msgspec.structs.replace(pointer(), managed=True))), "memory.kind",
        Verdict.UPDATABLE, UpdateResult.SUCCESS,
    ),
    "fill of a pool's memory": (
        memset(), msgspec.structs.replace(memset(), pointer=pointer(context=0)), "memory.kind", Verdict.UPDATABLE,
        UpdateResult.SUCCESS,
    ),
    "fill of an address that is no allocation": (
        memset(), msgspec.structs.replace(memset(destination=0x9000), pointer=NO_ALLOCATION), "memset.unallocated",
        Verdict.REJECTED, UpdateResult.ERROR,
    ),
    "unified operand that the driver does not know": (
        memcpy(operand(4)), memcpy(operand(4, 0x8000, facts=NO_ALLOCATION)), "memory.unknown", Verdict.UNDETERMINED,
        UpdateResult.SUCCESS,
    ),
    "unified operand that the driver does not know, and memory of a pool, which has no context": (
        memcpy(operand(4, facts=pointer(context=0))), memcpy(operand(4, 0x8000, facts=NO_ALLOCATION)), "memory.owner",
        Verdict.REJECTED, UpdateResult.ERROR_PARAMETERS_CHANGED,
    ),
    "unified operand that the driver does not know, and one of which nothing was recorded": (
        memcpy(operand(4, facts=NO_ALLOCATION)), memcpy(msgspec.structs.replace(operand(4, 0x8000), pointer=None)),
        "memory.unknown", Verdict.UNDETERMINED, None,
    ),
    "two unified operands that the driver does not know": (
        memcpy(operand(4, facts=NO_ALLOCATION)), memcpy(operand(4, 0x8000, facts=NO_ALLOCATION)), "memory.unknown",
        Verdict.UNDETERMINED, UpdateResult.SUCCESS,
    ),
    "pinned to pageable host memory beside managed memory": (
        memcpy(operand(facts=MANAGED), operand(1, facts=PINNED)),
        memcpy(operand(facts=MANAGED), operand(1, 0x8000, facts=NO_ALLOCATION)),
        "memory.unknown", Verdict.UNDETERMINED, UpdateResult.SUCCESS,
    ),
    "host memory of which nothing was recorded, beside managed memory": (
        memcpy(operand(facts=MANAGED), msgspec.structs.replace(operand(1), pointer=None)),
        memcpy(operand(facts=MANAGED), msgspec.structs.replace(operand(1, 0x8000), pointer=None)),
        "memory.unknown", Verdict.UNDETERMINED, UpdateResult.SUCCESS,
    ),
    "pinned to pageable host memory beside memory that may be managed": (
        memcpy(operand(facts=PERHAPS_MANAGED), operand(1, facts=PINNED)),
        memcpy(operand(facts=PERHAPS_MANAGED), operand(1, 0x8000, facts=NO_ALLOCATION)),
        "memory.unknown", Verdict.UNDETERMINED, UpdateResult.SUCCESS,
    ),
    "pageable to pinned host memory beside managed memory": (
        memcpy(operand(facts=MANAGED), operand(1, facts=NO_ALLOCATION)),
        memcpy(operand(facts=MANAGED), operand(1, 0x8000, facts=PINNED)),
        "memcpy.address", Verdict.UPDATABLE, UpdateResult.SUCCESS,
    ),
    "pinned to pageable host memory beside device memory": (
        memcpy(operand(), operand(1, facts=PINNED)), memcpy(operand(), operand(1, 0x8000, facts=NO_ALLOCATION)),
        "memcpy.address", Verdict.UPDATABLE, UpdateResult.SUCCESS,
    ),
    "address of an unknown owner": (
        msgspec.structs.replace(memset(), pointer=None),
        msgspec.structs.replace(memset(destination=0x9000), pointer=None), "memory.owner-unknown",
        Verdict.UPDATABLE, UpdateResult.SUCCESS,
    ),
    "owner known on one side": (
        memset(), msgspec.structs.replace(memset(), pointer=None), "memory.owner-unproven", Verdict.UPDATABLE,
        UpdateResult.SUCCESS,
    ),
    "another array": (
        memcpy(operand(3)), memcpy(operand(3, 0x8000)), "memory.owner-unproven", Verdict.UPDATABLE,
        UpdateResult.SUCCESS,
    ),
    "pitch of a 2D fill": (
        memset(height=2), memset(height=2, pitch=512), "memset.pitch-2d", Verdict.REJECTED,
        UpdateResult.ERROR_PARAMETERS_CHANGED,
    ),
    "pitch of a 1D fill": (
        memset(), memset(pitch=512), "memset.pitch", Verdict.HARMLESS, UpdateResult.SUCCESS,
    ),
    "address of a 2D copy": (
        memcpy(height=2), memcpy(operand(address=0x5000), height=2), "memcpy.shape", Verdict.REJECTED,
        UpdateResult.ERROR_PARAMETERS_CHANGED,
    ),
    "pitch of a 1D copy": (
        memcpy(), memcpy(operand(pitch=512)), "memcpy.pitch", Verdict.HARMLESS, UpdateResult.SUCCESS,
    ),
    "no row against one row": (
        memcpy(height=0), memcpy(height=1), "memcpy.one-row", Verdict.HARMLESS, UpdateResult.SUCCESS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DOCUMENTED)
def test_documented_rules(case: str) -> None:
    held, candidate, rule, verdict, result = DOCUMENTED[case]
    prediction = predict_update(graph(held), graph(candidate), H200)
    assert {finding.rule for finding in prediction.findings} == {rule}
    assert (prediction.verdict, prediction.result) == (verdict, result)
    assert (prediction.node is None) == (result is None or result is UpdateResult.SUCCESS)


ATTRIBUTE_VALUES: dict[int, tuple[Any, ...]] = {
    AttributeId.IGNORE: (RawValue(hex="00" * 64), RawValue(hex="01" * 64)),
    AttributeId.ACCESS_POLICY_WINDOW: tuple(
        AccessPolicyWindow(base_address=0, size_bytes=size, hit_ratio_bits=0, hit_property=0, miss_property=0)
        for size in (0, 64)
    ),
    AttributeId.COOPERATIVE: (0, 1),
    AttributeId.SYNCHRONIZATION_POLICY: (1, 2),
    AttributeId.CLUSTER_DIMENSION: (ClusterDim(x=2, y=1, z=1), ClusterDim(x=4, y=1, z=1)),
    AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE: (1, 2),
    AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION: (0, 1),
    AttributeId.PROGRAMMATIC_EVENT: tuple(
        ProgrammaticEvent(event=event, flags=0, trigger_at_block_start=0) for event in (1, 2)
    ),
    AttributeId.PRIORITY: (0, -1),
    AttributeId.MEM_SYNC_DOMAIN_MAP: (MemSyncDomainMap(default=0, remote=1), MemSyncDomainMap(default=1, remote=0)),
    AttributeId.MEM_SYNC_DOMAIN: (0, 1),
    AttributeId.PREFERRED_CLUSTER_DIMENSION: (ClusterDim(x=2, y=1, z=1), ClusterDim(x=4, y=1, z=1)),
    AttributeId.LAUNCH_COMPLETION_EVENT: tuple(LaunchCompletionEvent(event=event, flags=0) for event in (1, 2)),
    AttributeId.DEVICE_UPDATABLE_KERNEL_NODE: (
        DeviceUpdatableNode(device_updatable=0, device_node=0),
        DeviceUpdatableNode(device_updatable=1, device_node=1),
    ),
    AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT: (0, 100),
    AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING: (0, 1),
    AttributeId.PORTABLE_CLUSTER_SIZE_MODE: (0, 1),
    AttributeId.SHARED_MEMORY_MODE: (0, 1),
    15: (RawValue(hex="00" * 64), RawValue(hex="01" * 64)),
    4096: (RawValue(hex="00" * 64), RawValue(hex="01" * 64)),
}

#: What a difference of one attribute means with no profile, and with that of the measured driver.
ATTRIBUTE_VERDICTS: dict[int, tuple[Verdict, Verdict]] = {
    AttributeId.IGNORE: (Verdict.HARMLESS, Verdict.HARMLESS),
    AttributeId.ACCESS_POLICY_WINDOW: (Verdict.UNDETERMINED, Verdict.UNDETERMINED),
    AttributeId.COOPERATIVE: (Verdict.REJECTED, Verdict.REJECTED),
    AttributeId.SYNCHRONIZATION_POLICY: (Verdict.HARMLESS, Verdict.HARMLESS),
    AttributeId.CLUSTER_DIMENSION: (Verdict.STALE, Verdict.STALE),
    AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE: (Verdict.UNDETERMINED, Verdict.UNDETERMINED),
    AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION: (Verdict.HARMLESS, Verdict.HARMLESS),
    AttributeId.PROGRAMMATIC_EVENT: (Verdict.HARMLESS, Verdict.HARMLESS),
    AttributeId.PRIORITY: (Verdict.HARMLESS, Verdict.HARMLESS),
    AttributeId.MEM_SYNC_DOMAIN_MAP: (Verdict.UNDETERMINED, Verdict.UNDETERMINED),
    AttributeId.MEM_SYNC_DOMAIN: (Verdict.UNDETERMINED, Verdict.UNDETERMINED),
    AttributeId.PREFERRED_CLUSTER_DIMENSION: (Verdict.STALE, Verdict.HARMLESS),
    AttributeId.LAUNCH_COMPLETION_EVENT: (Verdict.HARMLESS, Verdict.HARMLESS),
    AttributeId.DEVICE_UPDATABLE_KERNEL_NODE: (Verdict.REJECTED, Verdict.REJECTED),
    AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT: (Verdict.HARMLESS, Verdict.HARMLESS),
    AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING: (Verdict.HARMLESS, Verdict.REJECTED),
    # Newer than the measured driver: no launch there can have carried them.
    AttributeId.PORTABLE_CLUSTER_SIZE_MODE: (Verdict.UNDETERMINED, Verdict.HARMLESS),
    AttributeId.SHARED_MEMORY_MODE: (Verdict.UNDETERMINED, Verdict.HARMLESS),
    15: (Verdict.UNDETERMINED, Verdict.UNDETERMINED),
    4096: (Verdict.UNDETERMINED, Verdict.UNDETERMINED),
}


def known_everywhere(*changed: Any) -> Any:
    """Return a kernel whose unreadable attributes were all observed at the launch."""
    observed = [
        value(i, ATTRIBUTE_VALUES[i][0], observed=True)
        for i in AttributeId
        if i not in (AttributeId.IGNORE, AttributeId.CLUSTER_DIMENSION)
    ]
    return kernel(*observed, *changed, function=BLACKWELL)


@pytest.mark.parametrize("attribute_id", ATTRIBUTE_VALUES)
def test_every_attribute_with_and_without_a_profile(attribute_id: int) -> None:
    old, new = (
        graph(known_everywhere(value(attribute_id, given, observed=True))) for given in ATTRIBUTE_VALUES[attribute_id]
    )
    for profile, verdict in zip((None, H200), ATTRIBUTE_VERDICTS[attribute_id], strict=True):
        assert predict_update(old, new, profile).verdict is verdict
        assert predict_update(old, old, profile).verdict is Verdict.IDENTICAL


def test_what_cannot_be_read_and_can_only_be_refused_hides_nothing() -> None:
    """The H200 refuses a change of id 16, and lets nobody read it: an exec never runs the wrong value."""
    attribute_id = AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING
    unreadable = graph(kernel(without_value(attribute_id)))
    known = graph(known_everywhere(value(attribute_id, 1, observed=True)))
    assert predict_update(unreadable, unreadable, H200).verdict is Verdict.IDENTICAL
    assert predict_update(unreadable, known, H200).result is None


@pytest.mark.parametrize("effect", ["applied", "stale", "rejected", "unknown"])
def test_a_profile_decides_what_an_attribute_means(effect: UpdateEffect) -> None:
    attribute_id = AttributeId.MEM_SYNC_DOMAIN
    profile = profile_with(attribute_id, effect)
    held, candidate = graph(PLAIN), graph(kernel(value(attribute_id, 1)))
    prediction = predict_update(held, candidate, profile)
    verdicts = {
        "applied": Verdict.UPDATABLE,
        "stale": Verdict.STALE,
        "rejected": Verdict.REJECTED,
        "unknown": Verdict.UNDETERMINED,
    }
    assert prediction.verdict is verdicts[effect]
    refused = UpdateResult.ERROR_ATTRIBUTES_CHANGED if effect == "rejected" else UpdateResult.SUCCESS
    assert prediction.result is refused
    unreadable = graph(kernel(without_value(attribute_id)))
    of_unknown = predict_update(held, unreadable, profile)
    assert of_unknown.verdict is (Verdict.UPDATABLE if effect == "applied" else Verdict.UNDETERMINED)
    assert of_unknown.result is (None if effect == "rejected" else UpdateResult.SUCCESS)


def test_an_ordinary_graph_is_identical_under_its_profile_and_undetermined_without() -> None:
    """Every captured kernel of the measured driver has eight attributes that cannot be read."""
    plain = kernel(function=BLACKWELL)
    graphs_of_one_capture = graph(plain, memset()), graph(kernel(function=BLACKWELL), memset())
    assert predict_update(*graphs_of_one_capture, H200).findings == ()
    prediction = predict_update(*graphs_of_one_capture)
    assert (prediction.verdict, prediction.result) == (Verdict.UNDETERMINED, UpdateResult.SUCCESS)
    (finding,) = prediction.findings
    assert finding.rule == "kernel.attribute-unknown"
    assert finding.path == "nodes[0].attributes[preferred_cluster_dimension]"
    assert (finding.old, finding.new) == ("unreadable", "unreadable")


def test_code_of_a_device_without_preferred_clusters_settles_them_without_a_profile() -> None:
    """Machine code runs on its own major compute capability alone, and preferred clusters take 10.0."""
    assert predict_update(graph(PLAIN), graph(kernel())).verdict is Verdict.IDENTICAL
    for version in (None, 100, 120):
        newer = graph(kernel(function=msgspec.structs.replace(FACTS, binary_version=version)))
        assert predict_update(newer, newer).verdict is Verdict.UNDETERMINED
    without_facts = graph(kernel(function=None))
    assert predict_update(without_facts, without_facts).verdict is Verdict.UNDETERMINED


def test_an_attribute_that_nobody_asked_for_is_unknown() -> None:
    dropped = graph(kernel(drop=[AttributeId.MEM_SYNC_DOMAIN]))
    (finding,) = predict_update(dropped, dropped, H200).findings
    assert (finding.rule, finding.old) == ("kernel.attribute-unknown", "not asked for")


@pytest.mark.parametrize("attribute_id", [AttributeId.COOPERATIVE, AttributeId.DEVICE_UPDATABLE_KERNEL_NODE])
def test_the_answer_is_undetermined_where_what_decides_it_is_unknown(attribute_id: int) -> None:
    unknown = graph(kernel(without_value(attribute_id)))
    prediction = predict_update(unknown, unknown, H200)
    assert (prediction.verdict, prediction.result) == (Verdict.UNDETERMINED, None)


def test_a_sure_refusal_behind_a_doubt_is_a_refusal_whose_code_is_undetermined() -> None:
    """The driver may stop at the opaque node, or go on and stop at the fill."""
    held, candidate = graph(memset(height=2), OpaqueNode(type=16)), graph(memset(height=3), OpaqueNode(type=16))
    prediction = predict_update(held, candidate, H200)
    assert (prediction.verdict, prediction.result, prediction.node) == (Verdict.REJECTED, None, None)
    assert [finding.rule for finding in prediction.findings] == ["memset.shape", "node.opaque"]


def test_a_refused_update_reports_nothing_that_would_be_stale() -> None:
    held, candidate = graph(memset(), kernel(cluster(2))), graph(memset(height=2), kernel(cluster(4)))
    prediction = predict_update(held, candidate, H200)
    assert [finding.rule for finding in prediction.findings] == ["memset.shape"]
    assert prediction.node == "nodes[0]"


def test_priority_is_refused_only_with_the_flag() -> None:
    held, candidate = graph(PLAIN), graph(kernel(value(AttributeId.PRIORITY, -1)))
    assert predict_update(held, candidate, H200).verdict is Verdict.HARMLESS
    prediction = predict_update(held, candidate, H200, flags=8)
    assert (prediction.result, prediction.node) == (UpdateResult.ERROR_ATTRIBUTES_CHANGED, "nodes[0]")
    unreadable = graph(kernel(without_value(AttributeId.PRIORITY)))
    assert predict_update(held, unreadable, H200).verdict is Verdict.HARMLESS
    assert predict_update(held, unreadable, H200, flags=8).result is None


@pytest.mark.parametrize(
    ("effect", "verdict", "result"),
    [
        ("applied", Verdict.UPDATABLE, UpdateResult.SUCCESS),
        ("stale", Verdict.STALE, UpdateResult.SUCCESS),
        ("rejected", Verdict.REJECTED, None),
        ("unknown", Verdict.UNDETERMINED, UpdateResult.SUCCESS),
    ],
)
def test_function_of_a_cooperative_node_by_profile(
    effect: UpdateEffect, verdict: Verdict, result: UpdateResult | None
) -> None:
    profile = msgspec.structs.replace(H200, cooperative_function_update=effect)
    prediction = predict_update(graph(kernel(cooperative())), graph(kernel(cooperative(), func=0xF2)), profile)
    assert (prediction.verdict, prediction.result) == (verdict, result)


def test_no_cluster_against_one_block_clusters() -> None:
    """Kernels see one block per cluster in both; a function that must have a cluster size traps without."""
    none, one = graph(PLAIN), graph(kernel(cluster(1)))
    assert predict_update(none, one, H200).verdict is Verdict.HARMLESS
    assert predict_update(none, one).verdict is Verdict.UNDETERMINED
    must = msgspec.structs.replace(FACTS, cluster_size_must_be_set=1)
    held, candidate = graph(kernel(function=must)), graph(kernel(cluster(1), function=must))
    assert predict_update(held, candidate, H200).verdict is Verdict.UNDETERMINED


def test_unknown_cluster_is_undetermined_unless_the_driver_follows_it() -> None:
    unknown = graph(kernel(without_value(AttributeId.CLUSTER_DIMENSION)))
    assert predict_update(unknown, unknown, H200).verdict is Verdict.UNDETERMINED
    follows = msgspec.structs.replace(H200, cluster_fixed_at="never")
    assert predict_update(unknown, unknown, follows).verdict is Verdict.UPDATABLE
    held, candidate = graph(kernel(cluster(2))), graph(kernel(cluster(4)))
    assert predict_update(held, candidate, follows).verdict is Verdict.UPDATABLE


def test_a_function_without_a_handle_is_unknown_and_another_name_is_another_function() -> None:
    nameless = graph(kernel(func=0, function=None))
    assert [f.rule for f in predict_update(nameless, nameless, H200).findings] == ["kernel.function-unknown"]
    renamed = graph(kernel(func=0, name="probe2", function=None))
    assert [f.rule for f in predict_update(nameless, renamed, H200).findings] == ["kernel.function"]


def test_a_context_that_one_side_does_not_know_leaves_the_answer_open() -> None:
    prediction = predict_update(graph(PLAIN), graph(kernel(context=0)), H200)
    assert (prediction.verdict, prediction.result) == (Verdict.UNDETERMINED, None)


@pytest.mark.parametrize("profile", [H200, None], ids=["profile", "no profile"])
def test_a_cooperative_node_is_refused_by_the_rule_of_its_own(profile: DriverProfile | None) -> None:
    (finding,) = predict_update(graph(PLAIN), graph(kernel(cooperative())), profile).findings
    assert (finding.rule, finding.verdict) == ("kernel.cooperative", Verdict.REJECTED)


def test_two_unknown_contexts_are_one_only_where_the_function_is_one() -> None:
    nowhere = kernel(context=0)
    assert predict_update(graph(nowhere), graph(nowhere), H200).verdict is Verdict.IDENTICAL
    prediction = predict_update(graph(nowhere), graph(kernel(context=0, func=0xF1)), H200)
    assert (prediction.verdict, prediction.result) == (Verdict.UNDETERMINED, None)
    assert {finding.rule for finding in prediction.findings} == {"kernel.context-unknown", "kernel.function"}


def test_equal_differences_are_one_finding_with_its_paths() -> None:
    held, candidate = graph(*[PLAIN] * 20), graph(*[kernel(grid=4)] * 20)
    (finding,) = predict_update(held, candidate, H200).findings
    assert (finding.path, finding.count, len(finding.also)) == ("nodes[0].grid_dim", 20, 8)
    assert finding.also[0] == "nodes[1].grid_dim"


def test_a_finding_inside_a_child_has_its_whole_path() -> None:
    held, candidate = graph(PLAIN, child(memset(), PLAIN)), graph(PLAIN, child(memset(), kernel(grid=4)))
    (finding,) = predict_update(held, candidate, H200).findings
    assert (finding.path, finding.subject) == ("nodes[1].graph.nodes[1].grid_dim", "probe")


def test_without_a_profile_nothing_counts_as_measured() -> None:
    """What NVIDIA says remains; the rest is assumed, or reported by others."""
    (finding,) = predict_update(graph(memset(width=1)), graph(memset(width=2))).findings
    assert finding.evidence == "documented"
    (finding,) = predict_update(graph(memcpy(width=1)), graph(memcpy(width=2))).findings
    assert finding.evidence == "assumed"
    findings = predict_update(graph(kernel(cluster(2))), graph(kernel(cluster(4)))).findings
    assert [(f.verdict, f.evidence) for f in findings if f.rule == "kernel.cluster-dim"] == [("stale", "reported")]


def test_a_profile_without_the_rule_measured_only_what_it_says_itself() -> None:
    """So does one that knows nothing, as `read_profile` gives for a driver that nobody measured."""
    other = msgspec.structs.replace(H200, update_rule="unknown")
    (finding,) = predict_update(graph(memcpy(width=1)), graph(memcpy(width=2)), other).findings
    assert finding.evidence == "assumed"
    (finding,) = predict_update(graph(kernel(cluster(2))), graph(kernel(cluster(4))), other).findings
    assert (finding.rule, finding.evidence) == ("kernel.cluster-dim", "measured")
    observed = [kernel(value(AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING, on, observed=True)) for on in (0, 1)]
    (finding,) = predict_update(graph(observed[0]), graph(observed[1]), other).findings
    assert (finding.rule, finding.evidence) == ("kernel.attribute-rejected", "measured")


def test_a_profile_of_another_driver_or_device_is_refused() -> None:
    check_profile(H200, environment())
    check_profile(H200, msgspec.structs.replace(environment(version=None), devices=()))
    with pytest.raises(NotComparableError) as caught:
        check_profile(H200, environment(version=12080))
    assert caught.value.code == "profile_mismatch"
    assert str(caught.value) == (
        "profile 'nvidia-h200-cuda-13.0' is for CUDA driver 13000, the dump is from 12080; measure that driver "
        "with `sigcontract doctor`, or omit the profile"
    )
    with pytest.raises(NotComparableError) as caught:
        check_profile(H200, environment(capability=(10, 0)))
    assert str(caught.value) == (
        "profile 'nvidia-h200-cuda-13.0' is for compute capability 9.0, device 0 of the dump (NVIDIA H200) has 10.0; "
        "measure that device with `sigcontract doctor`, or omit the profile"
    )


@LAWS
@given(held=graphs(), candidate=graphs(), profile=st.none() | records(DriverProfile), flags=st.sampled_from([0, 8]))
def test_law_a_refusal_is_one_in_verdict_and_result(
    held: GraphSignature, candidate: GraphSignature, profile: DriverProfile | None, flags: int
) -> None:
    for a, b in ((held, candidate), (held, held), (candidate, candidate)):
        prediction = predict_update(a, b, profile, flags=flags)
        assert prediction.verdict is Verdict.worst(finding.verdict for finding in prediction.findings)
        if prediction.verdict is Verdict.REJECTED:
            assert prediction.result is not UpdateResult.SUCCESS
        if prediction.result not in (None, UpdateResult.SUCCESS):
            assert prediction.verdict is Verdict.REJECTED
        if prediction.verdict.safe:
            assert prediction.result is UpdateResult.SUCCESS
        if prediction.verdict is Verdict.IDENTICAL:
            assert prediction.findings == ()


@LAWS
@given(graph_of_any=graphs(), profile=st.none() | records(DriverProfile))
def test_law_a_graph_differs_from_itself_only_by_what_is_unknown(
    graph_of_any: GraphSignature, profile: DriverProfile | None
) -> None:
    allowed = {"node.opaque", "conditional.unreadable", "kernel.attribute-unknown", "kernel.function-unknown"}
    prediction = predict_update(graph_of_any, graph_of_any, profile)
    assert {finding.rule for finding in prediction.findings} <= allowed | {"kernel.device-updatable"}
    assert predict_update(graph_of_any, graph_of_any, profile, graph_of_any) == prediction
