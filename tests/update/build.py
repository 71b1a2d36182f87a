"""Small graphs for the tests of compare, and the profile of the measured driver."""

from collections.abc import Iterable, Mapping
from importlib.resources import files

import msgspec

from sigcontract.model.attributes import (
    AccessPolicyWindow,
    AttributeState,
    AttributeValue,
    ClusterDim,
    DeviceUpdatableNode,
    LaunchAttribute,
    MemSyncDomainMap,
)
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dims import Dim3
from sigcontract.model.dump import DeviceInfo, Environment
from sigcontract.model.function import FunctionFacts
from sigcontract.model.graph import ChildGraphNode, Dependency, GraphSignature, NodeSignature
from sigcontract.model.nodes import (
    KernelNodeSignature,
    MemcpyNode,
    MemcpyOperand,
    MemsetNode,
    PointerFacts,
)
from sigcontract.model.profile import DriverProfile
from sigcontract.wire.codec import decode

CONTEXT = 0xC0
HOST, DEVICE = 1, 2

#: What a plain captured launch reads on the measured driver; ids without a value are unreadable there.
PLAIN: Mapping[int, AttributeValue | None] = {
    AttributeId.ACCESS_POLICY_WINDOW: AccessPolicyWindow(
        base_address=0, size_bytes=0, hit_ratio_bits=0, hit_property=0, miss_property=0
    ),
    AttributeId.COOPERATIVE: 0,
    AttributeId.SYNCHRONIZATION_POLICY: None,
    AttributeId.CLUSTER_DIMENSION: ClusterDim(x=0, y=0, z=0),
    AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE: 1,
    AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION: None,
    AttributeId.PROGRAMMATIC_EVENT: None,
    AttributeId.PRIORITY: 0,
    AttributeId.MEM_SYNC_DOMAIN_MAP: MemSyncDomainMap(default=0, remote=1),
    AttributeId.MEM_SYNC_DOMAIN: 0,
    AttributeId.PREFERRED_CLUSTER_DIMENSION: None,
    AttributeId.LAUNCH_COMPLETION_EVENT: None,
    AttributeId.DEVICE_UPDATABLE_KERNEL_NODE: DeviceUpdatableNode(device_updatable=0, device_node=0),
    AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT: 0,
    AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING: None,
}
_NEWER_THAN_THE_DRIVER = (AttributeId.PORTABLE_CLUSTER_SIZE_MODE, AttributeId.SHARED_MEMORY_MODE)

FACTS = FunctionFacts(
    parameters=(),
    max_threads_per_block=1024,
    static_shared_mem_bytes=0,
    const_mem_bytes=0,
    local_mem_bytes=0,
    registers=32,
    ptx_version=90,
    binary_version=90,
    cache_mode_ca=0,
    max_dynamic_shared_mem_bytes=49152,
    preferred_shared_mem_carveout=-1,
    cluster_size_must_be_set=0,
    required_cluster_dim=Dim3(x=0, y=0, z=0),
    non_portable_cluster_size_allowed=0,
    cluster_scheduling_policy_preference=0,
    code_sha256="ab" * 32,
)


#: Code of a device that may follow a preferred cluster dimension.
BLACKWELL = msgspec.structs.replace(FACTS, binary_version=103)


def value(attribute_id: int, given: AttributeValue, *, observed: bool = False) -> LaunchAttribute:
    """Return an attribute with a value."""
    return LaunchAttribute(id=attribute_id, state="value", origin="launch" if observed else "node", value=given)


def without_value(attribute_id: int, state: AttributeState = "unreadable") -> LaunchAttribute:
    """Return an attribute without a value."""
    return LaunchAttribute(id=attribute_id, state=state, origin="node", value=None)


def attributes(*changed: LaunchAttribute, drop: Iterable[int] = ()) -> tuple[LaunchAttribute, ...]:
    """Return what the measured driver gives for a plain launch, with some entries changed or left out."""
    plain = {int(i): without_value(i) if known is None else value(i, known) for i, known in PLAIN.items()} | {
        int(i): without_value(i, "unsupported") for i in _NEWER_THAN_THE_DRIVER
    }
    plain |= {entry.id: entry for entry in changed}
    return tuple(plain[i] for i in sorted(plain) if i not in set(drop))


def cluster(x: int, y: int = 1, z: int = 1) -> LaunchAttribute:
    """Return attribute 4; x 0 means no cluster."""
    return value(AttributeId.CLUSTER_DIMENSION, ClusterDim(x=x, y=y if x else 0, z=z if x else 0))


def cooperative(*, on: bool = True) -> LaunchAttribute:
    """Return attribute 2."""
    return value(AttributeId.COOPERATIVE, int(on))


def kernel(  # noqa: PLR0913  a kernel node has that many parts
    *changed: LaunchAttribute,
    name: str = "probe",
    kern: int = 0,
    func: int = 0xF0,
    context: int = CONTEXT,
    grid: int = 8,
    block: int = 64,
    shared: int = 0,
    function: FunctionFacts | None = FACTS,
    drop: Iterable[int] = (),
    only: tuple[LaunchAttribute, ...] | None = None,
) -> KernelNodeSignature:
    """Return a kernel node as the measured driver gives it, or with these attributes only."""
    return KernelNodeSignature(
        name=name,
        kern=kern,
        func=func,
        context=context,
        grid_dim=Dim3(x=grid, y=1, z=1),
        block_dim=Dim3(x=block, y=1, z=1),
        dynamic_shared_mem_bytes=shared,
        attributes=attributes(*changed, drop=drop) if only is None else only,
        function=function,
    )


def pointer(memory_type: int = DEVICE, device: int = 0, context: int = CONTEXT) -> PointerFacts:
    """Return the facts of an address."""
    return PointerFacts(memory_type=memory_type, device_ordinal=device, context=context, managed=False)


def operand(
    memory_type: int = DEVICE, address: int = 0x1000, *, pitch: int = 0, facts: PointerFacts | None = None
) -> MemcpyOperand:
    """Return a side of a copy."""
    return MemcpyOperand(
        memory_type=memory_type,
        address=address,
        x_bytes=0,
        y=0,
        z=0,
        lod=0,
        pitch_bytes=pitch,
        height_rows=0,
        pointer=facts or pointer(memory_type),
    )


def memcpy(
    source: MemcpyOperand | None = None, destination: MemcpyOperand | None = None, *, width: int = 64, height: int = 1
) -> MemcpyNode:
    """Return a copy, from device to device where nothing is said."""
    return MemcpyNode(
        source=source or operand(address=0x1000),
        destination=destination or operand(address=0x2000),
        width_bytes=width,
        height=height,
        depth=1,
    )


def memset(  # noqa: PLR0913  a fill has that many parts
    *, fill: int = 0, width: int = 64, height: int = 1, size: int = 4, pitch: int = 256, destination: int = 0x1000
) -> MemsetNode:
    """Return a fill."""
    return MemsetNode(
        destination=destination,
        pointer=pointer(),
        value=fill,
        element_size_bytes=size,
        width=width,
        height=height,
        pitch_bytes=pitch,
    )


def edge(node: int, from_port: int = 0, to_port: int = 0, kind: int = 0) -> Dependency:
    """Return a dependency."""
    return Dependency(node=node, from_port=from_port, to_port=to_port, type=kind)


def graph(*nodes: NodeSignature, edges: Iterable[Iterable[int | Dependency]] | None = None) -> GraphSignature:
    """Return a graph: a chain, or with the dependencies given for each node."""
    given = [[i - 1] if i else [] for i in range(len(nodes))] if edges is None else edges
    dependencies = tuple(tuple(edge(d) if isinstance(d, int) else d for d in into) for into in given)
    return GraphSignature(nodes=nodes, dependencies=dependencies)


def child(*nodes: NodeSignature) -> ChildGraphNode:
    """Return a child graph node that holds a chain."""
    return ChildGraphNode(graph=graph(*nodes))


def environment(version: int | None = 13000, capability: tuple[int, int] = (9, 0)) -> Environment:
    """Return the environment of a dump."""
    device = DeviceInfo(
        ordinal=0,
        name="NVIDIA H200",
        compute_capability_major=capability[0],
        compute_capability_minor=capability[1],
    )
    return Environment(
        sigcontract_version="0.1.0",
        created_at="2026-12-01T00:00:00Z",
        hostname=None,
        process_id=None,
        rank=None,
        world_size=None,
        cuda_driver_version=version,
        display_driver_version=None,
        devices=(device,),
        libraries=(),
    )


#: The environment that the profile was measured in.
ENVIRONMENT = environment()


def _shipped(name: str) -> DriverProfile:
    profile = decode((files("sigcontract.profiles") / f"{name}.json").read_bytes())
    assert isinstance(profile, DriverProfile)
    return profile


#: The measured driver: H200, driver 580.159.04 (CUDA 13.0), 2026-12-01.
H200 = _shipped("nvidia-h200-cuda-13.0")
