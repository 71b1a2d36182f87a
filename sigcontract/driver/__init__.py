"""Live graphs: reading them, observing their launches, measuring the driver.

The only room that imports cuda.* or cupti. Importing this imports neither: the bindings are loaded by the first call
that needs a driver.
"""

from sigcontract.driver.doctor import measure_profile
from sigcontract.driver.environment import environment
from sigcontract.driver.observe import observe
from sigcontract.driver.profile import PROFILES, read_profile, shipped_profile
from sigcontract.driver.reader import read_graph
from sigcontract.driver.record import record_to

__all__ = [
    "PROFILES",
    "environment",
    "measure_profile",
    "observe",
    "read_graph",
    "read_profile",
    "record_to",
    "shipped_profile",
]
