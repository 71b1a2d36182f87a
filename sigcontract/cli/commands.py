"""The list of commands, and a parser that imports only the command given."""

import argparse
import importlib
from collections.abc import Iterable
from typing import Final, Protocol, cast

from sigcontract import __version__
from sigcontract.cli.parser import Parser, Subparsers

__all__ = ["COMMANDS", "command_module", "parser_of"]

#: Each is a module of this package with ``register`` and ``run``.
COMMANDS: Final[tuple[str, ...]] = (
    "record",
    "show",
    "validate",
    "migrate",
    "diff",
    "predict",
    "groups",
    "fleet",
    "check",
    "review",
    "schema",
    "rules",
    "doctor",
    "completion",
)

_EXIT_HELP = """\
exit status:
  0  done; nothing at or above --fail-on
  1  the gate failed: differences at or above --fail-on, or an outdated schema
  2  wrong usage, invalid input, or a tool error
  3  undetermined: incomplete or not comparable
  130, 141  interrupted from the keyboard; the reader of standard output closed it
record exits with the status of its program.

example:
  sigcontract diff before.dump.json after.dump.json
"""


class _Command(Protocol):
    """A module of this package that implements one command."""

    def register(self, subparsers: Subparsers) -> None:
        """Add the command's parser."""

    def run(self, args: argparse.Namespace) -> int:
        """Run the command and return the exit status."""


def parser_of(commands: Iterable[str]) -> Parser:
    """Return the parser of the command line with these commands."""
    parser = Parser(
        prog="sigcontract",
        description="Record, compare and explain the signatures of CUDA graphs.",
        epilog=_EXIT_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"sigcontract {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    for command in commands:
        command_module(command).register(subparsers)
    return parser


def command_module(command: str) -> _Command:
    """Import the module of a command."""
    return cast("_Command", importlib.import_module(f"sigcontract.cli.{command}"))
