"""Validate records: constructors do not, but every exit of the package does."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import msgspec
from msgspec.structs import replace

from sigcontract.errors import DecodeError, InvariantError, LimitError, SigcontractError, UsageError
from sigcontract.model import (
    GraphSignature,
    Record,
    SignatureDump,
)
from sigcontract.wire.decoder_errors import below, translated
from sigcontract.wire.tables import Folder, Tables

if TYPE_CHECKING:
    from inspect import Parameter

__all__ = ["INVALID_RECORD", "canonical_tables", "explains_invalid", "validate", "wrong_type"]

P = ParamSpec("P")
R = TypeVar("R")

#: Exceptions of encoders, decoders and hashes on values of undeclared types.
INVALID_RECORD = (
    msgspec.MsgspecError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
    MemoryError,
    AttributeError,
)

_NO_GRAPH = GraphSignature(nodes=(), dependencies=())
_UNLIKE = "a value does not have the type its field declares, such as a list for a tuple"
_TABLES = msgspec.json.Decoder(Tables)
_MODULES = re.compile(r"\b(?:\w+\.)+")
_NAMES = re.compile(r"\w+")


def validate(record: Record) -> None:
    """Check a record against its declared types, bounds and invariants.

    Raises
    ------
    RecordError
        The first fault, with its path in the record.
    UsageError
        The argument is not a record.
    """
    if isinstance(record, GraphSignature):
        canonical_tables(record)
    elif isinstance(record, SignatureDump):
        _validate_dump(record)
    elif isinstance(record, Record):
        _validate_whole(record)
    else:
        raise UsageError(f"{type(record).__name__} is not a sigcontract record")


def canonical_tables(graph: GraphSignature) -> bytes:
    """Validate a graph and return the canonical bytes of its tables; the cost is per distinct node.

    Raises
    ------
    RecordError
        The graph is invalid.
    """
    try:
        data, alike = _tables_of([graph])
    except INVALID_RECORD as error:
        if isinstance(error, LimitError):
            raise
        if not isinstance(graph, GraphSignature):
            raise wrong_type("graph", "GraphSignature", graph) from error
        _validate_whole(graph)  # finds the same fault, with its path in the graph instead of the tables
        raise translated(error) from error
    if not alike:
        _validate_whole(graph)  # as above
        raise DecodeError(_UNLIKE)
    return data


def _tables_of(graphs: Iterable[GraphSignature]) -> tuple[bytes, bool]:
    """Return the canonical bytes of the tables of graphs, and whether they decode to the same tables."""
    folder = Folder()
    for graph in graphs:
        folder.fold(graph)
    tables = folder.tables()
    data = msgspec.json.encode(tables, order="sorted")
    # JSON has null for NaN and text for bytes, so compare what is read back.
    return data, _TABLES.decode(data) == tables


def _validate_dump(dump: SignatureDump) -> None:
    """Check a dump by its tables: shared values once, not once per use."""
    try:
        _, alike = _tables_of(entry.graph for entry in dump.graphs)
        bare = [replace(entry, graph=_NO_GRAPH) for entry in dump.graphs]
        alike = alike and type(dump.graphs) is tuple
    except INVALID_RECORD as error:
        if isinstance(error, LimitError):
            raise
        _validate_whole(dump)  # finds the same fault, with its path in the dump
        raise translated(error) from error
    if not alike:
        _validate_whole(dump)
        raise DecodeError(_UNLIKE)
    _validate_whole(replace(dump, graphs=tuple(bare)))


def explains_invalid(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that explains failures of a function on invalid records.

    Arguments are checked only after a failure, as checking may cost more than the function. The failure is the cause of
    the RecordError, or of the UsageError for an argument of the wrong type.

    Parameters
    ----------
    names
        The parameters that are records, or sequences of them; None is valid if it is the default.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def explaining(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except SigcontractError:
                raise
            except INVALID_RECORD as error:
                from inspect import signature  # noqa: PLC0415  only after a failure

                declared = signature(function)
                given = declared.bind(*args, **kwargs).arguments
                for name in names:
                    if name in given:
                        _explain(declared.parameters[name], given[name], error)
                raise  # the records are valid: a fault of the function

        return explaining

    return decorated


def _explain(parameter: "Parameter", value: Any, cause: Exception) -> None:
    if value is parameter.default:
        return
    annotation = parameter.annotation
    # Such as Sequence[SignatureDump], without modules and without the None of a default.
    declared = _MODULES.sub("", annotation.__name__ if isinstance(annotation, type) else str(annotation))
    declared = declared.removesuffix(" | None")
    for record in value if isinstance(value, list | tuple) and "[" in declared else (value,):
        if type(record).__name__ not in _NAMES.findall(declared):
            raise wrong_type(parameter.name, declared, record) from cause
        try:
            validate(record)
        except SigcontractError as error:
            raise error from cause


def wrong_type(parameter: str, declared: str, value: object) -> UsageError:
    """Return the error for an argument of the wrong type."""
    hint = ""
    if declared == "GraphSignature":
        hint = {"LabeledGraph": "; pass its .graph", "SignatureDump": "; pass its .graph(label)"}.get(
            type(value).__name__, ""
        )
    if declared == "DriverProfile" and isinstance(value, str):
        hint = "; use sigcontract.driver.shipped_profile(id) or sigcontract.load(file)"
    return UsageError(f"{parameter} must be a {declared}, not {type(value).__name__}{hint}")


def _validate_whole(record: Record) -> None:
    try:
        again = msgspec.convert(msgspec.to_builtins(record), type(record))
        alike = again == record
    except INVALID_RECORD as error:
        raise translated(error) from error
    for path, part in _parts(record, "$"):
        try:
            part.check()
        except InvariantError as error:
            raise below(path, error) from error
    if not alike:
        raise DecodeError(_UNLIKE)


def _parts(value: Any, path: str) -> Iterator[tuple[str, Record]]:
    if isinstance(value, Record):
        yield path, value
        for field in value.__struct_fields__:
            yield from _parts(getattr(value, field), f"{path}.{field}")
    elif isinstance(value, tuple):
        for index, part in enumerate(value):
            yield from _parts(part, f"{path}[{index}]")
