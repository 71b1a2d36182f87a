"""Files: compression, limits, and writing that is whole or not at all."""

import errno
import gzip
import importlib
import os
import stat
import tracemalloc
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import zstandard

from sigcontract.errors import DecodeError, FileError, LimitError, MissingExtraError, SigcontractError
from sigcontract.wire.files import read_bytes, write_bytes

MIB = 2**20


def bomb(kind: str, size: int) -> bytes:
    if kind == "gz":
        compressor = zlib.compressobj(9, wbits=31)
        return b"".join(compressor.compress(bytes(MIB)) for _ in range(size // MIB)) + compressor.flush()
    frames = zstandard.ZstdCompressor(level=1).compressobj()
    return b"".join(frames.compress(bytes(MIB)) for _ in range(size // MIB)) + frames.flush()


@pytest.mark.parametrize("name", ["x.json", "x.json.gz", "x.json.zst"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    data = b"{" + bytes(range(256)) * 100
    write_bytes(tmp_path / name, data)
    assert read_bytes(tmp_path / name, MIB) == data


@pytest.mark.parametrize("name", ["x.gz", "x.zst"])
def test_the_same_bytes_give_the_same_file(tmp_path: Path, name: str) -> None:
    write_bytes(tmp_path / name, b"abc" * 1000)
    first = (tmp_path / name).read_bytes()
    write_bytes(tmp_path / name, b"abc" * 1000)
    assert (tmp_path / name).read_bytes() == first


def test_several_members_or_frames_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"a" * 5000) + gzip.compress(b"b"))
    assert read_bytes(tmp_path / "x.gz", MIB) == b"a" * 5000 + b"b"
    frame = zstandard.ZstdCompressor().compress
    (tmp_path / "x.zst").write_bytes(frame(b"a" * 5000) + frame(b"b"))
    assert read_bytes(tmp_path / "x.zst", MIB) == b"a" * 5000 + b"b"


def test_zstd_may_begin_with_a_frame_to_be_skipped(tmp_path: Path) -> None:
    skipped = (0x184D2A5E).to_bytes(4, "little") + (3).to_bytes(4, "little") + b"abc"
    data = skipped + zstandard.ZstdCompressor().compress(b"{}") + skipped
    (tmp_path / "x.zst").write_bytes(data)
    assert read_bytes(tmp_path / "x.zst", MIB) == b"{}"
    (tmp_path / "x.json").write_bytes(data)
    with pytest.raises(DecodeError, match=r"give it the suffix \.zst"):
        read_bytes(tmp_path / "x.json", MIB)


def test_a_file_of_very_many_members_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"") * 10_001)
    with pytest.raises(LimitError, match="more than 10000 gzip members"):
        read_bytes(tmp_path / "x.gz", MIB)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_bomb_is_refused_in_bounded_memory(tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"bomb.{kind}"
    file.write_bytes(bomb(kind, 128 * MIB))
    assert file.stat().st_size < MIB
    tracemalloc.start()
    with pytest.raises(LimitError, match=f"more than {16 * MIB} bytes; pass a larger max_bytes") as caught:
        read_bytes(file, 16 * MIB)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.code == "size"
    assert peak < 64 * MIB


def test_a_file_of_a_gibibyte_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    with file.open("wb") as sparse:
        sparse.truncate(2**30)
    tracemalloc.start()
    with pytest.raises(LimitError, match=f"more than {MIB} bytes"):
        read_bytes(file, MIB)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * MIB


@pytest.mark.parametrize(
    ("name", "data", "code", "message"),
    [
        ("x.gz", b"{}", "magic", "the suffix means gzip, but the content is not"),
        ("x.zst", b"{}", "magic", "the suffix means zstd, but the content is not"),
        ("x.gz", b"", "magic", "the suffix means gzip, but the content is not"),
        ("x.json", gzip.compress(b"{}"), "magic", r"this is a compressed file; give it the suffix \.gz"),
        ("x.json", b"\x28\xb5\x2f\xfd", "magic", r"this is a compressed file; give it the suffix \.zst"),
        ("x.gz", gzip.compress(b"{}" * 99)[:-9], "malformed", "the gzip data is truncated"),
        ("x.zst", zstandard.ZstdCompressor().compress(b"{}" * 99)[:-3], "malformed", "the zstd data is truncated"),
        ("x.gz", gzip.compress(b"{}")[:10] + b"\xff" * 20, "malformed", "damaged gzip data"),
        ("x.zst", b"\x28\xb5\x2f\xfd" + b"\xff" * 20, "malformed", "damaged zstd data"),
        ("x.gz", gzip.compress(b"{}") + b"tail", "malformed", "damaged gzip data"),
        ("x.zst", zstandard.ZstdCompressor().compress(b"{}") + b"tail", "malformed", "damaged zstd data"),
    ],
)
def test_damaged_or_misnamed_files_are_refused(tmp_path: Path, name: str, data: bytes, code: str, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DecodeError, match=message) as caught:
        read_bytes(tmp_path / name, MIB)
    assert (caught.value.code, caught.value.path) == (code, "$")


def test_zstd_without_its_library_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.zst").write_bytes(b"\x28\xb5\x2f\xfd")

    def missing(name: str) -> ModuleType:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    for call in (lambda: read_bytes(tmp_path / "x.zst", MIB), lambda: write_bytes(tmp_path / "y.zst", b"{}")):
        with pytest.raises(MissingExtraError) as caught:
            call()
        assert str(caught.value) == "a .zst file needs an optional dependency: pip install 'sigcontract[zstd]'"
        assert caught.value.extra == "zstd"
    assert [file.name for file in tmp_path.iterdir()] == ["x.zst"]


class _OwnZstd:
    """The part of Python 3.14's compression.zstd that is used, by the package that has it here."""

    ZstdError = zstandard.ZstdError

    @staticmethod
    def compress(data: bytes, level: int) -> bytes:
        return zstandard.ZstdCompressor(level=level).compress(data)

    @staticmethod
    def ZstdDecompressor() -> Any:  # noqa: N802  the name there
        return zstandard.ZstdDecompressor().decompressobj()


def test_the_zstd_of_python_3_14_is_used_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def found(name: str) -> Any:
        asked.append(name)
        return _OwnZstd

    monkeypatch.setattr(importlib, "import_module", found)
    write_bytes(tmp_path / "x.zst", b"{}")
    assert read_bytes(tmp_path / "x.zst", MIB) == b"{}"
    assert set(asked) == {"compression.zstd"}


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os if step == "fsync" else Path, step, full)
    with pytest.raises(FileError) as caught:
        write_bytes(file, b"new")
    assert str(caught.value) == f"cannot write {file}: No space left on device; free space, or name another file"
    assert (caught.value.file, caught.value.code) == (str(file), "file")
    assert isinstance(caught.value, SigcontractError)
    assert file.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(tmp_path / "x.json", b"new")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_a_file_error() -> None:
    with pytest.raises(FileError, match="cannot write /dev/full/x: Not a directory"):
        write_bytes("/dev/full/x", b"data")


def test_a_missing_directory_is_a_file_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file or directory"):
        write_bytes(tmp_path / "gone" / "x.json", b"data")


@pytest.mark.parametrize("path", ["", "a\0b", "."])
def test_a_path_that_is_none_is_a_file_error(path: str) -> None:
    with pytest.raises(FileError, match="cannot read"):
        read_bytes(path, MIB)
    with pytest.raises(FileError, match="cannot write"):
        write_bytes(path, b"data")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_bytes(b"old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    write_bytes(tmp_path / "link.json", b"new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_bytes() == b"new"


def test_a_new_file_has_the_permissions_that_the_process_gives(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "x.json", b"data")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x.json").stat().st_mode) == 0o640


def test_a_name_of_the_greatest_length_is_written(tmp_path: Path) -> None:
    name = "x" * 250 + ".json"
    write_bytes(tmp_path / name, b"data")
    assert read_bytes(tmp_path / name, MIB) == b"data"


def test_a_directory_that_cannot_be_synced_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "open", refused)
    write_bytes(tmp_path / "x.json", b"data")
    assert read_bytes(tmp_path / "x.json", MIB) == b"data"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "x.json"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_bytes(pipe, b"{}")
        assert os.read(reader, 100) == b"{}"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [file.name for file in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="/dev/full is a device of Linux")
def test_a_device_that_refuses_is_an_error_and_stays_a_device(tmp_path: Path) -> None:
    link = tmp_path / "x.json"
    link.symlink_to("/dev/full")
    with pytest.raises(FileError, match=r"cannot write .*/x\.json: No space left on device"):
        write_bytes(link, b"{}")
    assert Path("/dev/full").is_char_device()
