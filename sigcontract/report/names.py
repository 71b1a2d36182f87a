"""Kernel names as people read them: demangled where that is possible, short where a line is, safe on a terminal."""

import re
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType

__all__ = ["demangle", "differing", "elided", "safe", "shortened"]

#: Longer names are shown as they are; so are names that refer back more often than this, because each reference may
#: double what the demangler builds.
_LENGTH_LIMIT = 4096
_REFERENCE_LIMIT = 32
_DIGITS = re.compile(r"[1-9][0-9]{0,3}")
_REFERENCE = re.compile(r"S[0-9A-Z]*_|T[0-9]*_")

#: ``(int)4`` is how the demangler writes a template argument; people write ``4``.
_INTEGER = re.compile(r"\((?:unsigned )?(?:char|short|int|long|long long|__int128)\)(-?\d+)")
_ANONYMOUS = re.compile(r"\b_GLOBAL__N_\w*")
_BOOLEAN = {"(bool)0": "false", "(bool)1": "true"}

#: What the demangler raises on names that it does not cover, or that only look like mangled ones.
_NOT_COVERED = (AssertionError, AttributeError, LookupError, NotImplementedError, RecursionError, TypeError, ValueError)

_ELLIPSIS = "…"
#: Where a word of a C++ name begins.
_WORD_ENDS = "<:, _"


@lru_cache(maxsize=4096)
def demangle(name: str) -> str:
    """Return the C++ name that an Itanium-mangled kernel name stands for.

    Needs the extra ``report``. Without it, and for whatever is no mangled name or is one that the demangler does
    not cover (lambdas, expressions, very long names), the name comes back as it is.
    """
    if not name.startswith("_Z") or len(name) > _LENGTH_LIMIT or len(_REFERENCE.findall(name)) > _REFERENCE_LIMIT:
        return name
    demangler = _demangler()
    if demangler is None:
        return name
    try:
        tree = demangler.parse(name)
        text = name if tree is None else str(tree)
    except _NOT_COVERED:
        return name
    # It writes parts that it cannot spell as its own objects, and gives no sign that it stopped half-way.
    if "Node " in text or "{T" in text or "{S" in text:
        return name
    for literal, word in _BOOLEAN.items():
        text = text.replace(literal, word)
    return _ANONYMOUS.sub("(anonymous namespace)", _INTEGER.sub(r"\1", text))


@cache
def _demangler() -> ModuleType | None:
    try:
        return import_module("itanium_demangler")
    except ModuleNotFoundError:
        return None


def shortened(name: str, width: int) -> str:
    """Return the demangled name without return type and parameters, at most ``width`` characters long."""
    return elided(safe(_bare(demangle(name))), width)


def differing(old: str, new: str, width: int) -> tuple[str, str]:
    """Return two demangled names, each at most ``width`` long, cut so that what differs between them is seen."""
    left, right = safe(_bare(demangle(old))), safe(_bare(demangle(new)))
    if left == right:
        left, right = safe(demangle(old)), safe(demangle(new))
    if max(len(left), len(right)) <= width:
        return left, right
    same = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    # The beginning of the last common word stays, so that the cut does not begin within what changed.
    begin = max((left.rfind(mark, 0, same) + 1 for mark in _WORD_ENDS), default=0)
    if begin <= width // 3:
        return elided(left, width), elided(right, width)
    return elided(_ELLIPSIS + left[begin:], width), elided(_ELLIPSIS + right[begin:], width)


def elided(text: str, width: int) -> str:
    """Return the text cut at its end to ``width`` characters, the cut marked."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + _ELLIPSIS


def safe(text: str) -> str:
    """Return the text with everything that is not printable as an escape.

    Names and labels come out of files: none may move a terminal's cursor or
    end a line early.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _bare(name: str) -> str:
    """Return a function name without its return type and its parameter list.

    Of a mangled name that could not be demangled, what can still be read: the scopes and the name itself.
    """
    if name.startswith("_ZN"):
        return _scopes(name) or name
    if not name.endswith(")"):
        return name
    head = name[: _opening(name)]
    # The return type ends at the first blank outside of brackets.
    depth = 0
    for index, character in enumerate(head):
        depth += (character in "<(") - (character in ">)")
        if character == " " and depth == 0:
            return head[index + 1 :] or name
    return head or name


def _scopes(name: str) -> str:
    """Return the leading source names of a mangled nested name, joined, or nothing where there are none."""
    parts: list[str] = []
    position = len("_ZN")
    while number := _DIGITS.match(name, position):
        length = int(number[0])
        position = number.end() + length
        if position > len(name):
            return ""
        part = name[number.end() : position]
        parts.append(_ANONYMOUS.sub("(anonymous namespace)", part))
    rest = "<…>" if name[position : position + 1] == "I" else ""
    return "::".join(parts) + rest if parts else ""


def _opening(name: str) -> int:
    """Return where the parenthesis opens that the last character closes."""
    depth = 0
    for index in range(len(name) - 1, -1, -1):
        depth += (name[index] == ")") - (name[index] == "(")
        if depth == 0:
            return index
    return len(name)
