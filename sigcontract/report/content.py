"""Numbers for records by their content, so that rows of nodes are compared and folded by small numbers."""

from typing import Any

import msgspec

__all__ = ["ContentNumbers"]


class ContentNumbers:
    """Gives equal records, and equal tuples of records, one number.

    Distinguished by their bytes: Python's hash of records is the same on every machine, so that a file of records
    that all have one hash is easily made. What many nodes share is one object mostly, and is written out once.
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        # By the id of the object, which is kept beside so that the id stays its own.
        self._known: dict[int, tuple[object, int]] = {}

    def of(self, value: Any) -> int:
        """Return the number of a record, of a tuple of records, or of None."""
        known = self._known.get(id(value))
        if known is None:
            number = self._numbers.setdefault(msgspec.msgpack.encode(value), len(self._numbers))
            known = self._known[id(value)] = value, number
        return known[1]
