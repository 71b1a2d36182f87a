"""Launch attributes of a kernel node: what was asked, what was answered, and where it was seen."""

from collections.abc import Iterable
from enum import IntEnum
from struct import pack, unpack
from typing import Annotated, Literal

from msgspec import Meta

from sigcontract.errors import InvariantError
from sigcontract.model.dims import Dim3
from sigcontract.model.record import Handle, Int32, Record, Size, UInt32

__all__ = [
    "VALUE_TYPES",
    "AccessPolicyWindow",
    "AttributeId",
    "AttributeOrigin",
    "AttributeState",
    "AttributeValue",
    "ClusterDim",
    "DeviceUpdatableNode",
    "LaunchAttribute",
    "LaunchCompletionEvent",
    "MemSyncDomainMap",
    "ProgrammaticEvent",
    "RawValue",
    "check_attribute_order",
]


class AttributeId(IntEnum):
    """CUlaunchAttributeID, every id of the public headers CUDA 12.0 to 13.5."""

    IGNORE = 0
    ACCESS_POLICY_WINDOW = 1
    COOPERATIVE = 2
    SYNCHRONIZATION_POLICY = 3
    CLUSTER_DIMENSION = 4
    CLUSTER_SCHEDULING_POLICY_PREFERENCE = 5
    PROGRAMMATIC_STREAM_SERIALIZATION = 6
    PROGRAMMATIC_EVENT = 7
    PRIORITY = 8
    MEM_SYNC_DOMAIN_MAP = 9
    MEM_SYNC_DOMAIN = 10
    PREFERRED_CLUSTER_DIMENSION = 11
    LAUNCH_COMPLETION_EVENT = 12
    DEVICE_UPDATABLE_KERNEL_NODE = 13
    PREFERRED_SHARED_MEMORY_CARVEOUT = 14
    NVLINK_UTIL_CENTRIC_SCHEDULING = 16
    PORTABLE_CLUSTER_SIZE_MODE = 17
    SHARED_MEMORY_MODE = 18


AttributeState = Literal["value", "unreadable", "unsupported"]
AttributeOrigin = Literal["node", "launch"]


class ClusterDim(Record, frozen=True, kw_only=True, tag_field="type", tag="cluster_dim"):
    """Blocks per cluster (ids 4 and 11). All zero means no cluster, which is not the same as 1x1x1."""

    x: Annotated[UInt32, Meta(description="Blocks per cluster along x (clusterDim.x).")]
    y: Annotated[UInt32, Meta(description="Blocks per cluster along y (clusterDim.y).")]
    z: Annotated[UInt32, Meta(description="Blocks per cluster along z (clusterDim.z).")]

    @property
    def dim(self) -> Dim3 | None:
        """The extents in blocks, or None for no cluster."""
        return Dim3(x=self.x, y=self.y, z=self.z) if self.x or self.y or self.z else None


class AccessPolicyWindow(Record, frozen=True, kw_only=True, tag_field="type", tag="access_policy_window"):
    """CUaccessPolicyWindow (id 1)."""

    base_address: Annotated[Handle, Meta(description="Start of the window, an address of this process (base_ptr).")]
    size_bytes: Annotated[Size, Meta(description="Bytes in the window (num_bytes).")]
    hit_ratio_bits: Annotated[
        UInt32, Meta(description="IEEE 754 binary32 bits of hitRatio: exact, where a decimal float would not be.")
    ]
    hit_property: Annotated[Int32, Meta(description="CUaccessProperty on hit (hitProp).")]
    miss_property: Annotated[Int32, Meta(description="CUaccessProperty on miss (missProp).")]

    @property
    def hit_ratio(self) -> float:
        """The hit ratio, 0 to 1."""
        (ratio,) = unpack("<f", pack("<I", self.hit_ratio_bits))
        return float(ratio)


class MemSyncDomainMap(Record, frozen=True, kw_only=True, tag_field="type", tag="mem_sync_domain_map"):
    """CUlaunchMemSyncDomainMap (id 9)."""

    default: Annotated[int, Meta(ge=0, le=255, description="Domain of the default domain (default_).")]
    remote: Annotated[int, Meta(ge=0, le=255, description="Domain of the remote domain (remote).")]


class ProgrammaticEvent(Record, frozen=True, kw_only=True, tag_field="type", tag="programmatic_event"):
    """programmaticEvent (id 7): launch-only, a captured graph carries it as an edge."""

    event: Annotated[Handle, Meta(description="CUevent, a number of this process (event).")]
    flags: Annotated[Int32, Meta(description="Event record flags (flags).")]
    trigger_at_block_start: Annotated[Int32, Meta(description="Not 0: triggers at block start (triggerAtBlockStart).")]


class LaunchCompletionEvent(Record, frozen=True, kw_only=True, tag_field="type", tag="launch_completion_event"):
    """launchCompletionEvent (id 12): launch-only."""

    event: Annotated[Handle, Meta(description="CUevent, a number of this process (event).")]
    flags: Annotated[Int32, Meta(description="Event record flags (flags).")]


class DeviceUpdatableNode(Record, frozen=True, kw_only=True, tag_field="type", tag="device_updatable_node"):
    """deviceUpdatableKernelNode (id 13)."""

    device_updatable: Annotated[Int32, Meta(description="Not 0: the device may update this node (deviceUpdatable).")]
    device_node: Annotated[Handle, Meta(description="CUgraphDeviceNode, a number of this process (devNode).")]


class RawValue(Record, frozen=True, kw_only=True, tag_field="type", tag="raw"):
    """The 64 bytes of CUlaunchAttributeValue, for an id that this version does not know."""

    hex: Annotated[
        str, Meta(pattern=r"^[0-9a-f]{128}(?![\s\S])", description="The union's 64 bytes, lower-case hexadecimal.")
    ]


AttributeValue = (
    Annotated[int, Meta(ge=-(2**31), le=2**32 - 1)]
    | ClusterDim
    | AccessPolicyWindow
    | MemSyncDomainMap
    | ProgrammaticEvent
    | LaunchCompletionEvent
    | DeviceUpdatableNode
    | RawValue
)


class LaunchAttribute(Record, frozen=True, kw_only=True):
    """One launch attribute of a kernel node, as it was asked for: present even where the driver refused."""

    id: Annotated[int, Meta(ge=0, le=2**31 - 1, description="CUlaunchAttributeID, also ids that have no name here.")]
    state: Annotated[
        AttributeState,
        Meta(
            description="value: known; unreadable: the driver has the attribute and refused to give it; "
            "unsupported: this driver does not know the id."
        ),
    ]
    origin: Annotated[
        AttributeOrigin,
        Meta(description="node: asked of the graph node (cuGraphKernelNodeGetAttribute); launch: seen at the launch."),
    ]
    value: Annotated[
        AttributeValue | None,
        Meta(description="The value where state is value, else null. Integers for ids 2, 3, 5, 6, 8, 10, 14, 16-18."),
    ]

    def __post_init__(self) -> None:
        if self.state != "value":
            if self.value is not None:
                msg = f"an attribute that is {self.state} has no value, not {self.value!r}; set it to null"
                raise InvariantError(msg, path="$.value")
            return
        expected = VALUE_TYPES.get(self.id, RawValue)
        if not isinstance(self.value, expected):
            msg = f"the value of {self.name} is of type {expected.__name__}, not {type(self.value).__name__}"
            raise InvariantError(msg, path="$.value")

    def __repr__(self) -> str:
        known = f"={self.value!r}" if self.state == "value" else f" {self.state}"
        seen = "" if self.origin == "node" else f", {self.origin}"
        return f"LaunchAttribute({self.name}{known}{seen})"

    @property
    def name(self) -> str:
        """The id's CUDA name in lower case, or ``attribute_15`` for an id without one."""
        try:
            return AttributeId(self.id).name.lower()
        except ValueError:
            return f"attribute_{self.id}"


#: What the union holds for each id that has a name here. Any other id keeps its bytes.
VALUE_TYPES: dict[int, type] = {
    AttributeId.ACCESS_POLICY_WINDOW: AccessPolicyWindow,
    AttributeId.COOPERATIVE: int,
    AttributeId.SYNCHRONIZATION_POLICY: int,
    AttributeId.CLUSTER_DIMENSION: ClusterDim,
    AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE: int,
    AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION: int,
    AttributeId.PROGRAMMATIC_EVENT: ProgrammaticEvent,
    AttributeId.PRIORITY: int,
    AttributeId.MEM_SYNC_DOMAIN_MAP: MemSyncDomainMap,
    AttributeId.MEM_SYNC_DOMAIN: int,
    AttributeId.PREFERRED_CLUSTER_DIMENSION: ClusterDim,
    AttributeId.LAUNCH_COMPLETION_EVENT: LaunchCompletionEvent,
    AttributeId.DEVICE_UPDATABLE_KERNEL_NODE: DeviceUpdatableNode,
    AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT: int,
    AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING: int,
    AttributeId.PORTABLE_CLUSTER_SIZE_MODE: int,
    AttributeId.SHARED_MEMORY_MODE: int,
}


def check_attribute_order(ids: Iterable[int], path: str) -> None:
    """Raise InvariantError, at an entry under ``path``, unless ids ascend and none comes twice."""
    previous = -1
    for place, attribute_id in enumerate(ids):
        if attribute_id <= previous:
            msg = f"attribute {attribute_id} follows {previous}; list each id once, ascending"
            raise InvariantError(msg, path=f"{path}[{place}].id")
        previous = attribute_id
