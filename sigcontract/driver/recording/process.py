"""A recorded process: its settings from ``sigcontract record``, and its report."""

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Literal

import msgspec

from sigcontract.driver.recording.dump_names import DEFAULT_NAME, check_name, dump_path
from sigcontract.driver.recording.recorder import Recorder, RecordOptions
from sigcontract.errors import SigcontractError, UsageError
from sigcontract.wire import (
    read_header,
)

__all__ = ["ProcessReport", "RecordSettings", "begin", "import_all", "read_reports"]

_TO = "SIGCONTRACT_RECORD_TO"
_STATUS = "SIGCONTRACT_RECORD_STATUS"
_AT = "SIGCONTRACT_RECORD_AT"
_SETTINGS = "SIGCONTRACT_RECORD_SETTINGS"
_SITE = str(Path(__file__).with_name("site"))

DumpFormat = Literal["json", "msgpack"]


class RecordSettings(RecordOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a recording."""

    format: DumpFormat = "json"
    #: Template of the dumps' names, see `sigcontract.driver.recording.dump_names`.
    name: str = DEFAULT_NAME
    #: Signal that requests a dump, such as ``SIGUSR2``, or None.
    demand: str | None = "SIGUSR2"

    def check(self) -> None:
        """Raise UsageError if a setting is unknown, or has no effect."""
        super().check()
        check_name(self.name)
        if self.demand is not None and self.demand not in signal.Signals.__members__:
            raise UsageError(f"no signal {self.demand!r}; use one such as SIGUSR2, or none")

    def environment(
        self, folder: Path, status: Path, inherited: Mapping[str, str], at: tuple[str, ...] = ()
    ) -> dict[str, str]:
        """Return environment variables under which Python processes record themselves.

        Parameters
        ----------
        folder
            Directory of the dumps.
        status
            Directory of the processes' reports.
        inherited
            The environment to extend.
        at
            Modules whose import starts recording, instead of the defaults.
        """
        path = inherited.get("PYTHONPATH")
        added = {
            "PYTHONPATH": f"{_SITE}{os.pathsep}{path}" if path else _SITE,
            _TO: str(folder),
            _STATUS: str(status),
            _SETTINGS: msgspec.json.encode(self).decode(),
        }
        return {**inherited, **added, **({_AT: ",".join(at)} if at else {})}


class ProcessReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The report of one recorded process."""

    process_id: int
    #: The first words of its command line.
    program: str
    #: Its dump; None if none.
    dump: str | None
    #: Graphs in the dump.
    graphs: int
    #: Distinct functions in the dump with unknown machine code.
    unknown_code: int = 0
    #: Whether the process exited cleanly, so no graphs are missing.
    complete: bool
    problems: tuple[str, ...]


def begin() -> Recorder | None:
    """Record this process with the settings in its environment.

    Returns None if a setting or file is invalid; the report has the reason.
    """
    folder, status = Path(os.environ[_TO]), Path(os.environ[_STATUS])
    try:
        settings = msgspec.json.decode(os.environ.get(_SETTINGS, "{}"), type=RecordSettings)
        settings.check()
        reporter = _Reporter(folder, status, settings)
        reporter.start()
    except (SigcontractError, msgspec.MsgspecError, OSError) as error:
        problem = f"recording did not begin: {error}"
        _report(status, _failed(problem, process_id=os.getpid(), program=_program()))
        return None
    return reporter.recorder


def import_all() -> None:
    """Import everything recording needs, for a program with a module named like a dependency."""
    for package in ("model", "wire", "driver.cuda", "driver.reading", "driver.observing", "driver.recording"):
        door = import_module(f"sigcontract.{package}")
        for name in door.__all__:
            getattr(door, name)


class _Reporter:
    """Records, and writes a report after every dump."""

    def __init__(self, folder: Path, status: Path, settings: RecordSettings) -> None:
        self._folder = folder
        self._status = status
        self._settings = settings
        self.recorder = Recorder(self._path_of, settings, self._after_write)

    def start(self) -> None:
        self.recorder.start()
        demand = self._settings.demand
        self.recorder.follow_signals(signal.Signals[demand] if demand is not None else None)
        self._after_write(self.recorder)

    def _path_of(self, process_id: int) -> Path:
        settings = self._settings
        path = dump_path(self._folder, settings.name, settings.format, process_id, self.recorder.environment.rank)
        self._send_report(path)  # before the file exists: a process that dies in between leaves no unreported dump
        return path

    def _after_write(self, recorder: Recorder) -> None:
        self._send_report(recorder.path)

    def _send_report(self, path: Path | None) -> None:
        recorder = self.recorder
        _report(
            self._status,
            ProcessReport(
                process_id=os.getpid(),
                program=_program(),
                dump=None if path is None else str(path),
                graphs=recorder.graph_count,
                unknown_code=recorder.unknown_code_count,
                complete=recorder.ended and recorder.saved,
                problems=tuple(recorder.problems),
            ),
        )


def _program() -> str:
    words = " ".join(getattr(sys, "orig_argv", [sys.executable])[:4])
    return words.encode("utf-8", "backslashreplace").decode("utf-8")  # file names need not be UTF-8


def _failed(*problems: str, process_id: int, program: str) -> ProcessReport:
    return ProcessReport(process_id=process_id, program=program, dump=None, graphs=0, complete=False, problems=problems)


def _report(status: Path, report: ProcessReport) -> None:
    # The last way to report a problem; if it fails, the parent reports the missing report.
    with suppress(OSError, RuntimeError, MemoryError):
        path = status / f"{report.process_id}.json"
        partial = path.with_suffix(".partial")
        partial.write_bytes(msgspec.json.encode(report))
        partial.replace(path)


def read_reports(status: Path) -> list[ProcessReport]:
    """Return the processes' reports by process id, checked against the dumps on disk."""
    reports = [_report_in(path) for path in sorted(status.glob("*.json"))]
    for path in sorted(status.glob("*.problem")):
        problems = path.read_text(encoding="utf-8", errors="replace").splitlines()
        reports.append(_failed(*problems, process_id=_process_id(path), program="python"))
    return sorted(map(_checked, reports), key=lambda report: report.process_id)


def _report_in(path: Path) -> ProcessReport:
    """Read a report. The program may run another release, or write to the directory itself."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProcessReport)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        problem = (
            f"its report cannot be read ({error}); if the program uses another release of sigcontract "
            "than this command, install the same release for both; dumps that it wrote are in the directory"
        )
        return _failed(problem, process_id=_process_id(path), program="python")


def _process_id(report: Path) -> int:
    """Return the process id in a report's file name, or 0."""
    return int(report.stem) if report.stem.isascii() and report.stem.isdecimal() else 0


def _checked(report: ProcessReport) -> ProcessReport:
    """Check a report against its dump: a process reports a dump before writing it, and may die in between."""
    if report.dump is None:
        return report
    try:
        header = read_header(report.dump)
    except SigcontractError as error:
        problems = (*report.problems, f"its dump cannot be read: {error}")
        return msgspec.structs.replace(report, dump=None, graphs=0, complete=False, problems=problems)
    return msgspec.structs.replace(report, graphs=len(header.graphs), complete=header.complete)
