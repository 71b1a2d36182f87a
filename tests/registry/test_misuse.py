"""Arguments that are none: told at once, in words that say what to give."""

import re
from typing import Any

import pytest

from sigcontract.errors import UsageError
from sigcontract.registry import GraphExecRegistry
from tests.registry.rig import Capture, Rig, closed


@pytest.mark.parametrize("what", ["capture", "number", "label"])
def test_what_is_no_entry_is_refused(what: str) -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(rig.graph(1))
        given: Any = {"capture": Capture(rig.builder(2)), "number": 0, "label": "bs=1"}[what]
        message = f"a {type(given).__name__} is not an entry; pass a result of register()"
        for call in (registry.release, registry.replay, lambda other: registry.why_not(entry, other)):
            with pytest.raises(UsageError, match=re.escape(message)):
                call(given)


def test_a_policy_passed_as_the_driver_is_reported() -> None:
    with pytest.raises(UsageError, match="a str is not a driver; omit it, or pass policy= and profile= by keyword"):
        GraphExecRegistry("share")  # type: ignore[arg-type]  # the mistake that is tested
    with pytest.raises(UsageError, match="profile must be a DriverProfile, not str"):
        Rig().registry(profile="nvidia-h200-cuda-13.0")
