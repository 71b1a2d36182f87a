"""Moved: groups are names of `sigcontract.update`."""

from warnings import warn

from sigcontract.model import GraphName, PolicyGroups
from sigcontract.update import group_dumps

__all__ = ["GraphName", "PolicyGroups", "group_dumps"]

warn("import group_dumps from sigcontract.update", DeprecationWarning, stacklevel=2)
