"""The bytes of scalar arguments as numbers: words, what they read as, and which of them differ.

The driver knows offset and size of a parameter, not its type, so a word has two readings: an integer, and a float
where its exponent is one that programs use.
"""

import math
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["ChangedWord", "Word", "argument_words", "changed_words"]

#: Powers of ten between which a number is plausible as a float.
_LEAST, _MOST = 1e-12, 1e12
#: Significant digits up to which a float is its only reading: few integers read as such a float.
_ROUND_DIGITS: Final = 5
_FLOATS: Final = {4: ("<f", "<I"), 8: ("<d", "<Q")}
#: Decimal digits that identify a 4-byte float.
_FLOAT_DIGITS: Final = 9
_FULL, _HALF = 8, 4
#: Bytes that differ, in the exclusive or of two values.
_DIFFERING: Final = re.compile(rb"[^\0]", re.DOTALL)


class Word(NamedTuple):
    """One word of an argument: its offset and size in bytes, and what it reads as."""

    offset: int
    size: int
    text: str


class ChangedWord(NamedTuple):
    """One word in which two arguments differ, with both readings of each side."""

    offset: int
    size: int
    old: str
    new: str


def _reading(word: bytes, *, beside_float: bool = False) -> str:
    """Return a little-endian word of 1, 2, 4 or 8 bytes as text.

    ``16``, ``1e-05``, or both readings where neither is unlikely: ``0.088388346 (1035273459)``. Zero reads as a float
    beside one.
    """
    integer = int.from_bytes(word, "little", signed=True)
    if not _is_plausible(word) and (integer or not beside_float):
        return str(integer)
    text = _float_text(word)
    return text if _is_round(text) else f"{text} ({integer})"


def argument_words(value: bytes, covered: frozenset[int] = frozenset()) -> Iterator[Word]:
    """Yield the words of an argument, except 8-byte words at the offsets ``covered``, which are addresses."""
    for offset, size in _stretches(len(value), covered):
        word = value[offset : offset + size]
        if size == _FULL and not _is_one(word, alone=len(value) == _FULL):
            yield Word(offset, _HALF, _reading(word[:_HALF]))
            yield Word(offset + _HALF, _HALF, _reading(word[_HALF:]))
        else:
            yield Word(offset, size, _reading(word))


def changed_words(old: bytes, new: bytes, covered: frozenset[int] = frozenset()) -> Iterator[ChangedWord]:
    """Yield the words in which two arguments of one size differ, except the addresses at ``covered``.

    Many nodes may share a long struct, so words that are equal are never looked at one by one.
    """
    alone = len(old) == _FULL
    for offset, size in _differing(old, new, covered):
        before, after = old[offset : offset + size], new[offset : offset + size]
        halves = [at for at in (0, _HALF) if before[at : at + _HALF] != after[at : at + _HALF]]
        both = len(halves) > 1
        one = size == _FULL and _is_one(before, alone=alone) and _is_one(after, alone=alone)
        two = size == _FULL and _are_two(before) and _are_two(after)
        if size != _FULL or (alone and (both or one) and not two) or (both and one):
            yield _changed(offset, before, after)
        else:
            for at in halves:
                yield _changed(offset + at, before[at : at + _HALF], after[at : at + _HALF])


def _differing(old: bytes, new: bytes, covered: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Yield offset and size of the words between addresses in which two values differ."""
    differing = (int.from_bytes(old, "big") ^ int.from_bytes(new, "big")).to_bytes(len(old), "big")
    addresses = sorted(covered)
    found = _DIFFERING.search(differing)
    while found:
        at = found.start()
        before = bisect_right(addresses, at)
        begin = addresses[before - 1] + _FULL if before else 0
        if at < begin:
            end = begin
        else:
            limit = addresses[before] if before < len(addresses) else len(old)
            begin += (at - begin) // _FULL * _FULL
            offset, size = next(word for word in _words(begin, limit) if at < sum(word))
            yield offset, size
            end = offset + size
        found = _DIFFERING.search(differing, end)


def _changed(offset: int, before: bytes, after: bytes) -> ChangedWord:
    floats = _is_plausible(before) or _is_plausible(after)
    texts = (_reading(word, beside_float=floats) for word in (before, after))
    return ChangedWord(offset, len(before), *texts)


def _stretches(size: int, covered: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Yield offset and size of the words between addresses."""
    begin = 0
    for end in (*sorted(covered), size):
        yield from _words(begin, end)
        begin = max(begin, end + _FULL)


def _words(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield offset and size of the words between two offsets: 8 bytes each, and what is left of less than 8."""
    while begin < end:
        length = next(length for length in (_FULL, _HALF, 2, 1) if length <= end - begin)
        yield begin, length
        begin += length


def _is_one(word: bytes, *, alone: bool) -> bool:
    """Whether 8 bytes are one number and not two: a small integer, or a float.

    In a struct, two floats or integers beside each other may read as a double; few of these have few digits.
    """
    if -(2**31) <= int.from_bytes(word, "little", signed=True) < 2**32:
        return True
    if not _is_plausible(word):
        return False
    return not _are_two(word) if alone else any(word[:_HALF]) and _is_float(word)


def _are_two(word: bytes) -> bool:
    """Whether 8 bytes are an integer or float and a float beside it: few doubles end in the digits of a round float."""
    low, high = word[:_HALF], word[_HALF:]
    return any(low) and _is_float(high) and not _is_float(word)


def _is_float(word: bytes) -> bool:
    """Whether a word reads as a float of few digits."""
    return _is_plausible(word) and _is_round(_float_text(word))


def _is_round(text: str) -> bool:
    """Whether a float has few significant digits."""
    return len(text.lstrip("-").partition("e")[0].replace(".", "").strip("0")) <= _ROUND_DIGITS


def _is_plausible(word: bytes) -> bool:
    """Whether a word reads as a float that a program may use."""
    if len(word) not in _FLOATS:
        return False
    (value,) = struct.unpack(_FLOATS[len(word)][0], word)
    return math.isinf(value) or _LEAST <= abs(value) <= _MOST


def _float_text(word: bytes) -> str:
    """Return the shortest decimal text that reads back as this float."""
    (value,) = struct.unpack(_FLOATS[len(word)][0], word)
    if len(word) == _FULL or not math.isfinite(value):
        return repr(value)
    for digits in range(1, _FLOAT_DIGITS + 1):
        text = f"{value:.{digits}g}"
        if struct.pack("<f", float(text)) == word:
            return repr(float(text))
    return repr(value)
