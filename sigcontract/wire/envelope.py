"""The envelope of every document: its kind and version."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sigcontract.model import (
    Record,
)

__all__ = ["defaults_of", "document_type", "fields_of"]


def document_type(  # noqa: PLR0913  one argument per property of a document
    name: str,
    document: str,
    version: int,
    doc: str,
    fields: dict[str, Any],
    *,
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> Any:  # a class created at run time, whose fields mypy does not know
    """Return the record type of a document: the envelope, then the fields."""
    envelope: dict[str, Any] = {
        "document": Annotated[Literal[document], Meta(description="Kind of this document.")],
        "version": Annotated[Literal[version], Meta(description="Version of the document; no minor versions.")],
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
    """Return the defaults of a record's optional fields, for documents that people write."""
    return {
        field.name: field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
        for field in msgspec.structs.fields(record)
        if not field.required
    }
