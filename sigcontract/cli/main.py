"""The command ``sigcontract``.

Results go to standard output, everything else to standard error. An error is one line, ``sigcontract: error[code]:
message``, and the message states the remedy. ``--help`` lists the exit statuses.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import cast

from sigcontract.cli.commands import COMMANDS, command_module, parser_of
from sigcontract.cli.parser import Exit
from sigcontract.cli.workflow import without_commands
from sigcontract.errors import NotComparableError, SigcontractError, UsageError
from sigcontract.report import (
    safe,
)

__all__ = ["COMMANDS", "console", "main"]

#: What a shell reports for a program ended by SIGINT or SIGPIPE.
_INTERRUPTED = 130
_BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line.

    Parameters
    ----------
    argv
        Arguments without the program name; default: those of this process.

    Returns
    -------
    int
        The exit status (`Exit`).
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
        _complain("interrupted", "stopped from the keyboard; run it again")
        return _INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return _BROKEN_PIPE
    except OSError as error:
        _discard_output()
        _complain("file", f"cannot write the result: {error.strerror}; free space or write elsewhere")
        return Exit.ERROR
    return status


def _discard_output() -> None:
    """Drop what standard output does not take: Python flushes it again at exit, and would end with status 120."""
    try:
        sys.stdout.flush()
    except OSError:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def console() -> None:
    """Run the process's command line and exit: the entry point of the installed command."""
    # A stream that the caller closed is None; write to the null device instead. A program run by `record` does not
    # inherit it.
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  until the process ends
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  until the process ends
    # Escape names that the terminal's encoding lacks, rather than fail half-way.
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
        raise UsageError(f"no command {command!r}{_nearest(command)}; `sigcontract --help` lists the commands")
    try:
        args = parser_of(needed).parse_args(arguments)
    except SystemExit as end:  # --help and --version print and exit
        return cast("int", end.code or Exit.OK)
    if command is None:
        raise UsageError("no command given; `sigcontract --help` lists the commands")
    return command_module(command).run(args)


def _nearest(command: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  only for an unknown command

    near = get_close_matches(command, COMMANDS, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _complain(code: str, message: str) -> None:
    sys.stderr.write(f"sigcontract: error[{code}]: {safe(message)}\n")
    sys.stderr.flush()


def _fault(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
    """Report an internal error and exit with `Exit.ERROR`.

    Python's own hook exits with 1, so a gate would take a crash for a difference.
    """
    sys.__excepthook__(kind, value, trace)
    _complain("internal", "internal error in sigcontract; report it with the lines above")
    sys.exit(Exit.ERROR)
