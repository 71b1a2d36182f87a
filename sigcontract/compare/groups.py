"""Moved: groups are names of `sigcontract.update`, their records of `sigcontract.model`."""

from warnings import warn

from sigcontract.model import GraphName, PolicyGroups
from sigcontract.update import gaps, group_dumps

__all__ = ["GraphName", "PolicyGroups", "gaps", "group_dumps"]

warn("import group_dumps and gaps from sigcontract.update", DeprecationWarning, stacklevel=2)
