"""What kernel nodes pass to their kernels: bytes by the function's layout, addresses separated from values.

Kernels of a graph share functions, buffers and scalars, so distinct arguments are built once.
"""

from collections.abc import Callable, Iterator, Sequence
from operator import getitem
from struct import Struct, unpack_from

from msgspec.structs import replace

from sigcontract.driver.cuda import ArgumentAddresses, ParameterBuffer
from sigcontract.driver.reading.allocations import AllocationTable
from sigcontract.model import (
    POINTER_BYTES,
    ArgumentPointer,
    FunctionFacts,
    KernelArgument,
    KernelNodeSignature,
)

__all__ = ["ArgumentReader"]

#: A word of zeros, hexadecimal.
_ZERO_WORD = bytes(POINTER_BYTES).hex()


class _Built(dict[bytes, KernelArgument]):
    """The arguments at one offset, by their bytes; built where missing.

    Parameters
    ----------
    build
        Builds the argument of an offset and bytes.
    offset
        Offset in the parameter buffer, in bytes.
    """

    def __init__(self, build: Callable[[int, bytes], KernelArgument], offset: int) -> None:
        super().__init__()
        self._build = build
        self._offset = offset

    def __missing__(self, data: bytes) -> KernelArgument:
        argument = self[data] = self._build(self._offset, data)
        return argument


class _Layout:
    """The parameters of one function: the offsets of their bytes, and their aligned words.

    A word is aligned relative to the parameter buffer, as the kernel reads it, and lies in one parameter.
    """

    def __init__(self, layout: Sequence[tuple[int, int]], built: Callable[[int], _Built]) -> None:
        buffer = ParameterBuffer(layout)
        self.read = buffer.read
        #: Unpacks all aligned words of a parameter buffer.
        self.words = Struct("<" + "".join(_word_formats(layout)) if buffer.valid else "<").unpack_from
        #: Unpacks the bytes of each parameter.
        self.parts = Struct("<" + "".join(_part_formats(layout)) if buffer.valid else "<").unpack
        self.built = [built(offset) for offset, _size in layout]


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
        self._layouts: dict[int, _Layout | None] = {}
        self._built: dict[int, _Built] = {}

    def with_arguments(
        self, kernels: Sequence[KernelNodeSignature], addresses: ArgumentAddresses
    ) -> list[KernelNodeSignature]:
        """Return the nodes with their arguments; as they are where these cannot be read."""
        rows: list[tuple[KernelNodeSignature, _Layout | None, bytes | None]] = []
        # All words first: whether one looks like an address depends on the allocations that others lead to.
        words: set[int] = set()
        for kernel, kernel_params, extra in zip(kernels, *addresses, strict=True):
            layout = self._layout_of(kernel.function)
            buffer = None if layout is None else layout.read(kernel_params, extra)
            if layout is not None and buffer is not None:
                words.update(layout.words(buffer))
            rows.append((kernel, layout, buffer))
        self._table.look_up(words)
        built: dict[tuple[int, bytes], KernelNodeSignature] = {}
        nodes = []
        for kernel, layout, buffer in rows:
            if layout is None or buffer is None:
                nodes.append(kernel)
                continue
            key = id(kernel), buffer  # equal rows share one record, which `rows` keeps alive
            node = built.get(key)
            if node is None:
                node = built[key] = self._with_arguments(kernel, layout, buffer)
            nodes.append(node)
        return nodes

    def _layout_of(self, function: FunctionFacts | None) -> _Layout | None:
        """Return the layout of a function, None if the driver does not report it. The reader keeps the facts alive."""
        key = id(function)
        if key not in self._layouts:
            parameters = None if function is None else function.parameters
            layout = None if parameters is None else [(one.offset_bytes, one.size_bytes) for one in parameters]
            self._layouts[key] = None if layout is None else _Layout(layout, self._built_at)
        return self._layouts[key]

    def _with_arguments(self, kernel: KernelNodeSignature, layout: _Layout, buffer: bytes) -> KernelNodeSignature:
        refused = self._table.refused
        if refused and not refused.isdisjoint(layout.words(buffer)):
            return kernel  # the driver refused to answer for a word, which may be an address: nothing is guessed
        return replace(kernel, arguments=tuple(map(getitem, layout.built, layout.parts(buffer))))

    def _built_at(self, offset: int) -> _Built:
        """Return the arguments at an offset, which functions share."""
        return self._built.setdefault(offset, _Built(self._argument, offset))

    def _argument(self, offset: int, data: bytes) -> KernelArgument:
        first = -offset % POINTER_BYTES
        count = (len(data) - first) // POINTER_BYTES
        pointers: list[ArgumentPointer] = []
        value = data.hex()
        if count > 0:
            table = self._table
            for index, word in enumerate(unpack_from(f"<{count}Q", data, first)):
                if table.is_pointer(word):
                    start = first + index * POINTER_BYTES
                    pointers.append(ArgumentPointer(offset_bytes=start, address=word, target=table.target(word)))
                    value = value[: 2 * start] + _ZERO_WORD + value[2 * (start + POINTER_BYTES) :]
        return KernelArgument(offset_bytes=offset, size_bytes=len(data), value=value, pointers=tuple(pointers))
