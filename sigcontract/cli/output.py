"""JSON on standard output, and no overwriting without ``--force``."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from sigcontract.errors import FileError
from sigcontract.wire import Document, encode, escaped_name, printable_json

__all__ = ["as_json", "refuse_to_overwrite", "write_document", "write_json"]


def write_json(value: object) -> None:
    """Write a value of records and plain Python values to standard output, indented."""
    sys.stdout.write(printable_json(msgspec.json.format(as_json(value), indent=2)).decode())
    sys.stdout.write("\n")


def write_document(document: Document) -> None:
    """Write a document to standard output as JSON."""
    sys.stdout.write(encode(document).decode())


def as_json(value: object) -> bytes:
    r"""Return a value of records and plain Python values as JSON.

    File names need not be UTF-8, but JSON is: other bytes are escaped, as ``\udcff``.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escaped(msgspec.to_builtins(value)))


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return escaped_name(value)
    if isinstance(value, dict):
        return {_escaped(key): _escaped(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(part) for part in value]
    return value


def refuse_to_overwrite(path: str, *, force: bool) -> None:
    """Raise FileError where the file exists and ``--force`` was not given."""
    if Path(path).exists() and not force:
        raise FileError(f"{path} exists; add --force to overwrite it", file=path, code="exists")
