"""Every fault of a document at once, where decoding stops at the first."""

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import msgspec
from msgspec import inspect as types

from sigcontract.errors import DecodeError, InvariantError, LimitError, RecordError
from sigcontract.wire.decoder_errors import below, step
from sigcontract.wire.decoding import sniffed, strictly_decoded
from sigcontract.wire.documents import Form
from sigcontract.wire.limits import MAX_DOCUMENT_BYTES, MAX_FAULTS, MAX_LISTED_BYTES, MAX_LISTED_VALUES
from sigcontract.wire.validation import INVALID_RECORD

__all__ = ["faults", "listed_by_pydantic"]


def faults(data: bytes, *, max_bytes: int = MAX_DOCUMENT_BYTES) -> list[RecordError]:
    """Return every fault of a document, the digests of its header included; an empty list if there is none.

    Faults of types and bounds hide those of how parts fit together: mend the first to see the second. The list ends
    with a LimitError after MAX_FAULTS, and has one entry at most for a document larger than MAX_LISTED_BYTES.
    """
    try:
        text, form = sniffed(data, max_bytes)
        try:
            document = strictly_decoded(form, data, text=text)
        except RecordError as error:
            listed = listed_by_pydantic(form, data, text=text) if len(data) <= MAX_LISTED_BYTES else []
            return listed or [error]
        return _first(form.problems(document)) or _first(form.false_digests(document, form.record_of(document)))
    except RecordError as error:
        return [error]


def _first(problems: Iterator[RecordError]) -> list[RecordError]:
    listed = list(islice(problems, MAX_FAULTS))
    if next(problems, None) is not None:
        listed.append(LimitError(f"more than {MAX_FAULTS} faults", code="faults"))
    return listed


def listed_by_pydantic(form: Form, data: bytes, *, text: bool) -> list[RecordError]:
    """Return the faults of types and bounds that pydantic finds in a document whose nesting was checked."""
    try:
        plain = (msgspec.json if text else msgspec.msgpack).decode(data)
    except INVALID_RECORD:
        return []  # the typed decoder says where
    found = _listed(_type_info(form), plain, "$")
    listed = list(islice(found, MAX_FAULTS))
    more = sum(1 for _ in found)
    if more:
        listed.append(LimitError(f"{more} more faults", code="faults"))
    return listed


def _listed(info: types.Type, plain: Any, path: str) -> Iterator[RecordError]:
    """Yield the faults of a value, a part of it at a time: pydantic takes a thousand bytes and more for each fault.

    One row of very many values that has no parts is passed over: the typed decoder says its first fault.
    """
    if isinstance(info, types.Metadata):
        info = info.type
    if _values_in(plain, MAX_LISTED_VALUES) <= MAX_LISTED_VALUES:
        yield from _at_once(info, plain, path)
    elif isinstance(info, types.StructType) and isinstance(plain, dict):
        large = {field.encode_name: field.type for field in info.fields if _is_large(field.type, plain, field)}
        # The rest of the record with the large parts empty, then these one by one.
        yield from _at_once(info, plain | {name: type(plain[name])() for name in large}, path)
        for name, kind in large.items():
            yield from _listed(kind, plain[name], f"{path}.{name}")
    elif isinstance(info, types.VarTupleType) and isinstance(plain, list):
        yield from _in_stretches(info, plain, path)


def _is_large(kind: types.Type, plain: dict[str, Any], field: types.Field) -> bool:
    if isinstance(kind, types.Metadata):
        kind = kind.type
    value = plain.get(field.encode_name)
    wanted = list if isinstance(kind, types.VarTupleType) else dict
    return isinstance(value, wanted) and isinstance(kind, types.VarTupleType | types.DictType) and len(value) > 0


def _in_stretches(info: types.VarTupleType, plain: list[Any], path: str) -> Iterator[RecordError]:
    """Yield the faults of a list, as many rows at a time as have some number of values together."""
    start, size = 0, 0
    sizes = [_values_in(row, MAX_LISTED_VALUES) for row in plain]
    for place, more in enumerate([*sizes, MAX_LISTED_VALUES + 1]):
        if size + more > MAX_LISTED_VALUES:
            if start < place:
                yield from _at_once(info, plain[start:place], path, start)
            start, size = place, 0
        if more > MAX_LISTED_VALUES and place < len(plain):
            yield from _listed(info.item_type, plain[place], f"{path}[{place}]")
            start = place + 1
        else:
            size += more


def _values_in(plain: Any, most: int) -> int:
    """Return how many values are in one, itself included; where they are more than ``most``, some number above."""
    waiting = [plain] if type(plain) in _HOLDERS else []
    count = 1
    while waiting:
        value = waiting.pop()
        count += len(value)
        if count > most:
            break
        waiting += [part for part in (value.values() if type(value) is dict else value) if type(part) in _HOLDERS]
    return count


#: What decoders make of values that have others in them.
_HOLDERS = frozenset({dict, list})


def _at_once(info: types.Type, plain: Any, path: str, first: int = 0) -> Iterator[RecordError]:
    """Yield the faults of a value in the order of its parts, of a list the indices counted from ``first``."""
    from pydantic_core import ValidationError  # noqa: PLC0415  only where every fault is wanted

    try:
        _validator(_Type(info)).validate_python(plain)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            place = fault["loc"]
            if first and place:
                place = (int(place[0]) + first, *place[1:])
            yield _as_error(path, place, fault["msg"], fault.get("ctx", {}))


class _Type:
    """Type information as a key: it is made once per form, and is itself."""

    def __init__(self, info: types.Type) -> None:
        self.info = info

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Type) and other.info is self.info

    def __hash__(self) -> int:
        return id(self.info)


@cache
def _validator(kind: _Type) -> Any:  # pydantic's, which is not to be imported before it is used
    from pydantic_core import SchemaValidator  # noqa: PLC0415  as above

    from sigcontract.model import core_schema_of_type  # noqa: PLC0415  imports pydantic

    return SchemaValidator(core_schema_of_type(kind.info))


@cache
def _type_info(form: Form) -> types.Type:
    return types.type_info(form.wire)


def _as_error(path: str, location: tuple[int | str, ...], message: str, context: dict[str, Any]) -> RecordError:
    from sigcontract.model import BRANCH_MARK  # noqa: PLC0415  imports pydantic

    for part in location:
        if isinstance(part, int) or not part.startswith(BRANCH_MARK):
            path += step(part)
    if "code" in context and "path" in context:
        return below(path, InvariantError(context["reason"], path=context["path"], code=context["code"]))
    return DecodeError(message, path=path)
