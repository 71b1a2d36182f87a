"""Groups of recorded graphs under a policy, and why two are in different groups. Needs no driver."""

from typing import Annotated, Final

from msgspec import Meta

from sigcontract.errors import RegistryError, UsageError
from sigcontract.model import (
    DriverProfile,
    EmptyNode,
    Finding,
    GraphSignature,
    LabeledGraph,
    Record,
    Text,
    UInt32,
)
from sigcontract.update import (
    GROUPING_POLICIES,
    Group,
    Grouping,
    NodeJudge,
    check_policy,
    distinct_nodes,
    same,
    single_exec_finding,
)
from sigcontract.wire import (
    validate,
    wrong_type,
)

__all__ = ["Group", "GroupReport", "GroupStats", "GroupSummary", "NearestMiss", "SignatureRegistry"]

_EMPTY = EmptyNode()


class GroupStats(Record, frozen=True, kw_only=True):
    """Counts of graphs and groups."""

    graphs: Annotated[UInt32, Meta(description="Graphs registered.")]
    groups: Annotated[UInt32, Meta(description="Groups.")]
    singletons: Annotated[UInt32, Meta(description="Groups of one graph.")]
    largest: Annotated[UInt32, Meta(description="Graphs in the largest group.")]


class GroupSummary(Record, frozen=True, kw_only=True):
    """One group of a report."""

    index: Annotated[UInt32, Meta(description="Position in the order of first arrival.")]
    size: Annotated[UInt32, Meta(description="Graphs in the group.")]
    nodes: Annotated[UInt32, Meta(description="Nodes of its first graph, children's not included.")]
    label: Annotated[Text, Meta(description="Label of its first graph.")]
    alone: Annotated[tuple[Finding, ...], Meta(description="Why no other graph can join; empty if others can.")]


class NearestMiss(Record, frozen=True, kw_only=True):
    """A group of one graph, its closest match, and the differences between the two."""

    group: Annotated[UInt32, Meta(description="Index of the group.")]
    other: Annotated[UInt32, Meta(description="Index of the closest group, of those compared.")]
    findings: Annotated[tuple[Finding, ...], Meta(description="The differences between the two.")]


class GroupReport(Record, frozen=True, kw_only=True):
    """Groups, single graphs, and the closest matches of these."""

    policy: Annotated[Text, Meta(description="The policy.")]
    stats: Annotated[GroupStats, Meta(description="The counts.")]
    groups: Annotated[tuple[GroupSummary, ...], Meta(description="Every group, in order of first arrival.")]
    singletons: Annotated[tuple[UInt32, ...], Meta(description="Indices of the groups of one graph.")]
    nearest: Annotated[tuple[NearestMiss, ...], Meta(description="Closest matches of the first groups of one graph.")]


class SignatureRegistry:
    """Groups graph signatures that are the same under a policy. Works on records, without CUDA.

    Registration takes constant time: groups are found by the policy's key. Not thread-safe.

    Parameters
    ----------
    policy
        ``exact`` (every recorded field), ``share``, ``share-functions``, ``share-updatable`` or ``portable``. Under
        ``share-updatable`` graphs are grouped as under ``share-functions`` until `seal`.
    profile
        What the driver can read and keeps stale. Without it, a graph with an unreadable attribute shares with none,
        unless NVIDIA's documentation or the code's compute capability proves the attribute has no effect.
    flags
        CUgraphInstantiate_flags of the executables to be shared, as for `sigcontract.update.policies.same`.

    Raises
    ------
    UsageError
        The policy is unknown, or the profile is not a DriverProfile.
    """

    def __init__(self, policy: str = "exact", profile: DriverProfile | None = None, *, flags: int = 0) -> None:
        check_policy(policy, GROUPING_POLICIES)
        if profile is not None and not isinstance(profile, DriverProfile):
            raise wrong_type("profile", "DriverProfile", profile)
        self.policy: Final = policy
        self.profile: Final = profile
        self._flags = flags
        self._grouping: Grouping[LabeledGraph] = Grouping(policy, NodeJudge(profile, flags))
        self._validated: dict[int, Record] = {}
        self.sealed = False

    def __len__(self) -> int:
        return len(self._grouping.groups)

    @property
    def groups(self) -> tuple[Group[LabeledGraph], ...]:
        """The groups, in order of first arrival."""
        return tuple(self._grouping.groups)

    def register(self, signature: GraphSignature, label: str | None = None) -> Group[LabeledGraph]:
        """Add a graph to the group of the same graphs, or to a new one.

        Parameters
        ----------
        signature
            The graph. It is validated; a node record only once.
        label
            Name for reports; by default its number in the order of arrival, such as ``#7``.

        Returns
        -------
        Group
            The same object for all graphs that are the same; under ``share-updatable`` only until `seal`.

        Raises
        ------
        RecordError
            The record is invalid; the registry is unchanged.
        RegistryError
            The registry is sealed (``sealed``).
        """
        self._check_open()
        self._validate(signature)
        return self._grouping.add(self._labelled(signature, label))

    def register_alone(self, signature: GraphSignature, label: str, alone: tuple[Finding, ...]) -> Group[LabeledGraph]:
        """Add a graph to its own group, which no other graph can join, for the given reason.

        Raises
        ------
        RecordError
            The record is invalid; the registry is unchanged.
        RegistryError
            The registry is sealed (``sealed``).
        """
        self._check_open()
        self._validate(signature)
        return self._grouping.add(self._labelled(signature, label), alone)

    def seal(self) -> None:
        """End registration; under ``share-updatable``, form the fewest groups in which every update is safe.

        May be repeated. Under ``share-updatable``, `groups` then has new groups, not those that `register` returned.
        """
        if not self.sealed:
            self._grouping.seal()
            self.sealed = True

    def _check_open(self) -> None:
        if self.sealed:
            raise RegistryError("the registry is sealed; register graphs before seal()", code="sealed")

    def _labelled(self, signature: GraphSignature, label: str | None) -> LabeledGraph:
        return LabeledGraph(label=f"#{len(self._grouping)}" if label is None else label, graph=signature)

    def why_not(
        self, a: Group[LabeledGraph] | GraphSignature, b: Group[LabeledGraph] | GraphSignature
    ) -> tuple[Finding, ...]:
        """Return the differences that prevent two graphs, or the first graphs of two groups, from sharing."""
        if self.policy != "portable":  # each process has its own executables
            for graph in (_graph(b), _graph(a)):
                single = single_exec_finding(graph, distinct_nodes(graph))
                if single is not None:
                    return (single,)
        return same(self.policy, _graph(a), _graph(b), self.profile, flags=self._flags).reasons

    def stats(self) -> GroupStats:
        """Count graphs, groups, groups of one graph, and the largest group."""
        groups = self._grouping.groups
        return GroupStats(
            graphs=len(self._grouping),
            groups=len(groups),
            singletons=sum(len(group) == 1 for group in groups),
            largest=max(map(len, groups), default=0),
        )

    def report(self, *, nearest: int = 20) -> GroupReport:
        """Report groups, single graphs, and the closest matches of these.

        Parameters
        ----------
        nearest
            The most groups of one graph for which to search a closest match. Each is compared with the few graphs most
            similar by node types and names.
        """
        groups = self._grouping.groups
        singletons = tuple(group.index for group in groups if len(group) == 1)
        found = ((index, self._grouping.nearest(groups[index])) for index in singletons[:nearest])
        return GroupReport(
            policy=self.policy,
            stats=self.stats(),
            groups=tuple(
                GroupSummary(
                    index=group.index,
                    size=len(group),
                    nodes=len(group.representative.graph.nodes),
                    label=group.representative.label,
                    alone=group.alone,
                )
                for group in groups
            ),
            singletons=singletons,
            nearest=tuple(
                NearestMiss(group=index, other=match.group.index, findings=match.findings)
                for index, match in found
                if match is not None
            ),
        )

    def _validate(self, signature: GraphSignature) -> None:
        """Raise unless the signature is valid. Graphs share nodes, so each node object is validated once."""
        if not isinstance(signature, GraphSignature):
            raise UsageError(f"register takes a GraphSignature, not {type(signature).__name__}; read_graph makes one")
        if id(signature) in self._validated:
            return
        if all(id(node) in self._validated for node in signature.nodes):
            validate(GraphSignature(nodes=(_EMPTY,) * len(signature.nodes), dependencies=signature.dependencies))
        else:
            validate(signature)
        # Kept alive, so an id stays unique while the registry lives.
        self._validated.update((id(node), node) for node in signature.nodes)
        self._validated[id(signature)] = signature


def _graph(subject: Group[LabeledGraph] | GraphSignature) -> GraphSignature:
    return subject.representative.graph if isinstance(subject, Group) else subject
