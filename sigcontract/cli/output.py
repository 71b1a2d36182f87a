"""Where results go: JSON to standard output, and files that nobody loses unasked."""

import sys
from pathlib import Path

import msgspec

from sigcontract.errors import FileError

__all__ = ["refuse_to_overwrite", "write_json"]


def write_json(value: object) -> None:
    """Write a value of records and plain Python values to standard output, for programs and for people."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
    sys.stdout.write("\n")


def refuse_to_overwrite(path: str, *, force: bool) -> None:
    """Raise FileError where the file exists and ``--force`` was not given."""
    if Path(path).exists() and not force:
        raise FileError(f"{path} exists; add --force to overwrite it", file=path, code="exists")
