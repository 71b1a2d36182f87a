"""A stack of 24 transformer blocks, one decode step captured at six batch sizes and instantiated.

Knows nothing of sigcontract when it is recorded. Needs PyTorch and a GPU.
"""

import torch
from torch import nn

from examples.recording.torch_block import BATCHES, LAYERS, Block, captured


def main() -> None:
    """Capture and instantiate."""
    torch.manual_seed(0)
    with torch.inference_mode():
        blocks = nn.ModuleList(Block() for _ in range(LAYERS)).to(device="cuda", dtype=torch.bfloat16)
        for batch in BATCHES:
            graph = captured(blocks, batch)
            graph.instantiate()
            graph.replay()
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
