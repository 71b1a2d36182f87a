"""How one launch attribute behaves: read, set, captured, and changed by an update after a launch."""

from collections.abc import Callable
from typing import NamedTuple

from sigcontract.driver.measuring.rig import Probe, ProbeRig
from sigcontract.driver.reading import (
    ATTRIBUTE_CUDA_VERSION,
    encode_attribute,
)
from sigcontract.errors import DriverCallError
from sigcontract.model import (
    PREFERRED_CLUSTERS_SINCE,
    AccessPolicyWindow,
    Answer,
    AttributeId,
    AttributeProfile,
    AttributeValue,
    ClusterDim,
    DeviceUpdatableNode,
    LaunchCompletionEvent,
    MemSyncDomainMap,
    ProgrammaticEvent,
    Result,
    UpdateEffect,
    UpdateResult,
)

__all__ = ["measure_attribute"]

#: Attributes a kernel can see, and the cluster width it sees if they take effect.
_VISIBLE: dict[int, int] = {AttributeId.CLUSTER_DIMENSION: 2, AttributeId.PREFERRED_CLUSTER_DIMENSION: 4}


#: Builds a graph of kernels: explicitly if nodes accept the attribute, else by capture.
_Build = Callable[..., int]


class _Seen(NamedTuple):
    """A measured answer, and how it was measured."""

    answer: Answer
    note: str


def measure_attribute(rig: ProbeRig, attribute_id: int, driver_version: int) -> AttributeProfile:
    """Measure one attribute.

    Parameters
    ----------
    rig
        Builds and launches graphs.
    attribute_id
        CUlaunchAttributeID.
    driver_version
        cuDriverGetVersion; no launch can carry an attribute of a later CUDA version.
    """
    probe = _probe(rig, attribute_id)
    readable = _readable(rig, attribute_id)
    on_node = _set_on_node(rig, attribute_id, probe)
    captured, becomes_edge = _captured(rig, probe)
    build = rig.graph if on_node.answer == "yes" else rig.captured
    accepted = "yes" in (on_node.answer, captured.answer)
    unknown_to_driver = not accepted and ATTRIBUTE_CUDA_VERSION[attribute_id] > driver_version
    effect, effect_note = _effect(rig, attribute_id, build, probe if accepted else None)
    update, update_note = _update(rig, attribute_id, build, probe) if accepted else ("unknown", "")
    notes = [readable.note, on_node.note, captured.note, becomes_edge.note, effect_note, update_note]
    if unknown_to_driver:
        notes.append("the attribute is newer than this driver, and no launch can carry it")
    return AttributeProfile(
        id=attribute_id,
        readable=readable.answer,
        settable="yes" if accepted else "no",
        becomes_edge=becomes_edge.answer,
        has_effect="no" if unknown_to_driver else effect,
        update=update,
        note="; ".join(filter(None, notes)),
    )


def _probe(rig: ProbeRig, attribute_id: int) -> Probe:
    """Return a kernel that carries a non-default value of the attribute."""
    value = _value(rig, attribute_id)
    attributes: dict[int, AttributeValue] = {attribute_id: value}
    if attribute_id == AttributeId.PREFERRED_CLUSTER_DIMENSION:
        attributes = {AttributeId.CLUSTER_DIMENSION: ClusterDim(x=2, y=1, z=1), attribute_id: value}
    return Probe(attributes=attributes)


def _value(rig: ProbeRig, attribute_id: int) -> AttributeValue:  # noqa: PLR0911  one answer an attribute
    match attribute_id:
        case AttributeId.ACCESS_POLICY_WINDOW:
            # 0.5, streaming on a hit, normal on a miss
            return AccessPolicyWindow(
                base_address=rig.report_address,
                size_bytes=32,
                hit_ratio_bits=0x3F000000,
                hit_property=1,
                miss_property=0,
            )
        case AttributeId.CLUSTER_DIMENSION:
            return ClusterDim(x=2, y=1, z=1)
        case AttributeId.PREFERRED_CLUSTER_DIMENSION:
            return ClusterDim(x=4, y=1, z=1)
        case AttributeId.PROGRAMMATIC_EVENT:
            return ProgrammaticEvent(event=rig.event, flags=0, trigger_at_block_start=0)
        case AttributeId.LAUNCH_COMPLETION_EVENT:
            return LaunchCompletionEvent(event=rig.event, flags=0)
        case AttributeId.MEM_SYNC_DOMAIN_MAP:
            return MemSyncDomainMap(default=0, remote=0)
        case AttributeId.DEVICE_UPDATABLE_KERNEL_NODE:
            return DeviceUpdatableNode(device_updatable=1, device_node=0)
        case _:
            return _INTEGERS[attribute_id]


_INTEGERS: dict[int, int] = {
    AttributeId.COOPERATIVE: 1,
    AttributeId.SYNCHRONIZATION_POLICY: 2,  # CU_SYNC_POLICY_SPIN
    AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE: 2,  # CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING
    AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION: 1,
    AttributeId.PRIORITY: -1,
    AttributeId.MEM_SYNC_DOMAIN: 1,  # CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE
    AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT: 50,
    AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING: 1,
    AttributeId.PORTABLE_CLUSTER_SIZE_MODE: 1,
    AttributeId.SHARED_MEMORY_MODE: 1,
}


def _readable(rig: ProbeRig, attribute_id: int) -> _Seen:
    nodes = rig.api.graph_nodes(rig.graph(Probe()))
    ((_values, (result,)),) = rig.api.kernel_attributes(nodes, [attribute_id])
    return _Seen("no", f"reading answers CUresult {result}") if result else _Seen("yes", "")


def _set_on_node(rig: ProbeRig, attribute_id: int, probe: Probe) -> _Seen:
    try:
        graph = rig.graph(probe)
    except DriverCallError as error:
        return _Seen("no", f"setting it on a node answers {error.result}")
    return _Seen("yes", f"set on a node, {_read_back(rig, graph, attribute_id, probe)}")


def _read_back(rig: ProbeRig, graph: int, attribute_id: int, probe: Probe) -> str:
    ((value, (result,)),) = rig.api.kernel_attributes(rig.api.graph_nodes(graph)[:1], [attribute_id])
    if result:
        return "not given back"
    if attribute_id == AttributeId.DEVICE_UPDATABLE_KERNEL_NODE:
        return "given back with a device node"
    same = value == encode_attribute(attribute_id, probe.attributes[attribute_id])
    return "given back equal" if same else "given back changed"


def _captured(rig: ProbeRig, probe: Probe) -> tuple[_Seen, _Seen]:
    """Capture the kernel between two others; return whether the launch is accepted, and becomes edge data."""
    try:
        graph = rig.captured(Probe(), probe, Probe())
    except DriverCallError as error:
        return _Seen("no", f"a captured launch with it answers {error.result}"), _Seen("unknown", "")
    if any(rig.api.graph_edges(graph).data):
        return _Seen("yes", ""), _Seen("yes", "a captured launch carries it as edge data")
    return _Seen("yes", "taken by a captured launch"), _Seen("no", "")


def _effect(rig: ProbeRig, attribute_id: int, build: _Build, probe: Probe | None) -> tuple[Answer, str]:
    """Whether a freshly instantiated kernel sees the attribute; without a probe, no launch accepts it."""
    if attribute_id not in _VISIBLE:
        return "unknown", ""
    if probe is None:
        return ("unknown", "") if rig.clusters else ("no", "clusters need compute capability 9.0")
    width = rig.run(rig.instantiate(build(probe))).cluster_dim[0]
    if width == _VISIBLE[attribute_id]:
        return "yes", "a kernel sees it"
    if attribute_id == AttributeId.PREFERRED_CLUSTER_DIMENSION and rig.compute_capability < PREFERRED_CLUSTERS_SINCE:
        return "no", f"a kernel sees the minimum cluster, {width}; preferred ones need compute capability 10.0"
    return "unknown", f"a kernel sees width {width}"


def _update(rig: ProbeRig, attribute_id: int, build: _Build, probe: Probe) -> tuple[UpdateEffect, str]:
    """Run a kernel without the attribute, update it to one with it, run it again."""
    before = {key: value for key, value in probe.attributes.items() if key != attribute_id}
    if attribute_id == AttributeId.CLUSTER_DIMENSION:
        before = {attribute_id: ClusterDim(x=4, y=1, z=1)}
    plain = Probe(attributes=before)
    if attribute_id in _VISIBLE:
        held, changed = build(plain), build(probe)
    else:  # between two others, where an attribute can become an edge
        held, changed = (build(Probe(), middle, Probe()) for middle in (plain, probe))
    launched = rig.instantiate(held)
    rig.run(launched)
    try:
        result = rig.api.graph_exec_update(launched, changed).result
    except DriverCallError as error:
        refused = error.value == Result.NOT_SUPPORTED
        return "rejected" if refused else "unknown", f"updating it after a launch answers {error.result}"
    if result:
        return "rejected", f"an update after a launch answers {UpdateResult.name_of(result)}"
    if attribute_id not in _VISIBLE:
        return "unknown", "an update after a launch answers SUCCESS, which is no proof"
    fresh, updated = (rig.run(one).cluster_dim[0] for one in (rig.instantiate(changed), launched))
    if fresh != _VISIBLE[attribute_id]:
        return "unknown", "an update after a launch answers SUCCESS, and nothing shows on this device"
    if updated == fresh:
        return "applied", "an update after a launch is carried out"
    return "stale", f"after a launch and an update a kernel sees width {updated}, a fresh one {fresh}"
