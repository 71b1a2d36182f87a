"""``--format`` and ``--output``: the result of one run in several formats, all written or none."""

import argparse
import sys
from pathlib import Path
from typing import Any, Protocol

from sigcontract.cli.terminal import columns, use_color
from sigcontract.cli.workflow import commands
from sigcontract.errors import UsageError
from sigcontract.report import OUTPUTS, Outcome
from sigcontract.wire import write_together

__all__ = ["FORMATS", "add_outputs", "deliver", "outputs_of"]

#: The forms that every command with ``--output`` has.
FORMATS = tuple(OUTPUTS)

_STDOUT = "-"


class _Options(Protocol):
    """A parser, or a group of its options; argparse has no public name for both."""

    def add_argument(self, *names: str, **settings: Any) -> Any:
        """Add an option."""


def add_outputs(parser: _Options) -> None:
    """Add ``--output``."""
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="FORMAT=FILE",
        help=f"also write this format ({', '.join(FORMATS)}) to a file, or to standard output with -; "
        "may be given several times",
    )


def outputs_of(args: argparse.Namespace) -> list[tuple[str, str]]:
    """Return the requested formats with their files. Call it before doing the work.

    Raises
    ------
    UsageError
        The format is unknown, the file is missing, or two formats name one file.
    """
    outputs = [_output(value) for value in args.output]
    files = [Path(file).absolute() for _, file in outputs if file != _STDOUT]
    twice = next((file for file in files if files.count(file) > 1), None)
    if twice is not None:
        raise UsageError(f"two formats name {twice}; give each its own file")
    if all(file != _STDOUT for _, file in outputs):
        outputs.insert(0, (args.format, _STDOUT))
    return outputs


def deliver(outcome: Outcome, outputs: list[tuple[str, str]]) -> None:
    """Draw every format, then write all files, then standard output.

    Raises
    ------
    FileError
        A file cannot be written; then none is.
    """
    drawn = [(form, file, _drawn(outcome, form, file)) for form, file in outputs]
    write_together([(file, text.encode(errors="backslashreplace")) for _, file, text in drawn if file != _STDOUT])
    for form, file, text in drawn:
        if file == _STDOUT:
            sys.stdout.flush()
            (commands(sys.stdout) if form == "github" else sys.stdout).write(text)


def _drawn(outcome: Outcome, form: str, file: str) -> str:
    if form == "text" and file == _STDOUT:
        return outcome.text(use_color(sys.stdout), columns())
    return OUTPUTS[form](outcome)


def _output(value: str) -> tuple[str, str]:
    form, separator, file = value.partition("=")
    if form not in FORMATS or not separator or not file:
        raise UsageError(f"--output {value!r}: give FORMAT=FILE, the format one of {', '.join(FORMATS)}")
    return form, file
