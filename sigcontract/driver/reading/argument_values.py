"""The arguments of one offset and size, built word by word over all nodes.

Kernels of a graph share buffers and scalars, so arguments differ in few words: of a struct of 1,720 bytes, in the 17
of 215 that are pointers. One argument after the other, building those of such a net takes five times as long.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain, compress, repeat
from operator import or_, xor
from struct import Struct

from sigcontract.model import POINTER_BYTES, ArgumentPointer, KernelArgument, PointerTarget

__all__ = ["Arguments"]

#: What stands in the value of an argument where a pointer is.
_ZERO_WORD = bytes(POINTER_BYTES)

#: The pointer that a word is in each argument, or None.
_Column = Sequence[ArgumentPointer | None]


class Arguments(dict[bytes, KernelArgument]):
    """The arguments of one offset and size, by their bytes.

    `meet` the bytes of many, find out which of their `words` are pointers, and `build` them.

    Parameters
    ----------
    offset, size
        Offset in the parameter buffer and size, in bytes.
    """

    def __init__(self, offset: int, size: int) -> None:
        super().__init__()
        self._offset = offset
        self._size = size
        first = -offset % POINTER_BYTES
        #: Offset of each word. Words are aligned relative to the parameter buffer, as the kernel reads them.
        self._starts = range(first, size - POINTER_BYTES + 1, POINTER_BYTES)
        words = POINTER_BYTES * len(self._starts)
        #: Unpacks the bytes before and after the words.
        self._edges = Struct(f"{first}s{words}x{size - first - words}s") if 0 < words < size else None
        self._met: list[Iterable[bytes]] = []
        self._new: list[bytes] = []
        #: Offset and words of the new arguments: one word where it is equal in all.
        self._words: list[tuple[int, Sequence[int]]] = []

    def meet(self, data: Iterable[bytes]) -> None:
        """Take the bytes of arguments."""
        self._met.append(data)

    def words(self) -> Iterable[int]:
        """Return the words of the arguments that are new."""
        self._new = [data for data in dict.fromkeys(chain.from_iterable(self._met)) if data not in self]
        self._met.clear()
        self._words = list(self._new_words()) if self._new else []
        return chain.from_iterable(words for _start, words in self._words)

    def words_of(self, data: bytes) -> Iterable[int]:
        """Return the words of one argument."""
        return chain.from_iterable(_unpack(self._starts, [data]))

    def build(self, pointers: Mapping[int, PointerTarget | None]) -> None:
        """Build the new arguments.

        Parameters
        ----------
        pointers
            Those of their words that are pointers, and their targets.
        """
        columns = dict(sorted(self._pointers(pointers)))
        rows: list[tuple[ArgumentPointer, ...]] = [()] * len(self._new)
        values: Iterable[str] = map(bytes.hex, self._new)
        if columns:
            rows = [tuple(filter(None, row)) for row in zip(*columns.values(), strict=True)]
            values = self._values(rows, columns)
        for data, value, row in zip(self._new, values, rows, strict=True):
            self[data] = KernelArgument(offset_bytes=self._offset, size_bytes=self._size, value=value, pointers=row)

    def _new_words(self) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield the offsets, and the words there: of all new arguments where they differ, else of one."""
        new = self._new
        if len(self._starts) == 1:
            yield from zip(self._starts, _unpack(self._starts, new), strict=True)
            return
        first, *others = (int.from_bytes(data, "little") for data in new)
        differences = reduce(or_, map(xor, others, repeat(first)), 0).to_bytes(self._size, "little")
        differing = list(compress(self._starts, self.words_of(differences)))
        equal = sorted({*self._starts} - {*differing})
        yield from zip(differing, _unpack(differing, new), strict=True)
        yield from zip(equal, _unpack(equal, new[:1]), strict=True)

    def _pointers(self, pointers: Mapping[int, PointerTarget | None]) -> Iterator[tuple[int, _Column]]:
        """Yield the offset of each word that is a pointer in any new argument, and its column."""
        for start, words in self._words:
            if pointers.keys().isdisjoint(words):
                continue
            made: dict[int, ArgumentPointer] = {}
            column = []
            for word in words:
                pointer = made.get(word)
                if pointer is None and word in pointers:
                    pointer = made[word] = ArgumentPointer(offset_bytes=start, address=word, target=pointers[word])
                column.append(pointer)
            yield start, column * (len(self._new) // len(words))

    def _values(self, rows: Iterable[Sequence[ArgumentPointer]], columns: Mapping[int, _Column]) -> Iterator[str]:
        """Yield the bytes of each new argument, hexadecimal, zero where a pointer is: one text if all else is equal."""
        values: dict[object, str] = {}
        for data, row, rest in zip(self._new, rows, self._rest(columns), strict=False):
            value = values.get(rest)
            if value is None:
                zeroed = bytearray(data)
                for pointer in row:
                    zeroed[pointer.offset_bytes : pointer.offset_bytes + POINTER_BYTES] = _ZERO_WORD
                value = values[rest] = zeroed.hex()
            yield value

    def _rest(self, columns: Mapping[int, _Column]) -> Iterable[tuple[object, ...]]:
        """Return what differs between the new arguments and is no pointer; None stands for a pointer."""
        rest: list[Sequence[object]] = []
        for start, words in self._words:
            column = columns.get(start)
            if column is None and len(words) == len(self._new):
                rest.append(words)
            elif column is not None and not all(column):
                rest.append([word if one is None else None for word, one in zip(words, column, strict=True)])
        if self._edges is not None:
            rest += zip(*map(self._edges.unpack, self._new), strict=True)
        return zip(*rest, strict=True) if rest else repeat(())


def _unpack(starts: Iterable[int], data: Iterable[bytes]) -> Iterator[tuple[int, ...]]:
    """Yield the words at each of the offsets, which ascend."""
    ends = chain((0,), (start + POINTER_BYTES for start in starts))
    formats = (f"{start - end}xQ" for start, end in zip(starts, ends, strict=False))
    return zip(*map(Struct("<" + "".join(formats)).unpack_from, data), strict=True)
