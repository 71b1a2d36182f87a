"""CUDA's words for the numbers of its enumerations, and hexadecimal for handles and addresses."""

import re
from collections.abc import Mapping
from struct import pack, unpack
from typing import Final

__all__ = ["CONDITIONAL", "HANDLE_FIELDS", "LOCATION", "MEMORY", "OPERATION", "value_word"]

#: CUmemorytype.
MEMORY: Final[Mapping[int, str]] = {1: "host", 2: "device", 3: "array", 4: "unified"}
#: CUgraphConditionalNodeType.
CONDITIONAL: Final[Mapping[int, str]] = {0: "if", 1: "while", 2: "switch"}
#: CUmemLocationType.
LOCATION: Final[Mapping[int, str]] = {0: "invalid", 1: "device", 2: "host", 3: "host_numa", 4: "host_numa_current"}
#: CUstreamBatchMemOpType.
OPERATION: Final[Mapping[int, str]] = {
    1: "wait_value_32",
    2: "write_value_32",
    3: "flush_remote_writes",
    4: "wait_value_64",
    5: "write_value_64",
    6: "barrier",
}
#: CUaccessProperty.
_ACCESS: Final[Mapping[int, str]] = {0: "normal", 1: "streaming", 2: "persisting"}
#: Last name in a field's path; the words for its numbers.
_WORDS: Final[Mapping[str, Mapping[int, str]]] = {
    "memory_type": MEMORY,
    "kind": CONDITIONAL,
    "location_type": LOCATION,
    "operation": OPERATION,
    # CUmemAllocationType, CUmemAllocationHandleType.
    "allocation_type": {0: "invalid", 1: "pinned", 2: "managed"},
    "handle_types": {0: "none", 1: "posix_file_descriptor", 2: "win32", 4: "win32_kmt", 8: "fabric"},
    # CUclusterSchedulingPolicy, CUlaunchMemSyncDomain, CUsynchronizationPolicy.
    "cluster_scheduling_policy_preference": {0: "default", 1: "spread", 2: "load_balancing"},
    "mem_sync_domain": {0: "default", 1: "remote"},
    "hit_property": _ACCESS,
    "miss_property": _ACCESS,
    "synchronization_policy": {1: "auto", 2: "spin", 3: "yield", 4: "blocking_sync"},
}
#: Of edges: CUgraphDependencyType, CUgraphKernelNodePort.
_EDGE_WORDS: Final[Mapping[str, Mapping[int, str]]] = {
    "type": {0: "default", 1: "programmatic"},
    "from_port": {0: "default", 1: "programmatic", 2: "launch_order"},
}
HANDLE_FIELDS: Final = frozenset(
    {
        "address",
        "context",
        "destination",
        "event",
        "func",
        "function_address",
        "kern",
        "user_data",
        "device_node",
        "base_address",
    }
)
_LAST = re.compile(r"([a-z_0-9]+)\]?\Z")


def value_word(field: str, value: int | str | None) -> int | str | None:
    """Return the word for a field's number, a handle or an address in hexadecimal, anything else unchanged."""
    last = _LAST.search(field)
    if last is None or not isinstance(value, int):
        return value
    if last[1] in HANDLE_FIELDS:
        return f"{value:#x}"
    if last[1] == "hit_ratio_bits":
        (ratio,) = unpack("<f", pack("<I", value))
        return f"{value:#x} ({ratio:.9g})"
    words = _EDGE_WORDS if field.startswith("dependencies") else _WORDS
    return words.get(last[1], {}).get(value, value)
