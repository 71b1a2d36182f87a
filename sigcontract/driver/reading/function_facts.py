"""The facts of a kernel's function, read once per function."""

from sigcontract.driver.cuda import (
    LaunchObservations,
    ReadApi,
)
from sigcontract.errors import DriverCallError, GraphReadError
from sigcontract.model import (
    Dim3,
    FunctionAttribute,
    FunctionFacts,
    ParameterLayout,
)

__all__ = ["read_facts", "read_name"]

_REQUIRED_CLUSTER = (
    FunctionAttribute.REQUIRED_CLUSTER_WIDTH,
    FunctionAttribute.REQUIRED_CLUSTER_HEIGHT,
    FunctionAttribute.REQUIRED_CLUSTER_DEPTH,
)


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
        max_threads_per_block=fact(FunctionAttribute.MAX_THREADS_PER_BLOCK),
        static_shared_mem_bytes=fact(FunctionAttribute.SHARED_SIZE_BYTES),
        const_mem_bytes=fact(FunctionAttribute.CONST_SIZE_BYTES),
        local_mem_bytes=fact(FunctionAttribute.LOCAL_SIZE_BYTES),
        registers=fact(FunctionAttribute.NUM_REGS),
        ptx_version=fact(FunctionAttribute.PTX_VERSION),
        binary_version=fact(FunctionAttribute.BINARY_VERSION),
        cache_mode_ca=fact(FunctionAttribute.CACHE_MODE_CA),
        max_dynamic_shared_mem_bytes=fact(FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES),
        preferred_shared_mem_carveout=fact(FunctionAttribute.PREFERRED_SHARED_MEMORY_CARVEOUT),
        cluster_size_must_be_set=fact(FunctionAttribute.CLUSTER_SIZE_MUST_BE_SET),
        required_cluster_dim=required,
        non_portable_cluster_size_allowed=fact(FunctionAttribute.NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
        cluster_scheduling_policy_preference=fact(FunctionAttribute.CLUSTER_SCHEDULING_POLICY_PREFERENCE),
        code_sha256=code_sha256,
    )


def _function_of(api: ReadApi, kern: int) -> int:
    """Return the CUfunction of a node that names a CUkernel alone, 0 where the driver will not say."""
    try:
        return api.kernel_function(kern)
    except DriverCallError:
        return 0
