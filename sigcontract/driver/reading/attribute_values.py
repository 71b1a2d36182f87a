"""Conversion between the 64 bytes of CUlaunchAttributeValue and typed values.

Uses our own layouts, not the bindings' union: its enums raise on unknown values, and its members are views that outlive
their memory.
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

#: The CUDA version whose cuda.h introduced the id. IGNORE (0) is not an attribute and is never queried.
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

#: Attributes that only a launch can carry (cuda.h: not valid for streams). An observed launch without one ran with the
#: default, which is all zero bytes. Other attributes may come from the launch's stream.
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
#: Members of the union, with fields in the record's order.
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
    """Return a handle, address or size unchanged if a document can hold it exactly.

    Raises
    ------
    GraphReadError
        It exceeds 2**53 - 1, the limit of exact JSON numbers. No address on current processors does.
    """
    if value > MAX_EXACT_INT:
        msg = f"{what} is {value:#x}; numbers above 2**53 - 1 cannot be recorded exactly: please report this"
        raise GraphReadError(msg)
    return value


def decode_attribute(attribute_id: int, data: bytes) -> AttributeValue:
    """Decode a CUlaunchAttributeValue.

    Parameters
    ----------
    attribute_id
        CUlaunchAttributeID; one without a type here yields a `RawValue`.
    data
        The union's 64 bytes.

    Raises
    ------
    GraphReadError
        The data is not 64 bytes long, or contains a handle too large for a record.
    """
    if len(data) != ATTRIBUTE_VALUE_BYTES:
        msg = f"the value of launch attribute {attribute_id} has {len(data)} bytes; pass the union's 64 bytes"
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
        The value has the wrong type for the attribute.
    """
    if isinstance(value, RawValue):
        return bytes.fromhex(value.hex)
    kind, layout = _LAYOUTS.get(attribute_id, (RawValue, _INT))
    if not isinstance(value, kind):
        msg = f"the value of launch attribute {attribute_id} must be of type {kind.__name__}, not {value!r}"
        raise GraphReadError(msg)
    fields = (value,) if isinstance(value, int) else astuple(value)
    return layout.pack(*fields).ljust(ATTRIBUTE_VALUE_BYTES, b"\0")


def used_bytes(attribute_id: int) -> int:
    """Return how many of the 64 bytes an id uses; the content of the others is undefined."""
    return _LAYOUTS[attribute_id][1].size if attribute_id in _LAYOUTS else ATTRIBUTE_VALUE_BYTES
