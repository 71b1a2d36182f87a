"""``sigcontract completion``: a shell completion script.

The script is static: completion at run time would start Python at every key press.
"""

import argparse
import sys

from sigcontract.cli.commands import COMMANDS, parser_of
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.errors import MissingExtraError

__all__ = ["register", "run"]

_EXAMPLE = """\
sigcontract completion bash > ~/.local/share/bash-completion/completions/sigcontract
sigcontract completion zsh > ~/.zfunc/_sigcontract
"""


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "completion",
        summary="print a shell completion script",
        example=_EXAMPLE,
        formats=("text",),
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell")


def run(args: argparse.Namespace) -> int:
    """Print the script.

    Raises
    ------
    MissingExtraError
        The extra ``completion`` is not installed.
    """
    try:
        import shtab  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtraError("shell completion", extra="completion") from error
    script = shtab.complete(parser_of(COMMANDS), args.shell)
    sys.stdout.write(f"{script}\n")
    return Exit.OK
