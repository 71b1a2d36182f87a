"""What the command makes of the reports that recorded processes leave."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

import sigcontract as sc
from sigcontract.driver.recording.process import ProcessReport, read_reports
from sigcontract.model.dump import SignatureDump

DUMP = Path(__file__).resolve().parents[3] / "examples" / "two-modules.dump.json"


@pytest.fixture
def report(tmp_path: Path) -> ProcessReport:
    """Return a report of a dump that is told of as complete, and is not there yet."""
    report = ProcessReport(
        process_id=7,
        program="python serve.py",
        dump=str(tmp_path / "dumps" / "pid7.dump.json"),
        graphs=9,
        complete=True,
        problems=("the disk is full",),
    )
    (tmp_path / "dumps").mkdir()
    (tmp_path / "7.json").write_bytes(msgspec.json.encode(report))
    return report


def test_a_report_says_of_a_dump_what_its_file_says(tmp_path: Path, report: ProcessReport) -> None:
    dump = sc.load(DUMP)
    assert isinstance(dump, SignatureDump)
    sc.save(replace(dump, complete=False), tmp_path / "dumps" / "pid7.dump.json")
    assert read_reports(tmp_path) == [replace(report, graphs=len(dump.graphs), complete=False)]


@pytest.mark.parametrize("left", [None, b'{"document":"sigcontract.dump",'], ids=["no file", "a damaged file"])
def test_a_dump_that_never_came_to_be_is_a_problem_and_no_dump(
    tmp_path: Path, report: ProcessReport, left: bytes | None
) -> None:
    if left is not None:
        (tmp_path / "dumps" / "pid7.dump.json").write_bytes(left)
    (found,) = read_reports(tmp_path)
    assert (found.dump, found.graphs, found.complete) == (None, 0, False)
    assert [problem.partition(":")[0] for problem in found.problems] == [*report.problems, "its dump cannot be read"]


def test_what_kept_recording_from_beginning_is_a_report_too(tmp_path: Path) -> None:
    (tmp_path / "8.problem").write_text("recording did not begin: ImportError\n", encoding="utf-8")
    (found,) = read_reports(tmp_path)
    assert (found.process_id, found.dump, found.problems) == (8, None, ("recording did not begin: ImportError",))
