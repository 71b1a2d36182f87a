"""The driver profiles that come with this release, and whether a profile holds for a dump."""

from functools import cache
from importlib.resources import files
from typing import Final

from sigcontract.errors import NotComparableError, UsageError
from sigcontract.model import DriverProfile, Environment, SignatureDump
from sigcontract.wire import decode

__all__ = ["PROFILES", "check_profile", "named_profile", "shipped_profile"]

#: Ids of the profiles that come with this release.
PROFILES: Final = ("nvidia-h200-cuda-13.0",)


@cache
def shipped_profile(profile_id: str) -> DriverProfile:
    """Return a profile of `PROFILES`.

    Raises
    ------
    UsageError
        There is none of that id.
    """
    if profile_id not in PROFILES:
        msg = f"no profile {profile_id!r} is shipped, only {', '.join(PROFILES)}; measure yours: sigcontract doctor"
        raise UsageError(msg)
    data = files("sigcontract.profiles").joinpath(f"{profile_id}.json").read_bytes()
    return decode(data, expect=DriverProfile)


def named_profile(*dumps: SignatureDump) -> DriverProfile | None:
    """Return the profile that all dumps name. None: they name several, or one not shipped or not theirs."""
    names = {dump.profile for dump in dumps}
    name = names.pop() if len(names) == 1 else None
    if name not in PROFILES:
        return None
    profile = shipped_profile(name)
    try:
        for dump in dumps:
            check_profile(profile, dump.environment)
    except NotComparableError:
        return None
    return profile


def check_profile(profile: DriverProfile, environment: Environment) -> None:
    """Refuse a profile of another driver or device than that of a dump.

    What the dump does not know (a version 1 document) contradicts nothing: naming the profile is then the caller's
    word that it fits.

    Raises
    ------
    NotComparableError
        The CUDA driver version, or the compute capability of a device, is not the profile's.
    """
    version = environment.cuda_driver_version
    if version is not None and version != profile.cuda_driver_version:
        raise NotComparableError(
            f"profile {profile.id!r} is of CUDA driver {profile.cuda_driver_version}, the dump was read under "
            f"{version}; measure that driver with `sigcontract doctor`, or go without a profile",
            code="profile_mismatch",
        )
    capability = profile.compute_capability_major, profile.compute_capability_minor
    for device in environment.devices:
        found = device.compute_capability_major, device.compute_capability_minor
        if found != capability:
            raise NotComparableError(
                f"profile {profile.id!r} is of compute capability {capability[0]}.{capability[1]}, device "
                f"{device.ordinal} of the dump ({device.name}) has {found[0]}.{found[1]}; measure that device with "
                "`sigcontract doctor`, or go without a profile",
                code="profile_mismatch",
            )
