"""One Triton kernel, captured with its constexpr FACTOR at 2 or at 3: two kernels that share a name.

Needs PyTorch, Triton and a GPU. Run it once per factor, so that each dump comes from a process of its own:
``python -m examples.recording.triton_scale examples/triton-scale-2.dump.json``; the factor is the name's digit.
"""

from pathlib import Path

import torch
import triton
from triton import language as tl

from examples.recording.writing import output_path, write
from sigcontract.driver import Observations, observe

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
    """Capture and write."""
    path = output_path(__doc__)
    with observe() as observations:  # from before the kernel's module is loaded, so that its machine code is seen
        record(path, int(path.name.removesuffix(".dump.json")[-1]), observations)


def record(path: Path, factor: int, observations: Observations) -> None:
    """Capture one launch and write it, with the digest of its machine code."""
    source = torch.ones(ELEMENTS, device="cuda")
    target = torch.empty_like(source)
    grid = (ELEMENTS // BLOCK,)
    scale[grid](source, target, FACTOR=factor, BLOCK=BLOCK)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        scale[grid](source, target, FACTOR=factor, BLOCK=BLOCK)
    write(path, {"scale": graph}, "torch", "triton", observations=observations)


if __name__ == "__main__":
    main()
