"""Replace the process-local numbers of records, as their fields declare (`ProcessLocal`)."""

from collections.abc import Callable, Mapping
from functools import cache
from operator import is_
from typing import Any, Final, NamedTuple

from msgspec import Meta
from msgspec.structs import replace

from sigcontract.model.arguments import KernelArgument
from sigcontract.model.graph import graph_fields
from sigcontract.model.handles import ProcessLocal, field_parts
from sigcontract.model.record import Record

__all__ = ["Identities", "LocalFields", "Renumbering", "local_fields"]

#: Replacement of a dropped number, unless 0.
_NOTHING: Final[Mapping[str, Any]] = {"conditional": "0x" + "0" * 16, "stack": ()}


class LocalFields(NamedTuple):
    """Fields of a record with process-local numbers, directly or in nested records.

    Attributes
    ----------
    handles
        Fields that hold one, with its kind.
    holders
        Fields that hold records with such fields, except graphs.
    """

    handles: tuple[tuple[str, ProcessLocal], ...]
    holders: tuple[str, ...]


@cache
def local_fields(cls: type) -> LocalFields:
    """Return the fields of a record type with process-local numbers; none for any other type.

    Raises
    ------
    TypeError
        A `Handle` field does not declare its kind.
    """
    if not issubclass(cls, Record):
        return LocalFields((), ())
    handles, holders = [], []
    for name, parts in field_parts(cls).items():
        if name in graph_fields(cls):
            continue
        metas = [part.extra for part in parts if isinstance(part, Meta) and part.extra is not None]
        declared = [extra["handle"] for extra in metas if "handle" in extra]
        facts = [fact for fact in declared if fact is not None]
        if declared and not facts:
            raise TypeError(f"{cls.__name__}.{name} is a Handle; declare its kind with Meta(extra=handle(...))")
        handles += [(name, fact) for fact in facts]
        if any(any(local_fields(part)) for part in parts if isinstance(part, type) and issubclass(part, Record)):
            holders.append(name)
    return LocalFields(tuple(handles), tuple(holders))


class _Plan(NamedTuple):
    """Steps for records of one type, in order; most fields take the fast path."""

    holders: tuple[str, ...]
    #: Fields to drop, with the replacement.
    dropped: tuple[tuple[str, Any], ...]
    #: Fields to renumber, where 0 means none.
    plain: tuple[tuple[str, Callable[[Any], int]], ...]
    #: Fields to renumber under a condition, or where 0 is a valid number.
    special: tuple[tuple[str, Callable[[Any], int], ProcessLocal], ...]


class Renumbering:
    """Replaces the process-local numbers of records, not of graphs nested in them.

    Parameters
    ----------
    numbers_of
        Called with a kind; returns a function from old to new numbers. A function known only by its CUkernel has a pair
        as its old number, since a CUfunction may have the same number. Results must not change: shared values are
        renumbered once.
    """

    def __init__(self, numbers_of: Callable[[str], Callable[[Any], int]]) -> None:
        self._numbers_of = numbers_of
        self._plans: dict[type, _Plan | None] = {int: None, type(None): None}
        # Keyed by object id; the object is kept alive, so the id stays unique.
        self._held: dict[int, tuple[Any, Any]] = {}

    def record(self, record: Any) -> Any:  # noqa: C901  the inner loop of every portable digest
        """Return the record with every number replaced: those of nested records first, then its own, in field order.

        Raises
        ------
        TypeError
            The argument or a field's value is not a record.
        """
        cls = type(record)
        plan = self._plans[cls] if cls in self._plans else self._planned(cls)
        if plan is None:
            return record
        holders, dropped, plain, special = plan
        changed: dict[str, Any] = {}
        for name in holders:
            held = getattr(record, name)
            known = self._held.get(id(held))
            if known is None:
                known = self._held[id(held)] = held, self._renumbered(held)
            if known[1] is not held:
                changed[name] = known[1]
        for name, nothing in dropped:
            value = getattr(record, name)
            if value and value != nothing:
                changed[name] = nothing
        for name, number_of in plain:
            value = getattr(record, name)
            if value:
                changed[name] = number_of(value)
        for name, number_of, fact in special:
            old = _old_number(record, name, fact)
            if old is not None:
                changed[name] = number_of(old)
        return replace(record, **changed) if changed else record

    def _planned(self, cls: type) -> _Plan | None:
        if not issubclass(cls, Record):
            raise TypeError(f"{cls.__name__} is not a record")
        handles, holders = local_fields(cls)
        plan = None
        if handles or holders:
            kept = [(name, self._numbers_of(fact.kind), fact) for name, fact in handles if fact.renumbered]
            plain = [fact.zero_is_none and fact.only_if is None and fact.or_else is None for _, _, fact in kept]
            plan = _Plan(
                holders,
                tuple((name, _NOTHING.get(fact.kind, 0)) for name, fact in handles if not fact.renumbered),
                tuple(one[:2] for one, is_plain in zip(kept, plain, strict=True) if is_plain),
                tuple(one for one, is_plain in zip(kept, plain, strict=True) if not is_plain),
            )
        self._plans[cls] = plan
        return plan

    def _renumbered(self, held: Any) -> Any:
        if not isinstance(held, tuple):
            return self.record(held)
        found = tuple([self.record(item) for item in held])
        return held if all(map(is_, found, held)) else found


def _old_number(record: Any, name: str, fact: ProcessLocal) -> Any:
    """Return the number to renumber: None if none, a pair if it comes from the alternative field."""
    value = getattr(record, name)
    if value is None or (fact.only_if is not None and getattr(record, fact.only_if[0]) != fact.only_if[1]):
        return None
    if value or not fact.zero_is_none:
        return value
    other = 0 if fact.or_else is None else getattr(record, fact.or_else)
    return (fact.or_else, other) if other else None


@cache
def _renumbered(cls: type) -> tuple[tuple[str, str, str, tuple[str, Any] | None], ...]:
    """Return name, path, kind and condition of the renumbered fields of a record type."""
    handles = local_fields(cls).handles
    return tuple((name, f".{name}", fact.kind, fact.only_if) for name, fact in handles if fact.renumbered)


class Identities:
    """Finds the renumbered fields of records in portable form, nested graphs excluded.

    A path is that of the field, except that arguments and their pointers are named by their offset.
    """

    def __init__(self) -> None:
        # Shared values are searched once, keyed by object id; they are kept alive, so the id stays unique.
        self._held: dict[int, tuple[Any, list[tuple[str, str, int]]]] = {}

    def of(self, record: Any) -> list[tuple[str, str, int]]:
        """Return the path, kind and number of each field."""
        cls: type = type(record)
        found: list[tuple[str, str, int]] = []
        for name, path, kind, only_if in _renumbered(cls):
            number = getattr(record, name)
            if number and (only_if is None or getattr(record, only_if[0]) == only_if[1]):
                found.append((path, kind, number))
        for name in local_fields(cls).holders:
            held = getattr(record, name)
            known = self._held.get(id(held))
            if known is None:
                known = self._held[id(held)] = held, self._held_by(held)
            if known[1]:
                found += [(f".{name}{path}", kind, number) for path, kind, number in known[1]]
        return found

    def _held_by(self, held: Any) -> list[tuple[str, str, int]]:
        if not isinstance(held, tuple):
            return self.of(held)
        if held and isinstance(held[0], KernelArgument):
            # By offset in the parameter buffer: the index of a pointer depends on how many are null.
            return [
                (f"[offset={argument.offset_bytes + pointer.offset_bytes}]{path.removeprefix('.target')}", kind, number)
                for argument in held
                for pointer in argument.pointers
                for path, kind, number in self.of(pointer)
            ]
        return [
            (f"[{index}]{path}", kind, number)
            for index, item in enumerate(held)
            for path, kind, number in self.of(item)
        ]
