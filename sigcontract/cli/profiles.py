"""Driver profiles that a command line names: a shipped one by its id, or a file."""

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
    """Return the shipped profile of that id, None where there is none."""
    return shipped_profile(name) if name in PROFILES else None


def load_profile(name: str) -> DriverProfile:
    """Return the shipped profile of that id, or the one in that file.

    Raises
    ------
    SigcontractError
        It is neither, or the file holds no profile.
    """
    profile = shipped(name)
    if profile is not None:
        return profile
    try:
        return load(name, expect=DriverProfile)
    except FileError as error:
        raise UsageError(f"{name!r} is no shipped profile ({', '.join(PROFILES)}), and {error}") from error
