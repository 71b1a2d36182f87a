"""A CUDA graph made by CuPy. Knows nothing of sigcontract. Needs CuPy and a GPU."""

import cupy  # type: ignore[import-not-found,unused-ignore]  # not installed where types are checked

ELEMENTS = 4096


def main() -> None:
    """Capture, launch, print."""
    kernel = cupy.RawKernel(
        'extern "C" __global__ void triple(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 3; }', "triple"
    )
    values = cupy.ones(ELEMENTS, dtype=cupy.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        kernel((ELEMENTS // 256,), (256,), (values,))
        stream.synchronize()
        stream.begin_capture()
        kernel((ELEMENTS // 256,), (256,), (values,))
        kernel((ELEMENTS // 256,), (256,), (values,))
        graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
    print(float(values.sum()))


if __name__ == "__main__":
    main()
