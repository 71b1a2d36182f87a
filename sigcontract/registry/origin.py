"""Detects forked children, in which CUDA handles and locks held by other threads are unusable."""

import os
from typing import Final
from weakref import WeakSet

from sigcontract.errors import RegistryError

__all__ = ["Origin"]


class Origin:
    """The process that created a registry.

    Attributes
    ----------
    forked
        Whether this process is a forked child of it. Set by a fork hook: getpid would cost every replay.
    """

    __slots__ = ("__weakref__", "forked")

    def __init__(self) -> None:
        self.forked = False
        _ORIGINS.add(self)

    def refusal(self) -> RegistryError:
        """Return the error of every call in a forked child."""
        msg = (
            "the registry belongs to the parent process, and CUDA cannot be used in a forked child; start the process "
            "with spawn and make a registry there"
        )
        return RegistryError(msg, code="forked")


_ORIGINS: Final[WeakSet[Origin]] = WeakSet()


def _mark() -> None:
    for origin in _ORIGINS:
        origin.forked = True


if hasattr(os, "register_at_fork"):  # nothing forks on Windows
    os.register_at_fork(after_in_child=_mark)
