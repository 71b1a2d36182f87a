"""Kernel names as people read them: demangled where that is possible, short where a line is, safe on a terminal."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from itertools import islice
from types import ModuleType

__all__ = ["NameCuts", "demangle", "differing", "elided", "is_too_long", "safe", "shortened", "shortened_distinctly"]

#: Longer names are shown as they are.
_NAME_LIMIT = 4096
#: A name whose text may come out longer than this is not given to the demangler: its references each repeat what they
#: refer to, so that a hundred bytes can stand for gigabytes.
_BOUND_LIMIT = 1 << 22
#: A text this many times longer than its name, and a little, is not shown: output stays in proportion to the file.
_TEXT_FACTOR, _TEXT_SPARE = 16, 256
#: The most that one character of a mangled name, no reference, stands for: ``y`` is ``unsigned long long, ``.
_MOST_PER_CHARACTER = 20
_DIGITS = re.compile(r"[1-9][0-9]{0,3}")
_REFERENCE = re.compile(r"S([0-9A-Z]*)_|TL?[0-9]*_?[0-9]*_")
#: A pack expansion writes its pattern once for each element: in a type, and in an expression.
_EXPANSION_IN_TYPE, _EXPANSION_IN_EXPRESSION = re.compile(r"Dp"), re.compile(r"Dp|sp")
_ANONYMOUS = re.compile(r"\b_GLOBAL__N_\w*")

_ELLIPSIS = "…"
#: Characters at the end of a numbered name that stay when it is cut.
_END = 10
#: More names than these are distinguished by a digest; names of a page beyond the second number are not compared.
_MAX_DISTINGUISHED, _MOST_NAMES = 32, 1000
_NUMBERED = re.compile(r"\w+_[\d*]+")
#: Where a word of a C++ name begins.
_WORD_ENDS = "<:, _"


def demangle(name: str) -> str:
    """Return the C++ name that an Itanium-mangled kernel name stands for.

    Needs the extra ``report``. Without it, and for whatever is no mangled name or stands for a text out of proportion
    (`is_too_long`), the name comes back as it is.
    """
    return _shown(name) if name.startswith("_Z") and len(name) <= _NAME_LIMIT else name


@lru_cache(maxsize=4096)
def _shown(name: str) -> str:
    """Return what is shown of a name that is short enough to be demangled, and so to be kept."""
    text = _demangled(name)
    return name if text is None or _is_out_of_proportion(text, name) else text


def is_too_long(name: str) -> bool:
    """Say whether a mangled name is shown as recorded because its text is, or may be, out of proportion to it."""
    if not name.startswith("_Z"):
        return False
    if len(name) > _NAME_LIMIT or _text_bound(name) > _BOUND_LIMIT:
        return True
    text = _demangled(name)
    return text is not None and _is_out_of_proportion(text, name)


def _is_out_of_proportion(text: str, name: str) -> bool:
    return len(text) > _TEXT_FACTOR * len(name) + _TEXT_SPARE


def _demangled(name: str) -> str | None:
    """Return the text, or None where there is no demangler, the name is not covered, or may stand for too much."""
    if not name.startswith("_Z") or not name.isascii() or len(name) > _NAME_LIMIT or _text_bound(name) > _BOUND_LIMIT:
        return None
    demangler = _demangler()
    if demangler is None:
        return None
    try:
        text: str = demangler.itanium_demangle(name)
    except ValueError:
        return None
    return _ANONYMOUS.sub("(anonymous namespace)", text)


def _text_bound(name: str) -> int:
    """Return how long the text of a mangled name can be at most, in one pass over its references.

    What a reference repeats was complete before it, so it is at most as long as all text up to there. Of the numbered
    ones (``S4_``) more is known: the thing of a number was complete before any reference to that or a higher number,
    the first of which bounds it. A template parameter (``T0_``) stands for an argument of a list that an ``E`` closed.
    A pack has no more elements than there are characters from the first pack on.
    """
    expansions = len((_EXPANSION_IN_EXPRESSION if "X" in name else _EXPANSION_IN_TYPE).findall(name))
    elements = len(name) - name.find("J") if expansions and "J" in name else 1
    bound = _references_bound(name)
    for _ in range(expansions):
        bound *= elements
        if bound > _BOUND_LIMIT:
            break
    return bound


def _references_bound(name: str) -> int:
    """Return how long the text of a mangled name can be at most, each of its packs expanded once."""
    size = closed = position = 0
    bounds: list[tuple[int, int]] = []
    for reference in _REFERENCE.finditer(name):
        start = reference.start()
        end_of_list = name.rfind("E", position, start)
        if end_of_list >= 0:
            closed = size + _MOST_PER_CHARACTER * (end_of_list + 1 - position)
        size += _MOST_PER_CHARACTER * (start - position)
        position = reference.end()
        digits = reference[1]
        if digits is None:
            repeated = closed or size
        else:
            number = int(digits, 36) + 1 if digits else 0
            known = next((bound for highest, bound in bounds if highest >= number), None)
            if known is None:
                known = size
                bounds.append((number, size))
            repeated = known
        size += repeated + _MOST_PER_CHARACTER
        if size > _BOUND_LIMIT:
            return size
    return size + _MOST_PER_CHARACTER * (len(name) - position)


@cache
def _demangler() -> ModuleType | None:
    try:
        return import_module("pycxxfilt")
    except ModuleNotFoundError:
        return None


def shortened(name: str, width: int) -> str:
    """Return the demangled name without return type and parameters, at most ``width`` characters long.

    A name that ends with a compiler's number keeps its end.
    """
    bare = safe(_bare(demangle(name)))
    if len(bare) > width > 2 * _END and _NUMBERED.fullmatch(bare):
        return bare[: width - _END - 1] + _ELLIPSIS + bare[-_END:]
    return elided(bare, width)


def differing(*names: str, width: int) -> tuple[str, ...]:
    """Return demangled names, each at most ``width`` long, cut so that what differs between them is seen.

    Names that differ from each other in several places show each of them, and may be longer than ``width``.
    """
    bare = [safe(_bare(demangle(name))) for name in names]
    if len(set(bare)) < len(set(names)):
        bare = [safe(demangle(name)) for name in names]
    return tuple(shortened_distinctly(bare, width))


def shortened_distinctly(bare: Sequence[str], width: int) -> list[str]:
    """Return printable texts, each cut to show where they first differ.

    Texts that then still look alike are also cut where these differ, and may be longer than ``width``.
    """
    if max(map(len, bare)) <= width:
        return list(bare)
    if len(set(bare)) > _MAX_DISTINGUISHED:
        return [f"{elided(text, width)} (sha256 {sha256(text.encode()).hexdigest()[:12]})" for text in bare]
    same = next((i for i, heads in enumerate(zip(*bare, strict=False)) if len(set(heads)) > 1), min(map(len, bare)))
    # The beginning of the last common word stays, so that the cut does not begin within what changed.
    begin = max((bare[0].rfind(mark, 0, same) + 1 for mark in _WORD_ENDS), default=0)
    if same < width - 1 and begin <= width // 3:
        begin = 0
    elif same - begin > width // 2:
        begin = same - width // 3  # a word so long that its beginning would push the difference out
    lead = _ELLIPSIS if begin else ""
    cut = [elided(lead + name[begin:], width) for name in bare]
    shown = begin + width - 1 - len(lead)
    for text in set(cut):
        alike = [index for index, other in enumerate(cut) if other == text]
        if len({bare[index] for index in alike}) > 1:
            rests = shortened_distinctly([bare[index][shown:] for index in alike], width)
            for index, rest in zip(alike, rests, strict=True):
                cut[index] = f"{text.removesuffix(_ELLIPSIS)}{_ELLIPSIS}{rest.removeprefix(_ELLIPSIS)}"
    return cut


class NameCuts:
    """Cuts the names of one page to a width, so that two names that differ look different.

    Parameters
    ----------
    names
        The names of the page. Only the first thousand are distinguished.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(islice(dict.fromkeys(names), _MOST_NAMES))
        self._cut: dict[int, dict[str, str]] = {}

    def __call__(self, name: str, width: int) -> str:
        """Return a name as `shortened` does, or cut to show how it differs from those that would look the same."""
        known = self._cut.get(width)
        if known is None:
            known = self._cut[width] = dict(self._distinguished(width))
        cut = known.get(name)
        if cut is None:
            cut = known[name] = shortened(name, width)
        return cut

    def _distinguished(self, width: int) -> Iterator[tuple[str, str]]:
        alike: dict[str, list[str]] = {}
        for name in self._names:
            alike.setdefault(shortened(name, width), []).append(name)
        for names in alike.values():
            if len(names) > 1:
                yield from zip(names, differing(*names, width=width), strict=True)


def elided(text: str, width: int) -> str:
    """Return the text cut at its end to ``width`` characters, the cut marked."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + _ELLIPSIS


def safe(text: str) -> str:
    """Return the text with everything that is not printable as an escape.

    Names and labels come out of files: none may move a terminal's cursor or
    end a line early.
    """
    if text.isprintable():
        return text
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
