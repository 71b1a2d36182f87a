"""The base class of records, and the types shared by their fields."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

__all__ = [
    "MAX_EXACT_INT",
    "MAX_TEXT_CHARACTERS",
    "ExactInt",
    "Handle",
    "Hex64",
    "Int32",
    "Record",
    "Size",
    "TaggedUnion",
    "Text",
    "UInt8",
    "UInt32",
]

#: Largest integer that JSON numbers carry exactly (RFC 8785). 64-bit values that may exceed it are `Hex64`.
MAX_EXACT_INT = 2**53 - 1

ExactInt = Annotated[int, Meta(ge=-MAX_EXACT_INT, le=MAX_EXACT_INT)]
UInt8 = Annotated[int, Meta(ge=0, le=2**8 - 1)]
UInt32 = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Size = Annotated[int, Meta(ge=0, le=MAX_EXACT_INT)]
#: A handle or address. Its field declares the kind: ``Meta(extra=handle(...))`` (`sigcontract.model.handles`).
Handle = Annotated[int, Meta(ge=0, le=MAX_EXACT_INT, extra={"handle": None})]
#: An arbitrary 64-bit value. The look-ahead, not ``$``, ends the pattern: Python's ``$`` lets a newline through.
Hex64 = Annotated[str, Meta(pattern=r"^0x[0-9a-f]{16}(?![\s\S])")]
#: Against hostile documents.
MAX_TEXT_CHARACTERS = 65_536
Text = Annotated[str, Meta(max_length=MAX_TEXT_CHARACTERS)]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """An immutable typed value: ``==`` is field equality and nothing else.

    Constructors do not validate (msgspec validates on decoding); `sigcontract.encode`, `sigcontract.validate`
    and every other public entry point do.
    """

    def check(self) -> None:
        """Raise InvariantError if fields contradict each other in ways that construction does not check.

        For values that thousands of records share: the codec checks each shared value once; `sigcontract.validate` and
        pydantic call this.
        """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let a pydantic model use this record as a field, strict and with its bounds."""
        from sigcontract.model.pydantic_schema import core_schema_of  # noqa: PLC0415  pydantic only where it is used

        return core_schema_of(cls)


class TaggedUnion:
    """Marks a union of tagged records for pydantic: the tag chooses the record, and a fault is reported once.

    msgspec finds the record by its tag as well, and passes over this mark.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Let a pydantic model hold the union as a field."""
        from sigcontract.model.pydantic_schema import core_schema_of_union  # noqa: PLC0415  as above

        return core_schema_of_union(source, handler)
