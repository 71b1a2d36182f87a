"""Kernels that report what they see: the only proof of what an executable graph launches.

A profiler's record is none (measured, H200, driver 580: it names the new cluster where the old one is launched).
"""

from typing import Any

from cuda.bindings import driver

from examples.recording.calls import check, compile_source, compute_capability
from lab.specs import LIBRARY, NAMES

__all__ = ["REPORT_FIELDS", "REPORT_WORDS", "SOURCE", "load_functions"]

#: The words of a report, in order.
REPORT_FIELDS = (
    "launches",
    "code",
    "cluster_x",
    "cluster_y",
    "cluster_z",
    "grid_x",
    "grid_y",
    "grid_z",
    "block_x",
    "dynamic_shared_bytes",
    "value",
)
REPORT_WORDS = 16

SOURCE = r"""
__device__ void report(unsigned *to, unsigned value, unsigned code) {
  if (blockIdx.x || blockIdx.y || blockIdx.z || threadIdx.x) return;
  unsigned x, y, z, shared;
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(x));
  asm volatile("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(y));
  asm volatile("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(z));
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared));
  atomicAdd(to, 1u);
  to[1] = BASE + code;
  to[2] = x; to[3] = y; to[4] = z;
  to[5] = gridDim.x; to[6] = gridDim.y; to[7] = gridDim.z;
  to[8] = blockDim.x; to[9] = shared; to[10] = value;
}
extern "C" __global__ void rep(unsigned *to, unsigned value) { report(to, value, 1); }
extern "C" __global__ void rep2(unsigned *to, unsigned value) { report(to, value, 2); }
extern "C" __global__ void rep3(unsigned *to, unsigned value, volatile unsigned *through) {
  if (through) { *through = value; value = *through; }
  report(to, value, 3);
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) repc(unsigned *to, unsigned value) { report(to, value, 4); }
extern "C" __global__ void reps(unsigned *to, unsigned value) {
  __shared__ volatile unsigned kept[256];
  kept[threadIdx.x] = value;
  report(to, kept[threadIdx.x], 5);
}
"""

#: What a module's kernels add to the code that they report, by what the names of its functions end with.
_MODULES = {"": 100, "@2": 200, "@again": 100}
_LIBRARIES = {LIBRARY: 300}


def load_functions(device: Any) -> dict[str, Any]:
    """Load every function for the current context; the modules stay loaded as long as the process."""
    target = f"sm_{compute_capability(device)}"
    images = {base: compile_source(SOURCE, target, f"-DBASE={base}") for base in (100, 200, 300)}
    functions: dict[str, Any] = {}
    for suffix, base in _MODULES.items():
        module = check(driver.cuModuleLoadData(images[base]))
        for name in NAMES:
            functions[name + suffix] = check(driver.cuModuleGetFunction(module, name.encode()))
    for suffix, base in _LIBRARIES.items():
        library = check(driver.cuLibraryLoadData(images[base], None, None, 0, None, None, 0))
        for name in NAMES:
            functions[name + suffix] = check(driver.cuLibraryGetKernel(library, name.encode()))
    return functions
