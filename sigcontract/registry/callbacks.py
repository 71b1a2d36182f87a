"""The one place where every exception of the caller's code is caught: callbacks, resets, calls from finalisers."""

from collections.abc import Callable
from typing import ParamSpec

__all__ = ["raised_by"]

P = ParamSpec("P")


def raised_by(call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> Exception | None:
    """Call the caller's code and return the exception that it raised, if any, so that the work can go on.

    KeyboardInterrupt and the like are not caught.
    """
    try:
        call(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  nothing is known of what a callback raises
        return error
    return None
