"""Deprecated: import `verify_update` and `UpdateVerification` from `sigcontract.driver`."""

from warnings import warn

from sigcontract.driver.measuring import UpdateVerification, verify_update

__all__ = ["UpdateVerification", "verify_update"]

warn("import verify_update from sigcontract.driver", DeprecationWarning, stacklevel=2)
