"""Text of files that GitHub's runner would take for its own commands.

A line of a step's log that begins with ``::``, blanks aside, and ``##[`` anywhere in a line are commands to the runner.
A label or a kernel's name that says so could fake annotations, or mute those of a gate.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

__all__ = ["commands", "without_commands"]

_COMMAND = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
#: What may be the beginning of a command at the end of a piece.
_BEGINNING = re.compile(r"(?:^[^\S\n]*:?|#{1,2})\Z", re.MULTILINE)
#: Stands before a piece that does not begin a line.
_MIDDLE = "\0"


class _Guarded:
    """A stream on which nothing is a command: ``##[`` and ``::`` at a line's start are escaped.

    In JSON both can stand in strings only, and the first is escaped as JSON does it: a parser reads what was meant.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        #: What of the last piece may be the beginning of a command.
        self._held = ""
        #: Whether the line has nothing but blanks so far.
        self._blank = True

    def write(self, text: str) -> int:
        """Write the text, and return the length that it had."""
        said = ("" if self._blank else _MIDDLE) + self._held + text
        said = _COMMAND.sub(r"\1\\x3a", said.replace("##[", "#\\u0023["))
        beginning = _BEGINNING.search(said)
        self._held = beginning[0] if beginning else ""
        self._write(said[: len(said) - len(self._held)])
        return len(text)

    def flush(self) -> None:
        """Write all that there is."""
        self._write(("" if self._blank else _MIDDLE) + self._held)
        self._held = ""
        self.stream.flush()

    def _write(self, said: str) -> None:
        self.stream.write(said.removeprefix(_MIDDLE))
        self._blank = not said.rpartition("\n")[2].strip(" \t\r\f\v")

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of the lines."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def without_commands() -> Iterator[None]:
    """Under GitHub Actions, let nothing that is written to standard output and error be a command to the runner."""
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
    """Return the stream for what is meant as commands."""
    return stream.stream if isinstance(stream, _Guarded) else stream
