"""Shared by all commands: a parser that raises instead of exiting, the exit statuses, and ``--format``."""

import argparse
import sys
from enum import IntEnum
from textwrap import fill
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from sigcontract.cli.terminal import columns
from sigcontract.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = ["Exit", "Parser", "Subparsers", "add_command", "paragraphs"]


class Exit(IntEnum):
    """Exit statuses of the process.

    A gate must treat every value but OK as a failure.
    """

    #: Done; nothing at or above the gate.
    OK = 0
    #: Done; the gate failed: differences at or above ``--fail-on``, an outdated schema.
    GATE = 1
    #: Not done: wrong usage, invalid input, a driver or tool error.
    ERROR = 2
    #: Undetermined: the inputs are incomplete or not comparable.
    UNDETERMINED = 3


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError, reported like every other error."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError, pointing to the command's help."""
        raise UsageError(f"{message}; `{self.prog} --help` shows the usage")

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        """Write a help text or the version; argparse ignores that it cannot be written."""
        (file or sys.stderr).write(message)


class Subparsers(Protocol):
    """The type that ``add_subparsers`` returns; argparse has no public name for it."""

    def add_parser(self, name: str, **settings: Any) -> Parser:
        """Add the parser of one command."""
        ...


def add_command(  # noqa: PLR0913  keyword arguments, one per property of a command
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
        Command lines with what each does, shown verbatim.
    formats
        Choices of ``--format``; the first is the default.
    description
        First paragraph of ``sigcontract COMMAND --help``; default: the summary.

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
        help=f"format of the result on standard output (default: {formats[0]})",
    )
    return parser


def paragraphs(text: str) -> str:
    """Wrap paragraphs, separated by blank lines, to the terminal's width."""
    return "\n\n".join(fill(part, columns() - 2) for part in text.strip().split("\n\n"))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip().splitlines())
