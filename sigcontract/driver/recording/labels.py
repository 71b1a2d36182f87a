"""Labels of recorded graphs, and the Python code that instantiated them."""

import string
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType

from sigcontract.errors import UsageError

__all__ = ["DEFAULT_LABEL", "caller_of", "check_label", "program_frames", "stack_lines"]

DEFAULT_LABEL = "graph/{order}"

_FIELDS = ("caller", "graph_id", "nodes", "order", "pid", "rank")
_STACK_DEPTH = 64
_OWN_CODE = str(Path(__file__).resolve().parents[1])
_LIBRARY_CODE = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {_OWN_CODE, "<frozen"}
)


def check_label(template: str) -> None:
    """Raise UsageError unless a label template is valid.

    Parameters
    ----------
    template
        Text with the fields ``{order}`` (0, 1, … in this process), ``{caller}`` (the innermost function outside
        libraries), ``{graph_id}`` (the graph's id in profilers), ``{nodes}``, ``{pid}`` and ``{rank}``.
    """
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
        unknown = sorted(names - set(_FIELDS))
        if not unknown:
            template.format(**dict.fromkeys(_FIELDS, 0))
    except ValueError as error:
        msg = f"the label {template!r} is not a template ({error}); double literal braces"
        raise UsageError(msg) from error
    if unknown:
        raise UsageError(f"a label has no field {unknown[0]!r}; fields: {', '.join(_FIELDS)}")


def program_frames() -> list[FrameType]:
    """Return the program's Python frames, innermost first, without those of this package."""
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  the documented way to a frame
    while frame is not None and len(frames) < _STACK_DEPTH:
        if not frame.f_code.co_filename.startswith(_OWN_CODE):
            frames.append(frame)
        frame = frame.f_back
    return frames


def caller_of(frames: Iterable[FrameType]) -> str:
    """Return the innermost function outside libraries, or ``-``."""
    outside = (frame.f_code for frame in frames if not frame.f_code.co_filename.startswith(_LIBRARY_CODE))
    return next((code.co_qualname for code in outside), "-")


def stack_lines(frames: Sequence[FrameType]) -> list[str]:
    """Return a line per frame, outermost first: file, line number and function."""
    return [f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}" for frame in reversed(frames)]
