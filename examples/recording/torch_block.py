"""A stack of 24 transformer blocks in bf16, one decode step captured at six batch sizes.

Needs PyTorch and a GPU. Example: ``python -m examples.recording.torch_block examples/torch-block.dump.json``.
"""

import torch
from torch import nn
from torch.nn import functional

from examples.recording.writing import output_path, write

LAYERS = 24
WIDTH = 1024
HEADS = 16
CONTEXT = 128
BATCHES = (1, 2, 4, 8, 16, 32)


class Block(nn.Module):  # type: ignore[misc]  # PyTorch is not installed where types are checked
    """One block of a decoder: attention of a new token over a cache, then a feed-forward net."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(WIDTH)
        self.query = nn.Linear(WIDTH, WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        self.norm_forward = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, token: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Return the token (batch, 1, width) after this block."""
        batch = token.shape[0]
        query = self.query(self.norm_attention(token)).view(batch, 1, HEADS, WIDTH // HEADS).transpose(1, 2)
        attended = functional.scaled_dot_product_attention(query, keys, values)
        token = token + self.output(attended.transpose(1, 2).reshape(batch, 1, WIDTH))
        forward: torch.Tensor = self.down(functional.gelu(self.up(self.norm_forward(token))))
        return token + forward


def captured(blocks: nn.ModuleList, batch: int) -> torch.cuda.CUDAGraph:
    """Capture one step of that batch size; the graph is kept beside its executable."""
    token = torch.zeros(batch, 1, WIDTH, device="cuda", dtype=torch.bfloat16)
    cache = torch.zeros(2, batch, HEADS, CONTEXT, WIDTH // HEADS, device="cuda", dtype=torch.bfloat16)

    def step() -> torch.Tensor:
        hidden = token
        for block in blocks:
            hidden = block(hidden, cache[0], cache[1])
        return hidden

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        step()
    return graph


def main() -> None:
    """Capture and write."""
    path = output_path(__doc__)
    torch.manual_seed(0)
    with torch.inference_mode():
        blocks = nn.ModuleList(Block() for _ in range(LAYERS)).to(device="cuda", dtype=torch.bfloat16)
        graphs = {f"decode/bs={batch}": captured(blocks, batch) for batch in BATCHES}
    write(path, graphs, "torch", "nvidia-cublas")


if __name__ == "__main__":
    main()
