"""Translate exceptions of msgspec, zlib and Python on bad input to errors with a code and a path."""

import json
import re

import msgspec

from sigcontract.errors import DecodeError, InvariantError, LimitError, RecordError

__all__ = ["below", "step", "translated"]

#: msgspec ends a message with the path, as `` - at `$.nodes[...].x` ``.
_LOCATION = re.compile(r"^(?P<reason>.*) - at `(?:key in )?(?P<path>\$.*)`$", re.DOTALL)


def translated(error: Exception) -> RecordError:
    """Return the RecordError for an exception of a decoder or encoder. Raise it ``from`` that exception."""
    if isinstance(error, RecordError):
        return error
    if isinstance(error, RecursionError):
        return LimitError("values are nested too deeply", code="nesting")
    if isinstance(error, MemoryError):
        return LimitError("not enough memory for this document", code="memory")
    found = _LOCATION.match(str(error))
    reason, path = (found["reason"], found["path"]) if found else (str(error), "$")
    if isinstance(error.__cause__, InvariantError):
        return below(path, error.__cause__)
    damaged = isinstance(error, msgspec.DecodeError) and not isinstance(error, msgspec.ValidationError)
    if damaged or isinstance(error, UnicodeDecodeError):
        return DecodeError(f"{reason}; the file is damaged or incomplete: write or copy it again", code="malformed")
    return DecodeError(reason, path=path)


def below(path: str, error: RecordError) -> RecordError:
    """Return the error with its path below ``path``."""
    return type(error)(error.reason, path=path + error.path.removeprefix("$"), code=error.code)


def step(key: str | int) -> str:
    """Return a key or index as it stands in a path: a key that is no name as a JSON string."""
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key, ensure_ascii=False)}]"
