"""Canonical bytes of records, and the digests of graphs.

The canonical form is that of RFC 8785: records hold no floats, no integer beyond 2**53 - 1, and their field names are
ASCII, so JSON with sorted keys and no spaces is that form.

A digest is sha256 over a label that names kind and version, a line feed, and the canonical bytes of the graph's tables
(`sigcontract.wire.tables`), with rows in the order of first use: equal graphs have equal tables, and work is per
distinct node. Environment, labels and extensions are not part of a graph.
"""

from hashlib import sha256
from typing import Any

import msgspec

from sigcontract.errors import LimitError, RecordError
from sigcontract.model import (
    MAX_EXACT_INT,
    GraphSignature,
    Record,
)
from sigcontract.wire.identities import portable_form
from sigcontract.wire.limits import MAX_DOCUMENT_BYTES
from sigcontract.wire.tables import Folder
from sigcontract.wire.validation import canonical_tables, validate

__all__ = ["canonical_bytes", "digest", "portable_digest", "portable_form"]

_EXACT = b"sigcontract.graph-digest/1\n"
_PORTABLE = b"sigcontract.portable-digest/1\n"


def canonical_bytes(record: Record) -> bytes:
    """Return the canonical JSON of a record (RFC 8785): equal bytes for equal records only.

    Raises
    ------
    RecordError
        The record is invalid, or its extensions hold a float or a large integer, which have no canonical form here.
    LimitError
        Written out, with each use of a shared row and child graph, it is longer than a document may be.
    """
    validate(record)
    if _bytes_at_least(record, {}) > MAX_DOCUMENT_BYTES:
        msg = f"this record takes more than {MAX_DOCUMENT_BYTES} bytes written out; compare digests of its graphs"
        raise LimitError(msg, code="size")
    extensions = getattr(record, "extensions", None)
    if extensions:
        _refuse_inexact(extensions, "$.extensions")
    return msgspec.json.encode(record, order="sorted")


def digest(graph: GraphSignature) -> str:
    """Return ``sha256:`` and the digest of every recorded field, handles included.

    Raises
    ------
    RecordError
        The graph is invalid.
    """
    return _digest(_EXACT, canonical_tables(graph))


def portable_digest(graph: GraphSignature) -> str:
    """Return ``sha256:`` and the digest of the graph's `portable_form`: equal across processes.

    Unreadable attributes and opaque nodes are included as such. Equal digests do not make them the same: that is up to
    a policy.

    Raises
    ------
    RecordError
        The graph is invalid.
    """
    canonical_tables(graph)
    return portable_digest_of_valid(graph)


def portable_digest_of_valid(graph: GraphSignature) -> str:
    """Return the portable digest of a graph known to be valid."""
    folder = Folder()
    folder.fold(portable_form(graph))
    return _digest(_PORTABLE, msgspec.json.encode(folder.tables(), order="sorted"))


def _digest(label: bytes, data: bytes) -> str:
    return "sha256:" + sha256(label + data).hexdigest()


def _bytes_at_least(value: Any, known: dict[int, int]) -> int:
    """Return a size that the JSON of a valid record has at least, each object in it looked at once."""
    if isinstance(value, str):
        return len(value)
    if not isinstance(value, Record | tuple):
        return 1
    size = known.get(id(value))
    if size is None:
        fields: tuple[str, ...] = value.__struct_fields__ if isinstance(value, Record) else ()
        parts = [getattr(value, name) for name in fields] if isinstance(value, Record) else value
        size = known[id(value)] = 2 + len("".join(fields)) + sum(_bytes_at_least(part, known) for part in parts)
    return size


def _refuse_inexact(value: Any, path: str) -> None:
    if isinstance(value, float) or (isinstance(value, int) and not -MAX_EXACT_INT <= value <= MAX_EXACT_INT):
        raise RecordError("no canonical form for floats and integers beyond 2**53 - 1", path=path, code="canonical")
    if isinstance(value, dict):
        for key, part in value.items():
            if not key.isascii():
                raise RecordError("no canonical form for keys beyond ASCII", path=path, code="canonical")
            _refuse_inexact(part, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            _refuse_inexact(part, f"{path}[{index}]")
