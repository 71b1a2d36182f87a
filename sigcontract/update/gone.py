"""Memory that is gone: addresses in a graph that point into free memory, another graph's pool, or no allocation."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final, NamedTuple

from sigcontract.model import (
    POINTER_BYTES,
    AllocatorBlock,
    GraphSignature,
    KernelNodeSignature,
    MemAllocNode,
    MemcpyNode,
    MemoryType,
    MemsetNode,
    NodeSignature,
    PointerFacts,
)

__all__ = ["NO_ALLOCATION", "GonePointer", "gone_block", "gone_pointers"]

NO_ALLOCATION: Final = "no allocation"
#: PointerFacts.memory_type of an address outside of any live CUDA allocation.
_UNKNOWN_MEMORY: Final = 0
_DEVICE: Final = int(MemoryType.DEVICE)
_FREED: Final = {"free": "free block", "pending_free": "block pending free"}


class GonePointer(NamedTuple):
    """An address of a node that points to memory that is not the graph's to use.

    Attributes
    ----------
    path
        Path of the node, such as ``nodes[3]``.
    node
        The node.
    offset
        Offset of the word in the parameter buffer, in bytes; None for an operand.
    operand
        ``source`` or ``destination`` of a memcpy or memset; None for an argument.
    reason
        Where the address leads, such as ``free block``.
    certain
        Whether it is known to be an address. A word of a struct may be a number that looks like one, and of a redacted
        word nothing is known.
    block
        The block of a framework's allocator; None if it points to no allocation.
    """

    path: str
    node: NodeSignature
    offset: int | None
    operand: str | None
    reason: str
    certain: bool
    block: AllocatorBlock | None


def gone_block(block: AllocatorBlock | None) -> str | None:
    """Return why a block is not the graph's to use; None if it is, or there is no block.

    A free block of the graph's own pool is the graph's: its allocator keeps that memory for replays. So may be one of a
    private pool that is not known to be another's.
    """
    if block is None or block.pool in ("graph", "unknown"):
        return None
    freed = _FREED.get(block.state)
    return f"{freed or 'block'} of another graph's pool" if block.pool == "other" else freed


def gone_pointers(graph: GraphSignature) -> Iterator[GonePointer]:
    """Yield the addresses that point to memory that is gone, nested graphs included.

    Addresses in allocations of the graph's own allocation nodes are its own. Only what was recorded is seen: a kernel
    without recorded arguments yields nothing.
    """
    own = _OwnMemory(graph)
    for path, node in graph.walk():
        for offset, operand, reason, certain, block in _of_node(node, own):
            yield GonePointer(path, node, offset, operand, reason, certain, block)


_Gone = tuple[int | None, str | None, str, bool, AllocatorBlock | None]


class _OwnMemory:
    """The addresses that a graph's allocation nodes return."""

    def __init__(self, graph: GraphSignature) -> None:
        nodes = (node for _, node in graph.walk() if isinstance(node, MemAllocNode))
        ranges = sorted((node.address, node.address + node.size_bytes) for node in nodes)
        self._starts = [start for start, _ in ranges]
        self._ends = list(accumulate((end for _, end in ranges), max))

    def __contains__(self, address: int) -> bool:
        at = bisect_right(self._starts, address) - 1
        return at >= 0 and address < self._ends[at]


def _of_node(node: NodeSignature, own: _OwnMemory) -> Iterator[_Gone]:
    match node:
        case KernelNodeSignature():
            yield from _of_kernel(node, own)
        case MemcpyNode():
            for name, side in (("source", node.source), ("destination", node.destination)):
                yield from _of_operand(name, side.address, side.pointer, own, device=side.memory_type == _DEVICE)
        case MemsetNode():
            yield from _of_operand("destination", node.destination, node.pointer, own, device=True)
        case _:
            pass  # no addresses of memory


def _of_kernel(node: KernelNodeSignature, own: _OwnMemory) -> Iterator[_Gone]:
    for argument in node.arguments or ():
        for pointer in argument.pointers:
            offset = argument.offset_bytes + pointer.offset_bytes
            if pointer.target is not None:
                yield from _of_block(offset, None, pointer.target.block)
            elif pointer.address not in own:
                certain = argument.size_bytes == POINTER_BYTES and pointer.address != 0
                yield offset, None, NO_ALLOCATION, certain, None


def _of_operand(
    name: str, address: int, pointer: PointerFacts | None, own: _OwnMemory, *, device: bool
) -> Iterator[_Gone]:
    if pointer is None:
        return
    if pointer.target is not None:
        yield from _of_block(None, name, pointer.target.block)
    elif device and pointer.memory_type == _UNKNOWN_MEMORY and address not in own:
        yield None, name, NO_ALLOCATION, address != 0, None


def _of_block(offset: int | None, operand: str | None, block: AllocatorBlock | None) -> Iterator[_Gone]:
    reason = gone_block(block)
    if reason is not None and block is not None:
        yield offset, operand, reason, True, block
