"""The command ``sigcontract``.

Results go to standard output, everything else to standard error. An error is one line,
``sigcontract: error[code]: message``, and the message says what to do. The help tells what the exit status says.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, cast

from sigcontract import __version__
from sigcontract.cli.parser import Exit, Parser, Subparsers
from sigcontract.cli.workflow import without_commands
from sigcontract.errors import NotComparableError, SigcontractError, UsageError
from sigcontract.report import (
    safe,
)

__all__ = ["COMMANDS", "console", "main"]

#: Each is a module of this package with ``register`` and ``run``. Only the command that was asked for is imported.
COMMANDS: tuple[str, ...] = (
    "record",
    "show",
    "validate",
    "migrate",
    "diff",
    "groups",
    "fleet",
    "schema",
    "rules",
    "doctor",
)

#: What a shell reports for a program that SIGINT or SIGPIPE ended.
_INTERRUPTED = 130
_BROKEN_PIPE = 141

_EXIT_HELP = """\
exit status:
  0  done; nothing at or above --fail-on
  1  the gate failed: differences at or above --fail-on, or a schema out of step
  2  wrong usage, a faulty input, or a tool that failed
  3  cannot tell: incomplete or not comparable
  130, 141  interrupted from the keyboard; the reader of standard output went away
record exits as the program that it ran.

example:
  sigcontract diff before.dump.json after.dump.json
"""


class _Command(Protocol):
    """A module of this package that does one command."""

    def register(self, subparsers: Subparsers) -> None:
        """Add the command's parser."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it, and return the exit status."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line.

    Parameters
    ----------
    argv
        The arguments after the program's name; those of the process where left out.

    Returns
    -------
    int
        The exit status, as the module says.
    """
    with without_commands():
        return _status(list(sys.argv[1:] if argv is None else argv))


def _status(arguments: list[str]) -> int:
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except SigcontractError as error:
        _complain(error.code, ", ".join([str(error), *getattr(error, "__notes__", ())]))
        return Exit.UNDETERMINED if isinstance(error, NotComparableError) else Exit.ERROR
    except KeyboardInterrupt:
        _complain("interrupted", "stopped from the keyboard; run it again for a result")
        return _INTERRUPTED
    except BrokenPipeError:
        # Python flushes standard output once more at exit; there it would complain of the same pipe.
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        _complain("file", f"the result could not be written: {error.strerror}; free space or write elsewhere")
        return Exit.ERROR
    return status


def console() -> None:
    """Run the process's command line and exit: the entry point of the installed command."""
    # A stream that the caller closed is None. What nobody wants to read goes nowhere; the exit status stands. As on
    # opening any file, a program that `record` runs does not inherit it.
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  until the process ends
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  until the process ends
    # A name that the terminal's encoding lacks is shown escaped rather than ending the report half-way.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.excepthook = _fault
    sys.exit(main())


def _run(arguments: list[str]) -> int:
    command = next((argument for argument in arguments if not argument.startswith("-")), None)
    if command is None:
        needed = COMMANDS if {"-h", "--help"}.intersection(arguments) else ()
    elif command in COMMANDS:
        needed = (command,)
    else:
        raise UsageError(f"there is no command {command!r}{_nearest(command)}; `sigcontract --help` lists the commands")
    try:
        args = _parser(needed).parse_args(arguments)
    except SystemExit as end:  # --help and --version print and end
        return cast("int", end.code or Exit.OK)
    if command is None:
        raise UsageError("no command was given; `sigcontract --help` lists the commands")
    return _module(command).run(args)


def _parser(commands: Iterable[str]) -> Parser:
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
        _module(command).register(subparsers)
    return parser


def _module(command: str) -> _Command:
    return cast("_Command", importlib.import_module(f"sigcontract.cli.{command}"))


def _nearest(command: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  only for a command that does not exist

    near = get_close_matches(command, COMMANDS, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _complain(code: str, message: str) -> None:
    sys.stderr.write(f"sigcontract: error[{code}]: {safe(message)}\n")
    sys.stderr.flush()


def _fault(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
    """Report an error that this program should not have, and exit as a tool that failed.

    Python's own hook would exit with 1, and a gate would take a crash for a difference.
    """
    sys.__excepthook__(kind, value, trace)
    _complain("internal", "this is a fault of sigcontract; report it with the lines above")
    sys.exit(Exit.ERROR)
