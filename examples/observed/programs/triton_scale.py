"""A Triton kernel with a constexpr, captured once; its digit is the first argument.

Knows nothing of sigcontract. ``scale`` has the same name, dims and readable attributes for every digit; only its
machine code distinguishes them. Needs PyTorch, Triton and a GPU.
"""

import sys

import torch
import triton
from triton import language as tl

ELEMENTS = 4096
BLOCK = 1024


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]  # Triton is not installed where types are checked
def scale(  # type: ignore[no-untyped-def]  # noqa: ANN201  Triton reads annotations as its own
    source,  # noqa: ANN001  Triton gives the types
    target,  # noqa: ANN001  Triton gives the types
    FACTOR: tl.constexpr,  # noqa: N803  Triton writes constants so
    BLOCK: tl.constexpr,  # noqa: N803  Triton writes constants so
):
    """Write the source times a constant."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + offsets, tl.load(source + offsets) * (FACTOR + 0.5))


def main() -> None:
    """Warm up, capture, launch."""
    factor = int(sys.argv[1])
    source = torch.ones(ELEMENTS, device="cuda")
    target = torch.empty_like(source)
    grid = (ELEMENTS // BLOCK,)
    scale[grid](source, target, FACTOR=factor, BLOCK=BLOCK)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scale[grid](source, target, FACTOR=factor, BLOCK=BLOCK)
    graph.replay()
    torch.cuda.synchronize()
    print(float(target[0]))


if __name__ == "__main__":
    main()
