"""Read and write files: compression by suffix, size limits, atomic writes."""

import errno
import fcntl
import gzip
import importlib
import os
import re
import secrets
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from sigcontract.errors import DecodeError, FileError, LimitError, MissingExtraError

__all__ = ["FilePath", "check_regular", "escaped_name", "read_bytes", "read_ends", "write_bytes", "write_together"]

FilePath = str | PathLike[str]

#: Input chunk of a decompressor, in bytes. Expands to at most 32 MB, the most a bomb costs beyond the limit.
_CHUNK_BYTES = 1024

#: Most members or frames of a file, each of which takes a decompressor. Parallel compressors write some hundred.
_MAX_MEMBERS = 10_000

#: Read size for files of unknown size, in bytes.
_READ_BYTES = 2**16

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_PARTIAL = ".partial"
#: Bytes of the target's name used in a partial file's name: names have at most 255 bytes.
_NAME_BYTES = 220

_GZIP_MAGIC = re.compile(rb"\x1f\x8b")
#: A frame, or a skippable one, with which parallel compressors start (RFC 8878).
_ZSTD_MAGIC = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
_ZSTD_LEVEL = 10


def read_bytes(path: FilePath, max_bytes: int) -> bytes:
    """Read a file, decompressed if its name ends in ``.gz`` or ``.zst``.

    Raises
    ------
    FileError
        The file cannot be read.
    LimitError
        It has more than ``max_bytes``, before or after decompression.
    DecodeError
        It is damaged, or its compression does not match its suffix.
    MissingExtraError
        It is zstd, and no zstd library is installed.
    """
    try:
        with Path(path).open("rb") as file:
            data = _read(file, max_bytes)
    except (OSError, ValueError) as error:
        raise _file_error("read", path, error) from error
    except MemoryError as error:
        raise LimitError("not enough memory for this file", code="memory") from error
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    suffix = Path(path).suffix
    if suffix == ".gz":
        return _inflated(data, _GZIP_MAGIC, "gzip", max_bytes)
    if suffix == ".zst":
        return _inflated(data, _ZSTD_MAGIC, "zstd", max_bytes)
    for magic, name in ((_GZIP_MAGIC, ".gz"), (_ZSTD_MAGIC, ".zst")):
        if magic.match(data):
            raise DecodeError(f"this is a compressed file; give it the suffix {name}", code="magic")
    return data


def escaped_name(name: str) -> str:
    r"""Return a file name as valid UTF-8: other bytes are escaped, as ``\udcff``."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def check_regular(path: FilePath) -> None:
    """Check a file that a search has found, and nobody has named: reading a pipe or a device may never end.

    Raises
    ------
    FileError
        It is neither a regular file nor a link to one.
    """
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError) as error:
        raise _file_error("read", path, error) from error
    if not stat.S_ISREG(mode):
        name = os.fspath(path)
        raise FileError(f"cannot read {name}: it is not a regular file; pass its path to read it anyway", file=name)


def _read(file: BinaryIO, max_bytes: int) -> bytes:
    """Read at most one byte more than ``max_bytes``, with buffers of the file's size, not the limit's."""
    parts: list[bytes] = []
    left = max_bytes + 1
    size = os.fstat(file.fileno()).st_size
    while left > 0:
        part = file.read(min(left, max(size, _READ_BYTES)))
        if not part:
            break
        parts.append(part)
        left -= len(part)
        size = 0
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_ends(path: FilePath, first: int, last: int) -> tuple[bytes, bytes, int]:
    """Return the first and last bytes of a file, without overlap, and its size; all empty for a pipe.

    Raises
    ------
    FileError
        The file cannot be read.
    """
    try:
        with Path(path).open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(min(first, size))
            if size:
                file.seek(max(len(head), size - last))
            return head, file.read(last) if size else b"", size
    except (OSError, ValueError) as error:
        raise _file_error("read", path, error) from error


def write_bytes(path: FilePath, data: bytes, *, force: bool = False) -> None:
    """Write a file atomically, compressed if its name ends in ``.gz`` or ``.zst``.

    A replaced file keeps its mode, and its owner if the process may set it. One that is read-only is replaced only with
    ``force``. A symbolic link is followed where it leads to a file and the process, or the owner of the folder, has
    made it; else the link itself is replaced, so that nobody can choose which file is written.

    Pipes and devices are written directly, which is not atomic.

    Raises
    ------
    FileError
        The file cannot be written. An existing file is unchanged, and no partial file remains.
    MissingExtraError
        The target is zstd, and no zstd library is installed.
    """
    _write([(path, data)], force=force)


def write_together(files: Sequence[tuple[FilePath, bytes]]) -> None:
    """Write several files, all or none. Raises as `write_bytes`.

    Each is first written beside its target; all are renamed at the end, pipes and devices last.
    """
    _write(files, force=False)


def _write(files: Sequence[tuple[FilePath, bytes]], *, force: bool) -> None:
    written = [(path, _compressed(path, data)) for path, data in files]
    path: FilePath = ""
    try:
        with ExitStack() as stack:
            finish = []
            streams = []
            for path, data in written:
                if _is_stream(path):
                    streams.append((path, data))
                else:
                    finish.append((path, stack.enter_context(_prepared(_target(Path(path)), data, force=force))))
            for path, replace in finish:  # noqa: B007  an error names it
                replace()
        for path, data in streams:
            with Path(path).open("wb") as stream:
                stream.write(data)
    except (OSError, ValueError) as error:
        raise _file_error("write", path, error) from error


def _compressed(path: FilePath, data: bytes) -> bytes:
    suffix = Path(path).suffix
    if suffix == ".gz":
        return gzip.compress(data, mtime=0)
    return _zstd_compressed(data) if suffix == ".zst" else data


def _is_stream(path: FilePath) -> bool:
    """Whether the path is a pipe or a device, which must not be replaced by a file."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False  # it does not exist yet, or writing reports the error
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _target(path: Path) -> Path:
    """Return the file to replace: the target of a trusted link, else the path itself."""
    if not path.is_symlink():
        return path
    link, folder = path.lstat(), path.parent.stat()
    trusted = link.st_uid in (os.geteuid(), folder.st_uid)
    return Path(os.path.realpath(path)) if trusted and path.exists() else path


@contextmanager
def _prepared(target: Path, data: bytes, *, force: bool) -> Iterator[Callable[[], None]]:
    """Write a partial file beside its target, and yield a function that renames it to the target; else remove it."""
    replaced = _replaced(target, force=force)
    _clean(target)
    partial = target.with_name(f"{_partial_start(target)}{secrets.token_hex(4)}{_PARTIAL}")
    try:
        with partial.open("xb") as file:
            _claim(file)
            file.write(data)
            if replaced is not None:
                _keep_mode(file, replaced)
            file.flush()
            os.fsync(file.fileno())
            yield lambda: _rename_to(partial, target)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)  # gone once renamed to the target


def _rename_to(partial: Path, target: Path) -> None:
    partial.replace(target)
    _sync_directory(target.parent)


def _replaced(target: Path, *, force: bool) -> os.stat_result | None:
    """Return the state of the file to replace, or None."""
    try:
        state = target.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a directory")
    if not stat.S_ISREG(state.st_mode):
        return None
    if not force and not state.st_mode & _WRITABLE:
        raise PermissionError(errno.EROFS, "it is read-only")
    return state


def _keep_mode(file: BinaryIO, replaced: os.stat_result) -> None:
    """Give a new file the owner and mode of the replaced one, or the mode alone."""
    mode = stat.S_IMODE(replaced.st_mode)
    try:
        os.fchown(file.fileno(), replaced.st_uid, replaced.st_gid)
    except OSError:
        mode &= ~(stat.S_ISUID | stat.S_ISGID)  # not for another owner
    os.fchmod(file.fileno(), mode)


def _partial_start(target: Path) -> str:
    """Return the common prefix of a target's partial files, with as much of its name as fits."""
    name = os.fsencode(target.name)
    if len(name) > _NAME_BYTES:
        name = name[: _NAME_BYTES - 9] + b"~" + sha256(name).hexdigest()[:8].encode()
    return f".{name.decode(errors='ignore')}."


def _claim(file: BinaryIO) -> bool:
    """Lock a partial file while it is open; return whether the lock was free."""
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)  # some file systems have no locks
    return True


def _clean(target: Path) -> None:
    """Remove partial files that killed processes left behind: those without a lock."""
    start = _partial_start(target)
    name = re.compile(re.escape(start) + r"[0-9a-f]{8}" + re.escape(_PARTIAL))
    with suppress(OSError):
        for entry in list(os.scandir(target.parent)):
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_stale(Path(entry.path))


def _remove_stale(partial: Path) -> None:
    with suppress(OSError), partial.open("rb") as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError if another process is writing it
        if os.fstat(file.fileno()).st_size:  # an empty one may be new and not locked yet
            partial.unlink()


def _sync_directory(directory: Path) -> None:
    """Make the rename survive a crash; not every file system can sync a directory."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _file_error(action: str, path: FilePath, error: Exception) -> FileError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    advice = _ADVICE.get((action, getattr(error, "errno", None)), "name another file")
    return FileError(f"cannot {action} {os.fspath(path)}: {reason}; {advice}", file=os.fspath(path))


#: Remedies by failed operation and error.
_ADVICE: dict[tuple[str, int | None], str] = {
    ("read", errno.ENOENT): "check the name",
    ("read", errno.EACCES): "check its permissions",
    ("write", errno.ENOENT): "create the directory first",
    ("write", errno.EACCES): "check the permissions, or name another file",
    ("write", errno.EROFS): "make it writable, or pass force=True",
    ("write", errno.ENOSPC): "free space, or name another file",
    ("write", errno.EFBIG): "raise the file size limit, or name another file",
}


def _too_large(max_bytes: int) -> LimitError:
    return LimitError(f"more than {max_bytes} bytes; pass a larger max_bytes if the file can be trusted", code="size")


class _Decompressor(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


def _inflated(data: bytes, magic: re.Pattern[bytes], name: str, max_bytes: int) -> bytes:
    if not magic.match(data):
        raise DecodeError(f"the suffix means {name}, but the content is not; rename or compress the file", code="magic")
    parts: list[bytes] = []
    size = offset = members = 0
    while offset < len(data):
        members += 1
        if members > _MAX_MEMBERS:
            raise LimitError(f"more than {_MAX_MEMBERS} {name} members in one file", code="size")
        decompressor, failure = (zlib.decompressobj(wbits=31), zlib.error) if name == "gzip" else _zstd_decompressor()
        while not decompressor.eof and offset < len(data):
            chunk = data[offset : offset + _CHUNK_BYTES]
            offset += len(chunk)
            try:
                part = decompressor.decompress(chunk)
            except failure as error:
                raise DecodeError(f"damaged {name} data ({error})", code="malformed") from error
            size += len(part)
            if size > max_bytes:
                raise _too_large(max_bytes)
            parts.append(part)
        if not decompressor.eof:
            raise DecodeError(f"the {name} data is truncated; copy the file again", code="malformed")
        offset -= len(decompressor.unused_data)
    return b"".join(parts)


def _zstd_library() -> tuple[Any, bool]:
    """Return the zstd library, and whether it is Python's own (3.14) rather than the extra's package."""
    try:
        return importlib.import_module("compression.zstd"), True
    except ImportError:
        try:
            return importlib.import_module("zstandard"), False
        except ImportError as error:
            raise MissingExtraError("a .zst file", extra="zstd") from error


def _zstd_decompressor() -> tuple[_Decompressor, type[Exception]]:
    library, own = _zstd_library()
    decompressor = library.ZstdDecompressor()
    return decompressor if own else decompressor.decompressobj(), library.ZstdError


def _zstd_compressed(data: bytes) -> bytes:
    library, own = _zstd_library()
    if own:
        return bytes(library.compress(data, level=_ZSTD_LEVEL))
    return bytes(library.ZstdCompressor(level=_ZSTD_LEVEL).compress(data))
