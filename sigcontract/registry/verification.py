"""Verify that the driver applied an update, by repeating it with kernels that report their launch."""

from typing import TYPE_CHECKING, cast

from sigcontract.driver import (
    verify_update,
)
from sigcontract.errors import DriverError, UsageError
from sigcontract.model import (
    UpdateResult,
)

if TYPE_CHECKING:
    from sigcontract.driver import (
        BuildApi,
        DriverApi,
    )
    from sigcontract.model import (
        GraphSignature,
    )

__all__ = ["doubt_of_update"]


def doubt_of_update(driver: "DriverApi", held: "GraphSignature", candidate: "GraphSignature") -> str | None:
    """Return a doubt about an update that the driver accepted; None if stand-in kernels confirm it.

    An update that cannot be verified is doubtful; omissions of stand-ins (``UpdateVerification.left_out``) are not.

    Parameters
    ----------
    driver
        A driver that can load kernels (`check_options` ensures it).
    held
        The graph of the executable's first launch.
    candidate
        The graph it was updated to.
    """
    try:
        answer = verify_update(held, candidate, driver=cast("BuildApi", driver))
    except (DriverError, UsageError) as error:
        return str(error)
    if answer.result != UpdateResult.SUCCESS:
        return f"the update of the stand-ins is refused, {UpdateResult.name_of(answer.result)}"
    if answer.differences:
        first, count = answer.differences[0].path, len(answer.differences)
        return f"kernels launched differently than by a fresh executable: {count}, the first at {first}"
    return None
