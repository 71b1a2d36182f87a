"""Fields that an older document version omits: compares the record with what is read back."""

from collections import Counter
from typing import Any

from sigcontract.model import Dim3, LaunchAttribute, Record

__all__ = ["lost_fields"]


def lost_fields(record: Record, again: Record) -> dict[str, int]:
    """Return the fields in which a record differs from what was read back, with the number of values of each.

    Fields are named by path without indices, such as ``graphs.graph.nodes.func``; launch attributes by id, such as
    ``graphs.graph.nodes.attributes[8]``. A reordered tuple is named with ``order``.
    """
    return dict(_Losses().between(record, again, ""))


class _Losses:
    def __init__(self) -> None:
        # Nodes repeat, and equal ones are mostly one object. Keyed by id; the pair is kept alive.
        self._known: dict[tuple[int, int, str], tuple[Any, Any, Counter[str]]] = {}

    def between(self, old: Any, new: Any, path: str) -> Counter[str]:
        if old is new or old == new:
            return Counter()
        known = self._known.get((id(old), id(new), path))
        if known is None:
            known = self._known[id(old), id(new), path] = old, new, self._between(old, new, path)
        return known[2]

    def _between(self, old: Any, new: Any, path: str) -> Counter[str]:
        if isinstance(old, Record) and type(old) is type(new) and not isinstance(old, Dim3 | LaunchAttribute):
            parts = [
                self.between(getattr(old, name), getattr(new, name), f"{path}.{name}" if path else name)
                for name in old.__struct_fields__
            ]
        elif _is_attributes(old) or _is_attributes(new):
            before, after = ({entry.id: entry for entry in entries} for entries in (old, new))
            ids = sorted(before.keys() | after.keys())
            return Counter(f"{path}[{number}]" for number in ids if before.get(number) != after.get(number))
        elif isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
            if len(old) > 1 and Counter(old) == Counter(new):
                return Counter([f"{path} order"])
            parts = [self.between(a, b, path) for a, b in zip(old, new, strict=True)]
        else:
            return Counter([path])
        total: Counter[str] = Counter()
        for part in parts:
            total.update(part)
        return total


def _is_attributes(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], LaunchAttribute)
