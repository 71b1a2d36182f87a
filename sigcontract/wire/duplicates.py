"""Refuse duplicate keys in an object, of which msgspec silently keeps the last."""

import json
from typing import Any

from sigcontract.errors import DecodeError
from sigcontract.wire.decoder_errors import step as step_of
from sigcontract.wire.nesting import opened_value

__all__ = ["refuse_duplicate_keys"]

#: Spellings of ``":`` that counting misses.
_UNSEEN = (b" :", b"\t:", b"\r:", b"\n:", b"\\u0022", b"\\u003a", b"\\u003A")


def refuse_duplicate_keys(data: bytes, again: bytes, *, text: bool) -> None:
    """Raise DecodeError if an object of ``data`` has a duplicate key; ``again`` is the decoded document, re-encoded.

    Every field is required, or is written only where it was there, so a document has at least the keys of ``again``.
    Equal bytes (line feeds aside, which no JSON string holds as such), or in JSON as many ``":``, all of them to be
    seen, leave none to spare: in a string both have it alike. Only where that does not settle it are the tokens
    walked. The nesting of ``data`` was checked.
    """
    if data == again or (text and data.replace(b"\n", b"") == again):
        return
    if text and data.count(b'":') == again.count(b'":') and not any(spelling in data for spelling in _UNSEEN):
        return
    if not text:
        _walk_msgpack(data)
    elif not _unique_in_json(data):
        _raise_in_json(data)


class _TwiceError(Exception):
    """Stops parsing at the first object with a duplicate key."""


def _unique_in_json(data: bytes) -> bool:
    """Whether no key is duplicated, without keeping the parsed values."""
    try:
        json.loads(data, object_pairs_hook=_refuse, parse_int=_nothing, parse_float=_nothing)
    except _TwiceError:
        return False
    return True


def _refuse(items: list[tuple[str, Any]]) -> None:
    if len(items) > 1 and len(dict(items)) < len(items):
        raise _TwiceError


def _nothing(_: str) -> None:
    """Replace a number: its value is irrelevant, and Python refuses very long ones."""


class _Twice:
    """Represents an object with duplicate ``key`` in a parsed tree."""

    def __init__(self, key: str) -> None:
        self.key = key


def _object(items: list[tuple[str, Any]]) -> Any:
    found: dict[str, Any] = {}
    for key, value in items:
        if key in found:
            return _Twice(key)
        found[key] = value
    return found


def _raise_in_json(data: bytes) -> None:
    """Raise the error of the first duplicate key, with its path."""
    whole = json.loads(data, object_pairs_hook=_object, parse_int=_nothing, parse_float=_nothing)
    steps: list[tuple[Any, Any]] = [("", iter([("$", whole)]))]
    while steps:
        step = next(steps[-1][1], None)
        if step is None:
            steps.pop()
            continue
        name, value = step
        if isinstance(value, _Twice):
            raise _twice("".join([*(above for above, _ in steps), name, step_of(value.key)]))
        if isinstance(value, dict):
            steps.append((name, ((step_of(key), part) for key, part in value.items())))
        elif isinstance(value, list):
            steps.append((name, ((f"[{index}]", part) for index, part in enumerate(value))))


class _Level:
    """A MessagePack array or map being walked."""

    def __init__(self, count: int, *, is_map: bool) -> None:
        self.left = count
        self.count = count
        #: The keys so far; None for an array.
        self.keys: set[bytes] | None = set() if is_map else None
        self.key = b""

    def name(self) -> str:
        """Return the last step of the path to the current value."""
        if self.keys is None:
            return f"[{self.count - self.left - 1}]"
        return step_of(self.key.decode("utf-8", "replace"))


def _walk_msgpack(data: bytes) -> None:
    """Walk well-formed MessagePack with string keys (decoded before)."""
    levels: list[_Level] = []
    offset, count, is_map = opened_value(data, 0)
    levels.append(_Level(count, is_map=is_map))
    while levels:
        level = levels[-1]
        if not level.left:
            levels.pop()
            continue
        if level.keys is not None and not level.left & 1:
            offset = _add_key(level, data, offset, levels)
        level.left -= 1
        offset, count, is_map = opened_value(data, offset)
        if count:
            levels.append(_Level(count, is_map=is_map))


def _add_key(level: _Level, data: bytes, offset: int, levels: list[_Level]) -> int:
    end, _, _ = opened_value(data, offset)
    # One string may be encoded with length fields of several widths.
    level.key = data[offset + _string_head(data[offset]) : end]
    level.left -= 1
    if level.keys is not None:
        if level.key in level.keys:
            raise _twice("$" + "".join(above.name() for above in levels))
        level.keys.add(level.key)
    return end


def _string_head(first: int) -> int:
    """Return the size of a string's header: its first byte, and its length field if any."""
    return {0xD9: 2, 0xDA: 3, 0xDB: 5}.get(first, 1)


def _twice(path: str) -> DecodeError:
    return DecodeError("duplicate key; the value is ambiguous", path=path, code="duplicate_key")
