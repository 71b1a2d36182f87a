"""Escape text that GitHub's runner would take for a workflow command.

``::`` at the start of a line of a step's log, after blanks, and ``##[`` anywhere are commands to the runner. A label or
kernel name that holds one could fake annotations or hide a gate's.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

__all__ = ["commands", "without_commands"]

_COMMAND = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
#: A possible start of a command at the end of a chunk.
_BEGINNING = re.compile(r"(?:^[^\S\n]*:?|#{1,2})\Z", re.MULTILINE)
#: Prepended to a chunk that does not start a line.
_MIDDLE = "\0"


class _Guarded:
    """A stream without commands: ``##[`` and ``::`` at the start of a line are escaped.

    In JSON both occur in strings only, and ``##[`` is escaped as JSON does, so parsed values do not change.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        #: The end of the last chunk that may start a command.
        self._held = ""
        #: Whether the line is blank so far.
        self._blank = True

    def write(self, text: str) -> int:
        """Write the text and return its length."""
        joined = ("" if self._blank else _MIDDLE) + self._held + text
        joined = _COMMAND.sub(r"\1\\x3a", joined.replace("##[", "#\\u0023["))
        beginning = _BEGINNING.search(joined)
        self._held = beginning[0] if beginning else ""
        self._write(joined[: len(joined) - len(self._held)])
        return len(text)

    def flush(self) -> None:
        """Write what is held back."""
        self._write(("" if self._blank else _MIDDLE) + self._held)
        self._held = ""
        self.stream.flush()

    def _write(self, text: str) -> None:
        self.stream.write(text.removeprefix(_MIDDLE))
        self._blank = not text.rpartition("\n")[2].strip(" \t\r\f\v")

    def writelines(self, lines: Iterable[str]) -> None:
        """Write the lines."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def without_commands() -> Iterator[None]:
    """Under GitHub Actions, escape workflow commands on standard output and error."""
    if not os.environ.get("GITHUB_ACTIONS"):
        yield
        return
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", _Guarded(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def commands(stream: TextIO) -> TextIO:
    """Return the stream for real commands."""
    return stream.stream if isinstance(stream, _Guarded) else stream
