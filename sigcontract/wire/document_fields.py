"""Documents as fields of pydantic models: what is read is what a file holds, and so is what is written."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import inspect as types

from sigcontract.errors import RecordError
from sigcontract.model import Record, core_schema_of_record, core_schema_of_type
from sigcontract.wire.codec import decode
from sigcontract.wire.decoder_errors import translated
from sigcontract.wire.documents import FORMS, default_version, document_name, form_of
from sigcontract.wire.fault_list import faults
from sigcontract.wire.validation import INVALID_RECORD

if TYPE_CHECKING:
    from pydantic_core import CoreSchema, SchemaValidator

__all__ = ["core_schema_of_document"]


def core_schema_of_document(cls: type[Record]) -> "CoreSchema | None":
    """Return the pydantic schema of a record that is a document; None of another record.

    It accepts the document of any version, and what `core_schema_of_record` accepts. Every fault is an error of its
    own, at its location. Serialising gives the document of the version that is written. The JSON Schema is that of the
    default version; `sigcontract.schema` gives that of a dump with arguments, version 3.
    """
    if cls not in {form.record for form in FORMS.values()}:
        return None
    from pydantic_core import core_schema  # noqa: PLC0415  only where pydantic asks

    name = document_name(cls)
    form = FORMS[name, default_version(name)]

    def read(value: Any, _handler: Callable[[Any], Any]) -> Any:
        if isinstance(value, dict) and "document" in value:
            return _decoded(cls, value)
        return _validator(cls).validate_python(value)

    serialized = core_schema.plain_serializer_function_ser_schema(
        lambda record: msgspec.to_builtins(form_of(record).wire_of(record))
    )
    # The schema of the document describes it to pydantic's JSON Schema, and validates nothing.
    return core_schema_of_type(
        types.type_info(form.wire),
        lambda schema: core_schema.no_info_wrap_validator_function(read, schema, serialization=serialized),
    )


@cache
def _validator(cls: type[Record]) -> "SchemaValidator":
    from pydantic_core import SchemaValidator  # noqa: PLC0415  only where pydantic asks

    return SchemaValidator(core_schema_of_record(cls))


def _decoded(cls: type[Any], value: dict[str, Any]) -> Any:
    """Return the record that a document holds. Raises pydantic's ValidationError with every fault."""
    from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError  # noqa: PLC0415  as above

    found: list[RecordError]
    data = b""
    try:
        data = msgspec.msgpack.encode(value)  # which distinguishes NaN and bytes from null and text
        return decode(data, expect=cls)
    except RecordError as error:
        found = [error] if error.code == "document" else faults(data) or [error]
    except INVALID_RECORD as error:
        found = [translated(error)]
    lines = [
        InitErrorDetails(
            type=PydanticCustomError(fault.code, "{reason}", {"reason": fault.reason}),
            loc=fault.location,
            input=_at(value, fault.location),
        )
        for fault in found
    ]
    raise ValidationError.from_exception_data("", lines)


def _at(value: Any, location: tuple[str | int, ...]) -> Any:
    """Return the value at a location of a document, or the last one on the way to it that is there."""
    for step in location:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            break
    return value
