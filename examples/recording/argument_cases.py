"""What kernels are passed: one program with two scalars, with a freed input, with two inputs that are one buffer.

Needs PyTorch, Triton and a GPU. The dump's name picks the case: ``python -m examples.recording.argument_cases
examples/arguments/freed-input.dump.json``.
"""

from collections.abc import Callable

import torch
import triton
from triton import language as tl

from examples.recording.writing import output_path, write

ELEMENTS = 1 << 20
BLOCK = 1024


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]  # Triton is not installed where types are checked
def scale(  # type: ignore[no-untyped-def]  # noqa: ANN201  Triton reads annotations as its own
    source,  # noqa: ANN001  Triton gives the types
    target,  # noqa: ANN001  Triton gives the types
    factor,  # noqa: ANN001  Triton gives the types
    count,  # noqa: ANN001  Triton gives the types
    BLOCK: tl.constexpr,  # noqa: N803  Triton writes constants so
):
    """Write the source times a factor that is passed at the launch."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    tl.store(target + offsets, tl.load(source + offsets, mask=inside) * factor, mask=inside)


def captured(launch: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """Run once outside of a capture, then capture."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        launch()
    return graph


def scaled(factor: float) -> torch.cuda.CUDAGraph:
    """Scale and shift a tensor."""
    source = KEPT.setdefault("source", torch.ones(ELEMENTS, device="cuda"))
    target = KEPT.setdefault("target", torch.empty_like(source))
    return captured(lambda: torch.add(torch.mul(source, factor, out=target), 1.0, out=target))


def freed_input() -> torch.cuda.CUDAGraph:
    """Add two tensors, one of which is freed after the capture."""
    kept = KEPT.setdefault("kept", torch.ones(ELEMENTS, device="cuda"))
    target = KEPT.setdefault("target", torch.empty_like(kept))
    freed = torch.ones(ELEMENTS, device="cuda")
    return captured(lambda: torch.add(kept, freed, out=target))


def added(*, aliased: bool) -> torch.cuda.CUDAGraph:
    """Add two tensors that are one, or are not."""
    one = KEPT.setdefault("one", torch.ones(ELEMENTS, device="cuda"))
    two = one if aliased else KEPT.setdefault("two", torch.ones(ELEMENTS, device="cuda"))
    target = KEPT.setdefault("target", torch.empty_like(one))
    return captured(lambda: torch.add(one, two, out=target))


def triton_scaled(factor: float) -> torch.cuda.CUDAGraph:
    """Scale a tensor by a Triton kernel."""
    source = KEPT.setdefault("source", torch.ones(ELEMENTS, device="cuda"))
    target = KEPT.setdefault("target", torch.empty_like(source))
    grid = (ELEMENTS // BLOCK,)
    return captured(lambda: scale[grid](source, target, factor, ELEMENTS, BLOCK=BLOCK))


#: Tensors that outlive their capture.
KEPT: dict[str, torch.Tensor] = {}
CASES: dict[str, Callable[[], torch.cuda.CUDAGraph]] = {
    "scalar-2": lambda: scaled(2.0),
    "scalar-3": lambda: scaled(3.0),
    "freed-input": freed_input,
    "distinct-inputs": lambda: added(aliased=False),
    "aliased-inputs": lambda: added(aliased=True),
    "triton-scalar-2": lambda: triton_scaled(2.5),
    "triton-scalar-3": lambda: triton_scaled(3.5),
}


def main() -> None:
    """Capture and write."""
    path = output_path(__doc__)
    graph = CASES[path.name.removesuffix(".dump.json")]()
    write(path, {"step": graph}, "torch", "triton", arguments=True)


if __name__ == "__main__":
    main()
