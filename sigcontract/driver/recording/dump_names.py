"""File names of recorded dumps: program, rank, process."""

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
    """Raise UsageError unless a template of dump names is valid.

    Parameters
    ----------
    template
        Text with the fields ``{program}`` (the script or module, without its suffix), ``{rank}`` (as ``rank3``; empty
        if none) and ``{pid}``. ``{rank}`` or ``{pid}`` is required.
    """
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
        unknown = sorted(names - set(_FIELDS))
        if not unknown:
            template.format(**dict.fromkeys(_FIELDS, ""))
    except ValueError as error:
        msg = f"the name {template!r} is not a template ({error}); double literal braces"
        raise UsageError(msg) from error
    if unknown:
        raise UsageError(f"a name has no field {unknown[0]!r}; fields: {', '.join(_FIELDS)}")
    if "/" in template or "\0" in template:
        raise UsageError(f"the name {template!r} names a directory; set it with -o")
    if names.isdisjoint({"pid", "rank"}):
        raise UsageError(f"the name {template!r} is the same in every process; add {{rank}} or {{pid}}")


def dump_path(folder: Path, template: str, suffix: str, process_id: int, rank: int | None) -> Path:
    """Return an unused path in the directory; a repeated name gets a number."""
    fields = {"program": _program(), "rank": "" if rank is None else f"rank{rank}", "pid": process_id}
    if rank is None and "{pid" not in template:
        template += "-pid{pid}"
    stem = re.sub(r"-{2,}", "-", template.format(**fields)).strip("-")
    number, path = 1, folder / f"{stem}.dump.{suffix}"
    while path.exists():  # a program of this process id that replaced itself by exec
        number += 1
        path = folder / f"{stem}-{number}.dump.{suffix}"
    return path


def _program() -> str:
    """Return the name of the running script or module, safe for a file name."""
    started = Path(sys.argv[0] if sys.argv else "")
    name = started.parent.name if started.name == "__main__.py" else started.stem
    name = re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.")[:_LONGEST_PROGRAM]
    return name or "python"
