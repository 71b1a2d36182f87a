"""The same PTX loaded into two modules, and one kernel captured twice.

``first`` and ``first again`` are equal; ``second`` differs from them in handles alone. Needs a GPU.
Example: ``python -m examples.recording.two_modules examples/two-modules.dump.json``.
"""

import ctypes
from typing import Any

from cuda.bindings import driver

from examples.recording.calls import capture, check, compile_source, open_device
from examples.recording.writing import output_path, write

SOURCE = r"""
extern "C" __global__ void probe(float *to, float value) { to[blockIdx.x * blockDim.x + threadIdx.x] = value; }
"""
LAUNCHES = 3


def captured(function: Any, address: int, stream: Any) -> Any:
    """Capture three launches of the function, one after the other."""
    arguments = (ctypes.c_uint64(address), ctypes.c_float(1.5))
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
    with capture(stream) as taken:
        for _ in range(LAUNCHES):
            check(driver.cuLaunchKernel(function, 4, 1, 1, 128, 1, 1, 0, stream, ctypes.addressof(pointers), 0))
    return taken.graph


def main() -> None:
    """Capture and write."""
    path = output_path(__doc__)
    open_device()
    image = compile_source(SOURCE, "compute_90")
    first, second = (
        check(driver.cuModuleGetFunction(check(driver.cuModuleLoadData(image)), b"probe")) for _ in range(2)
    )
    stream = check(driver.cuStreamCreate(1))
    address = int(check(driver.cuMemAlloc(4 * 128 * 4)))
    write(
        path,
        {
            "first": captured(first, address, stream),
            "first again": captured(first, address, stream),
            "second": captured(second, address, stream),
        },
    )


if __name__ == "__main__":
    main()
