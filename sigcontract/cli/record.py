"""``sigcontract record``: record every CUDA graph that an unmodified program instantiates."""

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

from sigcontract.cli.parser import Exit, Parser, Subparsers, paragraphs
from sigcontract.driver import (
    DEFAULT_LABEL,
    DEFAULT_NAME,
    ProcessReport,
    RecordSettings,
    read_reports,
    run_program,
)
from sigcontract.errors import FileError, UsageError
from sigcontract.model import RecordedProcess, RecordingReport
from sigcontract.report import (
    counted,
    safe,
)
from sigcontract.wire import encode, escaped_name

__all__ = ["register", "run"]

_DESCRIPTION = """\
Run an unmodified program and write one dump per process with every CUDA graph it instantiates.

Python child processes are recorded too. The program keeps its output and signals, and this command exits with its
status. A summary of what was recorded, and what is missing, goes to standard error at the end.
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
        help="run a program and record the graphs it instantiates",
        description=paragraphs(_DESCRIPTION),
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        usage="sigcontract record -o DIR [options] (-- PROGRAM [ARGUMENT ...] | -m MODULE [ARGUMENT ...])",
    )
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="directory for the dumps")
    parser.add_argument(
        "--label",
        default=DEFAULT_LABEL,
        metavar="TEMPLATE",
        help="labels of the graphs, with {order}, {caller}, {graph_id}, {nodes}, {rank}, {pid} (default: %(default)s)",
    )
    parser.add_argument(
        "--name",
        default=DEFAULT_NAME,
        metavar="TEMPLATE",
        help="names of the dumps, with {program}, {rank} (as rank3, or nothing), {pid} (default: %(default)s)",
    )
    parser.add_argument(
        "--require-graphs",
        type=_count,
        default=0,
        metavar="N",
        help="exit with status 1 if the program succeeds but fewer graphs were recorded in all processes together",
    )
    parser.add_argument("--format", choices=("json", "msgpack"), default="json", help="format of the dumps")
    parser.add_argument("--stacks", action="store_true", help="record the Python stack of every instantiation")
    parser.add_argument(
        "--code",
        choices=("images", "all", "none"),
        default="images",
        help="machine code to read. images: images that the program itself loads, as JIT compilers do; all: also fat "
        "binaries and PTX, which can deadlock a multithreaded program (docs/observe.md); none (default: %(default)s)",
    )
    parser.add_argument(
        "--arguments",
        action="store_true",
        help="record arguments of kernels: every byte of every scalar and struct, which may hold secrets such as keys, "
        "prompt lengths or sampling seeds, and the allocation that each pointer points into; never contents of memory. "
        "Reading a graph takes two to three times as long",
    )
    parser.add_argument(
        "--redact",
        action="store_true",
        help="with --arguments: omit values and addresses of arguments from the dump; sizes, offsets, allocations and "
        "the positions of pointers are kept",
    )
    parser.add_argument("--no-host", action="store_true", help="omit host and process id from the dumps")
    parser.add_argument(
        "--signal",
        default="SIGUSR2",
        metavar="NAME",
        help="signal that makes a process write its dump, or 'none' (default: %(default)s)",
    )
    parser.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="MODULE",
        help="start recording at the import of this module instead of a library known to use CUDA; may be repeated",
    )
    parser.add_argument("--report", metavar="FILE", type=Path, help="also write what was recorded as JSON")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(program_command=[])
    # On the instance: argparse has no option that ends all options, and drops a -- meant for the program.
    parse: Any = functools.partial(_parse, parser.parse_known_args)
    parser.parse_known_args = parse  # type: ignore[method-assign]  # see above


def _parse(
    parse: Callable[..., tuple[argparse.Namespace, list[str]]],
    arguments: list[str],
    namespace: argparse.Namespace | None = None,
) -> tuple[argparse.Namespace, list[str]]:
    """Parse up to ``--`` or ``-m``; the rest belongs to the program."""
    index = next((index for index, word in enumerate(arguments) if word in ("--", "-m")), len(arguments))
    args, rest = parse(arguments[:index], namespace)
    word, after = arguments[index : index + 1], arguments[index + 1 :]
    if args.program:  # the program may use -m too: record -o dumps python -m serve
        args.program_command = [*args.program, *word, *after]
    elif word == ["-m"]:
        if not after:
            raise UsageError("-m needs a module name; `sigcontract record --help` shows the usage")
        args.program_command = [sys.executable, "-m", *after]
    else:
        args.program_command = after
    return args, rest


def run(args: argparse.Namespace) -> int:
    """Run the program and return its exit status.

    Raises
    ------
    UsageError
        No program is given, or a setting is unknown.
    FileError
        The directory is not writable, or the program cannot be run. It was not started.
    """
    if not args.program_command:
        raise UsageError("no program given; put it after --, as in: sigcontract record -o dumps -- python x.py")
    settings = RecordSettings(
        label=args.label,
        name=args.name,
        format=args.format,
        stacks=args.stacks,
        host=not args.no_host,
        code=args.code,
        arguments=args.arguments,
        redact=args.redact,
        demand=None if args.signal == "none" else args.signal,
    )
    settings.check()
    folder = _writable(args.output)
    demand = None if settings.demand is None else signal.Signals[settings.demand]
    with _status_folder() as status:
        environment = settings.environment(folder, status, os.environ, tuple(args.at))
        ended = run_program(args.program_command, environment, status, demand)
        reports = read_reports(status)
    _tell(reports, folder)
    if args.report is not None:
        _save_report(args.report, reports)
    if ended < 0:
        _end_by(-ended)
    graphs = sum(report.graphs for report in reports if report.dump is not None)
    if ended == 0 and graphs < args.require_graphs:
        required = counted(args.require_graphs, "graph")
        sys.stderr.write(f"sigcontract: record: {required} required, {graphs} recorded\n")
        return Exit.GATE
    return ended


@contextmanager
def _status_folder() -> Iterator[Path]:
    """Create the directory that recorded processes report to. Failing to remove it does not change the exit status."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="sigcontract-record-", ignore_cleanup_errors=True)
    except OSError as error:
        msg = f"cannot write to {tempfile.gettempdir()}: {error.strerror}; set TMPDIR to another directory"
        raise FileError(msg, file=tempfile.gettempdir()) from error
    with folder as name:
        yield Path(name)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of graphs")
    return int(text)


def _writable(folder: Path) -> Path:
    """Create the directory, test that it is writable, and return its absolute path. Better now than after an hour."""
    try:
        str(folder.resolve()).encode()
    except UnicodeEncodeError as error:
        msg = f"{folder} is not UTF-8, so no report can name it; name another directory with -o"
        raise FileError(msg, file=str(folder)) from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0")
            file.flush()
    except OSError as error:
        msg = f"cannot write to {folder}: {error.strerror}; name another directory with -o"
        raise FileError(msg, file=str(folder)) from error
    return folder.resolve()


def _end_by(number: int) -> None:
    """Die of the signal that ended the program, so the parent process sees the same status."""
    sys.stdout.flush()
    sys.stderr.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _tell(reports: list[ProcessReport], folder: Path) -> None:
    with suppress(OSError):  # standard error may be closed; the exit status is the program's regardless
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
        yield "nothing was recorded: no Python process imported a module known to use CUDA (--at names others)"
    for report in reports:
        if report.dump is not None:
            state = "" if report.complete else ", did not exit cleanly: graphs after its last write are missing"
            yield f"{Path(report.dump).name}: {counted(report.graphs, 'graph')}{state}"
            if report.unknown_code:
                unknown = counted(report.unknown_code, "function")
                yield (
                    f"{Path(report.dump).name}: the machine code of {unknown} is unknown, so no other run can be "
                    "proven equal; --code all observes more, at a risk described in docs/observe.md"
                )
        elif not report.complete and not report.problems:
            yield f"process {report.process_id} ({report.program}) did not exit cleanly and wrote nothing"
        for problem in report.problems:
            yield f"process {report.process_id} ({report.program}): {problem}"


def _document(reports: list[ProcessReport]) -> RecordingReport:
    processes = [
        RecordedProcess(
            process_id=report.process_id,
            program=escaped_name(report.program),
            dump=None if report.dump is None else escaped_name(report.dump),
            graphs=report.graphs,
            unknown_code=report.unknown_code,
            complete=report.complete,
            problems=tuple(map(escaped_name, report.problems)),
        )
        for report in reports
    ]
    return RecordingReport(processes=tuple(processes))


def _save_report(path: Path, reports: list[ProcessReport]) -> None:
    try:
        path.write_bytes(encode(_document(reports)))
    except OSError as error:
        with suppress(OSError):
            sys.stderr.write(f"sigcontract: record: cannot write the report to {path}: {error.strerror}\n")
