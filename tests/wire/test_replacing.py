"""Files that are replaced, names that others chose, and what killed processes leave."""

import fcntl
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sigcontract.errors import FileError
from sigcontract.wire import files
from sigcontract.wire.files import write_bytes

AS_ROOT = os.geteuid() == 0


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"old")
    file.chmod(mode)
    write_bytes(file, b"new")
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == mode


@pytest.mark.skipif(not AS_ROOT, reason="only root may give files away")
def test_a_file_that_is_replaced_keeps_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"old")
    os.chown(file, 1234, 4321)
    write_bytes(file, b"new")
    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 4321)


def test_a_file_whose_owner_cannot_be_kept_is_replaced_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    file = tmp_path / "x.json"
    file.write_bytes(b"old")
    file.chmod(0o4640)
    write_bytes(file, b"new")
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o640)


def test_a_new_file_has_the_mode_that_the_process_gives_new_files(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_bytes(tmp_path / "x.json", b"new")
    assert (tmp_path / "x.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_read_only_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"old")
    file.chmod(0o444)
    with pytest.raises(FileError) as caught:
        write_bytes(file, b"new")
    assert str(caught.value) == f"cannot write {file}: it is read-only; make it writable, or pass force=True"
    assert file.read_bytes() == b"old"
    write_bytes(file, b"new", force=True)
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o444)


@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
def test_names_are_as_long_as_the_file_system_takes(tmp_path: Path, letter: str) -> None:
    count = (os.pathconf(tmp_path, "PC_NAME_MAX") - 5) // len(letter.encode())
    for length in (count, count // 2, 1):
        file = tmp_path / f"{letter * length}.json"
        write_bytes(file, b"new")
        assert file.read_bytes() == b"new"
    assert not list(tmp_path.glob(".*"))


def test_a_name_that_is_no_text_is_written(tmp_path: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff" + b"\xfe" * 240 + b".json"))
    write_bytes(file, b"new")
    assert file.read_bytes() == b"new"


def test_a_link_that_leads_nowhere_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "x.json"
    link.symlink_to(victim)
    write_bytes(link, b"new")
    assert not victim.exists()
    assert not link.is_symlink()
    assert link.read_bytes() == b"new"


def test_a_link_of_the_user_is_followed(tmp_path: Path) -> None:
    file, link = tmp_path / "file.json", tmp_path / "x.json"
    file.write_bytes(b"old")
    link.symlink_to(file)
    write_bytes(link, b"new")
    assert (link.is_symlink(), file.read_bytes()) == (True, b"new")


@pytest.mark.skipif(not AS_ROOT, reason="only root can make a link of somebody else")
def test_a_link_that_somebody_else_planted_is_not_followed(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "x.json"
    victim.write_bytes(b"old")
    link.symlink_to(victim)
    os.chown(link, 1234, 1234, follow_symlinks=False)
    write_bytes(link, b"new")
    assert (victim.read_bytes(), link.is_symlink(), link.read_bytes()) == (b"old", False, b"new")


_KILLED = """
import os, signal, sys
from sigcontract.wire import files
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
files.write_bytes(sys.argv[1], b"half")
"""


def test_what_a_killed_process_left_goes_with_the_next_write(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", _KILLED, str(file)], check=False)
        assert done.returncode == -signal.SIGKILL
    assert [left.name.startswith(".x.json.") for left in tmp_path.glob(".*.partial")] == [True]
    (tmp_path / ".x.json.mine.partial").write_bytes(b"of somebody else")
    (tmp_path / ".y.json.01234567.partial").write_bytes(b"of another file")
    write_bytes(file, b"new")
    assert sorted(left.name for left in tmp_path.iterdir()) == [
        ".x.json.mine.partial",
        ".y.json.01234567.partial",
        "x.json",
    ]


def test_a_partial_file_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    partial = tmp_path / ".x.json.01234567.partial"
    with partial.open("wb") as held:
        held.write(b"half")
        held.flush()
        fcntl.flock(held, fcntl.LOCK_EX)
        write_bytes(tmp_path / "x.json", b"new")
        assert partial.exists()
    write_bytes(tmp_path / "x.json", b"new")
    assert not partial.exists()


def test_a_file_is_read_in_parts_as_large_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"{}" * 100_000)
    assert files.read_bytes(tmp_path / "x.json", 2**45) == b"{}" * 100_000
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from sigcontract.wire import files; print(len(files.read_bytes('/dev/stdin', 2**45)))",
        ],
        check=True,
        capture_output=True,
        input=b"x" * 300_000,
    )
    assert done.stdout == b"300000\n"
