"""Where results go: JSON to standard output, and files that nobody loses unasked."""

import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from sigcontract.errors import FileError

__all__ = ["as_json", "printable_json", "refuse_to_overwrite", "write_json"]

#: DEL, C1 controls, line and paragraph separators, and what turns the direction of text.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def write_json(value: object) -> None:
    """Write a value of records and plain Python values to standard output, for programs and for people."""
    sys.stdout.write(printable_json(msgspec.json.format(as_json(value), indent=2).decode()))
    sys.stdout.write("\n")


def printable_json(text: str) -> str:
    """Return JSON with every character escaped that could move a cursor or turn the direction of text.

    JSON itself asks for C0 controls only. Such characters can stand in strings alone, and a parser reads the same.
    """
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def as_json(value: object) -> bytes:
    r"""Return a value of records and plain Python values as JSON.

    File names need not be UTF-8, and JSON cannot say a byte that is not: those are escaped, as ``\udcff``.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escaped(msgspec.to_builtins(value)))


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_escaped(key): _escaped(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(part) for part in value]
    return value


def refuse_to_overwrite(path: str, *, force: bool) -> None:
    """Raise FileError where the file exists and ``--force`` was not given."""
    if Path(path).exists() and not force:
        raise FileError(f"{path} exists; add --force to overwrite it", file=path, code="exists")
