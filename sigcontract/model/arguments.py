"""The arguments of a kernel: the bytes of each parameter, and the allocations that its pointers point into.

Recorded on request only: arguments may hold secrets, and reading them takes time.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta

from sigcontract.errors import InvariantError
from sigcontract.model.handles import handle
from sigcontract.model.record import Handle, Int32, Record, Size, Text, UInt32

__all__ = [
    "MAX_ARGUMENT_BYTES",
    "POINTER_BYTES",
    "Allocation",
    "AllocatorBlock",
    "ArgumentPointer",
    "KernelArgument",
    "PointerTarget",
    "check_argument_layout",
    "check_offset",
    "check_words",
]

#: Bytes of the arguments of one kernel: CUDA 12.1 and later take 32,764, earlier ones 4,096.
MAX_ARGUMENT_BYTES: Final = 32_764
#: Bytes of an address.
POINTER_BYTES: Final = 8

#: Hexadecimal bytes in memory order. The look-ahead ends the pattern: Python's ``$`` lets a newline through.
_HexBytes = Annotated[str, Meta(pattern=r"^([0-9a-f]{2})*(?![\s\S])", max_length=2 * MAX_ARGUMENT_BYTES)]


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
        Meta(
            description="Python frames that allocated the block, innermost first; empty if not recorded.",
            extra=handle("stack"),
        ),
    ]


class PointerTarget(Record, frozen=True, kw_only=True):
    """What an address leads to."""

    allocation: Annotated[Allocation, Meta(description="Allocation that contains the address.")]
    offset_bytes: Annotated[Size, Meta(description="Offset of the address into the allocation, in bytes.")]
    block: Annotated[AllocatorBlock | None, Meta(description="Block of a framework's allocator; null if not known.")]

    def check(self) -> None:
        """Raise InvariantError if the address is not in the allocation, or not in the block."""
        check_offset(self.offset_bytes, self.allocation.size_bytes, "allocation", "$.offset_bytes")
        if self.block is not None:
            check_offset(self.block.offset_bytes, self.block.size_bytes, "block", "$.block.offset_bytes")


def check_offset(offset_bytes: int, size_bytes: int | None, name: str, path: str) -> None:
    """Raise InvariantError, at ``path``, if an offset is not within the bytes of an allocation or block."""
    if size_bytes is not None and offset_bytes >= size_bytes:
        msg = f"offset {offset_bytes} is beyond the {size_bytes} bytes of the {name}"
        raise InvariantError(msg, path=path)


class ArgumentPointer(Record, frozen=True, kw_only=True):
    """An aligned 8-byte word of an argument that is an address, or looks like one."""

    offset_bytes: Annotated[UInt32, Meta(description="Offset of the word into the argument, in bytes.")]
    address: Annotated[Handle, Meta(description="Process-local address; 0 if redacted.", extra=handle("memory"))]
    target: Annotated[
        PointerTarget | None,
        Meta(description="Where it leads; null if the word looks like an address and belongs to no allocation."),
    ]


class KernelArgument(Record, frozen=True, kw_only=True):
    """One argument of a kernel node (CUDA_KERNEL_NODE_PARAMS.kernelParams or extra)."""

    offset_bytes: Annotated[UInt32, Meta(description="Offset in the parameter buffer, in bytes (cuFuncGetParamInfo).")]
    size_bytes: Annotated[UInt32, Meta(description="Size, in bytes (cuFuncGetParamInfo).")]
    value: Annotated[
        _HexBytes | None,
        Meta(description="The bytes, hexadecimal, in memory order; words listed in pointers are zero. null: redacted."),
    ]
    pointers: Annotated[
        tuple[ArgumentPointer, ...], Meta(description="Words that are addresses, in ascending order of offset.")
    ]

    def check(self) -> None:
        """Raise InvariantError unless the value has the size, and pointers ascend within it over zero bytes."""
        check_words(self.size_bytes, self.value, [pointer.offset_bytes for pointer in self.pointers])


def check_words(size_bytes: int, value: str | None, offsets: Sequence[int], path: str = "$") -> None:
    """Raise InvariantError unless a value has the size, and the words at the offsets ascend within it and are zero.

    ``path`` is that of the argument.
    """
    if value is not None and len(value) != 2 * size_bytes:
        msg = f"{len(value) // 2} bytes of an argument of {size_bytes} bytes"
        raise InvariantError(msg, path=f"{path}.value")
    free = 0
    for index, offset in enumerate(offsets):
        fault = None
        if offset < free:
            fault = f"overlaps or precedes the word before it, which ends at {free}"
        elif offset + POINTER_BYTES > size_bytes:
            fault = f"ends beyond the {size_bytes} bytes of the argument"
        elif value is not None and value[2 * offset : 2 * (offset + POINTER_BYTES)].strip("0"):
            fault = "is not zero in value; its address belongs in pointers alone"
        if fault is not None:
            raise InvariantError(f"the word at offset {offset} {fault}", path=f"{path}.pointers[{index}]")
        free = offset + POINTER_BYTES


def check_argument_layout(layout: Iterable[tuple[int, int]], path: str = "$.arguments") -> None:
    """Raise InvariantError unless arguments, as offset and size in bytes, ascend without overlap and are few enough."""
    free = 0
    for index, (offset, size) in enumerate(layout):
        fault = None
        if offset < free:
            fault = f"overlaps or precedes the one before it, which ends at {free}"
        elif not size:
            fault = "has no bytes"
        elif offset + size > MAX_ARGUMENT_BYTES:
            fault = f"ends at {offset + size}; a kernel takes at most {MAX_ARGUMENT_BYTES} bytes of arguments"
        if fault is not None:
            raise InvariantError(f"the argument at offset {offset} {fault}", path=f"{path}[{index}]")
        free = offset + size
