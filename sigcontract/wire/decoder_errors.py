"""What msgspec, zlib and Python raise on bad input, as errors of this package with a code and a path."""

import json
import re

import msgspec

from sigcontract.errors import DecodeError, InvariantError, LimitError, RecordError

__all__ = ["below", "step", "translated"]

#: msgspec ends a message with the place, as `` - at `$.nodes[...].x` ``.
_PLACE = re.compile(r"^(?P<reason>.*) - at `(?:key in )?(?P<path>\$.*)`$", re.DOTALL)


def translated(error: Exception) -> RecordError:
    """Return the RecordError that says what an exception of a decoder or encoder says. Raise it ``from`` that one."""
    if isinstance(error, RecordError):
        return error
    if isinstance(error, RecursionError):
        return LimitError("values are nested too deeply; a document of this package is flat", code="nesting")
    if isinstance(error, MemoryError):
        return LimitError("not enough memory for this document", code="memory")
    found = _PLACE.match(str(error))
    reason, path = (found["reason"], found["path"]) if found else (str(error), "$")
    if isinstance(error.__cause__, InvariantError):
        return below(path, error.__cause__)
    damaged = isinstance(error, msgspec.DecodeError) and not isinstance(error, msgspec.ValidationError)
    if damaged or isinstance(error, UnicodeDecodeError):
        return DecodeError(f"{reason}; the file is damaged or incomplete: write or copy it again", code="malformed")
    return DecodeError(reason, path=path)


def below(path: str, error: RecordError) -> RecordError:
    """Return the same error for a value that lies at ``path`` of a larger one."""
    return type(error)(error.reason, path=path + error.path.removeprefix("$"), code=error.code)


def step(key: str | int) -> str:
    """Return a key or index as it stands in a path: a key that is no name as a JSON string."""
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key, ensure_ascii=False)}]"
