"""Documented import paths that moved still work, and warn with the new one."""

import sys

import pytest

from sigcontract.driver import verify_update
from sigcontract.update import gaps, group_dumps, key, same


def test_the_policies_moved_to_update() -> None:
    sys.modules.pop("sigcontract.compare.policies", None)
    with pytest.warns(DeprecationWarning, match=r"^import key and same from sigcontract\.update$"):
        from sigcontract.compare import policies  # noqa: PLC0415  the import is what warns
    assert (policies.key, policies.same) == (key, same)


def test_verifying_an_update_moved_to_the_door_of_the_driver() -> None:
    sys.modules.pop("sigcontract.driver.verify", None)
    with pytest.warns(DeprecationWarning, match=r"^import verify_update from sigcontract\.driver$"):
        from sigcontract.driver import verify  # noqa: PLC0415  the import is what warns
    assert verify.verify_update is verify_update


def test_groups_of_dumps_moved_to_update() -> None:
    sys.modules.pop("sigcontract.compare.groups", None)
    with pytest.warns(DeprecationWarning, match=r"^import group_dumps and gaps from sigcontract\.update$"):
        from sigcontract.compare import groups  # noqa: PLC0415  the import is what warns
    assert (groups.group_dumps, groups.gaps) == (group_dumps, gaps)
