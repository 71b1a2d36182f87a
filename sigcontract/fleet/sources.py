"""The dumps of a fleet: found in directories, read by header, decoded one at a time if needed."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sigcontract.errors import FileError, SigcontractError, UsageError
from sigcontract.model import FleetDump, SignatureDump
from sigcontract.wire import GraphHeader, Header, check_regular, escaped_name, header_of, load, read_header

__all__ = [
    "DumpInput",
    "Found",
    "Progress",
    "Source",
    "Unreadable",
    "changed_since",
    "dump_files",
    "no_progress",
    "read_sources",
]

#: Inputs: a directory of dumps, the file of a dump, or a dump in memory.
DumpInput = str | os.PathLike[str] | SignatureDump

_DUMP_NAME = re.compile(r"[^.].*\.dump\.(?:json|msgpack)(?:\.gz|\.zst)?", re.DOTALL)

#: Called before each step with its name, its number and the number of steps: ``headers``, 3, 64.
Progress = Callable[[str, int, int], None]

_Stamp = tuple[int, int, int]


def no_progress(_step: str, _number: int, _total: int) -> None:
    """Report nothing."""


class Source(NamedTuple):
    """One dump: its header, and access to the rest.

    Attributes
    ----------
    path
        As given or found; of a dump in memory, its index among the inputs.
    header
        What precedes the tables. Its digests are claims until the dump is verified.
    held
        The dump, if it was passed in memory; otherwise its file is decoded on demand.
    stamp
        Inode, size and time of the last write, by which a later change is detected; None for a dump in memory.
    """

    path: str
    header: Header
    held: SignatureDump | None
    stamp: _Stamp | None

    def load(self, *, verify: bool) -> SignatureDump:
        """Return the whole dump, its digests checked on demand. Raises as `sigcontract.load`."""
        if self.held is not None:
            return self.held
        return load(self.path, expect=SignatureDump, verify=verify)

    @property
    def name(self) -> str:
        """The path as a report can hold it."""
        return escaped_name(self.path)

    @property
    def graphs(self) -> tuple[GraphHeader, ...]:
        """Label and digest of every graph."""
        return self.header.graphs

    @property
    def row(self) -> FleetDump:
        """The dump as a row of the report."""
        environment = self.header.environment
        return FleetDump(
            file=self.name,
            rank=environment.rank,
            world_size=environment.world_size,
            hostname=environment.hostname,
            created_at=environment.created_at,
        )


class Unreadable(NamedTuple):
    """A dump that cannot be read, and why, in one line."""

    name: str
    reason: str


class Found(NamedTuple):
    """The dumps that can be read, by rank, and those that cannot."""

    sources: tuple[Source, ...]
    unreadable: tuple[Unreadable, ...]
    folders: dict[Path, frozenset[str]]


def dump_files(folder: Path) -> list[Path]:
    """Return the dumps in a directory, sorted, by the file names of ``record``.

    Raises
    ------
    FileError
        The directory cannot be read.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if _DUMP_NAME.fullmatch(name))  # noqa: PTH208  names alone
    except OSError as error:
        msg = f"cannot read the directory {folder}: {error.strerror}; check its name and permissions"
        raise FileError(msg, file=str(folder)) from error
    return [folder / name for name in names]


def read_sources(inputs: Sequence[DumpInput], *, verify: bool = False, progress: Progress = no_progress) -> Found:
    """Read the header of every dump; one that cannot be read does not stop the rest.

    Parameters
    ----------
    inputs
        Directories, files and dumps. A file given twice, by name or through its directory, is read once.
    verify
        Whether to decode every dump and check its digests.
    progress
        Called before each header.

    Raises
    ------
    UsageError
        No dump is given or found.
    FileError
        A directory cannot be read.
    """
    folders: dict[Path, frozenset[str]] = {}
    given = list(_listed(inputs, folders))
    if not given:
        where = f" in {', '.join(map(str, folders))}" if folders else ""
        raise UsageError(f"no dumps{where}; their names end in .dump.json or .dump.msgpack, also with .gz or .zst")
    sources, unreadable = [], []
    for number, (name, dump, searched) in enumerate(given, 1):
        progress("headers", number, len(given))
        try:
            if dump is None:
                if searched:
                    check_regular(name)
                sources.append(_of_file(name, verify=verify))
            else:
                sources.append(Source(name, header_of(dump), dump, None))
        except SigcontractError as error:
            unreadable.append(Unreadable(escaped_name(name), escaped_name(str(error))))
    return Found(tuple(sorted(sources, key=_by_rank)), tuple(unreadable), folders)


def changed_since(found: Found) -> Iterator[tuple[str, str]]:
    """Yield dumps that appeared, disappeared or were rewritten since the read, and which of these."""
    for source in found.sources:
        if source.stamp is not None:
            now = _stamp_of(source.path)
            if now != source.stamp:
                yield source.name, "disappeared" if now is None else "was rewritten"
    for folder, names in found.folders.items():
        try:
            present = {path.name for path in dump_files(folder)}
        except FileError:
            yield escaped_name(str(folder)), "disappeared"
            continue
        yield from ((escaped_name(str(folder / name)), "appeared") for name in sorted(present - names))


def _listed(
    inputs: Sequence[DumpInput], folders: dict[Path, frozenset[str]]
) -> Iterator[tuple[str, SignatureDump | None, bool]]:
    """Yield the name of each dump, the dump where it was given, and whether a search of a folder has found it."""
    seen: set[str] = set()
    for number, given in enumerate(inputs):
        if isinstance(given, SignatureDump):
            yield f"dump {number}", given, False
            continue
        paths: Iterable[Path] = (Path(given),)
        searched = Path(given).is_dir()
        if searched:
            paths = dump_files(Path(given))
            folders[Path(given)] = frozenset(path.name for path in paths)
        for path in paths:
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield str(path), None, searched


def _of_file(name: str, *, verify: bool) -> Source:
    stamp = _stamp_of(name)
    header = read_header(name, verify=verify)
    return Source(name, header, None, stamp)


def _stamp_of(name: str) -> _Stamp | None:
    try:
        status = Path(name).stat()
    except (OSError, ValueError):
        return None  # reading it raises the error
    return status.st_ino, status.st_size, status.st_mtime_ns


def _by_rank(source: Source) -> tuple[bool, int]:
    rank = source.header.environment.rank
    return rank is None, rank or 0
