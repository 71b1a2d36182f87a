"""Which graphs could share one executable, under each policy, and what that would save."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import Final, NamedTuple

from sigcontract.compare.matching import by_label
from sigcontract.compare.policies import POLICIES, key, same
from sigcontract.compare.predict import check_profile
from sigcontract.compare.sequences import likeness
from sigcontract.model.dump import SignatureDump
from sigcontract.model.findings import Finding
from sigcontract.model.graph import GraphSignature
from sigcontract.model.profile import DriverProfile
from sigcontract.model.record import Record
from sigcontract.wire.validation import explains_unfit

__all__ = ["MEMORY_SOURCE", "DumpGap", "GraphName", "NearMiss", "PolicyGroups", "gaps", "group_dumps"]

#: Device memory of an executable, per node: measured on PyTorch transformer graphs of 264 nodes (350 kB an
#: executable, H200, driver 580.159.04, 2026-12-01), and as CUDA's own libraries reckon with it in the field
#: (10,240 bytes a node, https://github.com/NVIDIA/cccl).
_BYTES_PER_NODE_MEASURED: Final = 350_000 / 264
_BYTES_PER_NODE_FIELD: Final = 10_240
MEMORY_SOURCE: Final = (
    "low: 350 kB per executable of 264 nodes, measured on an H200 under driver 580.159.04; "
    "high: 10,240 bytes a node, as CCCL reckons"
)

#: Graphs that a lone one is compared with in full, the most alike by kinds and names of nodes.
_CANDIDATES: Final = 4
#: Graphs that are looked at for these.
_LOOKED_AT: Final = 32


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
_Likenesses = frozenset[tuple[tuple[int, str], int]]


class _Entry(NamedTuple):
    name: GraphName
    graph: GraphSignature
    likenesses: _Likenesses


@explains_unfit("dumps", "profile")
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
    graphs = {id(entry.graph): entry.graph for dump in dumps for entry in dump.graphs}
    likenesses = {number: frozenset(Counter(map(likeness, graph.nodes)).items()) for number, graph in graphs.items()}
    entries = [
        _Entry(GraphName(dump=place, label=entry.label), entry.graph, likenesses[id(entry.graph)])
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
    # Labels of one graph, as decoding makes equal ones, are judged once; the entries keep the graphs.
    key_of: dict[int, str] = {}
    group_of: dict[tuple[int, int], list[_Entry] | None] = {}
    for entry in entries:
        place, number = 0 if across else entry.name.dump, id(entry.graph)
        if (place, number) in group_of:
            group = group_of[place, number]
        else:
            if number not in key_of:
                key_of[number] = key(policy, entry.graph, profile)
            of_key = by_key.setdefault((place, key_of[number]), [])
            group = next((group for group in of_key if same(policy, group[0].graph, entry.graph, profile).same), None)
            # What is not the same as itself, unknown as some of it is, is the same as no other.
            if group is None and same(policy, entry.graph, entry.graph, profile).same:
                group = []
                of_key.append(group)
                groups.append(group)
            group_of[place, number] = group
        if group is None:
            groups.append([entry])
        else:
            group.append(entry)
    alone = [group[0] for group in groups if len(group) == 1]
    saved_nodes = 0 if across else sum(len(entry.graph.nodes) for group in groups for entry in group[1:])
    return PolicyGroups(
        policy=policy,
        groups=tuple(tuple(entry.name for entry in group) for group in groups if len(group) > 1),
        singletons=tuple(_near_misses(alone, entries, policy, profile)),
        graphs=len(entries),
        executables=len(entries) if across else len(groups),
        executables_saved=0 if across else len(entries) - len(groups),
        memory_saved_bytes_low=round(saved_nodes * _BYTES_PER_NODE_MEASURED),
        memory_saved_bytes_high=saved_nodes * _BYTES_PER_NODE_FIELD,
    )


def _near_misses(
    alone: Sequence[_Entry], entries: Sequence[_Entry], policy: str, profile: DriverProfile | None
) -> Iterator[NearMiss]:
    """Yield each lone graph with the one that it comes nearest to."""
    by_dump: dict[int, list[_Entry]] = {}
    for entry in entries:
        by_dump.setdefault(0 if policy == "portable" else entry.name.dump, []).append(entry)
    place_of = {id(entry): place for listed in by_dump.values() for place, entry in enumerate(listed)}
    judged: dict[tuple[int, int], tuple[Finding, ...]] = {}
    for entry in alone:
        listed = by_dump[0 if policy == "portable" else entry.name.dump]
        # Where there are very many, the neighbours: a program captures what is alike one after another.
        first = max(0, min(place_of[id(entry)] - _LOOKED_AT // 2, len(listed) - _LOOKED_AT))
        others = [other for other in listed[first : first + _LOOKED_AT] if other is not entry]
        yield _near_miss(entry, others, policy, profile, judged)


def _near_miss(
    entry: _Entry,
    others: Sequence[_Entry],
    policy: str,
    profile: DriverProfile | None,
    judged: dict[tuple[int, int], tuple[Finding, ...]],
) -> NearMiss:
    """Compare a lone graph with those most like it, and return the one that fewest places part it from."""
    nearest = nsmallest(_CANDIDATES, others, key=lambda other: _unlike(entry.likenesses, other.likenesses))
    best: tuple[int, GraphName, tuple[Finding, ...]] | None = None
    for other in nearest:
        pair = id(other.graph), id(entry.graph)
        reasons = judged.get(pair)
        if reasons is None:
            reasons = judged[pair] = same(policy, other.graph, entry.graph, profile).reasons
        places = sum(finding.count for finding in reasons)
        if best is None or places < best[0]:
            best = places, other.name, reasons
    if best is None:
        return NearMiss(graph=entry.name, nearest=None, reasons=())
    return NearMiss(graph=entry.name, nearest=best[1], reasons=best[2])


@lru_cache(maxsize=4096)  # many graphs of a program have the same kernels
def _unlike(a: _Likenesses, b: _Likenesses) -> int:
    """Return how many nodes only one of two graphs has, by kind and name."""
    nodes, others = Counter(dict(a)), Counter(dict(b))
    return (nodes - others).total() + (others - nodes).total()
