"""A torch.distributed program that asks, after capture and before it serves, whether all ranks captured the same.

``torchrun --nproc-per-node 4 examples/fleet/before_serving.py FOLDER``; the folder is one that all ranks can write and
rank 0 can read. Needs PyTorch and a GPU; where there are fewer GPUs than ranks they are shared.
"""

import sys
from pathlib import Path

import torch
import torch.distributed as dist

from sigcontract.driver import record_to
from sigcontract.fleet import compare_fleet
from sigcontract.report import fleet_text

BATCHES = (1, 8, 64)
WIDTH = 1024


def capture() -> list[torch.cuda.CUDAGraph]:
    """Capture a graph for each batch size, as a server does when it starts."""
    graphs = []
    weight = torch.ones(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)
    for batch in BATCHES:
        values = torch.ones(batch, WIDTH, device="cuda", dtype=torch.bfloat16)
        torch.softmax(values @ weight, dim=-1)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            torch.softmax(values @ weight, dim=-1)
        graphs.append(graph)
    return graphs


def all_agree(folder: Path) -> bool:
    """Say on every rank whether all ranks captured the same; rank 0 reads their dumps and prints what differs."""
    answer = [False]
    if dist.get_rank() == 0:
        report = compare_fleet([folder])
        print(fleet_text(report), end="", flush=True)
        answer = [report.answer == "agree"]
    dist.broadcast_object_list(answer)
    return answer[0]


def main() -> int:
    """Capture, ask, and serve only where all agree."""
    folder = Path(sys.argv[1])
    dist.init_process_group("gloo")
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    # cuBLAS and PyTorch bring their kernels in fat binaries: without their code no two ranks are known to run the same.
    with record_to(folder / f"rank{dist.get_rank()}.dump.json", code="all"):
        graphs = capture()
    dist.barrier()
    serve = all_agree(folder)
    if serve:
        graphs[0].replay()
        torch.cuda.synchronize()
    dist.destroy_process_group()
    return 0 if serve else 1


if __name__ == "__main__":
    sys.exit(main())
