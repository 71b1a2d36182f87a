"""Names of golden files: ``goldens/MODULE/NAME.json`` beside the test module, ``NAME.json.new`` while it is pending."""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from sigcontract.errors import UsageError

__all__ = [
    "FOLDER",
    "golden_file",
    "golden_of_pending",
    "in_ci",
    "pending_file",
    "pending_files",
    "unreferenced_files",
]

#: The folder of goldens, beside the test modules that they belong to.
FOLDER: Final = "goldens"
_SUFFIX: Final = ".json"
_PENDING: Final = ".new"
#: Characters of a name: with both suffixes it must fit the 255 bytes that file systems have for one.
_MOST_NAME: Final = 120
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.=+,@-]+")
#: Folders that no search for pending files enters: environments and caches hold copies of other projects.
_SKIPPED: Final = frozenset({"node_modules", "site-packages", "__pycache__"})


def golden_file(test_module: Path, name: str) -> Path:
    """Return the golden file of a check.

    Parameters
    ----------
    test_module
        The file of the test.
    name
        The name of the check. Characters that some file systems or shells refuse become ``-``; a name that is too
        long is cut, and ends in a digest of the whole.

    Raises
    ------
    UsageError
        Nothing of the name can be part of a file name.
    """
    stem = _UNFIT.sub("-", name).strip("-.")
    if not stem:
        raise UsageError(f"{name!r} cannot name a golden file; use letters, digits, `_`, `-`, `.` or `=`")
    if len(stem) > _MOST_NAME:
        stem = f"{stem[: _MOST_NAME - 9]}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return test_module.parent / FOLDER / test_module.stem / f"{stem}{_SUFFIX}"


def pending_file(golden: Path) -> Path:
    """Return where the recording of a failed check is written for review."""
    return golden.with_name(golden.name + _PENDING)


def golden_of_pending(pending: Path) -> Path:
    """Return the golden that a pending file would replace.

    Raises
    ------
    UsageError
        It is not named as a pending file.
    """
    if not pending.name.endswith(_SUFFIX + _PENDING):
        raise UsageError(f"{pending} is no pending golden; those are named NAME{_SUFFIX}{_PENDING}")
    return pending.with_name(pending.name.removesuffix(_PENDING))


def pending_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the pending files that are named, and those in ``goldens`` folders below the folders that are named.

    Raises
    ------
    UsageError
        A path does not exist, or is a file that is not named as a pending one.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(_below(path))
        elif path.exists():
            golden_of_pending(path)
            found[path] = None
        else:
            raise UsageError(f"{path} does not exist; name a pending golden or a folder")
    yield from found


def _below(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
        if FOLDER in Path(root).resolve().parts:
            yield from (Path(root, name) for name in sorted(files) if name.endswith(_SUFFIX + _PENDING))


def unreferenced_files(test_module: Path, referenced: Collection[Path]) -> list[Path]:
    """Return the goldens and pending files of a test module that belong to none of the goldens referenced."""
    known = {*referenced, *map(pending_file, referenced)}
    folder = test_module.parent / FOLDER / test_module.stem
    ours = (path for path in folder.glob("*") if path.name.endswith((_SUFFIX, _SUFFIX + _PENDING)))
    return sorted(path for path in ours if path not in known)


def in_ci() -> bool:
    """Whether the process runs in continuous integration: ``CI`` is set, and to neither ``false`` nor ``0``."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")
