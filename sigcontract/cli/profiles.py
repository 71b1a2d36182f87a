"""Driver profiles on the command line: a shipped profile's id, or a file."""

from sigcontract.errors import FileError, UsageError
from sigcontract.model import (
    DriverProfile,
)
from sigcontract.profiles import PROFILES, shipped_profile
from sigcontract.wire import (
    load,
)

__all__ = ["load_profile", "shipped"]


def shipped(name: str) -> DriverProfile | None:
    """Return the shipped profile of that id, or None."""
    return shipped_profile(name) if name in PROFILES else None


def load_profile(name: str) -> DriverProfile:
    """Return the shipped profile of that id, or the profile in that file.

    Raises
    ------
    SigcontractError
        It is neither, or the file holds another document.
    """
    profile = shipped(name)
    if profile is not None:
        return profile
    try:
        return load(name, expect=DriverProfile)
    except FileError as error:
        raise UsageError(f"{name!r} is not a shipped profile ({', '.join(PROFILES)}), and {error}") from error
