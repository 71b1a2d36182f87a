"""Driver profiles that a command line names: a shipped one by its id, or a file."""

from pathlib import Path

from sigcontract.errors import UsageError
from sigcontract.model.profile import DriverProfile
from sigcontract.wire.codec import load

__all__ = ["load_profile"]


def load_profile(name: str) -> DriverProfile:
    """Return the shipped profile of that id, or the one in that file.

    Raises
    ------
    SigcontractError
        It is neither, or the file holds no profile.
    """
    from sigcontract.driver.profile import PROFILES, shipped_profile  # noqa: PLC0415  only where one is named

    if name in PROFILES:
        return shipped_profile(name)
    if not Path(name).is_file():
        raise UsageError(f"{name!r} is neither a file nor a shipped profile ({', '.join(PROFILES)})")
    return load(name, expect=DriverProfile)
