"""The one function that catches every exception of the caller's code: callbacks, resets, finalisers."""

from collections.abc import Callable
from typing import ParamSpec

__all__ = ["raised_by"]

P = ParamSpec("P")


def raised_by(call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> Exception | None:
    """Call the caller's code and return the exception it raised, if any.

    KeyboardInterrupt and the like are not caught.
    """
    try:
        call(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  a callback may raise anything
        return error
    return None
