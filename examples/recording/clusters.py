"""One kernel launched with no cluster, with 2 and with 4 blocks a cluster; and kernels that compile a cluster in.

An update from any of the first three to another is accepted, and launches the old cluster. Needs a GPU of compute
capability 9.0. Example: ``python -m examples.recording.clusters examples/clusters.dump.json``.
"""

import ctypes
from typing import Any

from cuda.bindings import driver

from examples.recording.calls import capture, check, compile_source, open_device
from examples.recording.writing import output_path, write

SOURCE = r"""
__device__ void put(unsigned *to) {
  unsigned width;
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(width));
  if (threadIdx.x == 0) to[blockIdx.x] = width;
}
extern "C" __global__ void plain(unsigned *to) { put(to); }
extern "C" __global__ void __cluster_dims__(2, 1, 1) compiled_2(unsigned *to) { put(to); }
extern "C" __global__ void __cluster_dims__(4, 1, 1) compiled_4(unsigned *to) { put(to); }
"""
BLOCKS = 8
#: label: function, cluster width given at the launch
LAUNCHES = {
    "cluster none": ("plain", None),
    "cluster 2": ("plain", 2),
    "cluster 4": ("plain", 4),
    "compiled 2": ("compiled_2", None),
    "compiled 4": ("compiled_4", None),
}


def captured(function: Any, width: int | None, address: int, stream: Any) -> Any:
    """Capture one launch."""
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = BLOCKS, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = 32, 1, 1
    config.hStream = stream
    if width is not None:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        value = driver.CUlaunchAttributeValue()
        value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = width, 1, 1
        attribute.value = value
        config.attrs = [attribute]
        config.numAttrs = 1
    argument = ctypes.c_uint64(address)
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
    with capture(stream) as taken:
        check(driver.cuLaunchKernelEx(config, function, ctypes.addressof(pointers), 0))
    return taken.graph


def main() -> None:
    """Capture and write."""
    path = output_path(__doc__)
    open_device()
    module = check(driver.cuModuleLoadData(compile_source(SOURCE, "sm_90")))
    stream = check(driver.cuStreamCreate(1))
    address = int(check(driver.cuMemAlloc(4 * BLOCKS)))
    graphs = {}
    for label, (name, width) in LAUNCHES.items():
        function = check(driver.cuModuleGetFunction(module, name.encode()))
        graphs[label] = captured(function, width, address, stream)
    write(path, graphs)


if __name__ == "__main__":
    main()
