"""What every command shares: the parser that raises instead of exiting, the exit codes, and ``--format``."""

import argparse
from enum import IntEnum
from textwrap import fill
from typing import Any, NoReturn, Protocol

from sigcontract.cli.terminal import columns
from sigcontract.errors import UsageError

__all__ = ["Exit", "Parser", "Subparsers", "add_command", "paragraphs"]


class Exit(IntEnum):
    """What the process's exit status says.

    A program that gates on the status must treat every value but OK as "do not pass".
    """

    #: Done, and nothing at or above the gate was found.
    OK = 0
    #: Done, and the gate failed: differences at or above ``--fail-on``, a schema out of step.
    GATE = 1
    #: Not done: wrong usage, an input that is not what it should be, a driver or a tool that failed.
    ERROR = 2
    #: Done as far as it could be, and the question cannot be answered: incomplete or not comparable.
    UNDETERMINED = 3


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are UsageErrors, so that they are reported like every other error."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError, naming the help that fits the command."""
        raise UsageError(f"{message}; `{self.prog} --help` shows the usage")


class Subparsers(Protocol):
    """What ``add_subparsers`` gives, and a command's ``register`` is given; argparse has no public name for it."""

    def add_parser(self, name: str, **settings: Any) -> Parser:
        """Add the parser of one command."""
        ...


def add_command(  # noqa: PLR0913  each is one fact of a command, given by keyword
    subparsers: Subparsers,
    name: str,
    *,
    summary: str,
    example: str,
    formats: tuple[str, ...] = ("text", "json"),
    description: str | None = None,
) -> Parser:
    """Add the parser of one command, with its ``--format`` and an example at the end of its help.

    Parameters
    ----------
    subparsers
        As given to the command's ``register``.
    name
        The command.
    summary
        One line for ``sigcontract --help``, lower case, without a full stop.
    example
        One or more command lines, each with what it does, shown as they are.
    formats
        Choices of ``--format``; the first is the default.
    description
        What ``sigcontract VERB --help`` says first; the summary where it is left out.

    Returns
    -------
    Parser
        The command's parser, for its own arguments.
    """
    parser = subparsers.add_parser(
        name,
        help=summary,
        description=paragraphs(description or f"{summary[:1].upper()}{summary[1:]}."),
        epilog=f"example:\n{_indented(example)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--format",
        choices=formats,
        default=formats[0],
        help=f"form of the result on standard output (default: {formats[0]})",
    )
    return parser


def paragraphs(text: str) -> str:
    """Return prose, parted by blank lines, wrapped to the terminal like the rest of a help; examples are not."""
    return "\n\n".join(fill(part, columns() - 2) for part in text.strip().split("\n\n"))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip().splitlines())
