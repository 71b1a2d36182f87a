"""Names of the dumps that recorded processes write: which program, which rank, which process."""

import re
import string
import sys
from pathlib import Path
from typing import Final

from sigcontract.errors import UsageError

__all__ = ["DEFAULT_NAME", "check_name", "dump_path"]

DEFAULT_NAME: Final = "{program}-{rank}-pid{pid}"

_FIELDS: Final = ("pid", "program", "rank")
_LONGEST_PROGRAM: Final = 60


def check_name(template: str) -> None:
    """Raise UsageError where a template of names does not fit.

    Parameters
    ----------
    template
        Text with the fields ``{program}`` (the script or module that runs, without its suffix), ``{rank}`` (as
        ``rank3``; nothing where there is none) and ``{pid}``, of which ``{rank}`` or ``{pid}`` must be there.
    """
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
        unknown = sorted(names - set(_FIELDS))
        if not unknown:
            template.format(**dict.fromkeys(_FIELDS, ""))
    except ValueError as error:
        msg = f"the name {template!r} is no template ({error}); double the braces that are to stay"
        raise UsageError(msg) from error
    if unknown:
        raise UsageError(f"a name has no field {unknown[0]!r}; there are {', '.join(_FIELDS)}")
    if "/" in template or "\0" in template:
        raise UsageError(f"the name {template!r} names a folder; give that with -o")
    if names.isdisjoint({"pid", "rank"}):
        raise UsageError(f"the name {template!r} is one for all processes; put {{rank}} or {{pid}} into it")


def dump_path(folder: Path, template: str, suffix: str, process_id: int, rank: int | None) -> Path:
    """Return a path in the folder that no file has: a second dump of one name gets a number."""
    fields = {"program": _program(), "rank": "" if rank is None else f"rank{rank}", "pid": process_id}
    if rank is None and "{pid" not in template:
        template += "-pid{pid}"
    stem = re.sub(r"-{2,}", "-", template.format(**fields)).strip("-")
    number, path = 1, folder / f"{stem}.dump.{suffix}"
    while path.exists():  # an earlier program under this id, which replaced itself by exec
        number += 1
        path = folder / f"{stem}-{number}.dump.{suffix}"
    return path


def _program() -> str:
    """Return the script or module that runs, as a file name can hold it."""
    started = Path(sys.argv[0] if sys.argv else "")
    name = started.parent.name if started.name == "__main__.py" else started.stem
    name = re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.")[:_LONGEST_PROGRAM]
    return name or "python"
