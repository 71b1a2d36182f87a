"""What kernel nodes pass to their kernels: bytes by the function's layout, addresses separated from values.

Kernels of a graph share functions, buffers and scalars, so nodes of one function are read together, and distinct
arguments are built once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set as AbstractSet
from itertools import chain, repeat
from struct import Struct

from msgspec.structs import replace

from sigcontract.driver.cuda import ArgumentAddresses, ParameterBuffer
from sigcontract.driver.reading.allocations import AllocationTable
from sigcontract.driver.reading.argument_values import Arguments
from sigcontract.model import FunctionFacts, KernelNodeSignature

__all__ = ["ArgumentReader"]


class _Layout:
    """The parameters of one function.

    Parameters
    ----------
    layout
        Offset and size of each parameter, in bytes.
    arguments
        Returns the arguments of an offset and size, which functions share.
    """

    def __init__(self, layout: Sequence[tuple[int, int]], arguments: Callable[[int, int], Arguments]) -> None:
        buffer = ParameterBuffer(layout)
        valid = layout if buffer.valid else ()
        self.read = buffer.read_all
        #: Unpacks the bytes of each parameter.
        self.parts = Struct("<" + "".join(_part_formats(valid))).unpack
        self.arguments = [arguments(offset, size) for offset, size in valid]


def _part_formats(layout: Sequence[tuple[int, int]]) -> Iterator[str]:
    end = 0
    for offset, size in layout:
        yield f"{offset - end}x{size}s"
        end = offset + size


class _Nodes:
    """The nodes of one function. Equal ones are one row, which becomes one record.

    Parameters
    ----------
    layout
        The function's parameters.
    nodes
        The nodes, without arguments.
    addresses
        Where the driver keeps their arguments.
    """

    def __init__(self, layout: _Layout, nodes: Sequence[KernelNodeSignature], addresses: ArgumentAddresses) -> None:
        rows: dict[tuple[int, tuple[bytes, ...]], int] = {}
        parts = layout.parts
        #: Number of each node's row; None if the node has no buffer.
        self.rows = [
            None if buffer is None else rows.setdefault((id(node), parts(buffer)), len(rows))
            for node, buffer in zip(nodes, layout.read(*addresses), strict=True)
        ]
        by_id = dict(zip(map(id, nodes), nodes, strict=True))
        self._nodes = [by_id[key] for key, _parts in rows]
        columns = zip(*(parts for _key, parts in rows), strict=True)
        #: For each parameter its arguments, and the bytes of each row; empty without rows.
        self._columns = list(zip(layout.arguments, columns, strict=False))
        for arguments, column in self._columns:
            arguments.meet(column)

    def records(self, refused: AbstractSet[int]) -> list[KernelNodeSignature]:
        """Return the record of each row, once the arguments are built.

        Parameters
        ----------
        refused
            Words that the driver refused to answer for, which may be addresses: nothing is guessed.
        """
        columns = [map(arguments.__getitem__, column) for arguments, column in self._columns]
        rows = zip(*columns, strict=True) if columns else repeat(())
        records = [replace(node, arguments=row) for node, row in zip(self._nodes, rows, strict=False)]
        for arguments, column in self._columns if refused else ():
            for row, data in enumerate(column):
                if not refused.isdisjoint(arguments.words_of(data)):
                    records[row] = self._nodes[row]
        return records


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
        self._arguments: dict[tuple[int, int], Arguments] = {}

    def with_arguments(
        self, kernels: Sequence[KernelNodeSignature], addresses: ArgumentAddresses
    ) -> list[KernelNodeSignature]:
        """Return the nodes with their arguments; as they are where these cannot be read."""
        functions: dict[int, list[int]] = defaultdict(list)
        for index, kernel in enumerate(kernels):
            functions[id(kernel.function)].append(index)
        groups = []
        for indices in functions.values():
            layout = self._layout_of(kernels[indices[0]].function)
            if layout is not None:
                own = ArgumentAddresses(*([column[index] for index in indices] for column in addresses))
                groups.append((indices, _Nodes(layout, [kernels[index] for index in indices], own)))
        # All words first: whether one looks like an address depends on the allocations that others lead to.
        pointers = self._table.pointers(chain.from_iterable(map(Arguments.words, self._arguments.values())))
        for arguments in self._arguments.values():
            arguments.build(pointers)
        read = list(kernels)
        for indices, nodes in groups:
            records = nodes.records(self._table.refused)
            for index, row in zip(indices, nodes.rows, strict=True):
                if row is not None:
                    read[index] = records[row]
        return read

    def _layout_of(self, function: FunctionFacts | None) -> _Layout | None:
        """Return the layout of a function, None if the driver does not report it. The reader keeps the facts alive."""
        key = id(function)
        if key not in self._layouts:
            parameters = None if function is None else function.parameters
            layout = None if parameters is None else [(one.offset_bytes, one.size_bytes) for one in parameters]
            self._layouts[key] = None if layout is None else _Layout(layout, self._arguments_of)
        return self._layouts[key]

    def _arguments_of(self, offset: int, size: int) -> Arguments:
        """Return the arguments of an offset and size, which functions share."""
        return self._arguments.setdefault((offset, size), Arguments(offset, size))
