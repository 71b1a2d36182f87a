"""What a terminal is told that a file is not: colour, progress, and text that cannot move the cursor."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO, TypeVar

__all__ = ["printable", "progress", "use_color"]

_Item = TypeVar("_Item")

#: Work that ends sooner needs no progress line.
_QUIET_SECONDS = 0.5


def use_color(stream: TextIO) -> bool:
    """Say whether to colour what goes to the stream.

    ``NO_COLOR`` wins over ``FORCE_COLOR`` (either counts when it is not empty), then ``TERM=dumb``, then whether
    the stream is a terminal: the order in which Python itself decides.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def printable(text: str) -> str:
    r"""Return the text with control characters as escapes.

    Names and labels come out of files; one that holds an escape sequence must not reach a terminal as such, and a
    line feed must not split a line that promises to be one.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "backslashreplace").decode("ascii")
        for character in text
    )


def progress(items: Sequence[_Item], describe: Callable[[_Item], str]) -> Iterator[_Item]:
    """Yield the items, saying on standard error which one is in work, where that is a terminal and it takes long.

    The line is erased at the end, so that nothing of it remains between results.
    """
    stream = sys.stderr
    if not stream.isatty():
        yield from items
        return
    started = time.monotonic()
    shown = False
    try:
        for number, item in enumerate(items, start=1):
            if time.monotonic() - started >= _QUIET_SECONDS:
                stream.write(f"\r\x1b[K{number}/{len(items)} {printable(describe(item))}")
                stream.flush()
                shown = True
            yield item
    finally:
        if shown:
            stream.write("\r\x1b[K")
            stream.flush()
