"""What a kernel is given: the bytes of each parameter, and the allocations that its pointers lead into.

Recorded on request only: arguments may hold secrets, and reading them takes time.
"""

from typing import Annotated, Literal

from msgspec import Meta

from sigcontract.model.handles import handle
from sigcontract.model.record import Handle, Int32, Record, Size, Text, UInt32

__all__ = ["Allocation", "AllocatorBlock", "ArgumentPointer", "KernelArgument", "PointerTarget"]

#: Hexadecimal bytes in memory order. The look-ahead, not ``$``, ends the pattern: Python's ``$`` lets a newline through.
_HexBytes = Annotated[str, Meta(pattern=r"^([0-9a-f]{2})*(?![\s\S])", max_length=2 * 65536)]


class Allocation(Record, frozen=True, kw_only=True):
    """An allocation that the driver knows (cuPointerGetAttributes)."""

    address: Annotated[
        Handle,
        Meta(
            description="Process-local first address (CU_POINTER_ATTRIBUTE_RANGE_START_ADDR).",
            extra=handle("allocation"),
        ),
    ]
    size_bytes: Annotated[Size | None, Meta(description="Size, in bytes (CU_POINTER_ATTRIBUTE_RANGE_SIZE).")]
    memory_type: Annotated[Int32 | None, Meta(description="CUmemorytype (CU_POINTER_ATTRIBUTE_MEMORY_TYPE).")]
    device_ordinal: Annotated[
        Int32 | None, Meta(description="CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL.", extra=handle("device"))
    ]
    managed: Annotated[bool | None, Meta(description="CU_POINTER_ATTRIBUTE_IS_MANAGED.")]
    pooled: Annotated[
        bool | None,
        Meta(description="Whether a memory pool owns it (CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE is not null)."),
    ]


class AllocatorBlock(Record, frozen=True, kw_only=True):
    """The block of a framework's caching allocator that an address lies in, when the graph was read."""

    allocator: Annotated[Text, Meta(description="Name of the framework, such as torch.")]
    state: Annotated[
        Literal["allocated", "pending_free", "free"],
        Meta(description="Whether the block is in use, freed but awaiting a stream, or free."),
    ]
    pool: Annotated[
        Literal["default", "graph", "other", "unknown"],
        Meta(
            description="The allocator's default pool, the pool that this graph was captured into, another graph's "
            "pool, or a private pool where the graph's own is not known."
        ),
    ]
    size_bytes: Annotated[Size, Meta(description="Size, in bytes.")]
    offset_bytes: Annotated[Size, Meta(description="Offset of the address into the block, in bytes.")]
    stack: Annotated[
        tuple[Text, ...],
        Meta(description="Python frames that allocated the block, innermost first; empty if not recorded."),
    ]


class PointerTarget(Record, frozen=True, kw_only=True):
    """What an address leads to."""

    allocation: Annotated[Allocation, Meta(description="Allocation that contains the address.")]
    offset_bytes: Annotated[Size, Meta(description="Offset of the address into the allocation, in bytes.")]
    block: Annotated[
        AllocatorBlock | None, Meta(description="Block of a framework's allocator; null if not known.")
    ]


class ArgumentPointer(Record, frozen=True, kw_only=True):
    """An aligned 8-byte word of an argument that is an address, or looks like one."""

    offset_bytes: Annotated[UInt32, Meta(description="Offset of the word into the argument, in bytes.")]
    address: Annotated[
        Handle, Meta(description="Process-local address; 0 if redacted.", extra=handle("memory"))
    ]
    target: Annotated[
        PointerTarget | None,
        Meta(description="Where it leads; null if the word looks like an address and belongs to no allocation."),
    ]


class KernelArgument(Record, frozen=True, kw_only=True):
    """One argument of a kernel node (CUDA_KERNEL_NODE_PARAMS.kernelParams or extra)."""

    offset_bytes: Annotated[
        UInt32, Meta(description="Offset in the parameter buffer, in bytes (cuFuncGetParamInfo).")
    ]
    size_bytes: Annotated[UInt32, Meta(description="Size, in bytes (cuFuncGetParamInfo).")]
    value: Annotated[
        _HexBytes | None,
        Meta(description="The bytes, hexadecimal, in memory order; words listed in pointers are zero. null: redacted."),
    ]
    pointers: Annotated[
        tuple[ArgumentPointer, ...], Meta(description="Words that are addresses, in ascending order of offset.")
    ]
