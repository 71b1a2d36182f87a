"""Limit the nesting of a document, counted on its bytes before any recursive decoding.

Decoders recurse to a depth that depends on the interpreter and the thread's stack, past which they crash. So the depth
is counted without recursion, with one limit for every interpreter.
"""

# ruff: noqa: PLR2004  first bytes are MessagePack's own numbers

import re
from collections.abc import Iterable
from functools import cache
from itertools import accumulate
from typing import Final

import msgspec
from msgspec import inspect as types

from sigcontract.errors import InvariantError, LimitError
from sigcontract.model import (
    FunctionFacts,
    LaunchAttribute,
    ParameterLayout,
)
from sigcontract.wire.limits import MAX_NESTING

__all__ = ["check_nesting", "opened_value", "packed_values", "text_structure"]

#: Levels removed from a document's text in whole passes; real documents have fewer.
_PASSES: Final = 16
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
#: Text processed at a time, in bytes, to bound memory.
_CHUNK_BYTES: Final = 2**20
_STEP: Final = {ord("["): 1, ord("]"): -1}


def check_nesting(data: bytes, *, text: bool) -> None:
    """Raise LimitError if values are nested more than MAX_NESTING deep.

    A damaged document is counted up to the damage, as far as decoders get.
    """
    if text:
        _check_text(data)
    elif len(data.translate(None, _OPENS_NOTHING)) >= MAX_NESTING:  # the innermost may be empty
        packed_values(data)


def _too_deep() -> LimitError:
    return LimitError(f"values are nested more than {MAX_NESTING} deep", code="nesting")


@cache
def _dropped(kept: bytes) -> bytes:
    return bytes(set(range(256)).difference(b'[]{}"', kept))


def text_structure(data: bytes, kept: bytes = b"") -> bytes:
    """Return the brackets of a JSON text, all as square ones, and the bytes ``kept``, without string contents."""
    dropped = _dropped(kept)
    escapes = b"\\" in data
    parts = []
    start = 0
    while start < len(data):
        end = start + _CHUNK_BYTES
        while escapes and data[end - 1 : end] == b"\\":
            end += 1  # the next character may be escaped
        part = data[start:end]
        if escapes:
            part = part.replace(b"\\\\", b"").replace(b'\\"', b"")
        # Two quotes side by side, of one string or of two, leave what is around them inside or outside as it was.
        parts.append(part.translate(_BRACKETS, dropped).replace(b'""', b""))
        start = end
    structure = b"".join(parts).replace(b'""', b"")
    return b"".join(structure.split(b'"')[::2]) if b'"' in structure else structure


def _check_text(data: bytes) -> None:
    brackets = text_structure(data)
    for taken_off in range(_PASSES):
        if len(brackets) + taken_off <= MAX_NESTING:
            return
        brackets = brackets.replace(b"[]", b"")
    deepest = max(accumulate(map(_STEP.__getitem__, brackets)), default=0)
    if deepest > 0 and deepest + _PASSES > MAX_NESTING:
        raise _too_deep()


def _fixed_sizes() -> bytes:
    """Return the size of a value by its first byte; 0 if not fixed."""
    sizes = bytearray(256)
    for first in (*range(0x80), *range(0xE0, 0x100), 0xC0, 0xC2, 0xC3):
        sizes[first] = 1
    for length in range(0x20):
        sizes[0xA0 + length] = 1 + length
    rest = {0xCA: 5, 0xCB: 9, 0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9, 0xD0: 2, 0xD1: 3, 0xD2: 5, 0xD3: 9}
    for first, size in (rest | {0xD4: 3, 0xD5: 4, 0xD6: 6, 0xD7: 10, 0xD8: 18}).items():
        sizes[first] = size
    return bytes(sizes)


_SIZES: Final = _fixed_sizes()
#: Bytes of the length that follows, for values whose size is not fixed; an extension has one byte more, its type.
_STRINGS: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_EXTENSIONS: Final = {0xC7: 1, 0xC8: 2, 0xC9: 4}
_ARRAYS: Final = {0xDC: 2, 0xDD: 4}
_MAPS: Final = {0xDE: 2, 0xDF: 4}
_STRING: Final = frozenset((*range(0xA0, 0xC0), 0xD9, 0xDA, 0xDB))
#: First bytes of arrays and maps.
_OPENS: Final = frozenset((*range(0x80, 0xA0), *_ARRAYS, *_MAPS))

#: Bytes that never start a nonempty array or map.
_OPENS_NOTHING: Final = bytes(sorted({*range(256)} - {*range(0x81, 0x90), *range(0x91, 0xA0), *_ARRAYS, *_MAPS}))

#: MessagePack below this size is walked value by value; compiling patterns takes a tenth of a second.
_WORTH_PATTERNS: Final = 2**19
_INTEGER: Final = rb"(?>[\x00-\x7f\xe0-\xff]|[\xcc\xd0].|[\xcd\xd1]..|[\xce\xd2].{4}|[\xcf\xd3].{8})"


#: Lengths of names and digests, by frequency.
_STRING_PATTERN: Final = b"(?>%b)" % b"|".join(
    re.escape(msgspec.msgpack.encode("x" * length)[:-length]) + b".{%d}" % length for length in (64, *range(1, 64))
)

#: Patterns are used only well below the limit, as they may match several levels.
_SHALLOW: Final = 16

#: Size of documents for which the pattern of function facts pays off.
_MANY_FUNCTIONS: Final = 2**24

#: As many values at a time where there are as many; the longer runs are tried after shorter ones have matched.
_RUN: Final = 8
_RUNS: Final = (_RUN, 64)

#: Patterns of values repeated for each count.
_SHORT_PATTERN: Final = 400


@cache
def _flat(*, functions: bool) -> tuple[re.Pattern[bytes], ...]:
    """Return patterns of one value, of a run of values, and of a run of keys and values, typical of dumps.

    Matches are complete and flat by type; anything else is walked value by value.
    """
    from sigcontract.wire import rows, rows3  # noqa: PLC0415  the rows of the versions, only where they are met

    kinds = [LaunchAttribute, ParameterLayout, rows.NodeRow, rows3.LaunchRow, rows3.AttributeRow, rows3.NodeRow]
    kinds += [FunctionFacts] if functions else []
    patterns = [pattern for pattern in map(_pattern, map(types.type_info, kinds)) if pattern]
    integers = _counted(_INTEGER, range(1, 5))
    edges = _counted(b"(?>%b|%b)" % (_INTEGER, integers), range(1, 4))
    one = b"|".join([_INTEGER, edges, integers, *patterns])
    pairs = b"(?>%b(?>%b)){%d}" % (_STRING_PATTERN, one, _RUN // 2)
    runs = (b"(?>%b){%d}" % (one, length) for length in _RUNS)
    return tuple(re.compile(pattern, re.DOTALL) for pattern in (one, pairs, *runs))


def _counted(item: bytes, counts: Iterable[int]) -> bytes:
    """Return the pattern of arrays of the given counts."""
    return b"(?>%b)" % b"|".join(re.escape(bytes([0x90 + count])) + b"%b{%d}" % (item, count) for count in counts)


def _pattern(info: types.Type) -> bytes:  # noqa: PLR0911  one case per type
    """Return a pattern of values of a type, or empty; some values may not match."""
    match info:
        case types.Metadata():
            return _pattern(info.type)
        case types.IntType():
            return _INTEGER
        case types.NoneType():
            return rb"\xc0"
        case types.BoolType():
            return rb"[\xc2\xc3]"
        case types.StrType():
            return _STRING_PATTERN
        case types.LiteralType():
            return b"(?>%b)" % b"|".join(re.escape(msgspec.msgpack.encode(value)) for value in info.values)
        case types.UnionType():
            return b"(?>%b)" % b"|".join(filter(None, map(_pattern, info.types)))
        case types.VarTupleType():
            item = _pattern(info.item_type)
            return _counted(b"(?:%b)" % item, range(0x10)) if 0 < len(item) < _SHORT_PATTERN else b""
        case types.StructType() if not info.array_like:
            return _row_pattern(info)
        case _:
            return b""


def _row_pattern(info: types.StructType) -> bytes:
    fields = [(field.encode_name, _pattern(field.type)) for field in info.fields]
    if info.tag_field is not None:
        fields.insert(0, (info.tag_field, re.escape(msgspec.msgpack.encode(info.tag))))
    if not all(pattern for _, pattern in fields):
        return b""
    parts = (re.escape(msgspec.msgpack.encode(name)) + pattern for name, pattern in fields)
    head = bytes([0x80 + len(fields)]) if len(fields) <= 0x0F else b"\xde" + len(fields).to_bytes(2)
    return re.escape(head) + b"".join(parts)


def packed_values(data: bytes, most: int | None = None) -> int:  # noqa: C901, PLR0912  one loop: it is what a document costs
    """Count the values and keys in a MessagePack value; without ``most``, not all are counted.

    Returns ``most`` + 1 if there are more. A non-string key is an InvariantError.

    Raises
    ------
    LimitError
        Values are nested more than MAX_NESTING deep.
    InvariantError
        The key of a map is not a string.
    """
    around: list[tuple[int, bool]] = []
    offset, end, values = 0, len(data), 0
    left, is_map = 1, False
    longest = 0
    patterns = _flat(functions=end > _MANY_FUNCTIONS) if most is None and end > _WORTH_PATTERNS else ()
    while True:
        while left:
            if offset >= end:
                return values  # truncated; the decoder reports it
            usable = patterns and len(around) < _SHALLOW
            if usable and left >= _RUN and not (is_map and left & 1):
                length = 0 if is_map or left < _RUNS[longest] else longest
                found = patterns[1 if is_map else 2 + length].match(data, offset)
                if found:
                    offset = found.end()
                    left -= _RUNS[length]
                    longest = min(length + 1, len(_RUNS) - 1)
                    continue
                longest = 0
                if length:
                    continue
            first = data[offset]
            if most is not None and is_map and not left & 1 and first not in _STRING:
                raise InvariantError("map keys must be strings")
            size = _SIZES[first]
            if not size and usable:
                found = patterns[0].match(data, offset)
                size = found.end() - offset if found else 0
            values += 1
            left -= 1
            if size:
                offset += size
                continue
            offset, count, opens_map = opened_value(data, offset)
            if most is not None and values + count > most:
                return most + 1
            if count:
                around.append((left, is_map))
                if len(around) > MAX_NESTING:
                    raise _too_deep()
                left, is_map = count, opens_map
            elif len(around) == MAX_NESTING and first in _OPENS:
                raise _too_deep()  # an empty array or map
        if not around:
            return values
        left, is_map = around.pop()


def opened_value(data: bytes, offset: int) -> tuple[int, int, bool]:
    """Return the offset of a value's content, or of its end; its number of values; and whether it is a map."""
    first = data[offset]
    if _SIZES[first]:
        return offset + _SIZES[first], 0, False
    offset += 1
    if first < 0x90:
        return offset, 2 * (first & 0x0F), True
    if first < 0xA0:
        return offset, first & 0x0F, False
    width = _WIDTHS.get(first, 0)
    length = int.from_bytes(data[offset : offset + width])
    offset += width
    if first in _MAPS:
        return offset, 2 * length, True
    if first in _ARRAYS:
        return offset, length, False
    return offset + length + (first in _EXTENSIONS), 0, False


_WIDTHS: Final = _STRINGS | _EXTENSIONS | _ARRAYS | _MAPS
