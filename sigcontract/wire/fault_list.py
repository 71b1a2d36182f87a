"""List every fault of a document; decoding stops at the first."""

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
    """Return every fault of a document, including false digests in its header; empty if none.

    Faults of types and bounds hide contradictions between parts: fix the former to see the latter. The list ends with a
    LimitError after MAX_FAULTS, and has at most one entry for a document larger than MAX_LISTED_BYTES.
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
        return []  # the typed decoder reports it
    found = _listed(_type_info(form), plain, "$")
    listed = list(islice(found, MAX_FAULTS))
    more = sum(1 for _ in found)
    if more:
        listed.append(LimitError(f"{more} more faults", code="faults"))
    return listed


def _listed(info: types.Type, plain: Any, path: str) -> Iterator[RecordError]:
    """Yield the faults of a value part by part: pydantic takes over a thousand bytes per fault.

    A single huge row is skipped: the typed decoder reports its first fault.
    """
    if isinstance(info, types.Metadata):
        info = info.type
    if _values_in(plain, MAX_LISTED_VALUES) <= MAX_LISTED_VALUES:
        yield from _at_once(info, plain, path)
    elif isinstance(info, types.StructType) and isinstance(plain, dict):
        large = {field.encode_name: field.type for field in info.fields if _is_large(field.type, plain, field)}
        # First the record with its large parts empty, then these one by one.
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
    """Yield the faults of a list, in batches of rows bounded by their number of values."""
    start, size = 0, 0
    sizes = [_values_in(row, MAX_LISTED_VALUES) for row in plain]
    for end, more in enumerate([*sizes, MAX_LISTED_VALUES + 1]):
        if size + more > MAX_LISTED_VALUES:
            if start < end:
                yield from _at_once(info, plain[start:end], path, start)
            start, size = end, 0
        if more > MAX_LISTED_VALUES and end < len(plain):
            yield from _listed(info.item_type, plain[end], f"{path}[{end}]")
            start = end + 1
        else:
            size += more


def _values_in(plain: Any, most: int) -> int:
    """Count the values in a value, itself included; stops above ``most``."""
    waiting = [plain] if type(plain) in _HOLDERS else []
    count = 1
    while waiting:
        value = waiting.pop()
        count += len(value)
        if count > most:
            break
        waiting += [part for part in (value.values() if type(value) is dict else value) if type(part) in _HOLDERS]
    return count


#: Decoded types that hold other values.
_HOLDERS = frozenset({dict, list})


def _at_once(info: types.Type, plain: Any, path: str, first: int = 0) -> Iterator[RecordError]:
    """Yield the faults of a value in the order of its parts, of a list the indices counted from ``first``."""
    from pydantic_core import ValidationError  # noqa: PLC0415  only to list every fault

    try:
        _validator(_Type(info)).validate_python(plain)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            location = fault["loc"]
            if first and location:
                location = (int(location[0]) + first, *location[1:])
            yield _as_error(path, location, fault["msg"], fault.get("ctx", {}))


class _Type:
    """Type information as a cache key, by identity: created once per form."""

    def __init__(self, info: types.Type) -> None:
        self.info = info

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Type) and other.info is self.info

    def __hash__(self) -> int:
        return id(self.info)


@cache
def _validator(kind: _Type) -> Any:  # pydantic's, imported on first use
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
