"""The kind of a process-local number, declared by its field.

Handles, addresses and device ordinals mean nothing in another process. A field that holds one declares it with
``Meta(extra=handle(...))``; the portable form, the correspondence of two runs and the tests derive from that
(`sigcontract.model.renumbering`).
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, Literal, NamedTuple, get_args

import msgspec

__all__ = ["ProcessLocal", "RenumberedKind", "field_parts", "handle"]

#: Kinds that relate nodes: renumbered by first use, so equal numbers stay equal, and others distinct.
RenumberedKind = Literal["function", "context", "event", "allocation", "device"]
#: Kinds that relate no nodes: dropped. A stack has paths of one machine.
DroppedKind = Literal["kernel", "memory", "host_function", "user_data", "device_node", "conditional", "stack"]

_RENUMBERED: Final[frozenset[str]] = frozenset(get_args(RenumberedKind))


class ProcessLocal(NamedTuple):
    """Declares that a field holds a process-local number.

    Attributes
    ----------
    kind
        Kind of the number.
    only_if
        Another field and its required value: a location id is a device ordinal only for a device location.
    or_else
        The field with the same meaning if this one is 0: a kernel's CUkernel without a CUfunction.
    """

    kind: RenumberedKind | DroppedKind
    only_if: tuple[str, int] | None
    or_else: str | None

    @property
    def renumbered(self) -> bool:
        """Whether the number is renumbered, which keeps equality, rather than dropped."""
        return self.kind in _RENUMBERED

    @property
    def zero_is_none(self) -> bool:
        """Whether 0 means none; device ordinals start at 0."""
        return self.kind != "device"


def handle(
    kind: RenumberedKind | DroppedKind, *, only_if: tuple[str, int] | None = None, or_else: str | None = None
) -> dict[str, Any]:
    """Return the ``extra`` of the Meta of a field that holds a process-local number (`ProcessLocal`)."""
    return {"handle": ProcessLocal(kind, only_if, or_else)}


@cache
def field_parts(cls: type[msgspec.Struct]) -> dict[str, tuple[Any, ...]]:
    """Return the components of each field's type, such as record types and Metas, without entering records."""
    return {field.name: tuple(_parts(field.type)) for field in msgspec.structs.fields(cls)}


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for part in get_args(hint):
        yield from _parts(part)
