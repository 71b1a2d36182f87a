"""Two launches of one kernel that differ in the preferred cluster alone, which no getter gives back.

Knows nothing of sigcontract; record it: ``sigcontract record -o DIR -- python -m
examples.observed.programs.preferred_cluster``. Needs cuda-bindings and a GPU of compute capability 9.0.
"""

import ctypes
from typing import Any

from cuda.bindings import driver

from examples.recording.calls import capture, check, compile_source, open_device

SOURCE = 'extern "C" __global__ void put(unsigned *to) { if (threadIdx.x == 0) to[blockIdx.x] = blockIdx.x; }'
BLOCKS = 8
IDS = driver.CUlaunchAttributeID


def attribute(identifier: Any, field: str, width: int) -> Any:
    """Return a launch attribute of cluster dimensions."""
    value = driver.CUlaunchAttributeValue()
    dim = getattr(value, field)
    dim.x, dim.y, dim.z = width, 1, 1
    made = driver.CUlaunchAttribute()
    made.id, made.value = identifier, value
    return made


def launch(function: Any, stream: Any, address: int, attributes: list[Any]) -> Any:
    """Capture one launch."""
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = BLOCKS, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = 32, 1, 1
    config.hStream = stream
    config.attrs, config.numAttrs = attributes, len(attributes)
    with capture(stream) as taken:
        check(driver.cuLaunchKernelEx(config, function, ((address,), (ctypes.c_void_p,)), 0))
    return taken.graph


def main() -> None:
    """Capture and instantiate both."""
    open_device()
    module = check(driver.cuModuleLoadData(compile_source(SOURCE, "sm_90")))
    function = check(driver.cuModuleGetFunction(module, b"put"))
    stream = check(driver.cuStreamCreate(1))
    address = int(check(driver.cuMemAlloc(4 * BLOCKS)))
    cluster = attribute(IDS.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, "clusterDim", 2)
    preferred = attribute(IDS.CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, "preferredClusterDim", 4)
    for attributes in ([cluster], [cluster, preferred]):
        graph = launch(function, stream, address, attributes)
        check(driver.cuGraphLaunch(check(driver.cuGraphInstantiate(graph, 0)), stream))
    check(driver.cuStreamSynchronize(stream))


if __name__ == "__main__":
    main()
