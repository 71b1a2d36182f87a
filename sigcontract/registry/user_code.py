"""The one place where whatever user code raises is caught: callbacks, captures' resets, calls that finalisers made."""

from collections.abc import Callable
from typing import ParamSpec

__all__ = ["raised_by"]

P = ParamSpec("P")


def raised_by(call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> Exception | None:
    """Call user code, and return what it raised, for one who has more to do before that is told.

    KeyboardInterrupt and its like are not caught.
    """
    try:
        call(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  nothing is known of what user code raises
        return error
    return None
