"""CUDA's enumerations and constants used by sigcontract, each defined once.

Values are those of the public headers of CUDA 12.0 to 13.5, which never change; a test compares them with the installed
bindings.
"""

from enum import IntEnum
from typing import Final

__all__ = [
    "CLUSTERS_SINCE",
    "EXEC_BYTES_PER_NODE",
    "MAX_HANDLE",
    "PREFERRED_CLUSTERS_SINCE",
    "STREAM_PER_THREAD",
    "STREAM_WAIT_VALUE_FLUSH",
    "AttributeId",
    "CaptureMode",
    "ChildGraphOwnership",
    "DependencyType",
    "DeviceAttribute",
    "EventFlag",
    "FunctionAttribute",
    "GraphNodeType",
    "InstantiateFlag",
    "MemLocationType",
    "MemoryType",
    "PointerAttribute",
    "Result",
    "StreamFlag",
    "StreamMemOp",
    "UpdateResult",
]

#: Device memory of an executable, in bytes per node, as CCCL estimates it (https://github.com/NVIDIA/cccl); servers
#: reported 10.0 to 10.6 KB.
EXEC_BYTES_PER_NODE: Final = 10_240
#: First compute capability with thread block clusters: major, minor.
CLUSTERS_SINCE: Final = (9, 0)
#: First compute capability that follows a preferred cluster dimension.
PREFERRED_CLUSTERS_SINCE: Final = (10, 0)
#: The largest handle: a pointer of 64 bits.
MAX_HANDLE: Final = 2**64 - 1
#: CU_STREAM_PER_THREAD, the handle that names each thread's default stream. Smaller ones name the legacy one.
STREAM_PER_THREAD: Final = 2
#: CU_STREAM_WAIT_VALUE_FLUSH, a flag of a wait operation.
STREAM_WAIT_VALUE_FLUSH: Final = 1 << 30


class GraphNodeType(IntEnum):
    """CUgraphNodeType: the types with a record here."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2
    HOST = 3
    GRAPH = 4
    EMPTY = 5
    WAIT_EVENT = 6
    EVENT_RECORD = 7
    EXT_SEMAS_SIGNAL = 8
    EXT_SEMAS_WAIT = 9
    MEM_ALLOC = 10
    MEM_FREE = 11
    BATCH_MEM_OP = 12
    CONDITIONAL = 13


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


class DependencyType(IntEnum):
    """CUgraphDependencyType."""

    DEFAULT = 0
    PROGRAMMATIC = 1


class MemoryType(IntEnum):
    """CUmemorytype."""

    HOST = 1
    DEVICE = 2
    ARRAY = 3
    UNIFIED = 4


class MemLocationType(IntEnum):
    """CUmemLocationType: the values used here."""

    DEVICE = 1


class StreamMemOp(IntEnum):
    """CUstreamBatchMemOpType: the operations with a record here."""

    WAIT_VALUE_32 = 1
    WRITE_VALUE_32 = 2
    FLUSH_REMOTE_WRITES = 3
    WAIT_VALUE_64 = 4
    WRITE_VALUE_64 = 5
    BARRIER = 6


class InstantiateFlag(IntEnum):
    """CUgraphInstantiate_flags."""

    AUTO_FREE_ON_LAUNCH = 1
    UPLOAD = 2
    DEVICE_LAUNCH = 4
    USE_NODE_PRIORITY = 8


class ChildGraphOwnership(IntEnum):
    """CUgraphChildGraphNodeOwnership."""

    CLONE = 0
    MOVE = 1


class FunctionAttribute(IntEnum):
    """CUfunction_attribute."""

    MAX_THREADS_PER_BLOCK = 0
    SHARED_SIZE_BYTES = 1
    CONST_SIZE_BYTES = 2
    LOCAL_SIZE_BYTES = 3
    NUM_REGS = 4
    PTX_VERSION = 5
    BINARY_VERSION = 6
    CACHE_MODE_CA = 7
    MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    PREFERRED_SHARED_MEMORY_CARVEOUT = 9
    CLUSTER_SIZE_MUST_BE_SET = 10
    REQUIRED_CLUSTER_WIDTH = 11
    REQUIRED_CLUSTER_HEIGHT = 12
    REQUIRED_CLUSTER_DEPTH = 13
    NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
    CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15


class PointerAttribute(IntEnum):
    """CUpointer_attribute: the attributes queried here."""

    CONTEXT = 1
    MEMORY_TYPE = 2
    IS_MANAGED = 8
    DEVICE_ORDINAL = 9
    RANGE_START_ADDR = 11
    RANGE_SIZE = 12
    MEMPOOL_HANDLE = 17
    MAPPING_SIZE = 18
    MAPPING_BASE_ADDR = 19


class DeviceAttribute(IntEnum):
    """CUdevice_attribute: the attributes queried here."""

    COMPUTE_CAPABILITY_MAJOR = 75
    COMPUTE_CAPABILITY_MINOR = 76


class StreamFlag(IntEnum):
    """CUstream_flags."""

    DEFAULT = 0
    NON_BLOCKING = 1


class EventFlag(IntEnum):
    """CUevent_flags: the values used here."""

    DISABLE_TIMING = 2


class CaptureMode(IntEnum):
    """CUstreamCaptureMode."""

    GLOBAL = 0
    THREAD_LOCAL = 1
    RELAXED = 2


class UpdateResult(IntEnum):
    """CUgraphExecUpdateResult."""

    SUCCESS = 0
    ERROR = 1
    ERROR_TOPOLOGY_CHANGED = 2
    ERROR_NODE_TYPE_CHANGED = 3
    ERROR_FUNCTION_CHANGED = 4
    ERROR_PARAMETERS_CHANGED = 5
    ERROR_NOT_SUPPORTED = 6
    ERROR_UNSUPPORTED_FUNCTION_CHANGE = 7
    ERROR_ATTRIBUTES_CHANGED = 8

    @classmethod
    def name_of(cls, result: int) -> str:
        """Return the name of a result; ``RESULT_9`` for one that no header names."""
        try:
            return cls(result).name
        except ValueError:
            return f"RESULT_{result}"


class Result(IntEnum):
    """CUresult: the values handled here or explained in an error."""

    SUCCESS = 0
    INVALID_VALUE = 1
    OUT_OF_MEMORY = 2
    NOT_INITIALIZED = 3
    DEINITIALIZED = 4
    STUB_LIBRARY = 34
    DEVICE_UNAVAILABLE = 46
    NO_DEVICE = 100
    INVALID_CONTEXT = 201
    INVALID_HANDLE = 400
    LOSSY_QUERY = 402
    ILLEGAL_ADDRESS = 700
    CONTEXT_IS_DESTROYED = 709
    LAUNCH_FAILED = 719
    NOT_SUPPORTED = 801
    SYSTEM_NOT_READY = 802
    SYSTEM_DRIVER_MISMATCH = 803
    STREAM_CAPTURE_UNSUPPORTED = 900
    STREAM_CAPTURE_INVALIDATED = 901
    STREAM_CAPTURE_WRONG_THREAD = 908
    GRAPH_EXEC_UPDATE_FAILURE = 910
    INVALID_CLUSTER_SIZE = 912
    UNKNOWN = 999
