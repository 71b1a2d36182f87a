"""``sigcontract record``: run a program unchanged and record every CUDA graph that it instantiates."""

import argparse
import functools
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from sigcontract.cli.parser import Parser, Subparsers, paragraphs
from sigcontract.driver import (
    DEFAULT_LABEL,
    ProcessReport,
    RecordSettings,
    read_reports,
    run_program,
)
from sigcontract.errors import FileError, UsageError
from sigcontract.report import (
    counted,
    safe,
)

__all__ = ["register", "run"]

_DESCRIPTION = """\
Run a program unchanged and write one dump per process with every CUDA graph, as it was instantiated.

Python processes that the program starts are recorded too. The program's output, signals and exit status stay its own:
this command exits as the program did. What was recorded, and what is missing, is told on standard error at the end.
"""

_EXAMPLE = """\
example:
  sigcontract record -o dumps -- python serve.py --port 8000
  sigcontract record -o dumps --label 'decode/{caller}' -m my_package.serve
"""


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser: Parser = subparsers.add_parser(
        "record",
        help="run a program and record the graphs that it instantiates",
        description=paragraphs(_DESCRIPTION),
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        usage="sigcontract record -o DIR [options] (-- PROGRAM [ARGUMENT ...] | -m MODULE [ARGUMENT ...])",
    )
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="folder for the dumps")
    parser.add_argument(
        "--label",
        default=DEFAULT_LABEL,
        metavar="TEMPLATE",
        help="labels of the graphs, with {order}, {caller}, {graph_id}, {nodes}, {rank}, {pid} (default: %(default)s)",
    )
    parser.add_argument("--format", choices=("json", "msgpack"), default="json", help="form of the dumps")
    parser.add_argument("--stacks", action="store_true", help="keep the Python stack of every instantiation")
    parser.add_argument(
        "--code",
        choices=("images", "all", "none"),
        default="images",
        help="where machine code is taken from: images that the program loads, as JIT compilers do; all: also from fat "
        "binaries and PTX, which may lock up a program with threads (docs/observe.md); none (default: %(default)s)",
    )
    parser.add_argument("--no-host", action="store_true", help="leave host and process id out of the dumps")
    parser.add_argument(
        "--signal",
        default="SIGUSR2",
        metavar="NAME",
        help="signal on which a process writes its dump at once, or 'none' (default: %(default)s)",
    )
    parser.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="MODULE",
        help="begin at the import of this module instead of at that of a known user of CUDA; may be repeated",
    )
    parser.add_argument("--report", metavar="FILE", type=Path, help="also write what was recorded as JSON")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(command=[])
    # On the instance: argparse knows no option that ends all options, and drops a -- that is the program's.
    parse: Any = functools.partial(_parse, parser.parse_known_args)
    parser.parse_known_args = parse  # type: ignore[method-assign]


def _parse(
    parse: Callable[..., tuple[argparse.Namespace, list[str]]],
    arguments: list[str],
    namespace: argparse.Namespace | None = None,
) -> tuple[argparse.Namespace, list[str]]:
    """Parse what stands before ``--`` or ``-m``; what comes after is the program's, untouched."""
    place = next((place for place, word in enumerate(arguments) if word in ("--", "-m")), len(arguments))
    args, rest = parse(arguments[:place], namespace)
    word, after = arguments[place : place + 1], arguments[place + 1 :]
    if args.program:  # the word is the program's as well: record -o dumps python -m serve
        args.command = [*args.program, *word, *after]
    elif word == ["-m"]:
        if not after:
            raise UsageError("-m needs the name of a module; `sigcontract record --help` shows the usage")
        args.command = [sys.executable, "-m", *after]
    else:
        args.command = after
    return args, rest


def run(args: argparse.Namespace) -> int:
    """Do it, and return the program's exit status.

    Raises
    ------
    UsageError
        There is no program, or a setting names something that there is not.
    FileError
        The folder cannot be written to, or the program cannot be run. The program was not started.
    """
    if not args.command:
        raise UsageError(
            "there is no program to run; give it behind --, as: sigcontract record -o dumps -- python x.py"
        )
    settings = RecordSettings(
        label=args.label,
        format=args.format,
        stacks=args.stacks,
        host=not args.no_host,
        code=args.code,
        demand=None if args.signal == "none" else args.signal,
    )
    settings.check()
    folder = _writable(args.output)
    demand = None if settings.demand is None else signal.Signals[settings.demand]
    with _status_folder() as status:
        environment = settings.environment(folder, status, os.environ, tuple(args.at))
        ended = run_program(args.command, environment, status, demand)
        reports = read_reports(status)
    _tell(reports, folder)
    if args.report is not None:
        _save_report(args.report, reports)
    if ended < 0:
        _end_by(-ended)
    return ended


@contextmanager
def _status_folder() -> Iterator[Path]:
    """Make the folder that recorded processes report to. What cannot be removed must not cost the program's status."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="sigcontract-record-", ignore_cleanup_errors=True)
    except OSError as error:
        msg = f"nothing can be written to {tempfile.gettempdir()}: {error.strerror}; set TMPDIR to another folder"
        raise FileError(msg, file=tempfile.gettempdir()) from error
    with folder as name:
        yield Path(name)


def _writable(folder: Path) -> Path:
    """Return the folder as an absolute path, made and tried: better to fail now than after an hour of capturing."""
    try:
        str(folder.resolve()).encode()
    except UnicodeEncodeError as error:
        msg = f"{folder} is not UTF-8, so that no report can name it; name another folder with -o"
        raise FileError(msg, file=str(folder)) from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0")
            file.flush()
    except OSError as error:
        msg = f"nothing can be written to {folder}: {error.strerror}; name another folder with -o"
        raise FileError(msg, file=str(folder)) from error
    return folder.resolve()


def _end_by(number: int) -> None:
    """End by the signal that ended the program, so that whoever waits for this process sees the same."""
    sys.stdout.flush()
    sys.stderr.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _tell(reports: list[ProcessReport], folder: Path) -> None:
    with suppress(OSError):  # whoever closed standard error reads nothing; the status is the program's all the same
        for line in _lines(reports, folder):
            sys.stderr.write(f"sigcontract: record: {safe(line)}\n")


def _lines(reports: list[ProcessReport], folder: Path) -> Iterator[str]:
    dumps = [report for report in reports if report.dump is not None]
    graphs = sum(report.graphs for report in dumps)
    if dumps:
        yield f"{counted(graphs, 'graph')}, {counted(len(dumps), 'dump')} in {folder}"
    elif any(report.graphs or not report.complete for report in reports):
        yield "nothing was recorded"
    elif reports:
        yield "nothing was recorded: no graph was instantiated"
    else:
        yield "nothing was recorded: no Python process imported a module that is known to use CUDA (--at names others)"
    for report in reports:
        if report.dump is not None:
            state = "" if report.complete else ", did not end in order: what came after its last write is missing"
            yield f"{Path(report.dump).name}: {counted(report.graphs, 'graph')}{state}"
            if report.unknown_code:
                unknown = counted(report.unknown_code, "function")
                yield (
                    f"{Path(report.dump).name}: the machine code of {unknown} is not known, so no other run can be "
                    "proven to run the same; --code all sees more (docs/observe.md says at what risk)"
                )
        elif not report.complete and not report.problems:
            yield f"process {report.process_id} ({report.program}) did not report its end; it had written nothing"
        for problem in report.problems:
            yield f"process {report.process_id} ({report.program}): {problem}"


def _save_report(path: Path, reports: list[ProcessReport]) -> None:
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(reports), indent=2) + b"\n")
    except OSError as error:
        with suppress(OSError):
            sys.stderr.write(f"sigcontract: record: the report could not be written to {path}: {error.strerror}\n")
