"""Keys that occur twice in one object: msgspec keeps the last and says nothing, so this looks for them."""

# ruff: noqa: PLR2004  first bytes are MessagePack's own numbers

import json
from typing import Any

import msgspec

from sigcontract.errors import DecodeError
from sigcontract.wire.decoder_errors import translated

__all__ = ["refuse_duplicate_keys"]

#: Ways to write ``":`` in which counting does not see it.
_UNSEEN = (b" :", b"\t:", b"\r:", b"\n:", b"\\u0022", b"\\u003a", b"\\u003A")


def refuse_duplicate_keys(data: bytes, again: bytes, *, text: bool) -> None:
    """Raise DecodeError if an object of ``data`` has a key twice, where ``again`` is what was decoded, encoded again.

    Every field is required, so a document has at least the keys of ``again``. Equal bytes (line feeds aside, which no
    JSON string holds as such), or in JSON as many ``":``, all of them to be seen, leave none to spare: in a string
    both have it alike. Only where that does not settle it are the tokens walked.
    """
    if data == again or (text and data.replace(b"\n", b"") == again):
        return
    if text and data.count(b'":') == again.count(b'":') and not any(spelling in data for spelling in _UNSEEN):
        return
    try:
        if text:
            _walk_json(json.loads(data, object_pairs_hook=_object), "$")
        else:
            _walk_msgpack(data, 0, "$")
    except RecursionError as error:
        raise translated(error) from error


class _Twice:
    """Stands in a decoded tree for an object that had ``key`` twice."""

    def __init__(self, key: str) -> None:
        self.key = key


def _object(items: list[tuple[str, Any]]) -> Any:
    found: dict[str, Any] = {}
    for key, value in items:
        if key in found:
            return _Twice(key)
        found[key] = value
    return found


def _walk_json(value: Any, path: str) -> None:
    if isinstance(value, _Twice):
        raise _twice(f"{path}.{value.key}")
    if isinstance(value, dict):
        for key, part in value.items():
            _walk_json(part, f"{path}.{key}")
    elif isinstance(value, list):
        for place, part in enumerate(value):
            _walk_json(part, f"{path}[{place}]")


#: MessagePack by first byte: bytes of a value of fixed size; bytes of the length before a string, array or map.
_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
_FIXED |= {0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_STRINGS = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_EXTENSIONS = {0xC7: 1, 0xC8: 2, 0xC9: 4}
_ARRAYS = {0xDC: 2, 0xDD: 4}
_MAPS = {0xDE: 2, 0xDF: 4}


def _walk_msgpack(data: bytes, place: int, path: str) -> int:  # noqa: PLR0911  one answer per kind of value
    """Walk one value of well-formed MessagePack (it was decoded before); return the place after it."""
    first = data[place]
    place += 1
    if first < 0x80 or first >= 0xE0:
        return place
    if first in _FIXED:
        return place + _FIXED[first]
    if first < 0x90:
        return _walk_map(data, place, path, first & 0x0F)
    if first < 0xA0:
        return _walk_array(data, place, path, first & 0x0F)
    if first < 0xC0:
        return place + (first & 0x1F)
    width = (_STRINGS | _EXTENSIONS | _ARRAYS | _MAPS)[first]
    length = int.from_bytes(data[place : place + width])
    place += width
    if first in _MAPS:
        return _walk_map(data, place, path, length)
    if first in _ARRAYS:
        return _walk_array(data, place, path, length)
    return place + length + (first in _EXTENSIONS)


def _walk_array(data: bytes, place: int, path: str, length: int) -> int:
    for index in range(length):
        place = _walk_msgpack(data, place, f"{path}[{index}]")
    return place


def _walk_map(data: bytes, place: int, path: str, length: int) -> int:
    found = set()
    for _ in range(length):
        start, place = place, _walk_msgpack(data, place, path)
        key = msgspec.msgpack.decode(data[start:place])
        if key in found:
            raise _twice(f"{path}.{key}")
        found.add(key)
        place = _walk_msgpack(data, place, f"{path}.{key}")
    return place


def _twice(path: str) -> DecodeError:
    return DecodeError("this key is there twice; which value holds cannot be told", path=path, code="duplicate_key")
