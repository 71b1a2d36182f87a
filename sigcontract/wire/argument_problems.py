"""Contradictions in the tables of arguments: rows that are missing, words and offsets that do not fit."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from msgspec import UNSET

from sigcontract.errors import InvariantError, RecordError
from sigcontract.model import (
    MAX_EXACT_INT,
    KernelNodeSignature,
    MemcpyNode,
    MemsetNode,
    check_argument_layout,
    check_offset,
    check_words,
)
from sigcontract.wire.rows3 import NODE_ROWS
from sigcontract.wire.table_problems import dangling, unused

__all__ = ["argument_problems"]

_KERNEL, _MEMCPY, _MEMSET = (NODE_ROWS[record] for record in (KernelNodeSignature, MemcpyNode, MemsetNode))


def argument_problems(document: Any) -> Iterator[RecordError]:
    """Yield what is wrong with arguments, pointers, and the allocations and blocks that they refer to."""
    targets = list(_targets(document))
    for path, target in targets:
        yield from _target_problems(document, path, target)
    yield from unused("allocations", (target.allocation for _, target in targets), len(document.allocations))
    blocks = (target.block.block for _, target in targets if target.block is not UNSET)
    yield from unused("blocks", blocks, len(document.blocks))
    for index, row in enumerate(document.pointers):
        if row.address is UNSET and row.target is UNSET:
            msg = "neither address nor target; write the address, or 0 if it is redacted"
            yield InvariantError(msg, path=f"$.pointers[{index}]")
    for index, row in enumerate(document.arguments):
        value = None if row.value is UNSET else row.value
        yield from _refused(check_words, row.size_bytes, value, row.pointers, f"$.arguments[{index}]")
    kernels = [(index, row.kernel) for index, row in enumerate(document.nodes) if type(row) is _KERNEL]
    layout = [(row.offset_bytes, row.size_bytes, len(row.pointers)) for row in document.arguments]
    for index, kernel in kernels:
        if kernel.arguments is not UNSET or kernel.pointers is not UNSET:
            yield from _kernel_problems(document, f"$.nodes[{index}].kernel", kernel, layout)
    used = chain.from_iterable(kernel.arguments for _, kernel in kernels if kernel.arguments is not UNSET)
    yield from unused("arguments", used, len(document.arguments))
    used = chain.from_iterable(kernel.pointers for _, kernel in kernels if kernel.pointers is not UNSET)
    yield from unused("pointers", used, len(document.pointers))


def _targets(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield each target of a pointer or an operand, with its path."""
    for index, row in enumerate(document.pointers):
        if row.target is not UNSET:
            yield f"$.pointers[{index}].target", row.target
    for index, row in enumerate(document.nodes):
        holders: dict[str, Any] = {}
        if type(row) is _MEMCPY:
            holders = {"memcpy.source": row.memcpy.source, "memcpy.destination": row.memcpy.destination}
        elif type(row) is _MEMSET:
            holders = {"memset": row.memset}
        for name, holder in holders.items():
            if holder.pointer is not UNSET and holder.pointer.target is not UNSET:
                yield f"$.nodes[{index}].{name}.pointer.target", holder.pointer.target


def _target_problems(document: Any, path: str, target: Any) -> Iterator[RecordError]:
    if target.allocation >= len(document.allocations):
        yield dangling(f"{path}.allocation", target.allocation, "allocations", len(document.allocations))
    else:
        allocation = document.allocations[target.allocation]
        fault = f"{path}.offset_bytes"
        yield from _refused(check_offset, target.offset_bytes, allocation.size_bytes, "allocation", fault)
        if allocation.address + target.offset_bytes > MAX_EXACT_INT:
            msg = f"address {allocation.address} plus {target.offset_bytes} is more than an address holds"
            yield InvariantError(msg, path=fault)
    if target.block is UNSET:
        return
    if target.block.block >= len(document.blocks):
        yield dangling(f"{path}.block.block", target.block.block, "blocks", len(document.blocks))
    else:
        size_bytes = document.blocks[target.block.block].size_bytes
        yield from _refused(check_offset, target.block.offset_bytes, size_bytes, "block", f"{path}.block.offset_bytes")


def _kernel_problems(
    document: Any, path: str, kernel: Any, layout: list[tuple[int, int, int]]
) -> Iterator[RecordError]:
    arguments = () if kernel.arguments is UNSET else kernel.arguments
    pointers = () if kernel.pointers is UNSET else kernel.pointers
    missing = False
    for name, rows in (("arguments", arguments), ("pointers", pointers)):
        length = len(getattr(document, name))
        for at, row in enumerate(rows if max(rows, default=-1) >= length else ()):
            if row >= length:
                missing = True
                yield dangling(f"{path}.{name}[{at}]", row, name, length)
    if missing:
        return
    given = [layout[row] for row in arguments]
    words = sum(count for _, _, count in given)
    if words != len(pointers):
        msg = f"{len(pointers)} pointers of arguments with {words} words that are addresses"
        yield InvariantError(msg, path=f"{path}.pointers")
    yield from _refused(check_argument_layout, [(offset, size) for offset, size, _ in given], f"{path}.arguments")


def _refused(check: Any, *values: Any) -> Iterator[RecordError]:
    try:
        check(*values)
    except InvariantError as error:
        yield error
