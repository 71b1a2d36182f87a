"""What kernel nodes pass to their kernels: bytes by the function's layout, addresses told apart from values.

Kernels of a graph share functions, buffers and scalars, so distinct arguments are built once.
"""

from collections.abc import Iterator, Sequence
from struct import Struct

from msgspec.structs import replace

from sigcontract.driver.cuda import (
    ArgumentAddresses,
    ParameterBuffer,
    ReadApi,
)
from sigcontract.driver.reading.allocations import AllocationTable, AllocatorBlocks
from sigcontract.model import (
    ArgumentPointer,
    FunctionFacts,
    KernelArgument,
    KernelNodeSignature,
    MemAllocNode,
    MemcpyNode,
    MemcpyOperand,
    MemLocationType,
    MemsetNode,
    PointerFacts,
)

__all__ = ["ArgumentReader"]

_WORD_BYTES = 8


class _Layout:
    """The parameters of one function: where their bytes are, and which words of them are aligned.

    Words are aligned relative to the parameter buffer, which is where the kernel reads them, and lie in one parameter.
    """

    def __init__(self, layout: Sequence[tuple[int, int]]) -> None:
        self.buffer = ParameterBuffer(layout)
        self.slices = [(offset, slice(offset, offset + size)) for offset, size in layout]
        #: Unpacks all aligned words of a parameter buffer.
        self.words = Struct("<" + "".join(_word_formats(layout)) if self.buffer.valid else "<")


def _word_formats(layout: Sequence[tuple[int, int]]) -> Iterator[str]:
    end = 0
    for offset, size in layout:
        for start in range(offset + -offset % _WORD_BYTES, offset + size - _WORD_BYTES + 1, _WORD_BYTES):
            yield f"{start - end}xQ"
            end = start + _WORD_BYTES


class ArgumentReader:
    """Adds arguments to the nodes of one `read_graph`.

    Parameters
    ----------
    api
        The driver.
    blocks
        Blocks of a framework's allocator, or None.
    """

    def __init__(self, api: ReadApi, blocks: AllocatorBlocks | None) -> None:
        self._table = AllocationTable(api, blocks)
        self._layouts: dict[int, _Layout | None] = {}
        self._arguments: dict[tuple[int, bytes], KernelArgument] = {}

    def add_allocation(self, node: MemAllocNode) -> None:
        """Make the memory of a mem alloc node known, before the nodes that use it are read."""
        on_device = node.location_type == MemLocationType.DEVICE
        self._table.add_graph_memory(node.address, node.size_bytes, node.location_id if on_device else None)

    def with_arguments(
        self, kernels: Sequence[KernelNodeSignature], addresses: ArgumentAddresses
    ) -> list[KernelNodeSignature]:
        """Return the nodes with their arguments; as they are where these cannot be read."""
        layouts = [self._layout_of(kernel.function) for kernel in kernels]
        buffers = [
            None if layout is None else layout.buffer.read(kernel_params, extra)
            for layout, kernel_params, extra in zip(layouts, *addresses, strict=True)
        ]
        # All words first: whether one looks like an address depends on the allocations that others lead to.
        words: set[int] = set()
        for layout, buffer in zip(layouts, buffers, strict=True):
            if layout is not None and buffer is not None:
                words.update(layout.words.unpack_from(buffer))
        self._table.look_up(words)
        built: dict[tuple[int, bytes], KernelNodeSignature] = {}
        nodes = []
        for kernel, layout, buffer in zip(kernels, layouts, buffers, strict=True):
            if layout is None or buffer is None:
                nodes.append(kernel)
                continue
            key = id(kernel), buffer  # equal rows share one record, which `kernels` keeps alive
            node = built.get(key)
            if node is None:
                node = built[key] = self._with_arguments(kernel, layout, buffer)
            nodes.append(node)
        return nodes

    def with_target(self, node: MemcpyNode | MemsetNode) -> MemcpyNode | MemsetNode:
        """Return a copy or memset with the allocations that its operands belong to."""
        if isinstance(node, MemsetNode):
            return replace(node, pointer=self._targeted(node.pointer, node.destination))
        return replace(node, source=self._operand(node.source), destination=self._operand(node.destination))

    def _operand(self, operand: MemcpyOperand) -> MemcpyOperand:
        return replace(operand, pointer=self._targeted(operand.pointer, operand.address))

    def _targeted(self, pointer: PointerFacts | None, address: int) -> PointerFacts | None:
        return None if pointer is None else replace(pointer, target=self._table.target(address))

    def _layout_of(self, function: FunctionFacts | None) -> _Layout | None:
        """Return the layout of a function, None if the driver does not report it. The reader keeps the facts alive."""
        if function is None or function.parameters is None:
            return None
        layout = self._layouts.get(id(function))
        if layout is None:
            parameters = [(one.offset_bytes, one.size_bytes) for one in function.parameters]
            layout = self._layouts[id(function)] = _Layout(parameters)
        return layout

    def _with_arguments(self, kernel: KernelNodeSignature, layout: _Layout, buffer: bytes) -> KernelNodeSignature:
        refused = self._table.refused
        if refused and not refused.isdisjoint(layout.words.unpack_from(buffer)):
            return kernel  # the driver would not say whether a word is an address: nothing is guessed
        arguments = []
        for offset, part in layout.slices:
            data = buffer[part]
            argument = self._arguments.get((offset, data))
            if argument is None:
                argument = self._arguments[offset, data] = self._argument(offset, data)
            arguments.append(argument)
        return replace(kernel, arguments=tuple(arguments))

    def _argument(self, offset: int, data: bytes) -> KernelArgument:
        value = bytearray(data)
        pointers = []
        for start in range(-offset % _WORD_BYTES, len(data) - _WORD_BYTES + 1, _WORD_BYTES):
            word = int.from_bytes(data[start : start + _WORD_BYTES], "little")
            if self._table.is_pointer(word):
                pointers.append(ArgumentPointer(offset_bytes=start, address=word, target=self._table.target(word)))
                value[start : start + _WORD_BYTES] = bytes(_WORD_BYTES)
        return KernelArgument(offset_bytes=offset, size_bytes=len(data), value=value.hex(), pointers=tuple(pointers))
