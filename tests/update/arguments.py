"""Kernel nodes with arguments: what tests of rules, diffs and reports are built of."""

import struct
from typing import Any

from msgspec.structs import replace

from sigcontract.model.arguments import Allocation, AllocatorBlock, ArgumentPointer, KernelArgument, PointerTarget
from sigcontract.model.graph import GraphSignature, NodeSignature, inner_graphs, with_inner_graphs
from sigcontract.model.nodes import KernelNodeSignature, MemcpyNode, MemsetNode

__all__ = [
    "allocation",
    "block",
    "given",
    "moved",
    "pointer_to",
    "redacted",
    "scalar",
    "struct_of",
    "target",
    "unallocated",
]

#: Distance of the allocations of one process: none overlaps another.
_APART = 0x10_0000


def allocation(number: int = 1, **changed: Any) -> Allocation:
    """Return the allocation of that number in one process."""
    parts: dict[str, Any] = {
        "address": 0x7F00_0000_0000 + number * _APART,
        "size_bytes": 4096,
        "memory_type": 2,
        "device_ordinal": 0,
        "managed": False,
        "pooled": False,
    }
    return Allocation(**parts | changed)


def block(**changed: Any) -> AllocatorBlock:
    """Return a block of PyTorch's allocator that is in use."""
    parts: dict[str, Any] = {
        "allocator": "torch",
        "state": "allocated",
        "pool": "graph",
        "size_bytes": 512,
        "offset_bytes": 0,
        "stack": (),
    }
    return AllocatorBlock(**parts | changed)


def target(number: int = 1, offset: int = 0, held: AllocatorBlock | None = None, **changed: Any) -> PointerTarget:
    """Return an address in an allocation."""
    return PointerTarget(allocation=allocation(number, **changed), offset_bytes=offset, block=held)


def pointer_to(
    number: int = 1, offset: int = 0, held: AllocatorBlock | None = None, *, at: int = 0, **changed: Any
) -> KernelArgument:
    """Return an argument that is an address in the allocation of that number."""
    to = target(number, offset, held, **changed)
    address = to.allocation.address + offset
    word = ArgumentPointer(offset_bytes=0, address=address, target=to)
    return KernelArgument(offset_bytes=at, size_bytes=8, value="00" * 8, pointers=(word,))


def unallocated(address: int = 0x7E00_0000_0000, *, at: int = 0) -> KernelArgument:
    """Return an argument that looks like an address and is in no allocation."""
    word = ArgumentPointer(offset_bytes=0, address=address, target=None)
    return KernelArgument(offset_bytes=at, size_bytes=8, value="00" * 8, pointers=(word,))


def scalar(value: float, layout: str = "<i", *, at: int = 0) -> KernelArgument:
    """Return an argument that is a number, in the layout of `struct`."""
    return struct_of(layout, value, at=at)


def struct_of(layout: str, *values: Any, at: int = 0) -> KernelArgument:
    """Return a struct by value, in the layout of `struct`."""
    content = struct.pack(layout, *values)
    return KernelArgument(offset_bytes=at, size_bytes=len(content), value=content.hex(), pointers=())


def given(node: KernelNodeSignature, *arguments: KernelArgument) -> KernelNodeSignature:
    """Return a kernel node with these arguments, each 8 bytes after the one before where it is at 0."""
    at = 0
    at_offsets = []
    for argument in arguments:
        at = max(at, argument.offset_bytes)
        at_offsets.append(replace(argument, offset_bytes=at))
        at += -(-argument.size_bytes // 8) * 8
    return replace(node, arguments=tuple(at_offsets))


def redacted(node: KernelNodeSignature) -> KernelNodeSignature:
    """Return a kernel node without the values of its arguments."""
    assert node.arguments is not None
    return replace(
        node,
        arguments=tuple(
            replace(argument, value=None, pointers=tuple(replace(word, address=0) for word in argument.pointers))
            for argument in node.arguments
        ),
    )


def moved(graph: GraphSignature, by: int = 0x55_0000_0000) -> GraphSignature:
    """Return the graph of a process whose memory is elsewhere, everything else the same."""

    def to(old: PointerTarget | None) -> PointerTarget | None:
        if old is None:
            return None
        return replace(old, allocation=replace(old.allocation, address=old.allocation.address + by))

    def node(old: NodeSignature) -> NodeSignature:
        if isinstance(old, KernelNodeSignature) and old.arguments is not None:
            return replace(
                old,
                arguments=tuple(
                    replace(
                        argument,
                        pointers=tuple(
                            replace(word, address=word.address + by, target=to(word.target))
                            for word in argument.pointers
                        ),
                    )
                    for argument in old.arguments
                ),
            )
        if isinstance(old, MemsetNode) and old.pointer is not None:
            pointer = replace(old.pointer, target=to(old.pointer.target))
            return replace(old, destination=old.destination + by, pointer=pointer)
        if isinstance(old, MemcpyNode):
            sides = {
                name: replace(
                    side, address=side.address + by, pointer=replace(side.pointer, target=to(side.pointer.target))
                )
                for name, side in (("source", old.source), ("destination", old.destination))
                if side.pointer is not None
            }
            return replace(old, **sides)
        if any(inner_graphs(old)):
            return with_inner_graphs(old, lambda inner: moved(inner, by))
        return old

    return GraphSignature(nodes=tuple(map(node, graph.nodes)), dependencies=graph.dependencies)
