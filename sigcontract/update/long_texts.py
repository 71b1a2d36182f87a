"""Texts made of what a dump holds, cut to the size a document takes: the text around a difference is kept."""

from collections.abc import Iterable
from hashlib import sha256
from itertools import compress, count
from operator import ne
from typing import Final

from msgspec.structs import replace

from sigcontract.model import MAX_TEXT_CHARACTERS, Finding

__all__ = ["bounded", "fitting", "fitting_values"]

#: Longer texts are cut: a kernel's name may have 65,536 characters, and a finding may hold three names.
_LONGEST: Final = 1024
#: Characters kept of the beginning, of the end, and around the first difference, of which some come before it.
_HEAD: Final = 384
_TAIL: Final = 128
_AROUND: Final = 256
_BEFORE: Final = 64


def bounded(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings in which no text is longer than some 1,000 characters.

    A cut text keeps its beginning, its end, its length and its sha256; an old and a new value also keep what stands
    around their first difference. A document in which each text stands once needs no such bound.
    """
    return tuple(map(_bounded, findings))


def fitting(text: str) -> str:
    """Return a text that a field of a document takes: one that is too long is cut, as in `bounded`.

    A sentence about a dump may hold names of 65,536 characters, or thousands of them.
    """
    return text if len(text) <= MAX_TEXT_CHARACTERS else _cut(text, 0)


def fitting_values(old: int | str | None, new: int | str | None) -> tuple[int | str | None, int | str | None]:
    """Return the two values of a difference, cut as in `bounded` where a field of a document does not take one."""
    texts = [value for value in (old, new) if isinstance(value, str)]
    if max(map(len, texts), default=0) <= MAX_TEXT_CHARACTERS:
        return old, new
    at = _first_difference(*texts) if len(texts) > 1 else 0
    return _value(old, at), _value(new, at)


def _bounded(finding: Finding) -> Finding:
    texts = [text for text in (finding.old, finding.new) if isinstance(text, str)]
    if max(map(len, (*texts, finding.subject or "")), default=0) <= _LONGEST:
        return finding
    at = _first_difference(*texts) if len(texts) > 1 else 0
    return replace(
        finding, old=_value(finding.old, at), new=_value(finding.new, at), subject=_value(finding.subject, at)
    )


def _first_difference(old: str, new: str) -> int:
    differ = compress(count(), map(ne, old, new))
    return next(differ, min(len(old), len(new)))


def _value(value: int | str | None, at: int) -> int | str | None:
    """Return a value; of a long text its ends and what stands around the index ``at``."""
    if not isinstance(value, str) or len(value) <= _LONGEST:
        return value
    return _cut(value, at)


def _cut(value: str, at: int) -> str:
    last = len(value) - _TAIL
    start = min(max(_HEAD, at - _BEFORE), last)
    around = value[start : min(start + _AROUND, last)]
    digest = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    gaps = ("…" if start > _HEAD else "", "…" if start + len(around) < last else "")
    return f"{value[:_HEAD]}{gaps[0]}{around}{gaps[1]}{value[last:]} ({len(value)} characters, sha256 {digest})"
