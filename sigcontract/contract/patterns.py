"""Patterns of labels, names and paths: ``*`` and ``?``, as a shell has them, and brackets that stand for themselves."""

import re
from collections.abc import Callable, Iterator
from fnmatch import translate
from functools import lru_cache

from sigcontract.model import KernelNodeSignature

__all__ = ["Demangler", "is_mangled", "kernel_matches", "matches", "same_code"]

#: Returns the C++ name that a mangled one stands for, or the name itself where it cannot be told.
Demangler = Callable[[str], str]

_MANGLED = "_Z"


def matches(pattern: str, text: str) -> bool:
    """Say whether a whole text matches a pattern; letters count as they are."""
    return _compiled(pattern).match(text) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    # A label is called decode[4] and a path nodes[3]: a bracket is one of its characters, no class.
    return re.compile(translate(pattern.replace("[", "[[]")))


def is_mangled(name: str) -> bool:
    """Say whether a kernel's name is a mangled C++ name."""
    return name.startswith(_MANGLED)


def kernel_matches(pattern: str, name: str, demangle: Demangler) -> bool | None:
    """Say whether a kernel's name matches; None where it cannot be told, as the name cannot be demangled."""
    if matches(pattern, name):
        return True
    if pattern.startswith(_MANGLED) or not is_mangled(name):
        return False
    readable = demangle(name)
    if readable == name:
        return None
    return any(matches(pattern, part) for part in _parts(readable))


def _parts(readable: str) -> Iterator[str]:
    """Yield a demangled name: as it is, without its parameters, and without its return type too."""
    yield readable
    head = readable[: _opening(readable)]
    yield head
    # A return type ends at the first blank outside of brackets; only a template has one in its mangled name.
    depth = 0
    for index, character in enumerate(head):
        depth += (character in "<(") - (character in ">)")
        if character == " " and depth == 0:
            yield head[index + 1 :]
            return


def _opening(name: str) -> int:
    """Return where the parenthesis opens that the last character closes; the length where none does."""
    depth = 0
    for index in range(len(name) - 1, -1, -1):
        depth += (name[index] == ")") - (name[index] == "(")
        if depth == 0:
            return len(name) if name[index] != "(" else index
    return len(name)


def same_code(code_sha256: str, node: KernelNodeSignature) -> bool | None:
    """Say whether a kernel runs that machine code; None where its code was not observed."""
    known = None if node.function is None else node.function.code_sha256
    return None if known is None else known == code_sha256
