"""The bytes that a kernel node passes to its kernel, copied from the node's own memory.

cuGraphKernelNodeGetParams returns ``kernelParams``, one pointer per parameter, or ``extra``, a list that names a packed
buffer: whichever was set last (cuda.h). Both belong to the driver and are read here, never written.
"""

from collections.abc import Sequence
from ctypes import c_char, c_uint64, string_at
from struct import Struct

from sigcontract.model import MAX_ARGUMENT_BYTES, POINTER_BYTES

__all__ = ["ParameterBuffer"]

#: Keys of ``extra``: CU_LAUNCH_PARAM_END, CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE.
_END, _BUFFER_POINTER, _BUFFER_SIZE = 0, 1, 2
#: Entries read before giving up on a list without an end; cuda.h defines two and the end.
_MOST_ENTRIES = 8
#: Parameters this close together lie on pages that hold one of them, so the bytes between can be read as well.
_LARGEST_GAP_BYTES = 256
_WORD = Struct("<Q")
#: Two entries and the end.
_LIST = Struct("<5Q")
_Entries = c_char * _LIST.size
_PAGE_BYTES = 4096


class ParameterBuffer:
    """Copies the parameter buffers of one function's nodes.

    Parameters
    ----------
    layout
        Offset and size of each parameter, in bytes and in order (cuFuncGetParamInfo).
    """

    def __init__(self, layout: Sequence[tuple[int, int]]) -> None:
        self._layout = tuple(layout)
        ends = [0, *(offset + size for offset, size in self._layout)]
        gaps = [offset - end for (offset, _size), end in zip(self._layout, ends, strict=False)]
        #: Bytes up to the end of the last parameter.
        self.size_bytes = ends[-1]
        #: Whether the layout can be one: parameters of some bytes that do not overlap, within 32,764 bytes in all.
        self.valid = (
            min(gaps, default=0) >= 0
            and all(size for _offset, size in self._layout)
            and self.size_bytes <= MAX_ARGUMENT_BYTES
        )
        self._dense = max(gaps[1:], default=0) <= _LARGEST_GAP_BYTES
        start = self._layout[0][0] if self._layout else 0
        self._before = bytes(start)
        # Reading through an array type costs a third of string_at, and there are two reads per node.
        self._pointers = c_char * (POINTER_BYTES * len(self._layout))
        self._packed = c_char * max(self.size_bytes - start, 0)
        self._whole = c_char * max(self.size_bytes, 0)

    def read_all(self, kernel_params: Sequence[int], extra: Sequence[int]) -> list[bytes | None]:
        """Return the parameter buffers of many nodes, each as `read` returns it, in less than half the time."""
        if self.valid and self._layout and all(kernel_params):
            together = self._together(kernel_params)
            if together is not None:
                return [*together]
        return list(map(self.read, kernel_params, extra))

    def read(self, kernel_params: int, extra: int) -> bytes | None:
        """Return a node's parameter buffer: each parameter's bytes at its offset, anything between.

        Parameters
        ----------
        kernel_params, extra
            CUDA_KERNEL_NODE_PARAMS.kernelParams and .extra of the node; 0 if null.

        Returns
        -------
        bytes or None
            ``size_bytes`` bytes; None if the layout is not valid, if the driver returned neither list or a null
            pointer, or if the packed buffer is shorter than the layout.
        """
        if not self.valid:
            return None
        if not self._layout:
            return b""
        if kernel_params:
            return self._from_pointers(kernel_params)
        return self._from_extra(extra) if extra else None

    def _together(self, kernel_params: Sequence[int]) -> list[bytes] | None:
        """Return parameter buffers if all pointers of each node lead into one packed copy; else None.

        As the driver of an H200 keeps them: one read per node does for all its parameters.
        """
        if not self._dense:
            return None
        count = len(self._layout)
        pointers = memoryview(b"".join(map(self._pointers.from_address, kernel_params))).cast("Q")
        firsts = pointers[::count]
        if 0 in firsts:
            return None
        # Pointers of all nodes to one parameter as one integer, 64 bits each: the first pointers plus an offset.
        first, *others = (int.from_bytes(pointers[index::count].tobytes(), "little") for index in range(count))
        ones = int.from_bytes(_WORD.pack(1) * len(firsts), "little")
        start = self._layout[0][0]
        offsets = (offset - start for offset, _size in self._layout[1:])
        if any(other != first + offset * ones for other, offset in zip(others, offsets, strict=True)):
            return None
        return [self._before + packed.raw for packed in map(self._packed.from_address, firsts)]

    def _from_pointers(self, address: int) -> bytes | None:
        together = self._together([address])
        if together is not None:
            return together[0]
        pointers = self._pointers.from_address(address).raw
        packed = bytearray(self.size_bytes)
        for (pointer,), (offset, size) in zip(_WORD.iter_unpack(pointers), self._layout, strict=True):
            if not pointer:
                return None
            packed[offset : offset + size] = string_at(pointer, size)
        return bytes(packed)

    def _from_extra(self, address: int) -> bytes | None:
        entries = _entries(address)
        buffer, size_address = entries.get(_BUFFER_POINTER), entries.get(_BUFFER_SIZE)
        if not buffer or not size_address or _word_at(size_address) < self.size_bytes:
            return None
        return self._whole.from_address(buffer).raw


def _entries(address: int) -> dict[int, int]:
    """Return the entries of ``extra`` by key; none if it has an unknown key, or no end."""
    if address % _PAGE_BYTES <= _PAGE_BYTES - _LIST.size:
        # Both entries and the end in one read. A shorter list is on a page that can be read as well.
        key, value, other, other_value, end = _LIST.unpack(_Entries.from_address(address))
        if {key, other} == {_BUFFER_POINTER, _BUFFER_SIZE} and end == _END:
            return {key: value, other: other_value}
    entries: dict[int, int] = {}
    for _ in range(_MOST_ENTRIES):
        key = _word_at(address)
        if key == _END:
            return entries
        if key not in (_BUFFER_POINTER, _BUFFER_SIZE):
            return {}
        entries[key] = _word_at(address + _WORD.size)
        address += 2 * _WORD.size
    return {}


def _word_at(address: int) -> int:
    return c_uint64.from_address(address).value
