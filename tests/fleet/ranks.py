"""Dumps of the ranks of one job, as autotuning leaves them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from sigcontract.model.dims import Dim3
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.graph import GraphSignature
from sigcontract.wire.codec import save
from tests.compare.dumps import environment, kernel, of_another_process
from tests.update import build

__all__ = ["gemm", "job", "layer", "rank_dump", "saved"]

PROFILE = "nvidia-h200-cuda-13.0"


def layer(*names: str, grid: int = 1) -> GraphSignature:
    """Return a chain of kernels of these names, each with machine code of its own."""
    nodes = []
    for index, name in enumerate(names):
        facts = replace(build.FACTS, code_sha256=f"{sum(map(ord, name)) % 2**32:064x}")
        node = kernel(name=name, func=0x1000 + 16 * sum(map(ord, name)), function=facts)
        nodes.append(replace(node, grid_dim=Dim3(x=grid if index == 1 else 1, y=1, z=1)))
    return build.graph(*nodes)


def gemm(tile: int, *, grid: int = 1) -> GraphSignature:
    """Return a norm, a GEMM of the tile that was tuned, and a collective."""
    return layer("norm", f"gemm_tile{tile}x64", "ncclDevKernel_AllReduce", grid=grid)


def rank_dump(
    rank: int | None, graphs: Mapping[str, GraphSignature], *, world_size: int | None = 4, **changed: Any
) -> SignatureDump:
    """Return the dump of one rank, with handles of its own; keywords change its environment."""
    own = graphs
    if (rank or 0) % 2:
        own = {label: of_another_process(graph) for label, graph in graphs.items()}
    return SignatureDump(
        environment=environment(rank=rank, world_size=world_size, process_id=4000 + (rank or 0), **changed),
        profile=PROFILE,
        complete=True,
        graphs=tuple(LabeledGraph(label=label, graph=graph) for label, graph in own.items()),
        extensions={},
    )


def job(tiles: Sequence[int], *, sizes: Sequence[int] = (1, 2)) -> list[SignatureDump]:
    """Return the dumps of a job of which each rank tuned one tile, with a graph for each batch size."""
    return [
        rank_dump(rank, {f"bs={size}": gemm(tile, grid=size) for size in sizes}, world_size=len(tiles))
        for rank, tile in enumerate(tiles)
    ]


def saved(folder: Path, dumps: Sequence[SignatureDump]) -> list[str]:
    """Write dumps as `record` names them, and return their paths."""
    paths = []
    for index, dump in enumerate(dumps):
        path = folder / f"rank{index}-pid{4000 + index}.dump.json"
        save(dump, path)
        paths.append(str(path))
    return paths
