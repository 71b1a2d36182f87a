"""The 64 bytes of CUlaunchAttributeValue as typed values, and back.

Decoded from the bytes by our own layout, never through the bindings' union: its enums raise on values that they do
not know, and its members are views that outlive what they look into.
"""

from struct import Struct
from typing import Any

from msgspec.structs import astuple

from sigcontract.driver.cuda import (
    ATTRIBUTE_VALUE_BYTES,
)
from sigcontract.errors import GraphReadError
from sigcontract.model import (
    MAX_EXACT_INT,
    VALUE_TYPES,
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

__all__ = [
    "ATTRIBUTE_CUDA_VERSION",
    "ZERO_WHERE_NOT_PASSED",
    "decode_attribute",
    "encode_attribute",
    "exact",
    "used_bytes",
]

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

_INT, _UINT = Struct("<i"), Struct("<I")
_UNSIGNED = frozenset({AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT, AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING})
#: Members of the union, their fields in the order of the record's.
_STRUCTS: dict[type, Struct] = {
    ClusterDim: Struct("<III"),
    AccessPolicyWindow: Struct("<QQIii"),
    MemSyncDomainMap: Struct("<BB"),
    ProgrammaticEvent: Struct("<Qii"),
    LaunchCompletionEvent: Struct("<Qi"),
    DeviceUpdatableNode: Struct("<i4xQ"),
}
_LAYOUTS: dict[int, tuple[type[Any], Struct]] = {
    attribute_id: (kind, _STRUCTS.get(kind, _UINT if attribute_id in _UNSIGNED else _INT))
    for attribute_id, kind in VALUE_TYPES.items()
}


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
    if attribute_id not in _LAYOUTS:
        return RawValue(hex=data.hex())
    kind, layout = _LAYOUTS[attribute_id]
    values = layout.unpack_from(data)
    if kind is int:
        return int(values[0])
    names = zip(kind.__struct_fields__, values, strict=True)
    value: AttributeValue = kind(**{name: exact(field, f"{kind.__name__}.{name}") for name, field in names})
    return value


def encode_attribute(attribute_id: int, value: AttributeValue) -> bytes:
    """Encode a typed value as the 64 bytes of CUlaunchAttributeValue; the inverse of `decode_attribute`.

    Raises
    ------
    GraphReadError
        The attribute holds another type.
    """
    if isinstance(value, RawValue):
        return bytes.fromhex(value.hex)
    kind, layout = _LAYOUTS.get(attribute_id, (RawValue, _INT))
    if not isinstance(value, kind):
        msg = f"the value of launch attribute {attribute_id} is of type {kind.__name__}, not {value!r}"
        raise GraphReadError(msg)
    fields = (value,) if isinstance(value, int) else astuple(value)
    return layout.pack(*fields).ljust(ATTRIBUTE_VALUE_BYTES, b"\0")


def used_bytes(attribute_id: int) -> int:
    """Return how many of the 64 bytes an id uses; what a caller left in the others is noise."""
    return _LAYOUTS[attribute_id][1].size if attribute_id in _LAYOUTS else ATTRIBUTE_VALUE_BYTES
