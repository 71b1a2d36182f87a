"""Keys that occur twice in one object: msgspec keeps the last and says nothing, so this looks for them."""

import json
from typing import Any

from sigcontract.errors import DecodeError
from sigcontract.wire.decoder_errors import step as step_of
from sigcontract.wire.nesting import opened_value

__all__ = ["refuse_duplicate_keys"]

#: Ways to write ``":`` in which counting does not see it.
_UNSEEN = (b" :", b"\t:", b"\r:", b"\n:", b"\\u0022", b"\\u003a", b"\\u003A")


def refuse_duplicate_keys(data: bytes, again: bytes, *, text: bool) -> None:
    """Raise DecodeError if an object of ``data`` has a key twice, where ``again`` is what was decoded, encoded again.

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
        _tell_in_json(data)


class _TwiceError(Exception):
    """Ends the reading of a text at the first object with a key twice."""


def _unique_in_json(data: bytes) -> bool:
    """Say whether no key is there twice, without keeping what is read."""
    try:
        json.loads(data, object_pairs_hook=_refuse, parse_int=_nothing, parse_float=_nothing)
    except _TwiceError:
        return False
    return True


def _refuse(items: list[tuple[str, Any]]) -> None:
    if len(items) > 1 and len(dict(items)) < len(items):
        raise _TwiceError


def _nothing(_: str) -> None:
    """Stand for a number: its value is of no account, and Python refuses one of very many digits."""


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


def _tell_in_json(data: bytes) -> None:
    """Raise the error of the first key that is there twice, with its path."""
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
            steps.append((name, ((f"[{place}]", part) for place, part in enumerate(value))))


class _Level:
    """An array or a map of MessagePack that is being walked."""

    def __init__(self, count: int, *, is_map: bool) -> None:
        self.left = count
        self.count = count
        #: The keys so far, None in an array.
        self.keys: set[bytes] | None = set() if is_map else None
        self.key = b""

    def name(self) -> str:
        """Return the last step of the path to the value at hand."""
        if self.keys is None:
            return f"[{self.count - self.left - 1}]"
        return step_of(self.key.decode("utf-8", "replace"))


def _walk_msgpack(data: bytes) -> None:
    """Walk well-formed MessagePack whose keys are strings (it was decoded before)."""
    levels: list[_Level] = []
    place, count, is_map = opened_value(data, 0)
    levels.append(_Level(count, is_map=is_map))
    while levels:
        level = levels[-1]
        if not level.left:
            levels.pop()
            continue
        if level.keys is not None and not level.left & 1:
            place = _add_key(level, data, place, levels)
        level.left -= 1
        place, count, is_map = opened_value(data, place)
        if count:
            levels.append(_Level(count, is_map=is_map))


def _add_key(level: _Level, data: bytes, place: int, levels: list[_Level]) -> int:
    end, _, _ = opened_value(data, place)
    # One string may be written with lengths of several widths.
    level.key = data[place + _string_head(data[place]) : end]
    level.left -= 1
    if level.keys is not None:
        if level.key in level.keys:
            raise _twice("$" + "".join(above.name() for above in levels))
        level.keys.add(level.key)
    return end


def _string_head(first: int) -> int:
    """Return the bytes before a string's own: its first byte, and its length where that has bytes of its own."""
    return {0xD9: 2, 0xDA: 3, 0xDB: 5}.get(first, 1)


def _twice(path: str) -> DecodeError:
    return DecodeError("this key is there twice; which value holds cannot be told", path=path, code="duplicate_key")
