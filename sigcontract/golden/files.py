"""Names of golden files: ``goldens/MODULE/NAME.json`` beside the test module; pending: ``NAME.json.new``."""

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

#: The directory of goldens, beside their test modules.
FOLDER: Final = "goldens"
_SUFFIX: Final = ".json"
_PENDING: Final = ".new"
#: Longest name in characters: with both suffixes it must fit the 255 bytes of a file name.
_MOST_NAME: Final = 120
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.=+,@-]+")
#: Directories skipped in the search for pending files: they hold copies of other projects.
_SKIPPED: Final = frozenset({"node_modules", "site-packages", "__pycache__"})


def golden_file(test_module: Path, name: str) -> Path:
    """Return the golden file of a check.

    Parameters
    ----------
    test_module
        The file of the test.
    name
        The name of the check. Characters invalid in some file systems or shells become ``-``; a long name is cut and
        ends in a digest.

    Raises
    ------
    UsageError
        No character of the name is valid in a file name.
    """
    stem = _UNFIT.sub("-", name).strip("-.")
    if not stem:
        raise UsageError(f"{name!r} cannot name a golden file; use letters, digits, `_`, `-`, `.` or `=`")
    if len(stem) > _MOST_NAME:
        stem = f"{stem[: _MOST_NAME - 9]}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return test_module.parent / FOLDER / test_module.stem / f"{stem}{_SUFFIX}"


def pending_file(golden: Path) -> Path:
    """Return the pending file of a golden, to which a failed check writes its recording."""
    return golden.with_name(golden.name + _PENDING)


def golden_of_pending(pending: Path) -> Path:
    """Return the golden of a pending file.

    Raises
    ------
    UsageError
        The name is not that of a pending file.
    """
    if not pending.name.endswith(_SUFFIX + _PENDING):
        raise UsageError(f"{pending} is not a pending golden; expected NAME{_SUFFIX}{_PENDING}")
    return pending.with_name(pending.name.removesuffix(_PENDING))


def pending_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the given pending files, and those in ``goldens`` directories below the given directories.

    Raises
    ------
    UsageError
        A path does not exist, or is a file but not a pending one.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(_below(path))
        elif path.exists():
            golden_of_pending(path)
            found[path] = None
        else:
            raise UsageError(f"{path} does not exist; name a pending golden or a directory")
    yield from found


def _below(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
        if FOLDER in Path(root).resolve().parts:
            yield from (Path(root, name) for name in sorted(files) if name.endswith(_SUFFIX + _PENDING))


def unreferenced_files(test_module: Path, referenced: Collection[Path]) -> list[Path]:
    """Return the goldens and pending files of a test module that no check referenced."""
    known = {*referenced, *map(pending_file, referenced)}
    folder = test_module.parent / FOLDER / test_module.stem
    ours = (path for path in folder.glob("*") if path.name.endswith((_SUFFIX, _SUFFIX + _PENDING)))
    return sorted(path for path in ours if path not in known)


def in_ci() -> bool:
    """Whether the process runs in continuous integration: ``CI`` is set, but not to ``false`` or ``0``."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")
