"""Several processes, each with a rank, that capture the same graphs; one of them may have another problem size.

Knows nothing of sigcontract. ``python -m examples.observed.programs.tuned_ranks RANKS [ODD_RANK]``. Needs PyTorch and a
GPU, which all processes share.
"""

import multiprocessing
import os
import sys

import torch

BATCHES = (1, 8, 64)
WIDTH = 1024


def work(rank: int, world_size: int, odd_rank: int | None) -> None:
    """Capture a graph for each batch size; the odd rank's batches are three times as large."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world_size))
    weight = torch.ones(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)
    for batch in BATCHES:
        rows = 3 * batch if rank == odd_rank else batch
        values = torch.ones(rows, WIDTH, device="cuda", dtype=torch.bfloat16)
        torch.softmax((values @ weight).clamp(min=0), dim=-1)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            torch.softmax((values @ weight).clamp(min=0), dim=-1)
        graph.replay()
    torch.cuda.synchronize()
    print(rank, "captured", len(BATCHES), flush=True)


def main() -> None:
    """Start all, and wait."""
    world_size = int(sys.argv[1])
    odd_rank = int(sys.argv[2]) if len(sys.argv) > 2 else None  # noqa: PLR2004  the second argument
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(rank, world_size, odd_rank)) for rank in range(world_size)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    codes = [worker.exitcode for worker in workers]
    print(codes)
    sys.exit(0 if set(codes) == {0} else 1)


if __name__ == "__main__":
    main()
