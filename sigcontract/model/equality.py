"""Equality of dumps, in time proportional to what they hold: a part that many nodes share is compared once."""

from functools import cache
from types import NoneType
from typing import Any

from msgspec import Struct, inspect as types

from sigcontract.model.dims import Dim3
from sigcontract.model.dump import SignatureDump

__all__ = ["equal_dumps"]

#: Shorter text is compared at once, as often as it is used.
_SHORT_TEXT = 256
_SMALL = frozenset({int, bool, NoneType, Dim3})


def equal_dumps(a: SignatureDump, b: SignatureDump) -> bool:
    """Whether two dumps are equal. ``==`` compares a part once per use: each pair of parts is compared once here."""
    return _Equality().of(a, b)


class _Equality:
    """Compares records, and remembers what it compared by the ids of both, which the dumps keep alive."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bool] = {}

    def of(self, a: Any, b: Any) -> bool:
        if a is b:
            return True
        kind: type = type(a)
        if not _may_be_large(kind) or kind is not type(b) or (kind is str and len(a) < _SHORT_TEXT):
            return bool(a == b)
        objects = id(a), id(b)
        known = self._known.get(objects)
        if known is None:
            known = self._known[objects] = self._compared(a, b)
        return known

    def _compared(self, a: Any, b: Any) -> bool:
        if isinstance(a, tuple):
            return len(a) == len(b) and all(map(self.of, a, b))
        if isinstance(a, Struct):
            for name in a.__struct_fields__:
                x, y = getattr(a, name), getattr(b, name)
                # Most are small: no call is made for these.
                if x is not y and (x != y if type(x) in _SMALL else not self.of(x, y)):
                    return False
            return True
        return bool(a == b)


@cache
def _may_be_large(kind: type) -> bool:
    """Whether values of a type have no bound on their size that is worth a name: text, tuples, records of these."""
    return kind in (str, tuple) or (issubclass(kind, Struct) and _has_parts(types.type_info(kind)))


def _has_parts(info: types.Type) -> bool:
    if isinstance(info, types.Metadata):
        return _has_parts(info.type)
    if isinstance(info, types.UnionType):
        return any(map(_has_parts, info.types))
    if isinstance(info, types.StructType):
        return any(_has_parts(field.type) for field in info.fields)
    return isinstance(info, types.StrType | types.VarTupleType | types.AnyType)
