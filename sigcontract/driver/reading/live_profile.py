"""The driver profile of the running driver and device."""

import re

from sigcontract.driver.cuda import (
    ReadApi,
    default_driver,
)
from sigcontract.driver.reading.attribute_values import ATTRIBUTE_CUDA_VERSION
from sigcontract.driver.reading.process_environment import display_driver_version
from sigcontract.model import (
    AttributeProfile,
    DriverProfile,
)
from sigcontract.profiles import PROFILES, shipped_profile

__all__ = ["profile_id", "read_profile"]


def read_profile(driver: ReadApi | None = None) -> DriverProfile:
    """Return the profile that applies to the running driver and device.

    Parameters
    ----------
    driver
        The driver to query; by default this process's own.

    Returns
    -------
    DriverProfile
        The shipped profile for the same CUDA version, device name and display driver branch; else one in which
        everything is ``unknown``. `measure_profile` measures one.

    Raises
    ------
    DriverUnavailableError
        The driver is unavailable.
    """
    api = driver if driver is not None else default_driver()
    device = api.current_device() if api.current_context() else 0
    name, version, display = api.device_name(device), api.driver_version(), display_driver_version()
    capability = api.compute_capability(device)
    for shipped in map(shipped_profile, PROFILES):
        if (shipped.device_name, shipped.cuda_driver_version) == (name, version) and _same_branch(
            shipped.display_driver_version, display
        ):
            return shipped
    return DriverProfile(
        id=f"{profile_id(name, version)}-unknown",
        cuda_driver_version=version,
        display_driver_version=display,
        device_name=name,
        compute_capability_major=capability[0],
        compute_capability_minor=capability[1],
        measured_on="never",
        attributes=tuple(map(_unknown, ATTRIBUTE_CUDA_VERSION)),
        cluster_fixed_at="unknown",
        cooperative_function_update="unknown",
        exec_state="unknown",
        update_rule="unknown",
    )


def profile_id(device_name: str, cuda_driver_version: int) -> str:
    """Return the id of a device and driver, such as nvidia-h200-cuda-13.0."""
    device = re.sub(r"[^a-z0-9]+", "-", device_name.lower()).strip("-")
    return f"{device}-cuda-{cuda_driver_version // 1000}.{cuda_driver_version % 1000 // 10}"


def _same_branch(one: str | None, other: str | None) -> bool:
    """Whether two display drivers are of the same branch (580.x), or one is unknown."""
    return one is None or other is None or one.split(".")[0] == other.split(".")[0]


def _unknown(attribute_id: int) -> AttributeProfile:
    return AttributeProfile(
        id=attribute_id,
        readable="unknown",
        settable="unknown",
        becomes_edge="unknown",
        has_effect="unknown",
        update="unknown",
        note="not measured on this driver and device; run: sigcontract doctor",
    )
