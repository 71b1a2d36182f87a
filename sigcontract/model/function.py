"""Properties of a kernel's function that hold in every process."""

from typing import Annotated

from msgspec import Meta

from sigcontract.model.dims import Dim3
from sigcontract.model.record import Int32, Record, UInt32

__all__ = ["FunctionFacts", "ParameterLayout"]

_Fact = Int32 | None


class ParameterLayout(Record, frozen=True, kw_only=True):
    """Offset and size of one kernel parameter (cuFuncGetParamInfo)."""

    offset_bytes: Annotated[UInt32, Meta(description="Offset in the parameter buffer, in bytes.")]
    size_bytes: Annotated[UInt32, Meta(description="Size, in bytes.")]


class FunctionFacts(Record, frozen=True, kw_only=True):
    """Properties of the loaded function (cuFuncGetAttribute). null: not reported, and never equal to anything."""

    parameters: Annotated[
        tuple[ParameterLayout, ...] | None, Meta(description="Parameter layout, in order (cuFuncGetParamInfo).")
    ]
    max_threads_per_block: Annotated[_Fact, Meta(description="CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK.")]
    static_shared_mem_bytes: Annotated[_Fact, Meta(description="Bytes per block, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES.")]
    const_mem_bytes: Annotated[_Fact, Meta(description="Bytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES.")]
    local_mem_bytes: Annotated[_Fact, Meta(description="Bytes per thread, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES.")]
    registers: Annotated[_Fact, Meta(description="Registers per thread, CU_FUNC_ATTRIBUTE_NUM_REGS.")]
    ptx_version: Annotated[_Fact, Meta(description="Major * 10 + minor, CU_FUNC_ATTRIBUTE_PTX_VERSION.")]
    binary_version: Annotated[_Fact, Meta(description="Major * 10 + minor, CU_FUNC_ATTRIBUTE_BINARY_VERSION.")]
    cache_mode_ca: Annotated[_Fact, Meta(description="CU_FUNC_ATTRIBUTE_CACHE_MODE_CA.")]
    max_dynamic_shared_mem_bytes: Annotated[
        _Fact, Meta(description="Bytes per block, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.")
    ]
    preferred_shared_mem_carveout: Annotated[
        _Fact, Meta(description="Percent; -1: driver default; CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT.")
    ]
    cluster_size_must_be_set: Annotated[_Fact, Meta(description="CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET.")]
    required_cluster_dim: Annotated[
        Dim3 | None, Meta(description="Blocks, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, _HEIGHT, _DEPTH.")
    ]
    non_portable_cluster_size_allowed: Annotated[
        _Fact, Meta(description="CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED.")
    ]
    cluster_scheduling_policy_preference: Annotated[
        _Fact, Meta(description="CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE.")
    ]
    code_sha256: Annotated[
        Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?![\s\S])")] | None,
        Meta(description="sha256 of the kernel's own machine code; null if its module load was not observed."),
    ]
