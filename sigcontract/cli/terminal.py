"""What a terminal is told that a file is not: colour and progress."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO, TypeVar

from sigcontract.report.names import safe

__all__ = ["progress", "use_color"]

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
                stream.write(f"\r\x1b[K{number}/{len(items)} {safe(describe(item))}")
                stream.flush()
                shown = True
            yield item
    finally:
        if shown:
            stream.write("\r\x1b[K")
            stream.flush()
