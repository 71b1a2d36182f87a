"""A net under torch.compile with CUDA graphs: Inductor's Triton kernels, and cuBLASLt with a fused epilogue.

Knows nothing of sigcontract. Needs PyTorch, Triton and a GPU.
"""

import torch
from torch.nn import functional

WIDTH = 512


def net(hidden: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return a normalised feed-forward layer's output."""
    normed = functional.layer_norm(hidden, (WIDTH,))
    inner = torch._addmm_activation(bias, normed, up, use_gelu=True)  # noqa: SLF001  the one way to cuBLASLt's epilogue
    return hidden + functional.silu(inner @ down)


def main() -> None:
    """Let torch.compile capture graphs of its own."""
    torch.manual_seed(0)
    compiled = torch.compile(net, mode="reduce-overhead", dynamic=False)
    options = {"device": "cuda", "dtype": torch.bfloat16}
    up = torch.randn(WIDTH, 4 * WIDTH, **options)
    down = torch.randn(4 * WIDTH, WIDTH, **options)
    bias = torch.randn(4 * WIDTH, **options)
    with torch.inference_mode():
        hidden = torch.randn(64, WIDTH, **options)
        for _ in range(4):
            torch.compiler.cudagraph_mark_step_begin()
            print(tuple(compiled(hidden, up, down, bias).shape))


if __name__ == "__main__":
    main()
