"""The driver profile that dumps were read under, where it comes with this release."""

import re
from pkgutil import get_data
from typing import Final

from sigcontract.errors import NotComparableError
from sigcontract.model import (
    DriverProfile,
    SignatureDump,
)
from sigcontract.update import (
    check_profile,
)
from sigcontract.wire import (
    decode,
)

__all__ = ["named_profile"]

#: An id that can be the name of a file, and of no other folder's.
_FILE_NAME: Final = re.compile(r"[a-z0-9]+(?:[-.][a-z0-9]+)*")


def named_profile(*dumps: SignatureDump) -> DriverProfile | None:
    """Return the profile that all dumps name. None: they name several, or one not shipped or not theirs."""
    names = {dump.profile for dump in dumps}
    name = names.pop() if len(names) == 1 else None
    if name is None or not _FILE_NAME.fullmatch(name):
        return None
    try:
        # Not through `sigcontract.driver.reading.live_profile`, which ships the file: importing it takes as long as a large diff.
        data = get_data("sigcontract", f"profiles/{name}.json")
    except FileNotFoundError:
        return None
    if data is None:
        return None
    profile = decode(data, expect=DriverProfile)
    try:
        for dump in dumps:
            check_profile(profile, dump.environment)
    except NotComparableError:
        return None
    return profile
