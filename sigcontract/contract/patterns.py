"""Patterns of labels, names and paths: ``*`` and ``?`` as in a shell; brackets are literal."""

import re
from collections.abc import Callable, Iterator
from fnmatch import translate
from functools import lru_cache

from sigcontract.model import KernelNodeSignature

__all__ = ["Demangler", "is_mangled", "kernel_matches", "matches", "same_code"]

#: Returns the C++ name of a mangled name, or the name unchanged if it cannot be demangled.
Demangler = Callable[[str], str]

_MANGLED = "_Z"


def matches(pattern: str, text: str) -> bool:
    """Whether a whole text matches a pattern, case-sensitively."""
    return _compiled(pattern).match(text) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Labels such as decode[4] and paths such as nodes[3] contain brackets.
    return re.compile(translate(pattern.replace("[", "[[]")))


def is_mangled(name: str) -> bool:
    """Whether a kernel's name is a mangled C++ name."""
    return name.startswith(_MANGLED)


def kernel_matches(pattern: str, name: str, demangle: Demangler) -> bool | None:
    """Whether a kernel's name matches; None if undetermined, as it cannot be demangled."""
    if matches(pattern, name):
        return True
    if pattern.startswith(_MANGLED) or not is_mangled(name):
        return False
    readable = demangle(name)
    if readable == name:
        return None
    return any(matches(pattern, part) for part in _parts(readable))


def _parts(readable: str) -> Iterator[str]:
    """Yield a demangled name: whole, without parameters, and without its return type as well."""
    yield readable
    head = readable[: _opening(readable)]
    yield head
    # A return type ends at the first space outside brackets; only templates have one.
    depth = 0
    for index, character in enumerate(head):
        depth += (character in "<(") - (character in ">)")
        if character == " " and depth == 0:
            yield head[index + 1 :]
            return


def _opening(name: str) -> int:
    """Return the index of the parenthesis that the last character closes; the length if none."""
    depth = 0
    for index in range(len(name) - 1, -1, -1):
        depth += (name[index] == ")") - (name[index] == "(")
        if depth == 0:
            return len(name) if name[index] != "(" else index
    return len(name)


def same_code(code_sha256: str, node: KernelNodeSignature) -> bool | None:
    """Whether a kernel runs that machine code; None if its code was not observed."""
    known = None if node.function is None else node.function.code_sha256
    return None if known is None else known == code_sha256
