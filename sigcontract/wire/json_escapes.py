"""JSON that is safe to display: no raw control or bidirectional characters."""

import re

__all__ = ["printable_json"]

#: DEL, C1 controls, line separators, and the marks, embeddings, overrides and isolates of bidirectional text, in UTF-8.
#: JSON contains no raw C0 controls.
_HIDDEN = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]")


def printable_json(text: bytes) -> bytes:
    """Return equivalent JSON with invisible characters escaped."""
    if text.isascii() and b"\x7f" not in text:
        return text
    return _HIDDEN.sub(_escape, text)


def _escape(found: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(found[0].decode())
