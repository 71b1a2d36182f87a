"""Distinct rows of one table, found by their bytes."""

from hashlib import sha256
from typing import Any

import msgspec

__all__ = ["Table", "row_key"]


class Table:
    """Distinct rows of one table, in order of arrival.

    Rows are compared by their bytes: Python's hash of records and tuples is predictable, so a hostile file could hold
    many rows of one hash.
    """

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._index_of: dict[bytes, int] = {}

    def index_of(self, row: Any) -> int:
        """Return the index of a row, which is added if new."""
        known = self._index_of.setdefault(row_key(row), len(self.rows))
        if known == len(self.rows):
            self.rows.append(row)
        elif self.rows[known] != row:
            raise TypeError("two unequal values have equal encodings, such as a list and a tuple")
        return known


#: Rows of at least this size, in bytes, are kept as digests.
_LONG_KEY = 1024


def row_key(value: Any) -> bytes:
    """Return bytes equal for values with equal encodings."""
    key = msgspec.msgpack.encode(value)
    return key if len(key) <= _LONG_KEY else sha256(key).digest()
