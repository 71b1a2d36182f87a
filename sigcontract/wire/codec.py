"""Documents as bytes and files, strictly: what is read is exactly what a document of its version may say."""

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
    """What a dump says before its tables."""

    version: Annotated[int, Meta(description="Version of the document that was read.")]
    graphs: Annotated[tuple[GraphHeader, ...], Meta(description="In the order in which they were read.")]
    environment: Annotated[Environment, Meta(description="Where the dump comes from.")]
    profile: Annotated[Text | None, Meta(description="Id of the driver profile that it was read under; null: none.")]
    complete: Annotated[bool, Meta(description="Whether the writer ended in order.")]


@overload
def decode(data: bytes, *, max_bytes: int = ..., verify: bool = ...) -> Document: ...
@overload
def decode(data: bytes, *, max_bytes: int = ..., verify: bool = ..., expect: type[D]) -> D: ...
def decode(
    data: bytes, *, max_bytes: int = MAX_DOCUMENT_BYTES, verify: bool = False, expect: type[Any] | None = None
) -> Document:
    """Return the record that a document says, in JSON or MessagePack, of any version that this release knows.

    Parameters
    ----------
    data
        The document, not compressed.
    max_bytes
        The largest document that is looked at.
    verify
        Whether to check the digests in the header of a dump, which takes about as long again. Without it they are
        not looked at, and nothing that is returned relies on them.
    expect
        The kind of record that it must be: `SignatureDump`, `DriverProfile` or `DumpDiff`.

    Raises
    ------
    VersionError
        It is of an unknown kind or version, or not of the kind expected.
    LimitError
        It is larger or more deeply nested than the limits.
    DecodeError
        It is not JSON or MessagePack, or not what the document may say.
    InvariantError
        Its parts do not fit together.
    """
    return _decoded(data, max_bytes, expect, verify=verify)


def _decoded(data: bytes, max_bytes: int, expect: type[Any] | None, *, verify: bool) -> Document:
    text, form = sniffed(data, max_bytes)
    if expect is not None and form.record is not expect:
        raise VersionError(
            f"this is a {form.document}, where a {document_name(expect)} was asked for",
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
    """Return a record as a document: the same bytes for equal records.

    JSON has one table row per line, for people and version control. MessagePack says the same in fewer bytes.

    Parameters
    ----------
    document
        A `SignatureDump`, `DriverProfile` or `DumpDiff`.
    format
        ``json`` or ``msgpack``.
    version
        The version of the document to write, by default the newest. An older one leaves out what it has no word for.

    Raises
    ------
    RecordError
        The record is not valid, or holds what that version cannot say.
    UsageError
        There is no such document, format or version.
    """
    if format not in ("json", "msgpack"):
        raise UsageError(f"{format!r} is no format; use json or msgpack")
    form = form_of(document, version)
    try:
        wire = form.wire_of(document)
        data = _lines(wire) if format == "json" else msgspec.msgpack.encode(wire)
        check_nesting(data, text=format == "json")
        again = form.decode(data, text=format == "json")
    except LimitError:
        raise
    except INVALID_RECORD as error:
        validate(document)  # finds the same fault, and its path in the record
        raise translated(error) from error
    _refuse_difference(again, wire)
    for problem in form.problems(again):
        raise problem
    if form.lossless:
        _refuse_difference(form.record_of(again), document)
    return data


def _refuse_difference(again: Any, given: Any) -> None:
    """Refuse to write what would be read back as something else."""
    if again != given:
        field = next(name for name in given.__struct_fields__ if getattr(given, name) != getattr(again, name))
        raise DecodeError("a value here would be read back as another (NaN, a list for a tuple)", path=f"$.{field}")


@overload
def load(path: FilePath, *, max_bytes: int = ..., verify: bool = ...) -> Document: ...
@overload
def load(path: FilePath, *, max_bytes: int = ..., verify: bool = ..., expect: type[D]) -> D: ...
def load(
    path: FilePath, *, max_bytes: int = MAX_DOCUMENT_BYTES, verify: bool = False, expect: type[Any] | None = None
) -> Document:
    """Return the record in a file; ``.gz`` and ``.zst`` are decompressed.

    Parameters
    ----------
    path
        Any name; where its suffix says a format, the bytes must be of that format.
    max_bytes
        The largest document that is looked at, decompressed.
    verify
        Whether to check the digests in the header of a dump.
    expect
        The kind of record that it must be, and the type that is returned: `SignatureDump`, `DriverProfile` or
        `DumpDiff`. Without it, any of them.

    Raises
    ------
    FileError
        The file cannot be read.
    MissingExtraError
        It is a ``.zst`` file, and no library for that is installed.
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
    """Write a record to a file, whole or not at all: ``.json`` or ``.msgpack``, and ``.gz`` or ``.zst`` after that.

    A file that is replaced keeps its mode, and its owner where the process may give files away.

    Parameters
    ----------
    document
        A `SignatureDump`, `DriverProfile` or `DumpDiff`.
    path
        Where to. A symbolic link is followed where it leads to a file and is trusted, else it is replaced.
    version
        As for `encode`.
    force
        Whether to replace a file that is read-only.

    Raises
    ------
    FileError
        The file cannot be written; what was there before still is.
    UsageError
        The name says no format.
    MissingExtraError
        It is to be a ``.zst`` file, and no library for that is installed.
    RecordError
        As `encode`.
    """
    name = _format_of_name(path)
    if name is None:
        raise UsageError(f"{Path(path).name}: end the name in .json or .msgpack, and .gz or .zst after that")
    write_bytes(path, encode(document, format=name, version=version), force=force)


def read_header(path: FilePath, *, max_bytes: int = MAX_DOCUMENT_BYTES, verify: bool = False) -> Header:
    """Return what a dump says before its tables, without building them: cheap, for many files at once.

    The digests are what the file claims. With ``verify`` the whole dump is decoded and they are checked; without it,
    decide nothing by them that a changed file must not decide. A version 1 dump has no header: it is decoded.

    Raises
    ------
    SigcontractError
        As `load`, for what was looked at.
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


#: What ends the part before the tables, and the document, as `_lines` writes them. No text of JSON holds a line feed.
_BEFORE_TABLES = re.compile(rb',\n"complete":(?:true|false)(?=,\n")')
_LAST_LINE = re.compile(rb'\n"extensions":\{[^\n]*\}\}\n\Z')
#: The same in MessagePack. A text may hold these bytes too: what is cut inside of it is no map of so many keys.
_BEFORE_PACKED_TABLES = re.compile(rb"\xa8complete[\xc2\xc3](?=[\xa1-\xbf])")
_PACKED_END = re.compile(rb"\xaaextensions\x80\Z")
#: Keys before the tables, those of the envelope included.
_EARLY_KEYS = 6
#: Where the header ends, of some thousand graphs, and where the last line is looked for.
_HEAD_BYTES = 2**16
_TAIL_BYTES = 4096


def _lines(wire: Any) -> bytes:
    """Return a wire document as JSON, every row of a table on a line of its own."""
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
    """Return the document in a file, decompressed, of the format that its name says.

    Raises
    ------
    SigcontractError
        As `load`, for what was looked at.
    """
    data = read_bytes(path, max_bytes)
    named = _format_of_name(path)
    if named is not None and data and is_json(data) != (named == "json"):
        raise DecodeError(f"the name says {named}, the bytes do not; rename the file", code="magic")
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
    data = head[: cut.end()] + b"}" if text else bytes([0x80 + _EARLY_KEYS]) + head[1 : cut.end()]
    try:
        if is_json(head) != text:
            return None
        _, form = sniffed(data, max_bytes)
        if form.record is not SignatureDump or form.version == 1:
            return None
        return _as_header((msgspec.json if text else msgspec.msgpack).decode(data, type=_HeaderAlone))
    except (RecordError, *INVALID_RECORD):
        return None  # written by hand, or faulty: the whole document says where


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
    """Return the header that a dump would be written with, as version of the newest document by default.

    Raises
    ------
    RecordError
        A graph of it is not valid.
    """
    form = form_of(dump, version)
    if form.version == 1:  # it has none, and a row for each label
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
