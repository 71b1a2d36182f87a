"""Groups of graphs that are the same, and executables shared only where that is true."""

from sigcontract.registry.entries import ExecGroup, GraphEntry
from sigcontract.registry.execs import GraphExecRegistry
from sigcontract.registry.groups import Group, GroupReport, GroupStats, GroupSummary, NearestMiss, SignatureRegistry
from sigcontract.registry.reasons import Reason
from sigcontract.registry.stats import RegistryStats

__all__ = [
    "ExecGroup",
    "GraphEntry",
    "GraphExecRegistry",
    "Group",
    "GroupReport",
    "GroupStats",
    "GroupSummary",
    "NearestMiss",
    "Reason",
    "RegistryStats",
    "SignatureRegistry",
]
