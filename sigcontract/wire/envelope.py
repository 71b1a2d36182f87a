"""What every document begins with: its kind and its version."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sigcontract.model import (
    Record,
)

__all__ = ["defaults_of", "document_type", "fields_of"]


def document_type(  # noqa: PLR0913  a document is the sum of these
    name: str,
    document: str,
    version: int,
    doc: str,
    fields: dict[str, Any],
    *,
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> Any:  # a class made at run time: mypy cannot know its fields
    """Return the record type of a document: the envelope, then the fields."""
    envelope: dict[str, Any] = {
        "document": Annotated[Literal[document], Meta(description="What this document is.")],
        "version": Annotated[Literal[version], Meta(description="Version of the document; there are no minor ones.")],
    }
    return msgspec.defstruct(
        name,
        [
            (name, kind, defaults[name]) if name in defaults else (name, kind)
            for name, kind in (envelope | fields).items()
        ],
        bases=(Record,),
        module=__name__,
        namespace={"__doc__": doc},
        frozen=True,
        kw_only=True,
    )


def fields_of(record: type[Record]) -> dict[str, Any]:
    """Return the fields of a record and their types."""
    return {field.name: field.type for field in msgspec.structs.fields(record)}


def defaults_of(record: type[Record]) -> dict[str, Any]:
    """Return the values of the fields of a record that may be left out: those of what people write by hand."""
    return {
        field.name: field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
        for field in msgspec.structs.fields(record)
        if not field.required
    }
