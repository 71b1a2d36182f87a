"""Moved: `key` and `same` are names of `sigcontract.update`."""

from warnings import warn

from sigcontract.update import key, same

__all__ = ["key", "same"]

warn("import key and same from sigcontract.update", DeprecationWarning, stacklevel=2)
