"""Decode bytes to a typed document, after finding out its kind and version."""

import re
from typing import Any

import msgspec

from sigcontract.errors import DecodeError, LimitError, UsageError
from sigcontract.wire.decoder_errors import translated
from sigcontract.wire.documents import Form, form_named
from sigcontract.wire.duplicates import refuse_duplicate_keys
from sigcontract.wire.nesting import check_nesting
from sigcontract.wire.validation import INVALID_RECORD

__all__ = ["is_json", "sniffed", "strictly_decoded"]


class _Envelope(msgspec.Struct):
    document: Any = None
    version: Any = None


_ENVELOPE_JSON = re.compile(rb'\{"document":"(?P<document>[a-z.]{1,64})",\n"version":(?P<version>[0-9]{1,9}),')
_FIRST_BYTE = re.compile(rb"[ \t\r\n]*+([\s\S])")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def sniffed(data: bytes, max_bytes: int) -> tuple[bool, Form]:
    """Return whether a document is JSON, and its form, before decoding the rest."""
    if len(data) > max_bytes:
        msg = f"{len(data)} bytes, more than {max_bytes}; pass a larger max_bytes if the document can be trusted"
        raise LimitError(msg, code="size")
    text = is_json(data)
    check_nesting(data, text=text)
    written_here = _ENVELOPE_JSON.match(data) if text else None
    if written_here:
        return text, form_named(written_here["document"].decode(), int(written_here["version"]))
    try:
        envelope = (msgspec.json if text else msgspec.msgpack).decode(data, type=_Envelope)
    except INVALID_RECORD as error:
        raise translated(error) from error
    if not isinstance(envelope.document, str):
        raise DecodeError('Not a sigcontract file: top-level "document" is missing', code="magic")
    if not isinstance(envelope.version, int) or isinstance(envelope.version, bool):
        raise DecodeError("the version of a document must be an integer", path="$.version")
    return text, form_named(envelope.document, envelope.version)


def is_json(data: object) -> bool:
    """Return whether a document is JSON rather than MessagePack. Raises DecodeError if it is neither."""
    if not isinstance(data, bytes | bytearray):
        raise UsageError(f"a document must be bytes, not {type(data).__name__}; encode text as UTF-8")
    if data.startswith(_BYTE_ORDER_MARK):
        raise DecodeError("the text starts with a byte order mark; save it as UTF-8 without one", code="magic")
    first = _FIRST_BYTE.match(data)
    if first is None:
        raise DecodeError("the document is empty", code="malformed")
    if first[1] == b"{":
        return True
    if 0x80 <= data[0] <= 0x8F or data[0] in (0xDE, 0xDF):  # noqa: PLR2004  MessagePack's maps
        return False
    raise DecodeError(
        "not a sigcontract document: neither a JSON object nor a MessagePack map",
        code="magic",
    )


def strictly_decoded(form: Form, data: bytes, *, text: bool) -> Any:
    """Return the typed document, without duplicate keys. Raises RecordError for the first fault."""
    try:
        document = form.decode(data, text=text)
        again = msgspec.json.encode(document) if text else msgspec.msgpack.encode(document)
        # Where a key may be left out, as many keys prove nothing: nothing to compare with has the tokens walked.
        refuse_duplicate_keys(data, b"" if form.by_hand else again, text=text)
    except INVALID_RECORD as error:
        raise translated(error) from error
    return document
