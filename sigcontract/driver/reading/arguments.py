"""What kernel nodes pass to their kernels: bytes by the function's layout, addresses separated from values.

Kernels of a graph share functions, buffers and scalars, so distinct arguments are built once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress
from operator import getitem
from struct import Struct

from msgspec.structs import replace

from sigcontract.driver.cuda import ArgumentAddresses, ParameterBuffer
from sigcontract.driver.reading.allocations import AllocationTable
from sigcontract.model import (
    POINTER_BYTES,
    ArgumentPointer,
    FunctionFacts,
    KernelArgument,
    KernelNodeSignature,
    PointerTarget,
)

__all__ = ["ArgumentReader"]

#: What stands in the value of an argument where a pointer is.
_ZERO_WORD = bytes(POINTER_BYTES)


class _Arguments(dict[bytes, KernelArgument]):
    """The arguments of one offset and size, by their bytes; built where missing.

    Parameters
    ----------
    offset, size
        Offset in the parameter buffer and size, in bytes.
    pointers
        The words known to be pointers, and their targets; `ArgumentReader` adds to it.
    """

    def __init__(self, offset: int, size: int, pointers: Mapping[int, PointerTarget | None]) -> None:
        super().__init__()
        self._offset = offset
        self._first = -offset % POINTER_BYTES
        self._indices = range((size - self._first) // POINTER_BYTES)
        self._words = Struct(f"<{self._first}x{len(self._indices)}Q" if self._indices else "<").unpack_from
        self._pointers = pointers

    def __missing__(self, data: bytes) -> KernelArgument:
        words = self._words(data)
        targets = self._pointers
        value = bytearray(data)
        pointers = []
        # Only words that are pointers pass through Python code: a struct has hundreds of others.
        for index in compress(self._indices, map(targets.__contains__, words)):
            start = self._first + index * POINTER_BYTES
            pointers.append(ArgumentPointer(offset_bytes=start, address=words[index], target=targets[words[index]]))
            value[start : start + POINTER_BYTES] = _ZERO_WORD
        argument = self[data] = KernelArgument(
            offset_bytes=self._offset, size_bytes=len(data), value=value.hex(), pointers=tuple(pointers)
        )
        return argument


class _Layout:
    """The parameters of one function: the offsets of their bytes, and their aligned words.

    A word is aligned relative to the parameter buffer, as the kernel reads it, and lies in one parameter.
    """

    def __init__(self, layout: Sequence[tuple[int, int]], arguments: Callable[[int, int], _Arguments]) -> None:
        buffer = ParameterBuffer(layout)
        valid = layout if buffer.valid else ()
        self.read = buffer.read
        #: Unpacks all aligned words of a parameter buffer.
        self.words = Struct("<" + "".join(_word_formats(valid))).unpack_from
        #: Unpacks the bytes of each parameter.
        self.parts = Struct("<" + "".join(_part_formats(valid))).unpack
        self.arguments = [arguments(offset, size) for offset, size in valid]


def _part_formats(layout: Sequence[tuple[int, int]]) -> Iterator[str]:
    end = 0
    for offset, size in layout:
        yield f"{offset - end}x{size}s"
        end = offset + size


def _word_formats(layout: Sequence[tuple[int, int]]) -> Iterator[str]:
    end = 0
    for offset, size in layout:
        for start in range(offset + -offset % POINTER_BYTES, offset + size - POINTER_BYTES + 1, POINTER_BYTES):
            yield f"{start - end}xQ"
            end = start + POINTER_BYTES


class ArgumentReader:
    """Adds arguments to the kernel nodes of one `read_graph`.

    Parameters
    ----------
    table
        The allocations that pointers lead into.
    """

    def __init__(self, table: AllocationTable) -> None:
        self._table = table
        self._pointers: dict[int, PointerTarget | None] = {}
        self._layouts: dict[int, _Layout | None] = {}
        self._arguments: dict[tuple[int, int], _Arguments] = {}

    def with_arguments(
        self, kernels: Sequence[KernelNodeSignature], addresses: ArgumentAddresses
    ) -> list[KernelNodeSignature]:
        """Return the nodes with their arguments; as they are where these cannot be read."""
        keys: list[tuple[int, bytes | None]] = []
        rows: dict[tuple[int, bytes | None], tuple[KernelNodeSignature, _Layout, bytes]] = {}
        words: set[int] = set()
        for kernel, kernel_params, extra in zip(kernels, *addresses, strict=True):
            layout = self._layout_of(kernel.function)
            buffer = None if layout is None else layout.read(kernel_params, extra)
            key = id(kernel), buffer  # equal rows share one record
            keys.append(key)
            if layout is not None and buffer is not None and key not in rows:
                rows[key] = kernel, layout, buffer
                words.update(layout.words(buffer))
        # All words first: whether one looks like an address depends on the allocations that others lead to.
        self._pointers.update(self._table.pointers(words))
        built = {key: self._with_arguments(*row) for key, row in rows.items()}
        return [built.get(key, kernel) for key, kernel in zip(keys, kernels, strict=True)]

    def _layout_of(self, function: FunctionFacts | None) -> _Layout | None:
        """Return the layout of a function, None if the driver does not report it. The reader keeps the facts alive."""
        key = id(function)
        if key not in self._layouts:
            parameters = None if function is None else function.parameters
            layout = None if parameters is None else [(one.offset_bytes, one.size_bytes) for one in parameters]
            self._layouts[key] = None if layout is None else _Layout(layout, self._arguments_of)
        return self._layouts[key]

    def _arguments_of(self, offset: int, size: int) -> _Arguments:
        """Return the arguments of an offset and size, which functions share."""
        return self._arguments.setdefault((offset, size), _Arguments(offset, size, self._pointers))

    def _with_arguments(self, kernel: KernelNodeSignature, layout: _Layout, buffer: bytes) -> KernelNodeSignature:
        refused = self._table.refused
        if refused and not refused.isdisjoint(layout.words(buffer)):
            return kernel  # the driver refused to answer for a word, which may be an address: nothing is guessed
        return replace(kernel, arguments=tuple(map(getitem, layout.arguments, layout.parts(buffer))))
