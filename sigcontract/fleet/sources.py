"""The dumps of a fleet: found in folders, read by their headers alone, decoded one at a time where it takes more."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sigcontract.errors import FileError, SigcontractError, UsageError
from sigcontract.model import FleetDump, SignatureDump
from sigcontract.wire import GraphHeader, Header, header_of, load, read_header

__all__ = ["DumpInput", "Found", "Source", "Unreadable", "changed_since", "dump_files", "read_sources"]

#: What a fleet is made of: a folder of dumps, a dump's file, or a dump that is held already.
DumpInput = str | os.PathLike[str] | SignatureDump

_DUMP_NAME = re.compile(r"[^.].*\.dump\.(?:json|msgpack)(?:\.gz|\.zst)?")

_Stamp = tuple[int, int, int]


class Source(NamedTuple):
    """One dump: what its header says, and how to get the rest.

    Attributes
    ----------
    name
        The file as it was given or found, or the place among the dumps that were passed.
    header
        What it says before its tables. Its digests are claims until it is verified.
    held
        The dump, where it was passed as one; its file is decoded otherwise.
    stamp
        What tells that the file was changed since; None for a dump that is held.
    """

    name: str
    header: Header
    held: SignatureDump | None
    stamp: _Stamp | None

    def load(self, *, verify: bool) -> SignatureDump:
        """Return the whole dump, on demand with its digests checked. Raises what `sigcontract.load` does."""
        if self.held is not None:
            return self.held
        return load(self.name, expect=SignatureDump, verify=verify)

    @property
    def graphs(self) -> tuple[GraphHeader, ...]:
        """Label and digest of every graph."""
        return self.header.graphs

    @property
    def row(self) -> FleetDump:
        """What a report says of the dump."""
        environment = self.header.environment
        return FleetDump(
            file=self.name,
            rank=environment.rank,
            world_size=environment.world_size,
            hostname=environment.hostname,
            created_at=environment.created_at,
        )


class Unreadable(NamedTuple):
    """A dump that could not be read, and why, in one line."""

    name: str
    reason: str


class Found(NamedTuple):
    """The dumps that could be read, by rank, and those that could not."""

    sources: tuple[Source, ...]
    unreadable: tuple[Unreadable, ...]
    folders: dict[Path, frozenset[str]]


def dump_files(folder: Path) -> list[Path]:
    """Return the dumps that lie in a folder, by the names that ``record`` gives them, sorted.

    Raises
    ------
    FileError
        The folder cannot be read.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if _DUMP_NAME.fullmatch(name))  # noqa: PTH208  names alone
    except OSError as error:
        msg = f"cannot read the folder {folder}: {error.strerror}; check its name and who may read it"
        raise FileError(msg, file=str(folder)) from error
    return [folder / name for name in names]


def read_sources(
    inputs: Sequence[DumpInput], *, verify: bool = False, each: Callable[[int, int], None] = lambda *_: None
) -> Found:
    """Read the header of every dump; one that cannot be read does not keep the others from being read.

    Parameters
    ----------
    inputs
        Folders, files and dumps. A file that is named twice, or lies in a folder that is named too, is read once.
    verify
        Whether to decode every dump and check its digests.
    each
        Called before each dump with its number and how many there are.

    Raises
    ------
    UsageError
        There is no dump at all.
    FileError
        A folder cannot be read.
    """
    folders: dict[Path, frozenset[str]] = {}
    given = list(_listed(inputs, folders))
    if not given:
        where = ", ".join(map(str, folders)) or "what was given"
        raise UsageError(f"no dumps in {where}; they are named *.dump.json or *.dump.msgpack, also .gz and .zst")
    sources, unreadable = [], []
    for number, (name, dump) in enumerate(given, 1):
        each(number, len(given))
        try:
            if dump is None:
                sources.append(_of_file(name, verify=verify))
            else:
                sources.append(Source(name, header_of(dump), dump, None))
        except SigcontractError as error:
            unreadable.append(Unreadable(name, str(error)))
    return Found(tuple(sorted(sources, key=_by_rank)), tuple(unreadable), folders)


def changed_since(found: Found) -> Iterator[tuple[str, str]]:
    """Yield the dumps that came, went or were written while the fleet was looked at, and which of these."""
    for source in found.sources:
        if source.stamp is not None:
            now = _stamp_of(source.name)
            if now != source.stamp:
                yield source.name, "is gone" if now is None else "was written again"
    for folder, names in found.folders.items():
        try:
            now_there = {path.name for path in dump_files(folder)}
        except FileError:
            yield str(folder), "is gone"
            continue
        yield from ((str(folder / name), "came") for name in sorted(now_there - names))


def _listed(
    inputs: Sequence[DumpInput], folders: dict[Path, frozenset[str]]
) -> Iterator[tuple[str, SignatureDump | None]]:
    seen: set[str] = set()
    for number, given in enumerate(inputs):
        if isinstance(given, SignatureDump):
            yield f"dump {number}", given
            continue
        paths: Iterable[Path] = (Path(given),)
        if Path(given).is_dir():
            paths = dump_files(Path(given))
            folders[Path(given)] = frozenset(path.name for path in paths)
        for path in paths:
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield str(path), None


def _of_file(name: str, *, verify: bool) -> Source:
    stamp = _stamp_of(name)
    header = read_header(name, verify=verify)
    return Source(name, header, None, stamp)


def _stamp_of(name: str) -> _Stamp | None:
    try:
        status = Path(name).stat()
    except (OSError, ValueError):
        return None  # reading says what is wrong with it
    return status.st_ino, status.st_size, status.st_mtime_ns


def _by_rank(source: Source) -> tuple[bool, int, str]:
    rank = source.header.environment.rank
    return rank is None, rank or 0, source.name
