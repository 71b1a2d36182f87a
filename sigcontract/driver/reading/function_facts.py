"""The facts of a kernel's function, read once per function."""

from sigcontract.driver.cuda import (
    LaunchObservations,
    ReadApi,
)
from sigcontract.errors import DriverCallError, GraphReadError
from sigcontract.model import (
    Dim3,
    FunctionFacts,
    ParameterLayout,
)

__all__ = ["read_facts", "read_name"]

# CUfunction_attribute
_MAX_THREADS_PER_BLOCK = 0
_SHARED_SIZE_BYTES = 1
_CONST_SIZE_BYTES = 2
_LOCAL_SIZE_BYTES = 3
_NUM_REGS = 4
_PTX_VERSION = 5
_BINARY_VERSION = 6
_CACHE_MODE_CA = 7
_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
_PREFERRED_SHARED_MEMORY_CARVEOUT = 9
_CLUSTER_SIZE_MUST_BE_SET = 10
_REQUIRED_CLUSTER = (11, 12, 13)
_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15


def read_name(api: ReadApi, func: int, kern: int) -> str:
    """Return the kernel's name as the driver gives it, from the CUkernel where there is one.

    Raises
    ------
    GraphReadError
        The driver does not know the handles (any more): the module was unloaded while the graph still names it.
    """
    try:
        name = api.kernel_name(kern) if kern else api.function_name(func)
    except DriverCallError as error:
        msg = (
            f"a kernel node's function (CUkernel {kern:#x}, CUfunction {func:#x}) has no name any more: {error}. "
            "Its module was unloaded; keep modules loaded as long as graphs that use them"
        )
        raise GraphReadError(msg) from error
    return name.decode(errors="backslashreplace")


def read_facts(api: ReadApi, func: int, kern: int, observations: LaunchObservations | None) -> FunctionFacts:
    """Return the facts of a function. What the driver will not say is None, which is never equal to anything."""
    function = func or _function_of(api, kern)
    code_sha256 = observations.code_sha256(func, kern) if observations is not None else None
    layout = api.function_parameters(function) if function else None

    def fact(attribute: int) -> int | None:
        return api.function_attribute(function, attribute) if function else None

    width, height, depth = map(fact, _REQUIRED_CLUSTER)
    required = None if width is None or height is None or depth is None else Dim3(x=width, y=height, z=depth)
    return FunctionFacts(
        parameters=None
        if layout is None
        else tuple(ParameterLayout(offset_bytes=offset, size_bytes=size) for offset, size in layout),
        max_threads_per_block=fact(_MAX_THREADS_PER_BLOCK),
        static_shared_mem_bytes=fact(_SHARED_SIZE_BYTES),
        const_mem_bytes=fact(_CONST_SIZE_BYTES),
        local_mem_bytes=fact(_LOCAL_SIZE_BYTES),
        registers=fact(_NUM_REGS),
        ptx_version=fact(_PTX_VERSION),
        binary_version=fact(_BINARY_VERSION),
        cache_mode_ca=fact(_CACHE_MODE_CA),
        max_dynamic_shared_mem_bytes=fact(_MAX_DYNAMIC_SHARED_SIZE_BYTES),
        preferred_shared_mem_carveout=fact(_PREFERRED_SHARED_MEMORY_CARVEOUT),
        cluster_size_must_be_set=fact(_CLUSTER_SIZE_MUST_BE_SET),
        required_cluster_dim=required,
        non_portable_cluster_size_allowed=fact(_NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
        cluster_scheduling_policy_preference=fact(_CLUSTER_SCHEDULING_POLICY_PREFERENCE),
        code_sha256=code_sha256,
    )


def _function_of(api: ReadApi, kern: int) -> int:
    """Return the CUfunction of a node that names a CUkernel alone, 0 where the driver will not say."""
    try:
        return api.kernel_function(kern)
    except DriverCallError:
        return 0
