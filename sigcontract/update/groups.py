"""Which graphs could share one executable, under each policy, and what that would save."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import Final, NamedTuple

from sigcontract.model import (
    EXEC_BYTES_PER_NODE,
    DriverProfile,
    Finding,
    GraphSignature,
    Record,
    SignatureDump,
)
from sigcontract.profiles import check_profile
from sigcontract.update.labels import by_label
from sigcontract.update.policies import POLICIES, key, same
from sigcontract.update.similarity import similarity_key
from sigcontract.wire import (
    explains_invalid,
)

__all__ = ["MEMORY_SOURCE", "DumpGap", "GraphName", "NearMiss", "PolicyGroups", "gaps", "group_dumps"]

#: Device memory of an executable, per node: measured on PyTorch transformer graphs of 264 nodes (350 kB an
#: executable, H200, driver 580.159.04, 2026-12-01). The high estimate is CUDA's own (`EXEC_BYTES_PER_NODE`).
_BYTES_PER_NODE_MEASURED: Final = 350_000 / 264
MEMORY_SOURCE: Final = (
    "low: 350 kB per executable of 264 nodes, measured on an H200 under driver 580.159.04; "
    "high: 10,240 bytes a node, as CCCL reckons"
)

#: Graphs that a lone one is compared with in full, the most alike by kinds and names of nodes.
_CANDIDATES: Final = 4


class GraphName(Record, frozen=True, kw_only=True):
    """One graph of one of the dumps."""

    dump: int
    label: str


class NearMiss(Record, frozen=True, kw_only=True):
    """A graph that shares with none, the one that it comes nearest to, and what parts the two."""

    graph: GraphName
    nearest: GraphName | None
    reasons: tuple[Finding, ...]


class PolicyGroups(Record, frozen=True, kw_only=True):
    """The groups of one policy.

    ``groups`` have at least two members each, in the order of the dumps; what is left is in ``singletons``. Memory is
    an estimate, see `MEMORY_SOURCE`; under ``portable``, which compares processes, nothing is shared and both are 0.
    """

    policy: str
    groups: tuple[tuple[GraphName, ...], ...]
    singletons: tuple[NearMiss, ...]
    graphs: int
    executables: int
    executables_saved: int
    memory_saved_bytes_low: int
    memory_saved_bytes_high: int


class DumpGap(Record, frozen=True, kw_only=True):
    """A dump that cannot speak for its process, and the rule that says why: ``dump.incomplete`` or ``dump.empty``."""

    dump: int
    rule: str


#: How many nodes of each kind and name a graph has.
_NodeCounts = frozenset[tuple[tuple[int, str], int]]


class _Entry(NamedTuple):
    name: GraphName
    graph: GraphSignature
    node_counts: _NodeCounts


@explains_invalid("dumps", "profile")
def group_dumps(
    dumps: Sequence[SignatureDump], policies: Iterable[str] = POLICIES, profile: DriverProfile | None = None
) -> tuple[PolicyGroups, ...]:
    """Return the groups of all graphs under each policy.

    An executable belongs to one process: under every policy but ``portable`` a group holds graphs of one dump.

    Raises
    ------
    UsageError
        No policy has that name.
    NotComparableError
        A label stands for two graphs of one dump, or the profile is of another driver or device than one of the dumps.
    """
    for place, dump in enumerate(dumps, 1):
        by_label(dump, f"dump {place} of {len(dumps)}")
        if profile is not None:
            check_profile(profile, dump.environment)
    entries = [
        _Entry(
            GraphName(dump=place, label=entry.label),
            entry.graph,
            frozenset(Counter(map(similarity_key, entry.graph.nodes)).items()),
        )
        for place, dump in enumerate(dumps)
        for entry in dump.graphs
    ]
    return tuple(_grouped(entries, policy, profile) for policy in policies)


def gaps(dumps: Sequence[SignatureDump]) -> tuple[DumpGap, ...]:
    """Return what may be missing: groups, and what they save, are those of the graphs that are there."""
    found = []
    for place, dump in enumerate(dumps):
        if not dump.complete:
            found.append(DumpGap(dump=place, rule="dump.incomplete"))
        if not dump.graphs:
            found.append(DumpGap(dump=place, rule="dump.empty"))
    return tuple(found)


def _grouped(entries: Sequence[_Entry], policy: str, profile: DriverProfile | None) -> PolicyGroups:
    across = policy == "portable"
    groups: list[list[_Entry]] = []
    by_key: dict[tuple[int, str], list[list[_Entry]]] = {}
    for entry in entries:
        of_key = by_key.setdefault((0 if across else entry.name.dump, key(policy, entry.graph, profile)), [])
        group = next((group for group in of_key if same(policy, group[0].graph, entry.graph, profile).same), None)
        if group is None:
            group = []
            groups.append(group)
            # What is not the same as itself, unknown as some of it is, is the same as no other.
            if same(policy, entry.graph, entry.graph, profile).same:
                of_key.append(group)
        group.append(entry)
    alone = [group[0] for group in groups if len(group) == 1]
    saved_nodes = 0 if across else sum(len(entry.graph.nodes) for group in groups for entry in group[1:])
    return PolicyGroups(
        policy=policy,
        groups=tuple(tuple(entry.name for entry in group) for group in groups if len(group) > 1),
        singletons=tuple(_near_miss(entry, entries, policy, profile) for entry in alone),
        graphs=len(entries),
        executables=len(entries) if across else len(groups),
        executables_saved=0 if across else len(entries) - len(groups),
        memory_saved_bytes_low=round(saved_nodes * _BYTES_PER_NODE_MEASURED),
        memory_saved_bytes_high=saved_nodes * EXEC_BYTES_PER_NODE,
    )


def _near_miss(entry: _Entry, entries: Sequence[_Entry], policy: str, profile: DriverProfile | None) -> NearMiss:
    """Compare a lone graph with those most like it, and return the one that fewest places part it from."""
    others = [
        other
        for other in entries
        if other is not entry and (policy == "portable" or other.name.dump == entry.name.dump)
    ]
    nearest = nsmallest(_CANDIDATES, others, key=lambda other: _unlike(entry.node_counts, other.node_counts))
    best: tuple[int, GraphName, tuple[Finding, ...]] | None = None
    for other in nearest:
        reasons = same(policy, other.graph, entry.graph, profile).reasons
        places = sum(finding.count for finding in reasons)
        if best is None or places < best[0]:
            best = places, other.name, reasons
    if best is None:
        return NearMiss(graph=entry.name, nearest=None, reasons=())
    return NearMiss(graph=entry.name, nearest=best[1], reasons=best[2])


@lru_cache(maxsize=4096)  # many graphs of a program have the same kernels
def _unlike(a: _NodeCounts, b: _NodeCounts) -> int:
    """Return how many nodes only one of two graphs has, by kind and name."""
    nodes, others = Counter(dict(a)), Counter(dict(b))
    return (nodes - others).total() + (others - nodes).total()
