"""The blocks of PyTorch's caching allocator, which outlive their tensors: an address may point into a freed one.

Imports no torch: a program that has not imported it has no blocks.
"""

import sys
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sigcontract.errors import DriverError
from sigcontract.model import AllocatorBlock

__all__ = ["TorchBlocks", "torch_blocks"]

_State = Literal["allocated", "pending_free", "free"]
_Pool = Literal["default", "graph", "other", "unknown"]
#: A private pool of the allocator: ``torch.cuda.CUDAGraph.pool()``.
_PoolId = tuple[int, int]

#: Names of block states in the snapshot; the second is of PyTorch before 2.1.
_STATES: Mapping[str, _State] = {
    "active_allocated": "allocated",
    "active_awaiting_free": "pending_free",
    "active_pending_free": "pending_free",
    "inactive": "free",
}
_DEFAULT_POOL: _PoolId = (0, 0)
_DEEPEST_STACK = 64


class _Block(NamedTuple):
    start: int
    size_bytes: int
    state: _State
    pool: _PoolId
    frames: Sequence[Mapping[str, Any]]


class TorchBlocks:
    """Blocks of PyTorch's allocator by address.

    Parameters
    ----------
    segments
        As ``torch.cuda.memory_snapshot()`` returns them.
    graph_pool
        Pool that the graph was captured into (``torch.cuda.CUDAGraph.pool()``); None if not known.
    """

    def __init__(self, segments: Sequence[Mapping[str, Any]], graph_pool: _PoolId | None = None) -> None:
        self._blocks = sorted(_blocks(segments), key=lambda block: block.start)
        self._starts = [block.start for block in self._blocks]
        self._graph_pool = graph_pool

    def block_at(self, address: int) -> AllocatorBlock | None:
        """Return the block that contains an address, or None if it is in no segment of the allocator."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        block = self._blocks[index]
        if address >= block.start + block.size_bytes:
            return None
        return AllocatorBlock(
            allocator="torch",
            state=block.state,
            pool=self._pool(block.pool),
            size_bytes=block.size_bytes,
            offset_bytes=address - block.start,
            stack=tuple(map(_line, block.frames[:_DEEPEST_STACK])),
        )

    def _pool(self, pool: _PoolId) -> _Pool:
        if pool == _DEFAULT_POOL:
            return "default"
        if self._graph_pool is None:
            return "unknown"
        return "graph" if pool == self._graph_pool else "other"


def torch_blocks(graph: object = None) -> TorchBlocks | None:
    """Return the blocks of PyTorch's allocator now, for ``read_graph(graph, arguments=True, blocks=...)``.

    Parameters
    ----------
    graph
        The ``torch.cuda.CUDAGraph`` to be read, after its capture, which identifies the blocks of its own pool.

    Returns
    -------
    TorchBlocks or None
        None if the program has not imported torch or not initialized CUDA in it.

    Raises
    ------
    DriverError
        The allocator gives no snapshot, as with the cudaMallocAsync backend, or one in a format not known here.
    """
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not hasattr(cuda, "memory_snapshot") or not cuda.is_initialized():
        return None
    try:
        return TorchBlocks(cuda.memory_snapshot(), _graph_pool(graph))
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:  # its format is not documented
        msg = (
            f"PyTorch's allocator gives no readable snapshot ({type(error).__name__}: {error}), so the blocks of "
            "addresses are unknown; set PYTORCH_CUDA_ALLOC_CONF=backend:native, which has one"
        )
        raise DriverError(msg) from error


def _graph_pool(graph: object) -> _PoolId | None:
    """Return the pool that a ``torch.cuda.CUDAGraph`` was captured into; None if not known, or not captured yet."""
    pool = getattr(graph, "pool", None)
    if not callable(pool):
        return None
    try:
        first, second = pool()
    except RuntimeError:  # torch raises this if nothing was captured
        return None
    return int(first), int(second)


def _blocks(segments: Sequence[Mapping[str, Any]]) -> Iterator[_Block]:
    for segment in segments:
        first, second = segment.get("segment_pool_id", _DEFAULT_POOL)
        start = segment["address"]
        for block in segment["blocks"]:
            start = block.get("address", start)  # PyTorch before 2.1 gives sizes alone, in order
            state = _STATES.get(block["state"])
            if state is not None:  # a state that a later release adds is not guessed
                yield _Block(start, block["size"], state, (int(first), int(second)), block.get("frames") or ())
            start += block["size"]


def _line(frame: Mapping[str, Any]) -> str:
    return f"{frame.get('filename', '?')}:{frame.get('line', 0)} {frame.get('name', '?')}"
