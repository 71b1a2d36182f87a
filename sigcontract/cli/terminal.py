"""Terminal output: colour, line width and progress."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO, TypeVar

from sigcontract.report import (
    safe,
)

__all__ = ["columns", "progress", "status_line", "use_color"]

_Item = TypeVar("_Item")

#: Columns assumed without a terminal, and the fewest that text is cut to.
_USUAL_COLUMNS = 120
_FEWEST_COLUMNS = 40
#: Shorter work shows no progress.
_QUIET_SECONDS = 0.5


def use_color(stream: TextIO) -> bool:
    """Return whether to colour output to the stream.

    ``NO_COLOR`` wins over ``FORCE_COLOR`` (either counts when it is not empty), then ``TERM=dumb``, then whether the
    stream is a terminal: the order that Python itself uses.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def columns() -> int:
    """Return the line width of standard output in columns: ``COLUMNS``, else the terminal's."""
    return max(_FEWEST_COLUMNS, shutil.get_terminal_size((_USUAL_COLUMNS, 0)).columns)


@contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows progress on standard error, if that is a terminal and the work takes long.

    Each text replaces the one before. The last is erased, leaving only results.
    """
    stream = sys.stderr
    if not stream.isatty():
        yield _say_nothing
        return
    started = time.monotonic()
    shown = False

    def say(text: str) -> None:
        nonlocal shown
        if time.monotonic() - started >= _QUIET_SECONDS:
            stream.write(f"\r\x1b[K{safe(text)}")
            stream.flush()
            shown = True

    try:
        yield say
    finally:
        if shown:
            stream.write("\r\x1b[K")
            stream.flush()


def progress(items: Sequence[_Item], describe: Callable[[_Item], str]) -> Iterator[_Item]:
    """Yield the items, with a `status_line` that counts and describes them."""
    with status_line() as say:
        for number, item in enumerate(items, start=1):
            say(f"{number}/{len(items)} {describe(item)}")
            yield item


def _say_nothing(_text: str) -> None:
    """Show nothing: not a terminal."""
