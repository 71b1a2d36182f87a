"""A parent that starts two workers, by fork and by spawn, each with a rank and a graph of its own.

Knows nothing of sigcontract. Needs PyTorch and a GPU; both workers share it.
"""

import multiprocessing
import os

import torch


def work(rank: int) -> None:
    """Capture one graph."""
    os.environ.update(RANK=str(rank), WORLD_SIZE="2")
    values = torch.ones(1024, device="cuda")
    values + rank
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        values.add_(rank + 1).mul_(2)
    graph.replay()
    torch.cuda.synchronize()
    print(rank, float(values[0]), flush=True)


def main() -> None:
    """Start both, and wait."""
    workers = [
        multiprocessing.get_context("fork").Process(target=work, args=(0,)),
        multiprocessing.get_context("spawn").Process(target=work, args=(1,)),
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print([worker.exitcode for worker in workers])


if __name__ == "__main__":
    main()
