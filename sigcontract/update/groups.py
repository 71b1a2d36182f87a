"""The groups of the graphs of dumps, and what sharing executables would save."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from sigcontract.model import (
    EXEC_BYTES_PER_NODE,
    DriverProfile,
    DumpGap,
    GraphGroup,
    GraphName,
    GraphSignature,
    NearestGraph,
    PolicyGroups,
    SignatureDump,
)
from sigcontract.profiles import check_profile
from sigcontract.update.grouping import Group, Grouping
from sigcontract.update.kernels import NodeJudge
from sigcontract.update.labels import by_label
from sigcontract.update.policies import GROUPING_POLICIES
from sigcontract.update.shared_layouts import SharedLayouts
from sigcontract.wire import explains_invalid

__all__ = ["MEMORY_SOURCE", "NEAREST_GROUPS", "gaps", "group_dumps"]

#: Device memory of an executable, per node: measured on PyTorch transformer graphs of 264 nodes (350 kB an
#: executable, H200, driver 580.159.04, 2026-12-01), and as CUDA's own libraries reckon with it in the field
#: (10,240 bytes a node, https://github.com/NVIDIA/cccl).
_BYTES_PER_NODE_MEASURED: Final = 350_000 / 264
MEMORY_SOURCE: Final = (
    "low: 350 kB per executable of 264 nodes, measured on an H200 under driver 580.159.04; "
    "high: 10,240 bytes per node, as CCCL estimates"
)

#: Groups for which the nearest graph is searched: each search looks at every graph.
NEAREST_GROUPS: Final = 20


class _Named(NamedTuple):
    name: GraphName
    graph: GraphSignature

    @property
    def label(self) -> str:
        return self.name.label


@explains_invalid("dumps", "profile")
def group_dumps(
    dumps: Sequence[SignatureDump],
    policies: Iterable[str] = GROUPING_POLICIES,
    profile: DriverProfile | None = None,
    *,
    flags: int = 0,
    nearest: int = NEAREST_GROUPS,
) -> tuple[PolicyGroups, ...]:
    """Return the groups of all graphs under each policy, as `sigcontract.registry.GraphExecRegistry` would share.

    An executable belongs to one process: under every policy but ``portable`` a group holds graphs of one dump. A graph
    of which CUDA allows one executable only is alone (rule ``graph.single-exec``).

    Parameters
    ----------
    dumps
        The dumps.
    policies
        Names of policies.
    profile
        The profile of the driver that all were read under, or None.
    flags
        CUgraphInstantiate_flags of the executables.
    nearest
        For how many groups of each policy the nearest graph of another group is searched, at most.

    Raises
    ------
    UsageError
        The policy is unknown.
    NotComparableError
        A label stands for two graphs of one dump, or the profile is of another driver or device than one of the dumps.
    """
    for number, dump in enumerate(dumps, 1):
        by_label(dump, f"dump {number} of {len(dumps)}")
        if profile is not None:
            check_profile(profile, dump.environment)
    sharing = SharedLayouts()
    of_dumps = [
        [_Named(GraphName(dump=index, label=entry.label), sharing.graph(entry.graph)) for entry in dump.graphs]
        for index, dump in enumerate(dumps)
    ]
    judge = NodeJudge(profile, flags)
    return tuple(_grouped(of_dumps, policy, judge, nearest) for policy in policies)


def gaps(dumps: Sequence[SignatureDump]) -> tuple[DumpGap, ...]:
    """Return what may be missing: groups, and what they save, are those of the graphs that are there."""
    found = []
    for index, dump in enumerate(dumps):
        if not dump.complete:
            found.append(DumpGap(dump=index, rule="dump.incomplete"))
        if not dump.graphs:
            found.append(DumpGap(dump=index, rule="dump.empty"))
    return tuple(found)


def _grouped(of_dumps: Sequence[Sequence[_Named]], policy: str, judge: NodeJudge, nearest: int) -> PolicyGroups:
    across = policy == "portable"
    groupings: list[Grouping[_Named]] = []
    for graphs in [list(chain.from_iterable(of_dumps))] if across else of_dumps:
        grouping: Grouping[_Named] = Grouping(policy, judge)
        for graph in graphs:
            grouping.add(graph)
        grouping.seal()
        groupings.append(grouping)
    found = [(grouping, group) for grouping in groupings for group in grouping.groups]
    searched = {id(group) for group in islice((group for _, group in found if not group.alone), nearest)}
    count = sum(map(len, groupings))
    saved_nodes = 0 if across else sum(len(graph.graph.nodes) for _, group in found for graph in group.members[1:])
    return PolicyGroups(
        policy=policy,
        graphs=count,
        executables=count if across else len(found),
        executables_saved=0 if across else count - len(found),
        memory_saved_bytes_low=round(saved_nodes * _BYTES_PER_NODE_MEASURED),
        memory_saved_bytes_high=saved_nodes * EXEC_BYTES_PER_NODE,
        groups=tuple(
            GraphGroup(
                members=tuple(graph.name for graph in group),
                alone=group.alone,
                nearest=_nearest(grouping, group) if id(group) in searched else None,
            )
            for grouping, group in found
        ),
    )


def _nearest(grouping: Grouping[_Named], group: Group[_Named]) -> NearestGraph | None:
    found = grouping.nearest(group)
    return None if found is None else NearestGraph(graph=found.graph.name, findings=found.findings)
