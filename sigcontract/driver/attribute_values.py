"""The 64 bytes of CUlaunchAttributeValue as typed values, and back.

Decoded from the bytes by our own layout, never through the bindings' union: its enums raise on values that they do
not know, and its members are views that outlive what they look into.
"""

from struct import Struct

from sigcontract.driver.layouts import ATTRIBUTE_VALUE_BYTES
from sigcontract.errors import GraphReadError
from sigcontract.model.attributes import (
    AccessPolicyWindow,
    AttributeId,
    AttributeValue,
    ClusterDim,
    DeviceUpdatableNode,
    LaunchCompletionEvent,
    MemSyncDomainMap,
    ProgrammaticEvent,
    RawValue,
)
from sigcontract.model.record import MAX_EXACT_INT

__all__ = ["ATTRIBUTE_CUDA_VERSION", "ZERO_WHERE_NOT_PASSED", "decode_attribute", "encode_attribute", "exact"]

#: The CUDA version whose cuda.h first has the id. IGNORE (0) is no attribute and is never asked for.
ATTRIBUTE_CUDA_VERSION: dict[int, int] = {
    int(AttributeId.ACCESS_POLICY_WINDOW): 12000,
    int(AttributeId.COOPERATIVE): 12000,
    int(AttributeId.SYNCHRONIZATION_POLICY): 12000,
    int(AttributeId.CLUSTER_DIMENSION): 12000,
    int(AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE): 12000,
    int(AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION): 12000,
    int(AttributeId.PROGRAMMATIC_EVENT): 12000,
    int(AttributeId.PRIORITY): 12000,
    int(AttributeId.MEM_SYNC_DOMAIN_MAP): 12000,
    int(AttributeId.MEM_SYNC_DOMAIN): 12000,
    int(AttributeId.PREFERRED_CLUSTER_DIMENSION): 12080,
    int(AttributeId.LAUNCH_COMPLETION_EVENT): 12030,
    int(AttributeId.DEVICE_UPDATABLE_KERNEL_NODE): 12040,
    int(AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT): 12050,
    int(AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING): 13000,
    int(AttributeId.PORTABLE_CLUSTER_SIZE_MODE): 13020,
    int(AttributeId.SHARED_MEMORY_MODE): 13020,
}

#: Attributes that only a launch can carry (cuda.h: not valid for streams): a launch that was seen without them ran
#: with the default, whose bytes are all zero. The others may come from the stream that the launch went to.
ZERO_WHERE_NOT_PASSED = frozenset(
    {
        AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION,
        AttributeId.PROGRAMMATIC_EVENT,
        AttributeId.PREFERRED_CLUSTER_DIMENSION,
        AttributeId.LAUNCH_COMPLETION_EVENT,
        AttributeId.PORTABLE_CLUSTER_SIZE_MODE,
        AttributeId.SHARED_MEMORY_MODE,
    }
)

_SIGNED = frozenset(
    {
        AttributeId.COOPERATIVE,
        AttributeId.SYNCHRONIZATION_POLICY,
        AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE,
        AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION,
        AttributeId.PRIORITY,
        AttributeId.MEM_SYNC_DOMAIN,
        AttributeId.PORTABLE_CLUSTER_SIZE_MODE,
        AttributeId.SHARED_MEMORY_MODE,
    }
)
_UNSIGNED = frozenset({AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT, AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING})
_CLUSTER = frozenset({AttributeId.CLUSTER_DIMENSION, AttributeId.PREFERRED_CLUSTER_DIMENSION})

_INT = Struct("<i")
_UINT = Struct("<I")
_DIM = Struct("<III")
_WINDOW = Struct("<QQIii")
_DOMAIN_MAP = Struct("<BB")
_PROGRAMMATIC_EVENT = Struct("<Qii")
_COMPLETION_EVENT = Struct("<Qi")
_UPDATABLE = Struct("<i4xQ")


def exact(value: int, what: str) -> int:
    """Return a handle, address or size that a document can hold exactly.

    Raises
    ------
    GraphReadError
        It is above 2**53 - 1, which JSON numbers do not carry exactly. No address of today's processors is.
    """
    if value > MAX_EXACT_INT:
        msg = f"{what} is {value:#x}, above 2**53 - 1; such a number cannot be recorded exactly: report this"
        raise GraphReadError(msg)
    return value


def decode_attribute(attribute_id: int, data: bytes) -> AttributeValue:
    """Decode a CUlaunchAttributeValue.

    Parameters
    ----------
    attribute_id
        CUlaunchAttributeID; one that has no type here gives a `RawValue`.
    data
        The union's 64 bytes.

    Raises
    ------
    GraphReadError
        There are not 64 bytes, or a handle in them is too large for a record.
    """
    if len(data) != ATTRIBUTE_VALUE_BYTES:
        msg = f"the value of launch attribute {attribute_id} has {len(data)} bytes; give the union's 64 bytes"
        raise GraphReadError(msg)
    if attribute_id in _SIGNED:
        return int(_INT.unpack_from(data)[0])
    if attribute_id in _CLUSTER:
        x, y, z = _DIM.unpack_from(data)
        return ClusterDim(x=x, y=y, z=z)
    if attribute_id in _UNSIGNED:
        return int(_UINT.unpack_from(data)[0])
    return _decode_struct(attribute_id, data)


def _decode_struct(attribute_id: int, data: bytes) -> AttributeValue:
    match attribute_id:
        case AttributeId.ACCESS_POLICY_WINDOW:
            base, size, ratio, hit, miss = _WINDOW.unpack_from(data)
            return AccessPolicyWindow(
                base_address=exact(base, "accessPolicyWindow.base_ptr"),
                size_bytes=exact(size, "accessPolicyWindow.num_bytes"),
                hit_ratio_bits=ratio,
                hit_property=hit,
                miss_property=miss,
            )
        case AttributeId.MEM_SYNC_DOMAIN_MAP:
            default, remote = _DOMAIN_MAP.unpack_from(data)
            return MemSyncDomainMap(default=default, remote=remote)
        case AttributeId.PROGRAMMATIC_EVENT:
            event, flags, at_block_start = _PROGRAMMATIC_EVENT.unpack_from(data)
            return ProgrammaticEvent(
                event=exact(event, "programmaticEvent.event"), flags=flags, trigger_at_block_start=at_block_start
            )
        case AttributeId.LAUNCH_COMPLETION_EVENT:
            event, flags = _COMPLETION_EVENT.unpack_from(data)
            return LaunchCompletionEvent(event=exact(event, "launchCompletionEvent.event"), flags=flags)
        case AttributeId.DEVICE_UPDATABLE_KERNEL_NODE:
            updatable, node = _UPDATABLE.unpack_from(data)
            return DeviceUpdatableNode(
                device_updatable=updatable, device_node=exact(node, "deviceUpdatableKernelNode.devNode")
            )
        case _:
            return RawValue(hex=data.hex())


def encode_attribute(attribute_id: int, value: AttributeValue) -> bytes:
    """Encode a typed value as the 64 bytes of CUlaunchAttributeValue; the inverse of `decode_attribute`.

    Raises
    ------
    GraphReadError
        An integer was given for an attribute that is none.
    """
    if isinstance(value, int) and attribute_id not in _SIGNED | _UNSIGNED:
        msg = f"launch attribute {attribute_id} is not an integer; give a typed value or a RawValue"
        raise GraphReadError(msg)
    return _pack(attribute_id, value).ljust(ATTRIBUTE_VALUE_BYTES, b"\0")


def _pack(attribute_id: int, value: AttributeValue) -> bytes:  # noqa: PLR0911  one answer a type
    match value:
        case int():
            return (_UINT if attribute_id in _UNSIGNED else _INT).pack(value)
        case ClusterDim():
            return _DIM.pack(value.x, value.y, value.z)
        case AccessPolicyWindow():
            return _WINDOW.pack(
                value.base_address, value.size_bytes, value.hit_ratio_bits, value.hit_property, value.miss_property
            )
        case MemSyncDomainMap():
            return _DOMAIN_MAP.pack(value.default, value.remote)
        case ProgrammaticEvent():
            return _PROGRAMMATIC_EVENT.pack(value.event, value.flags, value.trigger_at_block_start)
        case LaunchCompletionEvent():
            return _COMPLETION_EVENT.pack(value.event, value.flags)
        case DeviceUpdatableNode():
            return _UPDATABLE.pack(value.device_updatable, value.device_node)
        case RawValue():
            return bytes.fromhex(value.hex)
