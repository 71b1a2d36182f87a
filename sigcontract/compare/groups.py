"""Moved: `group_dumps` and `gaps` are names of `sigcontract.update`."""

from warnings import warn

from sigcontract.update import gaps, group_dumps

__all__ = ["gaps", "group_dumps"]

warn("import group_dumps and gaps from sigcontract.update", DeprecationWarning, stacklevel=2)
