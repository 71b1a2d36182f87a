"""A recorded process: what ``sigcontract record`` tells it, and what it reports back."""

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Literal

import msgspec

from sigcontract.driver.recording.labels import check_label
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
    """What is recorded, and how."""

    format: DumpFormat = "json"
    #: Signal that asks for a dump, as ``SIGUSR2``; None: none does.
    demand: str | None = "SIGUSR2"

    def check(self) -> None:
        """Raise UsageError where a setting names something that there is not."""
        check_label(self.label)
        if self.demand is not None and self.demand not in signal.Signals.__members__:
            raise UsageError(f"there is no signal {self.demand!r}; give one as SIGUSR2, or none")

    def environment(
        self, folder: Path, status: Path, inherited: Mapping[str, str], at: tuple[str, ...] = ()
    ) -> dict[str, str]:
        """Return environment variables under which Python processes record themselves.

        Parameters
        ----------
        folder
            Where dumps go.
        status
            Where processes report to.
        inherited
            The environment that these are added to.
        at
            Modules at whose import recording begins, in place of the usual ones.
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
    """What one process recorded."""

    process_id: int
    #: Its command line's first words.
    program: str
    #: Its dump, None where there is none.
    dump: str | None
    #: Graphs in it.
    graphs: int
    #: Distinct functions in it whose machine code is not known.
    unknown_code: int = 0
    #: Whether the process ended in order, so that nothing is missing at the end.
    complete: bool
    problems: tuple[str, ...]


def begin() -> Recorder | None:
    """Record this process as its environment says.

    Returns None where a setting or a file is at fault; the report says why.
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
    """Import all that recording may need, for a program that has another module under a dependency's name."""
    for package in ("model", "wire", "driver.cuda", "driver.reading", "driver.observing", "driver.recording"):
        door = import_module(f"sigcontract.{package}")
        for name in door.__all__:
            getattr(door, name)


class _Reporter:
    """Records, and leaves a report after every write."""

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
        where = self.recorder.environment
        stem = f"pid{process_id}" if where.rank is None else f"rank{where.rank}-pid{process_id}"
        number, path = 1, self._folder / f"{stem}.dump.{self._settings.format}"
        while path.exists():  # an earlier program under this id, which replaced itself by exec
            number += 1
            path = self._folder / f"{stem}-{number}.dump.{self._settings.format}"
        self._tell(path)  # before the file is there: a process that dies in between leaves no dump unmentioned
        return path

    def _after_write(self, recorder: Recorder) -> None:
        self._tell(recorder.path)

    def _tell(self, path: Path | None) -> None:
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
    # The last place to complain in; where it fails too, the parent finds no report, and says that.
    with suppress(OSError, RuntimeError, MemoryError):
        place = status / f"{report.process_id}.json"
        partial = place.with_suffix(".partial")
        partial.write_bytes(msgspec.json.encode(report))
        partial.replace(place)


def read_reports(status: Path) -> list[ProcessReport]:
    """Return what the processes reported, by process id, with what their dumps on disk say of themselves."""
    reports = [_report_in(path) for path in sorted(status.glob("*.json"))]
    for path in sorted(status.glob("*.problem")):
        problems = path.read_text(encoding="utf-8", errors="replace").splitlines()
        reports.append(_failed(*problems, process_id=_process_id(path), program="python"))
    return sorted(map(_checked, reports), key=lambda report: report.process_id)


def _report_in(path: Path) -> ProcessReport:
    """Return the report of a file. The program's own environment may have another release, or write there itself."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProcessReport)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        problem = (
            f"its report cannot be read ({error}); is another release of sigcontract installed for the program than "
            "for this command? Its dumps, if it wrote any, are in the folder"
        )
        return _failed(problem, process_id=_process_id(path), program="python")


def _process_id(report: Path) -> int:
    """Return the process that a file of the status folder is named for, 0 where it is named for none."""
    return int(report.stem) if report.stem.isascii() and report.stem.isdecimal() else 0


def _checked(report: ProcessReport) -> ProcessReport:
    """Return the report as the file bears it out: a process tells of its dump before it writes, and may die between."""
    if report.dump is None:
        return report
    try:
        header = read_header(report.dump)
    except SigcontractError as error:
        problems = (*report.problems, f"its dump cannot be read: {error}")
        return msgspec.structs.replace(report, dump=None, graphs=0, complete=False, problems=problems)
    return msgspec.structs.replace(report, graphs=len(header.graphs), complete=header.complete)
