"""Every fault of a document at once, where decoding stops at the first."""

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import msgspec

from sigcontract.errors import DecodeError, InvariantError, LimitError, RecordError
from sigcontract.model import (
    Record,
)
from sigcontract.wire.decoder_errors import below
from sigcontract.wire.decoding import sniffed, strictly_decoded
from sigcontract.wire.documents import Form
from sigcontract.wire.limits import MAX_DOCUMENT_BYTES, MAX_FAULTS, MAX_LISTED_BYTES
from sigcontract.wire.validation import INVALID_RECORD

__all__ = ["faults"]


def faults(data: bytes, *, max_bytes: int = MAX_DOCUMENT_BYTES) -> list[RecordError]:
    """Return every fault of a document, the digests of its header included; an empty list if there is none.

    Faults of types and bounds hide those of how parts fit together: mend the first to see the second. The list ends
    with a LimitError after MAX_FAULTS, and has one entry at most for a document larger than MAX_LISTED_BYTES.
    """
    try:
        text, form = sniffed(data, max_bytes)
        if len(data) <= MAX_LISTED_BYTES:
            listed = _of_types(form, data, text=text)
            if listed:
                return listed
        document = strictly_decoded(form, data, text=text)
        return _first(form.problems(document)) or _first(form.false_digests(document, form.record_of(document)))
    except RecordError as error:
        return [error]


def _first(problems: Iterator[RecordError]) -> list[RecordError]:
    listed = list(islice(problems, MAX_FAULTS))
    if next(problems, None) is not None:
        listed.append(LimitError(f"more than {MAX_FAULTS} faults", code="faults"))
    return listed


def _of_types(form: Form, data: bytes, *, text: bool) -> list[RecordError]:
    from pydantic import ValidationError  # noqa: PLC0415  only where every fault is wanted

    try:
        plain = (msgspec.json if text else msgspec.msgpack).decode(data)
    except INVALID_RECORD:
        return []  # the typed decoder says where
    try:
        _adapter(form.wire).validate_python(plain)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        listed = [_as_error(fault["loc"], fault["msg"], fault.get("ctx", {})) for fault in found[:MAX_FAULTS]]
        if len(found) > MAX_FAULTS:
            listed.append(LimitError(f"{len(found) - MAX_FAULTS} more faults", code="faults"))
        return listed
    return []


@cache
def _adapter(wire: type[Record]) -> Any:  # pydantic's TypeAdapter, which is not to be imported before it is used
    from pydantic import TypeAdapter  # noqa: PLC0415  as above

    return TypeAdapter(wire)


def _as_error(location: tuple[int | str, ...], message: str, context: dict[str, Any]) -> RecordError:
    from sigcontract.model import BRANCH_MARK  # noqa: PLC0415  imports pydantic

    path = "$"
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not part.startswith(BRANCH_MARK):
            path += f".{part}"
    if "code" in context and "path" in context:
        return below(path, InvariantError(context["reason"], path=context["path"], code=context["code"]))
    return DecodeError(message, path=path)
