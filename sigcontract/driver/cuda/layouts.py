"""Memory layouts of libcuda's structs, as declared by cuda.h of CUDA 12.0 to 13.5 (64-bit)."""

from ctypes import Structure, Union, c_char, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_ushort, c_void_p

__all__ = [
    "ATTRIBUTE_VALUE_BYTES",
    "EDGE_DATA_BYTES",
    "KERNEL_NODE_PARAMS_BYTES",
    "BatchMemOpNodeParams",
    "ConditionalNodeParams",
    "ExtSemNodeParams",
    "GraphNodeParams",
    "HostNodeParams",
    "KernelNodeParams",
    "LaunchAttribute",
    "LaunchConfig",
    "MemAccessDesc",
    "MemAllocNodeParams",
    "MemLocation",
    "MemPoolProps",
    "MemcpyParams",
    "MemsetNodeParams",
    "StreamBatchMemOpParams",
    "UpdateResultInfo",
]

#: sizeof(CUlaunchAttributeValue)
ATTRIBUTE_VALUE_BYTES = 64
#: sizeof(CUgraphEdgeData): from_port, to_port, type, five reserved
EDGE_DATA_BYTES = 8


class KernelNodeParams(Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2."""

    _fields_ = (
        ("func", c_void_p),
        ("gridDimX", c_uint),
        ("gridDimY", c_uint),
        ("gridDimZ", c_uint),
        ("blockDimX", c_uint),
        ("blockDimY", c_uint),
        ("blockDimZ", c_uint),
        ("sharedMemBytes", c_uint),
        ("kernelParams", c_void_p),
        ("extra", c_void_p),
        ("kern", c_void_p),
        ("ctx", c_void_p),
    )


KERNEL_NODE_PARAMS_BYTES = 72


class MemcpyParams(Structure):
    """CUDA_MEMCPY3D_v2."""

    _fields_ = (
        ("srcXInBytes", c_size_t),
        ("srcY", c_size_t),
        ("srcZ", c_size_t),
        ("srcLOD", c_size_t),
        ("srcMemoryType", c_uint),
        ("srcHost", c_void_p),
        ("srcDevice", c_void_p),
        ("srcArray", c_void_p),
        ("reserved0", c_void_p),
        ("srcPitch", c_size_t),
        ("srcHeight", c_size_t),
        ("dstXInBytes", c_size_t),
        ("dstY", c_size_t),
        ("dstZ", c_size_t),
        ("dstLOD", c_size_t),
        ("dstMemoryType", c_uint),
        ("dstHost", c_void_p),
        ("dstDevice", c_void_p),
        ("dstArray", c_void_p),
        ("reserved1", c_void_p),
        ("dstPitch", c_size_t),
        ("dstHeight", c_size_t),
        ("WidthInBytes", c_size_t),
        ("Height", c_size_t),
        ("Depth", c_size_t),
    )


class MemsetNodeParams(Structure):
    """CUDA_MEMSET_NODE_PARAMS_v1, the form of cuGraphMemsetNodeGetParams."""

    _fields_ = (
        ("dst", c_void_p),
        ("pitch", c_size_t),
        ("value", c_uint),
        ("elementSize", c_uint),
        ("width", c_size_t),
        ("height", c_size_t),
    )


class HostNodeParams(Structure):
    """CUDA_HOST_NODE_PARAMS_v1."""

    _fields_ = (("fn", c_void_p), ("userData", c_void_p))


class ExtSemNodeParams(Structure):
    """CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v1 and CUDA_EXT_SEM_WAIT_NODE_PARAMS_v1: one layout."""

    _fields_ = (("extSemArray", c_void_p), ("paramsArray", c_void_p), ("numExtSems", c_uint))


class MemLocation(Structure):
    """CUmemLocation."""

    _fields_ = (("type", c_int), ("id", c_int))


class MemAccessDesc(Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", MemLocation), ("flags", c_int))


class MemPoolProps(Structure):
    """CUmemPoolProps."""

    _fields_ = (
        ("allocType", c_int),
        ("handleTypes", c_int),
        ("location", MemLocation),
        ("win32SecurityAttributes", c_void_p),
        ("maxSize", c_size_t),
        ("usage", c_ushort),
        ("reserved", c_ubyte * 54),
    )


class MemAllocNodeParams(Structure):
    """CUDA_MEM_ALLOC_NODE_PARAMS_v1."""

    _fields_ = (
        ("poolProps", MemPoolProps),
        ("accessDescs", c_void_p),
        ("accessDescCount", c_size_t),
        ("bytesize", c_size_t),
        ("dptr", c_void_p),
    )


class _MemOpValue(Structure):
    """CUstreamMemOpWaitValueParams and CUstreamMemOpWriteValueParams: one layout."""

    _fields_ = (
        ("operation", c_uint),
        ("address", c_void_p),
        ("value64", c_uint64),
        ("flags", c_uint),
        ("alias", c_void_p),
    )


class _MemOpFlags(Structure):
    """CUstreamMemOpFlushRemoteWritesParams and CUstreamMemOpMemoryBarrierParams: one layout."""

    _fields_ = (("operation", c_uint), ("flags", c_uint))


class StreamBatchMemOpParams(Union):
    """CUstreamBatchMemOpParams; ``operation`` selects the member."""

    _fields_ = (
        ("operation", c_int),
        ("value", _MemOpValue),
        ("barrier", _MemOpFlags),
        ("pad", c_uint64 * 6),
    )


class BatchMemOpNodeParams(Structure):
    """CUDA_BATCH_MEM_OP_NODE_PARAMS_v1."""

    _fields_ = (("ctx", c_void_p), ("count", c_uint), ("paramArray", c_void_p), ("flags", c_uint))


class ConditionalNodeParams(Structure):
    """CUDA_CONDITIONAL_NODE_PARAMS."""

    _fields_ = (
        ("handle", c_uint64),
        ("type", c_int),
        ("size", c_uint),
        ("phGraph_out", c_void_p),
        ("ctx", c_void_p),
    )


class _NodeParamsUnion(Union):
    """The members of CUgraphNodeParams read here; other node types have their own getters."""

    _fields_ = (("conditional", ConditionalNodeParams), ("asBytes", c_char * 232))


class GraphNodeParams(Structure):
    """CUgraphNodeParams."""

    _anonymous_ = ("params",)
    _fields_ = (
        ("type", c_int),
        ("reserved0", c_int * 3),
        ("params", _NodeParamsUnion),
        ("reserved2", c_uint64),
    )


class UpdateResultInfo(Structure):
    """CUgraphExecUpdateResultInfo."""

    _fields_ = (("result", c_int), ("errorNode", c_void_p), ("errorFromNode", c_void_p))


class LaunchAttribute(Structure):
    """CUlaunchAttribute."""

    _fields_ = (("id", c_int), ("pad", c_char * 4), ("value", c_ubyte * ATTRIBUTE_VALUE_BYTES))


class LaunchConfig(Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("gridDimX", c_uint),
        ("gridDimY", c_uint),
        ("gridDimZ", c_uint),
        ("blockDimX", c_uint),
        ("blockDimY", c_uint),
        ("blockDimZ", c_uint),
        ("sharedMemBytes", c_uint),
        ("hStream", c_void_p),
        ("attrs", c_void_p),
        ("numAttrs", c_uint),
    )
