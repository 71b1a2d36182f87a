"""The page that text is written on: its width, its colours, and how lines are broken."""

import re
from collections.abc import Iterator
from textwrap import wrap
from typing import NamedTuple

from sigcontract.model import (
    Verdict,
)

__all__ = ["BOLD", "LEAST", "PLAIN", "Page", "visible"]

_COLORS = {
    Verdict.STALE: "\x1b[1;31m",
    Verdict.REJECTED: "\x1b[31m",
    Verdict.UNDETERMINED: "\x1b[35m",
    Verdict.UPDATABLE: "\x1b[33m",
    Verdict.HARMLESS: "\x1b[36m",
    Verdict.IDENTICAL: "\x1b[32m",
}
_COLOR_CODES = re.compile(r"\x1b\[[0-9;]*m")
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
#: What is cut to fit a narrow page keeps at least this much.
LEAST = 20


class Page(NamedTuple):
    """What the text is written on: how wide, and whether in colour."""

    color: bool
    width: int

    def __call__(self, text: str, color: str) -> str:
        """Return a text in a colour, where there are colours."""
        return f"{color}{text}{PLAIN}" if self.color and color and text else text

    def room(self, most: int, beside: int) -> int:
        """Return how long something may be that shares its line with so much else."""
        return min(most, max(LEAST, self.width - beside))

    def verdict(self, verdict: Verdict) -> str:
        """Return the verdict's word in its colour."""
        return self(str(verdict), _COLORS[verdict])

    def beside(self, text: str, note: str, room: int) -> Iterator[str]:
        """Yield the text with a note beside it, or below where the line has no room for both."""
        if len(text) + 2 + visible(note) <= room:
            yield f"{text}  {note}"
        else:
            yield from (text, f"  {note}")

    def wrapped(self, text: str, indent: str = "") -> Iterator[str]:
        """Yield the text on as many lines as it takes, what goes on after a break indented."""
        if visible(text) + len(indent) <= self.width:
            yield indent + text
            return
        yield from wrap(
            text,
            self.width,
            initial_indent=indent,
            subsequent_indent=f"{indent}    ",
            break_on_hyphens=False,
        )


def visible(text: str) -> int:
    """Return how many columns a text takes, colours aside."""
    return len(_COLOR_CODES.sub("", text))
