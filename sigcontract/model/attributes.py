"""Launch attributes of a kernel node: the id queried, the driver's answer, and its origin."""

from collections.abc import Iterable
from struct import pack, unpack
from typing import Annotated, Literal

from msgspec import Meta

from sigcontract.errors import InvariantError
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dims import Dim3
from sigcontract.model.handles import handle
from sigcontract.model.record import Handle, Int32, Record, Size, UInt32

__all__ = [
    "VALUE_TYPES",
    "AccessPolicyWindow",
    "AttributeInteger",
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


AttributeState = Literal["value", "unreadable", "unsupported"]
AttributeOrigin = Literal["node", "launch"]


class ClusterDim(Record, frozen=True, kw_only=True, tag_field="type", tag="cluster_dim"):
    """Blocks per cluster (ids 4 and 11). All zero means no cluster, which differs from 1x1x1."""

    x: Annotated[UInt32, Meta(description="Blocks per cluster along x (clusterDim.x).")]
    y: Annotated[UInt32, Meta(description="Blocks per cluster along y (clusterDim.y).")]
    z: Annotated[UInt32, Meta(description="Blocks per cluster along z (clusterDim.z).")]

    @property
    def dim(self) -> Dim3 | None:
        """The extents in blocks, or None for no cluster."""
        return Dim3(x=self.x, y=self.y, z=self.z) if self.x or self.y or self.z else None


class AccessPolicyWindow(Record, frozen=True, kw_only=True, tag_field="type", tag="access_policy_window"):
    """CUaccessPolicyWindow (id 1)."""

    base_address: Annotated[
        Handle, Meta(description="Process-local start address of the window (base_ptr).", extra=handle("memory"))
    ]
    size_bytes: Annotated[Size, Meta(description="Window size, in bytes (num_bytes).")]
    hit_ratio_bits: Annotated[
        UInt32, Meta(description="IEEE 754 binary32 bits of hitRatio: exact, unlike a decimal number.")
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

    default: Annotated[int, Meta(ge=0, le=255, description="Domain that the default domain maps to (default_).")]
    remote: Annotated[int, Meta(ge=0, le=255, description="Domain that the remote domain maps to (remote).")]


class ProgrammaticEvent(Record, frozen=True, kw_only=True, tag_field="type", tag="programmatic_event"):
    """programmaticEvent (id 7): launch-only; a captured graph represents it as an edge."""

    event: Annotated[Handle, Meta(description="Process-local CUevent handle (event).", extra=handle("event"))]
    flags: Annotated[Int32, Meta(description="Event record flags (flags).")]
    trigger_at_block_start: Annotated[
        Int32, Meta(description="Nonzero: triggers at block start (triggerAtBlockStart).")
    ]


class LaunchCompletionEvent(Record, frozen=True, kw_only=True, tag_field="type", tag="launch_completion_event"):
    """launchCompletionEvent (id 12): launch-only."""

    event: Annotated[Handle, Meta(description="Process-local CUevent handle (event).", extra=handle("event"))]
    flags: Annotated[Int32, Meta(description="Event record flags (flags).")]


class DeviceUpdatableNode(Record, frozen=True, kw_only=True, tag_field="type", tag="device_updatable_node"):
    """deviceUpdatableKernelNode (id 13)."""

    device_updatable: Annotated[Int32, Meta(description="Nonzero: the device may update this node (deviceUpdatable).")]
    device_node: Annotated[
        Handle, Meta(description="Process-local CUgraphDeviceNode handle (devNode).", extra=handle("device_node"))
    ]


class RawValue(Record, frozen=True, kw_only=True, tag_field="type", tag="raw"):
    """The 64 bytes of CUlaunchAttributeValue, for an id unknown to this version."""

    hex: Annotated[
        str, Meta(pattern=r"^[0-9a-f]{128}(?![\s\S])", description="The union's 64 bytes, lower-case hexadecimal.")
    ]


#: Of the attributes that are one number: a signed or an unsigned 32-bit integer of the union.
AttributeInteger = Annotated[int, Meta(ge=-(2**31), le=2**32 - 1)]
AttributeValue = (
    AttributeInteger
    | ClusterDim
    | AccessPolicyWindow
    | MemSyncDomainMap
    | ProgrammaticEvent
    | LaunchCompletionEvent
    | DeviceUpdatableNode
    | RawValue
)


class LaunchAttribute(Record, frozen=True, kw_only=True):
    """One launch attribute queried for a kernel node; present even if the driver refused to return it."""

    id: Annotated[int, Meta(ge=0, le=2**31 - 1, description="CUlaunchAttributeID, including ids without a name here.")]
    state: Annotated[
        AttributeState,
        Meta(
            description="value: known; unreadable: the driver has the attribute and refused to return it; "
            "unsupported: this driver does not know the id."
        ),
    ]
    origin: Annotated[
        AttributeOrigin,
        Meta(description="node: read from the node (cuGraphKernelNodeGetAttribute); launch: observed at the launch."),
    ]
    value: Annotated[
        AttributeValue | None,
        Meta(description="The value if state is value, else null. Integer for ids 2, 3, 5, 6, 8, 10, 14, 16-18."),
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


#: The type of the union's value for each id named here. Other ids keep their bytes.
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
    for index, attribute_id in enumerate(ids):
        if attribute_id <= previous:
            msg = f"attribute {attribute_id} follows {previous}; list each id once, ascending"
            raise InvariantError(msg, path=f"{path}[{index}].id")
        previous = attribute_id
