"""What a process-local number stands for: declared by the field that holds it.

Handles, addresses and device ordinals mean nothing in another process. A field that holds one says so in its
``Meta(extra=handle(...))``; the portable form, the correspondence of two runs and the tests are derived from that
(`sigcontract.model.renumbering`), so no list of such fields exists anywhere else.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, Literal, NamedTuple, get_args

import msgspec

__all__ = ["ProcessLocal", "RenumberedKind", "field_parts", "handle"]

#: Numbers by which nodes are related: renumbered by first use, so that equal ones stay equal and others apart.
RenumberedKind = Literal["function", "context", "event", "allocation", "device"]
#: Numbers that no other node refers to: dropped.
DroppedKind = Literal["kernel", "memory", "host_function", "user_data", "device_node", "conditional"]

_RENUMBERED: Final[frozenset[str]] = frozenset(get_args(RenumberedKind))


class ProcessLocal(NamedTuple):
    """The fact that a field holds a process-local number.

    Attributes
    ----------
    kind
        What the number stands for.
    only_if
        Another field of the record and the value it must have: a location id is a device ordinal for devices alone.
    or_else
        The field that stands for the same thing where this one is 0: a kernel's CUkernel, where there is no CUfunction.
    """

    kind: RenumberedKind | DroppedKind
    only_if: tuple[str, int] | None
    or_else: str | None

    @property
    def renumbered(self) -> bool:
        """Whether equality of numbers is kept, and not only dropped with the number."""
        return self.kind in _RENUMBERED

    @property
    def zero_is_none(self) -> bool:
        """Whether 0 stands for nothing. The first device has the ordinal 0."""
        return self.kind != "device"


def handle(
    kind: RenumberedKind | DroppedKind, *, only_if: tuple[str, int] | None = None, or_else: str | None = None
) -> dict[str, Any]:
    """Return the ``extra`` of the Meta of a field that holds a process-local number (`ProcessLocal`)."""
    return {"handle": ProcessLocal(kind, only_if, or_else)}


@cache
def field_parts(cls: type[msgspec.Struct]) -> dict[str, tuple[Any, ...]]:
    """Return the parts of each field's type: record types and Metas among them, records not looked into."""
    return {field.name: tuple(_parts(field.type)) for field in msgspec.structs.fields(cls)}


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for part in get_args(hint):
        yield from _parts(part)
