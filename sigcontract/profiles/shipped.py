"""The shipped driver profiles, and the check that a profile applies to a dump."""

from functools import cache
from importlib.resources import files
from typing import Final

from sigcontract.errors import NotComparableError, UsageError
from sigcontract.model import DriverProfile, Environment, SignatureDump
from sigcontract.wire import decode

__all__ = ["PROFILES", "check_profile", "named_profile", "shipped_profile"]

#: Ids of the shipped profiles.
PROFILES: Final = ("nvidia-h200-cuda-13.0",)


@cache
def shipped_profile(profile_id: str) -> DriverProfile:
    """Return a profile of `PROFILES`.

    Raises
    ------
    UsageError
        No such profile is shipped.
    """
    if profile_id not in PROFILES:
        known = ", ".join(PROFILES)
        msg = f"no shipped profile {profile_id!r}; shipped: {known}. To measure one, run: sigcontract doctor"
        raise UsageError(msg)
    data = files("sigcontract.profiles").joinpath(f"{profile_id}.json").read_bytes()
    return decode(data, expect=DriverProfile)


def named_profile(*dumps: SignatureDump) -> DriverProfile | None:
    """Return the profile that all dumps name; None if they name several, or it is not shipped or does not apply."""
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
    """Check that a profile is for the driver and devices of a dump.

    Facts missing from the dump (version 1 documents) pass: by naming the profile, the caller asserts that it applies.

    Raises
    ------
    NotComparableError
        The CUDA driver version or a device's compute capability differs from the profile's.
    """
    version = environment.cuda_driver_version
    if version is not None and version != profile.cuda_driver_version:
        raise NotComparableError(
            f"profile {profile.id!r} is for CUDA driver {profile.cuda_driver_version}, the dump is from "
            f"{version}; measure that driver with `sigcontract doctor`, or omit the profile",
            code="profile_mismatch",
        )
    capability = profile.compute_capability_major, profile.compute_capability_minor
    for device in environment.devices:
        found = device.compute_capability_major, device.compute_capability_minor
        if found != capability:
            raise NotComparableError(
                f"profile {profile.id!r} is for compute capability {capability[0]}.{capability[1]}, device "
                f"{device.ordinal} of the dump ({device.name}) has {found[0]}.{found[1]}; measure that device with "
                "`sigcontract doctor`, or omit the profile",
                code="profile_mismatch",
            )
