"""A small net under torch.compile: Triton kernels that Inductor wrote, and cuBLASLt with a fused epilogue.

Needs PyTorch, Triton and a GPU. Example: ``python -m examples.recording.compile_mlp examples/compile.dump.json``.
Into a folder named ``arguments`` it writes what kernels are passed as well.
"""

import torch
from torch.nn import functional

from examples.recording.writing import output_path, write

WIDTH = 512
BATCHES = (8, 64)


def net(hidden: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return a normalised feed-forward layer's output."""
    normed = functional.layer_norm(hidden, (WIDTH,))
    inner = torch._addmm_activation(bias, normed, up, use_gelu=True)  # noqa: SLF001  the one way to cuBLASLt's epilogue
    return hidden + functional.silu(inner @ down)


def main() -> None:
    """Compile, capture and write."""
    path = output_path(__doc__)
    torch.manual_seed(0)
    compiled = torch.compile(net, dynamic=False)
    options = {"device": "cuda", "dtype": torch.bfloat16}
    up = torch.randn(WIDTH, 4 * WIDTH, **options)
    down = torch.randn(4 * WIDTH, WIDTH, **options)
    bias = torch.randn(4 * WIDTH, **options)
    graphs = {}
    with torch.inference_mode():
        for batch in BATCHES:
            hidden = torch.randn(batch, WIDTH, **options)
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                compiled(hidden, up, down, bias)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph(keep_graph=True)
            with torch.cuda.graph(graph):
                compiled(hidden, up, down, bias)
            graphs[f"mlp/bs={batch}"] = graph
    write(path, graphs, "torch", "triton", "nvidia-cublas", arguments="arguments" in path.parts)


if __name__ == "__main__":
    main()
