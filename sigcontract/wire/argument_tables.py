"""Fold the arguments of kernels, and what their pointers point to, into tables, and read them back."""

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from sigcontract.errors import RecordError
from sigcontract.model import (
    AllocatorBlock,
    ArgumentPointer,
    KernelArgument,
    MemcpyNode,
    MemcpyOperand,
    MemsetNode,
    PointerFacts,
    PointerTarget,
    check_argument_layout,
)
from sigcontract.wire.decoder_errors import below
from sigcontract.wire.distinct_rows import Table, row_key
from sigcontract.wire.rows import (
    ArgumentRow,
    BlockRow,
    BlockUseRow,
    MemcpyOperandRow,
    MemcpyRow,
    MemsetRow,
    PointerFactsRow,
    PointerRow,
    TargetRow,
)

__all__ = ["ArgumentFolder", "ArgumentReader"]

_SHORT_FIELDS_OF_BLOCK = tuple(name for name in BlockRow.__struct_fields__ if name != "stack")


class ArgumentFolder:
    """Collects arguments into tables. A folder must not outlive its graphs."""

    def __init__(self) -> None:
        self.allocations = Table()
        self.blocks = Table()
        self.pointers = Table()
        self.arguments = Table()
        # Caches by object id: values that many nodes share are processed once.
        self._lists: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._argument_rows: dict[int, int] = {}
        self._pointer_rows: dict[int, int] = {}
        self._target_rows: dict[int, Any] = {}
        # Addresses in one block share its stack, which may be long: it is encoded once, not per address.
        self._block_rows: dict[tuple[bytes, int], int] = {}

    def fold(self, arguments: tuple[KernelArgument, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the rows of arguments, and the rows of the pointers in them.

        Raises
        ------
        InvariantError
            Offsets, sizes and bytes contradict each other.
        TypeError, AttributeError
            A value is not of its declared type.
        """
        known = self._lists.get(id(arguments))
        if known is None:
            _refuse_others(tuple, arguments)
            check_argument_layout([(argument.offset_bytes, argument.size_bytes) for argument in arguments])
            rows: list[int] = []
            pointers: list[int] = []
            for index, argument in enumerate(arguments):
                try:
                    rows.append(self._argument(argument))
                    for at, pointer in enumerate(argument.pointers):
                        pointers.append(self._pointer(pointer, at))
                except RecordError as error:
                    raise below(f"$.arguments[{index}]", error) from error
            known = self._lists[id(arguments)] = tuple(rows), tuple(pointers)
        return known

    def memcpy(self, node: MemcpyNode) -> Any:
        """Return the row of a memcpy node. Raises as `fold`."""
        operands = {name: self._operand(getattr(node, name), name) for name in ("source", "destination")}
        return MemcpyRow(**_fields(node) | operands)

    def memset(self, node: MemsetNode) -> Any:
        """Return the row of a memset node. Raises as `fold`."""
        return MemsetRow(**_fields(node) | {"pointer": self._facts(node.pointer, "$.pointer")})

    def _operand(self, operand: MemcpyOperand, name: str) -> Any:
        _refuse_others(MemcpyOperand, operand)
        return MemcpyOperandRow(**_fields(operand) | {"pointer": self._facts(operand.pointer, f"$.{name}.pointer")})

    def _facts(self, facts: PointerFacts | None, path: str) -> Any:
        if facts is None:
            return None
        _refuse_others(PointerFacts, facts)
        try:
            return PointerFactsRow(**_fields(facts) | {"target": self._target(facts.target)})
        except RecordError as error:
            raise below(f"{path}.target", error) from error

    def _argument(self, argument: KernelArgument) -> int:
        row = self._argument_rows.get(id(argument))
        if row is None:
            _refuse_others(KernelArgument, argument)
            _refuse_others(tuple, argument.pointers)
            argument.check()
            row = self._argument_rows[id(argument)] = self.arguments.index_of(
                ArgumentRow(
                    offset_bytes=argument.offset_bytes,
                    size_bytes=argument.size_bytes,
                    value=_left_out(argument.value),
                    pointers=tuple([pointer.offset_bytes for pointer in argument.pointers]),
                )
            )
        return row

    def _pointer(self, pointer: ArgumentPointer, index: int) -> int:
        row = self._pointer_rows.get(id(pointer))
        if row is None:
            _refuse_others(ArgumentPointer, pointer)
            try:
                target = self._target(pointer.target)
            except RecordError as error:
                raise below(f"$.pointers[{index}].target", error) from error
            follows = pointer.target is not None and pointer.address == _address_of(pointer.target)
            row = self._pointer_rows[id(pointer)] = self.pointers.index_of(
                PointerRow(address=UNSET if follows else pointer.address, target=target)
            )
        return row

    def _target(self, target: PointerTarget | None) -> Any:
        if target is None:
            return UNSET
        row = self._target_rows.get(id(target))
        if row is None:
            _refuse_others(PointerTarget, target)
            target.check()
            row = self._target_rows[id(target)] = TargetRow(
                allocation=self.allocations.index_of(target.allocation),
                offset_bytes=target.offset_bytes,
                block=self._block(target.block),
            )
        return row

    def _block(self, block: AllocatorBlock | None) -> Any:
        if block is None:
            return UNSET
        _refuse_others(AllocatorBlock, block)
        fields = _fields(block)
        offset = fields.pop("offset_bytes")
        key = row_key([fields[name] for name in _SHORT_FIELDS_OF_BLOCK]), id(block.stack)
        row = self._block_rows.get(key)
        if row is None:
            row = self._block_rows[key] = self.blocks.index_of(BlockRow(**fields))
        return BlockUseRow(block=row, offset_bytes=offset)


class ArgumentReader:
    """Reads rows of arguments from the tables of a document; one row without pointers is one object."""

    def __init__(self, document: Any) -> None:
        self._allocations = document.allocations
        self._blocks = document.blocks
        self._arguments = document.arguments
        self._pointers = [self._pointer(row) for row in document.pointers]
        self._without_pointers: list[KernelArgument | None] = [
            None
            if row.pointers
            else KernelArgument(
                offset_bytes=row.offset_bytes, size_bytes=row.size_bytes, value=_null(row.value), pointers=()
            )
            for row in document.arguments
        ]

    def arguments(self, rows: Any, pointers: Any) -> tuple[KernelArgument, ...] | None:
        """Return the arguments of a kernel node, None if they are not recorded."""
        if rows is UNSET:
            return None
        found = []
        words = iter(() if pointers is UNSET else pointers)
        for row in rows:
            shared = self._without_pointers[row]
            found.append(self._with_pointers(self._arguments[row], words) if shared is None else shared)
        return tuple(found)

    def _with_pointers(self, row: Any, words: Iterator[int]) -> KernelArgument:
        pointers = []
        for offset, word in zip(row.pointers, words, strict=False):
            address, target = self._pointers[word]
            pointers.append(ArgumentPointer(offset_bytes=offset, address=address, target=target))
        return KernelArgument(
            offset_bytes=row.offset_bytes, size_bytes=row.size_bytes, value=_null(row.value), pointers=tuple(pointers)
        )

    def target(self, row: Any) -> PointerTarget | None:
        """Return what an address points to."""
        if row is UNSET:
            return None
        return PointerTarget(
            allocation=self._allocations[row.allocation], offset_bytes=row.offset_bytes, block=self._block(row.block)
        )

    def _pointer(self, row: Any) -> tuple[int, PointerTarget | None]:
        target = self.target(row.target)
        if row.address is not UNSET:
            return row.address, target
        return (0 if target is None else _address_of(target)), target

    def _block(self, use: Any) -> AllocatorBlock | None:
        if use is UNSET:
            return None
        return AllocatorBlock(**_fields(self._blocks[use.block]), offset_bytes=use.offset_bytes)


def _address_of(target: PointerTarget) -> int:
    return target.allocation.address + target.offset_bytes


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def _left_out(value: Any) -> Any:
    return UNSET if value is None else value


def _null(value: Any) -> Any:
    return None if value is UNSET else value


def _refuse_others(kind: type, value: object) -> None:
    if type(value) is not kind:
        raise TypeError(f"a {kind.__name__} is expected, not a {type(value).__name__}")
