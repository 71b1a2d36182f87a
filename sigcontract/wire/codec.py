"""Encode and decode documents, strictly by their version, as bytes and files."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, overload

import msgspec
from msgspec import Meta

from sigcontract.errors import DecodeError, LimitError, RecordError, UsageError, VersionError
from sigcontract.model import (
    Environment,
    Record,
    SignatureDump,
    Text,
    equal_dumps,
)
from sigcontract.wire.canonical import portable_digest
from sigcontract.wire.decoder_errors import translated
from sigcontract.wire.decoding import is_json, sniffed, strictly_decoded
from sigcontract.wire.documents import Document, document_name, form_of
from sigcontract.wire.fault_list import faults
from sigcontract.wire.files import FilePath, read_bytes, read_ends, write_bytes
from sigcontract.wire.json_escapes import printable_json
from sigcontract.wire.limits import MAX_DOCUMENT_BYTES
from sigcontract.wire.nesting import check_nesting
from sigcontract.wire.v2 import GraphHeader
from sigcontract.wire.validation import INVALID_RECORD, validate

__all__ = [
    "Document",
    "Format",
    "GraphHeader",
    "Header",
    "decode",
    "document_bytes",
    "encode",
    "faults",
    "header_of",
    "load",
    "read_header",
    "save",
    "validate",
]

Format = Literal["json", "msgpack"]
D = TypeVar("D", bound=Document)


class Header(Record, frozen=True, kw_only=True):
    """The part of a dump before its tables."""

    version: Annotated[int, Meta(description="Version of the document that was read.")]
    graphs: Annotated[tuple[GraphHeader, ...], Meta(description="In the order read.")]
    environment: Annotated[Environment, Meta(description="Environment that wrote the dump.")]
    profile: Annotated[Text | None, Meta(description="Id of the driver profile the dump was read under; null: none.")]
    complete: Annotated[bool, Meta(description="Whether the writer finished.")]


@overload
def decode(data: bytes, *, max_bytes: int = ..., verify: bool = ...) -> Document: ...
@overload
def decode(data: bytes, *, max_bytes: int = ..., verify: bool = ..., expect: type[D]) -> D: ...
def decode(
    data: bytes, *, max_bytes: int = MAX_DOCUMENT_BYTES, verify: bool = False, expect: type[Any] | None = None
) -> Document:
    """Decode a document, JSON or MessagePack, of any version this release knows.

    Parameters
    ----------
    data
        The uncompressed document.
    max_bytes
        Size limit of the document.
    verify
        Whether to check the digests in the header of a dump, which doubles the time. Otherwise they are ignored, and
        the result does not depend on them.
    expect
        The required record type: `SignatureDump`, `DriverProfile` or `DumpDiff`.

    Raises
    ------
    VersionError
        The kind or version is unknown, or not the expected one.
    LimitError
        The document exceeds a limit of size or nesting.
    DecodeError
        The data is not JSON or MessagePack, or does not match the document's schema.
    InvariantError
        Parts of the document contradict each other.
    """
    return _decoded(data, max_bytes, expect, verify=verify)


def _decoded(data: bytes, max_bytes: int, expect: type[Any] | None, *, verify: bool) -> Document:
    text, form = sniffed(data, max_bytes)
    if expect is not None and form.record is not expect:
        raise VersionError(
            f"this is a {form.document}, expected a {document_name(expect)}",
            document=form.document,
            found=form.version,
            supported=(),
            path="$.document",
            code="document",
        )
    document = strictly_decoded(form, data, text=text)
    for problem in form.problems(document):
        raise problem
    record: Document = form.record_of(document)
    if verify:
        for problem in form.false_digests(document, record):
            raise problem
    return record


def encode(document: Document, *, format: Format = "json", version: int | None = None) -> bytes:  # noqa: A002  pinned name
    """Encode a record: equal records give equal bytes.

    JSON has one table row per line, for people and version control. MessagePack is smaller.

    Parameters
    ----------
    document
        A `SignatureDump`, `DriverProfile` or `DumpDiff`.
    format
        ``json`` or ``msgpack``.
    version
        The document version to write, by default the newest. An older one omits fields it lacks.

    Raises
    ------
    RecordError
        The record is invalid, or that version cannot represent it.
    UsageError
        The document, format or version is unknown.
    """
    if format not in ("json", "msgpack"):
        raise UsageError(f"unknown format {format!r}; use json or msgpack")
    form = form_of(document, version)
    try:
        wire = form.wire_of(document)
        data = _lines(wire) if format == "json" else msgspec.msgpack.encode(wire)
        check_nesting(data, text=format == "json")
        again = form.decode(data, text=format == "json")
    except LimitError:
        raise
    except INVALID_RECORD as error:
        validate(document)  # finds the same fault, with its path in the record
        raise translated(error) from error
    _refuse_difference(again, wire)
    for problem in form.problems(again):
        raise problem
    if form.lossless:
        _refuse_difference(form.record_of(again), document)
    return data


def _refuse_difference(again: Any, given: Any) -> None:
    """Refuse to write a value that does not survive encoding."""
    both_dumps = type(again) is type(given) is SignatureDump
    if not (equal_dumps(again, given) if both_dumps else again == given):
        field = next(name for name in given.__struct_fields__ if getattr(given, name) != getattr(again, name))
        raise DecodeError("this value does not survive encoding (NaN, a list for a tuple)", path=f"$.{field}")


@overload
def load(path: FilePath, *, max_bytes: int = ..., verify: bool = ...) -> Document: ...
@overload
def load(path: FilePath, *, max_bytes: int = ..., verify: bool = ..., expect: type[D]) -> D: ...
def load(
    path: FilePath, *, max_bytes: int = MAX_DOCUMENT_BYTES, verify: bool = False, expect: type[Any] | None = None
) -> Document:
    """Load a record from a file; ``.gz`` and ``.zst`` are decompressed.

    Parameters
    ----------
    path
        Any name; a known suffix must match the content.
    max_bytes
        Size limit of the decompressed document.
    verify
        Whether to check the digests in the header of a dump.
    expect
        The required record type, which is also the return type: `SignatureDump`, `DriverProfile` or `DumpDiff`. Without
        it, any of them.

    Raises
    ------
    FileError
        The file cannot be read.
    MissingExtraError
        It is a ``.zst`` file, and no zstd library is installed.
    RecordError
        As `decode`; a note names the file.
    """
    try:
        return _decoded(document_bytes(path, max_bytes), max_bytes, expect, verify=verify)
    except MemoryError as error:
        raise translated(error) from error
    except RecordError as error:
        error.add_note(f"in {path}")
        raise


def save(document: Document, path: FilePath, *, version: int | None = None, force: bool = False) -> None:
    """Write a record to a file atomically: ``.json`` or ``.msgpack``, optionally followed by ``.gz`` or ``.zst``.

    A replaced file keeps its mode, and its owner if the process may set it.

    Parameters
    ----------
    document
        A `SignatureDump`, `DriverProfile` or `DumpDiff`.
    path
        Target. A trusted symbolic link to a file is followed; any other link is replaced.
    version
        As for `encode`.
    force
        Whether to replace a read-only file.

    Raises
    ------
    FileError
        The file cannot be written; an existing file is unchanged.
    UsageError
        The suffix is unknown.
    MissingExtraError
        The target is a ``.zst`` file, and no zstd library is installed.
    RecordError
        As `encode`.
    """
    name = _format_of_name(path)
    if name is None:
        raise UsageError(f"{Path(path).name}: end the name in .json or .msgpack, and .gz or .zst after that")
    write_bytes(path, encode(document, format=name, version=version), force=force)


def read_header(path: FilePath, *, max_bytes: int = MAX_DOCUMENT_BYTES, verify: bool = False) -> Header:
    """Read the part of a dump before its tables: cheap, for many files at once.

    The digests are claims of the file. With ``verify``, the whole dump is decoded to check them; without it, do not
    rely on them for untrusted files. A version 1 dump has no header, so it is decoded.

    Raises
    ------
    SigcontractError
        As `load`, for the part read.
    """
    try:
        early = None if verify else _header_of_ends(path, max_bytes)
        if early is not None:
            return early
        data = document_bytes(path, max_bytes)
        text, form = sniffed(data, max_bytes)
        if form.record is SignatureDump and form.version > 1 and not verify:
            return _header_alone(data, text=text)
        return header_of(decode(data, max_bytes=max_bytes, verify=verify, expect=SignatureDump), form.version)
    except RecordError as error:
        error.add_note(f"in {path}")
        raise


class _HeaderAlone(msgspec.Struct):
    version: int
    header: tuple[GraphHeader, ...]
    environment: Environment
    profile: Text | None
    complete: bool


#: Ends of the header and of the document, as written by `_lines`. JSON strings contain no line feeds.
_BEFORE_TABLES = re.compile(rb',\n"complete":(?:true|false)(?=,\n")')
_LAST_LINE = re.compile(rb'\n"extensions":\{[^\n]*\}\}\n\Z')
#: The same in MessagePack. A text may hold these bytes too: what is cut inside of it is no map of so many keys.
_BEFORE_PACKED_TABLES = re.compile(rb"\xa8complete[\xc2\xc3](?=[\xa1-\xbf])")
_PACKED_END = re.compile(rb"\xaaextensions\x80\Z")
#: Keys before the tables, those of the envelope included.
_EARLY_KEYS = 6
#: Bytes before the first key of a MessagePack map of 16 keys and more, by its first byte; fewer keys have one.
_MAP_HEAD = {0xDE: 3, 0xDF: 5}
#: Bytes read for the header, enough for some thousand graphs, and for the last line.
_HEAD_BYTES = 2**16
_TAIL_BYTES = 4096


def _lines(wire: Any) -> bytes:
    """Return a wire document as JSON, with one table row per line."""
    parts = []
    for field in wire.__struct_fields__:
        value = getattr(wire, field)
        if isinstance(value, tuple) and value:
            body = b"[\n" + b",\n".join(map(msgspec.json.encode, value)) + b"\n]"
        else:
            body = msgspec.json.encode(value)
        parts.append(b'"%b":%b' % (field.encode(), body))
    return printable_json(b"{" + b",\n".join(parts) + b"}\n")


def _format_of_name(path: FilePath) -> Format | None:
    suffixes = [suffix for suffix in Path(path).suffixes if suffix not in (".gz", ".zst")]
    last = suffixes[-1] if suffixes else ""
    return "json" if last == ".json" else "msgpack" if last == ".msgpack" else None


def document_bytes(path: FilePath, max_bytes: int) -> bytes:
    """Read and decompress the document in a file, and check it against its suffix.

    Raises
    ------
    SigcontractError
        As `load`, for the part read.
    """
    data = read_bytes(path, max_bytes)
    named = _format_of_name(path)
    if named is not None and data and is_json(data) != (named == "json"):
        raise DecodeError(f"the suffix means {named}, but the content is not; rename the file", code="magic")
    return data


def _header_of_ends(path: FilePath, max_bytes: int) -> Header | None:
    """Return the header of a dump that `encode` wrote, from its first and last bytes; None for any other.

    The last bytes say that the file is whole.
    """
    name = _format_of_name(path)
    if name is None or Path(path).suffix in (".gz", ".zst"):
        return None
    text = name == "json"
    before, end = (_BEFORE_TABLES, _LAST_LINE) if text else (_BEFORE_PACKED_TABLES, _PACKED_END)
    head, tail, size = read_ends(path, _HEAD_BYTES, _TAIL_BYTES)
    cut = before.search(head)
    if cut is None or size > max_bytes or not end.search(tail or head[cut.end() :]):
        return None
    data = (
        head[: cut.end()] + b"}" if text else bytes([0x80 + _EARLY_KEYS]) + head[_MAP_HEAD.get(head[0], 1) : cut.end()]
    )
    try:
        if is_json(head) != text:
            return None
        _, form = sniffed(data, max_bytes)
        if form.record is not SignatureDump or form.version == 1:
            return None
        return _as_header((msgspec.json if text else msgspec.msgpack).decode(data, type=_HeaderAlone))
    except (RecordError, *INVALID_RECORD):
        return None  # written by hand, or invalid: decoding the whole document finds the fault


def _header_alone(data: bytes, *, text: bool) -> Header:
    try:
        found = (msgspec.json if text else msgspec.msgpack).decode(data, type=_HeaderAlone)
    except INVALID_RECORD as error:
        raise translated(error) from error
    return _as_header(found)


def _as_header(found: _HeaderAlone) -> Header:
    return Header(
        version=found.version,
        graphs=found.header,
        environment=found.environment,
        profile=found.profile,
        complete=found.complete,
    )


def header_of(dump: SignatureDump, version: int | None = None) -> Header:
    """Return the header that a dump is written with, by default in the newest version.

    Raises
    ------
    RecordError
        A graph is invalid.
    """
    form = form_of(dump, version)
    if form.version == 1:  # it has no header, and one row per label
        graphs = tuple(
            GraphHeader(
                label=entry.label,
                graph=row,
                node_count=len(entry.graph.nodes),
                portable_digest=portable_digest(entry.graph),
            )
            for row, entry in enumerate(dump.graphs)
        )
    else:
        graphs = form.wire_of(dump).header
    return Header(
        version=form.version,
        graphs=graphs,
        environment=dump.environment,
        profile=dump.profile,
        complete=dump.complete,
    )
