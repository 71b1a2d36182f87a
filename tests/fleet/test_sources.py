"""Which files of a folder are read, and how their names are told."""

import os
from pathlib import Path

import pytest

from sigcontract.errors import FileError
from sigcontract.fleet import compare_fleet
from sigcontract.fleet.sources import read_sources
from sigcontract.wire import check_regular, decode, encode
from tests.fleet.ranks import gemm, rank_dump, saved


def test_what_a_search_finds_is_read_only_where_it_is_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.dump.json")  # to open it would wait for a writer
    (tmp_path / "zero.dump.json").symlink_to("/dev/zero")
    (tmp_path / "loop.dump.json").symlink_to("loop.dump.json")
    (tmp_path / "folder.dump.json").mkdir()
    (tmp_path / "line\nfeed.dump.json").write_text("{", encoding="utf-8")
    found = read_sources([tmp_path])
    assert found.sources == ()
    reasons = {Path(entry.name).name: entry.reason for entry in found.unreadable}
    assert sorted(reasons) == [
        "fifo.dump.json",
        "folder.dump.json",
        "line\nfeed.dump.json",
        "loop.dump.json",
        "zero.dump.json",
    ]
    for name in ("fifo", "zero", "folder"):
        assert "not a regular file" in reasons[f"{name}.dump.json"]


def test_a_file_that_is_no_file_has_an_error_of_its_own(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", "a\0b"):
        with pytest.raises(FileError):
            check_regular(path)


def test_a_report_holds_file_names_that_are_not_utf_8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"f\xff")
    folder.mkdir()
    saved(folder, [rank_dump(rank, {"g": gemm(64 + 64 * (rank == 1))}, world_size=2) for rank in range(2)])
    (folder / os.fsdecode(b"b\xfe.dump.json")).write_text("{", encoding="utf-8")
    report = compare_fleet([folder])
    assert decode(encode(report)) == report
    assert all("\\udcff" in row.file for row in report.dumps)
