"""Whether a record holds what its fields declare: constructors do not look, every way out of the package does."""

from collections.abc import Iterator
from typing import Any

import msgspec

from sigcontract.errors import DecodeError, InvariantError, LimitError, UsageError
from sigcontract.model.graph import GraphSignature
from sigcontract.model.record import Record
from sigcontract.wire.faults import below, translated
from sigcontract.wire.tables import Folder, Tables

__all__ = ["canonical_tables", "validate"]

#: What encoders, decoders and hashes raise on values that are not what the fields declare.
UNFIT = (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError, MemoryError, AttributeError)

_TABLES = msgspec.json.Decoder(Tables)


def validate(record: Record) -> None:
    """Check a record against the types, bounds and invariants that it declares.

    Raises
    ------
    RecordError
        The first fault, with its path in the record.
    UsageError
        It is not a record.
    """
    if isinstance(record, GraphSignature):
        canonical_tables(record)
    elif isinstance(record, Record):
        _validate_whole(record)
    else:
        raise UsageError(f"{type(record).__name__} is not a record of sigcontract")


def canonical_tables(graph: GraphSignature) -> bytes:
    """Return the canonical bytes of a graph's tables, checked: the cost is that of its distinct nodes.

    Raises
    ------
    RecordError
        The graph is not valid.
    """
    try:
        folder = Folder()
        folder.fold(graph)
        data = msgspec.json.encode(folder.tables(), order="sorted")
        _TABLES.decode(data)
    except UNFIT as error:
        if isinstance(error, LimitError):
            raise
        _validate_whole(graph)  # finds the same fault, and its path in the graph instead of the tables
        raise translated(error) from error
    return data


def _validate_whole(record: Record) -> None:
    try:
        again = msgspec.convert(msgspec.to_builtins(record), type(record))
        alike = again == record
    except UNFIT as error:
        raise translated(error) from error
    for path, part in _parts(record, "$"):
        try:
            part.check()
        except InvariantError as error:
            raise below(path, error) from error
    if not alike:
        raise DecodeError("a value is equal to no value of the type that its field declares, as a list for a tuple")


def _parts(value: Any, path: str) -> Iterator[tuple[str, Record]]:
    if isinstance(value, Record):
        yield path, value
        for field in value.__struct_fields__:
            yield from _parts(getattr(value, field), f"{path}.{field}")
    elif isinstance(value, tuple):
        for place, part in enumerate(value):
            yield from _parts(part, f"{path}[{place}]")
