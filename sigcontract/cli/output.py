"""JSON on standard output, and no overwriting without ``--force``."""

import sys
from pathlib import Path

from sigcontract.errors import FileError
from sigcontract.wire import Document, encode

__all__ = ["refuse_to_overwrite", "write_document"]


def write_document(document: Document) -> None:
    """Write a document to standard output as JSON."""
    sys.stdout.write(encode(document).decode())


def refuse_to_overwrite(path: str, *, force: bool) -> None:
    """Raise FileError where the file exists and ``--force`` was not given."""
    if Path(path).exists() and not force:
        raise FileError(f"{path} exists; add --force to overwrite it", file=path, code="exists")
