"""The driver profile that dumps were read under, where it comes with this release."""

from sigcontract.compare.predict import check_profile
from sigcontract.errors import NotComparableError
from sigcontract.model.dump import SignatureDump
from sigcontract.model.profile import DriverProfile

__all__ = ["named_profile"]


def named_profile(*dumps: SignatureDump) -> DriverProfile | None:
    """Return the profile that all dumps name. None: they name several, or one not shipped or not theirs."""
    names = {dump.profile for dump in dumps}
    name = names.pop() if len(names) == 1 else None
    if name is None:
        return None
    from sigcontract.driver.profile import PROFILES, shipped_profile  # noqa: PLC0415  loads the driver's layouts

    if name not in PROFILES:
        return None
    profile = shipped_profile(name)
    try:
        for dump in dumps:
            check_profile(profile, dump.environment)
    except NotComparableError:
        return None
    return profile
