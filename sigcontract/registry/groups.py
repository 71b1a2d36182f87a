"""Which recorded graphs are the same: groups of signatures under a policy, and why two are not in one."""
# ruff: noqa: SLF001  a group is a view that users read and only the registry changes

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Annotated, Final

from msgspec import Meta

from sigcontract.errors import UsageError
from sigcontract.model import (
    DriverProfile,
    EmptyNode,
    Finding,
    GraphSignature,
    LabeledGraph,
    NodeSignature,
    Record,
    Text,
    UInt32,
)
from sigcontract.registry.distinct import distinct_nodes, unknowns
from sigcontract.update import (
    NodeJudge,
    check_policy,
    judged_key,
    same,
    single_exec_finding,
)
from sigcontract.wire import (
    validate,
    wrong_type,
)

__all__ = ["Group", "GroupReport", "GroupStats", "GroupSummary", "NearestMiss", "SignatureRegistry"]

#: Groups of like shape that a group is compared with in the search for its nearest miss.
MISS_CANDIDATES: Final = 8
_EMPTY = EmptyNode()


class GroupStats(Record, frozen=True, kw_only=True):
    """How many graphs fell into how many groups."""

    graphs: Annotated[UInt32, Meta(description="Graphs registered.")]
    groups: Annotated[UInt32, Meta(description="Groups that they fell into.")]
    singletons: Annotated[UInt32, Meta(description="Groups of one graph.")]
    largest: Annotated[UInt32, Meta(description="Graphs in the largest group.")]


class GroupSummary(Record, frozen=True, kw_only=True):
    """One group of a report."""

    index: Annotated[UInt32, Meta(description="Place in the order of first arrival.")]
    size: Annotated[UInt32, Meta(description="Graphs in the group.")]
    nodes: Annotated[UInt32, Meta(description="Nodes of its first graph, children's not included.")]
    label: Annotated[Text, Meta(description="Label of its first graph.")]
    alone: Annotated[tuple[Finding, ...], Meta(description="Why no other graph can join it; empty: others can.")]


class NearestMiss(Record, frozen=True, kw_only=True):
    """A group, the group that it is most like, and what keeps the two apart."""

    group: Annotated[UInt32, Meta(description="Index of the group.")]
    other: Annotated[UInt32, Meta(description="Index of the group nearest to it among those that were compared.")]
    findings: Annotated[tuple[Finding, ...], Meta(description="What keeps the two apart under the policy.")]


class GroupReport(Record, frozen=True, kw_only=True):
    """What was the same, what stood alone, and what it missed by."""

    policy: Annotated[Text, Meta(description="The policy.")]
    stats: Annotated[GroupStats, Meta(description="The counts.")]
    groups: Annotated[tuple[GroupSummary, ...], Meta(description="Every group, in order of first arrival.")]
    singletons: Annotated[tuple[UInt32, ...], Meta(description="Indices of the groups of one graph.")]
    nearest: Annotated[tuple[NearestMiss, ...], Meta(description="What the first groups of one graph missed.")]


class Group:
    """Graphs that are the same under the registry's policy: a view that only the registry adds to.

    Attributes
    ----------
    index
        Place in the order of first arrival, from 0.
    key
        The policy's key: graphs with another key are never in this group.
    alone
        Why no other graph can ever join (an opaque node, an attribute nobody can read); empty where others can.
    """

    __slots__ = ("_members", "alone", "index", "key")

    def __init__(self, index: int, key: str, first: LabeledGraph, alone: tuple[Finding, ...]) -> None:
        self.index: Final = index
        self.key: Final = key
        self.alone: Final = alone
        self._members = [first]

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[LabeledGraph]:
        return iter(tuple(self._members))

    def __repr__(self) -> str:
        return f"<Group {self.index}: {len(self)} x {self._members[0].label!r}>"

    @property
    def members(self) -> tuple[LabeledGraph, ...]:
        """The graphs, in order of arrival."""
        return tuple(self._members)

    @property
    def representative(self) -> LabeledGraph:
        """The graph that arrived first; the others were compared with it."""
        return self._members[0]


class SignatureRegistry:
    """Groups of graph signatures that are the same under a policy. Pure: no CUDA, nothing but records.

    A registration costs the same however many groups there are: graphs are found by the policy's key, which two
    graphs of which everything is known have in common exactly where they are the same. Not for use from several
    threads at once.

    Parameters
    ----------
    policy
        ``exact`` (every recorded field), ``share``, ``share-functions`` or ``portable``.
    profile
        What the driver can read and keeps stale. Without it, an attribute that nobody could read keeps a graph
        alone, unless NVIDIA's documents or the code's compute capability prove that it has no effect.
    flags
        CUgraphInstantiate_flags of the executables that are to be shared, as for `sigcontract.update.policies.same`.

    Raises
    ------
    UsageError
        There is no such policy.
    """

    def __init__(self, policy: str = "exact", profile: DriverProfile | None = None, *, flags: int = 0) -> None:
        check_policy(policy)
        if profile is not None and not isinstance(profile, DriverProfile):
            raise wrong_type("profile", "DriverProfile", profile)
        self.policy: Final = policy
        self.profile: Final = profile
        self._flags = flags
        self._judge = NodeJudge(profile, flags)  # the records that it remembers are kept here as long as it is
        self._groups: list[Group] = []
        self._open: dict[str, Group] = {}
        self._graphs = 0
        self._sound: dict[int, Record] = {}
        self._by_shape: dict[int, list[int]] = {}
        self._by_length: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups, in order of first arrival."""
        return tuple(self._groups)

    def register(self, signature: GraphSignature, label: str | None = None) -> Group:
        """Put a graph into the group of its likes, or into a new one.

        Parameters
        ----------
        signature
            The graph. It is validated; records that were seen before are not validated again.
        label
            A name for reports; by default its number in the order of arrival, as ``#7``.

        Returns
        -------
        Group
            The same object for every graph that is the same.

        Raises
        ------
        RecordError
            The record is not what the contract says; the registry is as it was.
        """
        self._validate(signature)
        digest = judged_key(self.policy, signature, self._judge)
        # What is not the same as itself is the same as no other. Of one key, all else is the same.
        return self._add(signature, label, digest, self._alone(signature))

    def register_alone(self, signature: GraphSignature, label: str, alone: tuple[Finding, ...]) -> Group:
        """Put a graph into a group of its own that no other graph can join, for the reason given.

        Raises
        ------
        RecordError
            The record is not what the contract says; the registry is as it was.
        """
        self._validate(signature)
        return self._add(signature, label, judged_key(self.policy, signature, self._judge), alone)

    def _add(self, signature: GraphSignature, label: str | None, digest: str, alone: tuple[Finding, ...]) -> Group:
        member = LabeledGraph(label=f"#{self._graphs}" if label is None else label, graph=signature)
        self._graphs += 1
        group = None if alone else self._open.get(digest)
        if group is not None:
            group._members.append(member)
            return group
        group = Group(len(self._groups), digest, member, alone)
        if not alone:
            self._open[digest] = group
        self._groups.append(group)
        self._by_shape.setdefault(_shape(signature), []).append(group.index)
        insort(self._by_length, (len(signature.nodes), group.index))
        return group

    def why_not(self, a: Group | GraphSignature, b: Group | GraphSignature) -> tuple[Finding, ...]:
        """Return what keeps two graphs, or the first graphs of two groups, apart; empty where nothing does."""
        for graph in (_graph(b), _graph(a)):
            single = self._single_exec(graph, distinct_nodes(graph))
            if single is not None:
                return (single,)
        return same(self.policy, _graph(a), _graph(b), self.profile, flags=self._flags).reasons

    def _alone(self, signature: GraphSignature) -> tuple[Finding, ...]:
        nodes = distinct_nodes(signature)
        single = self._single_exec(signature, nodes)
        return unknowns(self.policy, signature, nodes, self._judge) if single is None else (single,)

    def _single_exec(self, signature: GraphSignature, nodes: tuple[NodeSignature, ...]) -> Finding | None:
        """Return why CUDA allows a graph one executable only; in several processes it has several anyway."""
        return None if self.policy == "portable" else single_exec_finding(signature, nodes)

    def stats(self) -> GroupStats:
        """Count graphs, groups, groups of one, and the largest group."""
        return GroupStats(
            graphs=self._graphs,
            groups=len(self._groups),
            singletons=sum(len(group) == 1 for group in self._groups),
            largest=max(map(len, self._groups), default=0),
        )

    def report(self, *, nearest: int = 20) -> GroupReport:
        """Say what was the same, what stood alone and what it missed by.

        Parameters
        ----------
        nearest
            Groups of one for which the nearest other group is searched, at most. Each search compares with at
            most eight groups of the same node kinds, or with the two next in length where there is none.
        """
        singletons = tuple(group.index for group in self._groups if len(group) == 1)
        misses = (self._nearest_miss(self._groups[index]) for index in singletons[:nearest])
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
                for group in self._groups
            ),
            singletons=singletons,
            nearest=tuple(miss for miss in misses if miss is not None),
        )

    def _validate(self, signature: GraphSignature) -> None:
        """Refuse what is no signature. Nodes are shared by many graphs, so each object is looked at once."""
        if not isinstance(signature, GraphSignature):
            raise UsageError(f"register takes a GraphSignature, not {type(signature).__name__}; read_graph makes one")
        if id(signature) in self._sound:
            return
        if all(id(node) in self._sound for node in signature.nodes):
            validate(GraphSignature(nodes=(_EMPTY,) * len(signature.nodes), dependencies=signature.dependencies))
        else:
            validate(signature)
        # Kept alive here, so that an id names the same record for as long as the registry lives.
        self._sound.update((id(node), node) for node in signature.nodes)
        self._sound[id(signature)] = signature

    def _nearest_miss(self, group: Group) -> NearestMiss | None:
        graph = group.representative.graph
        alike = [index for index in self._by_shape[_shape(graph)][: MISS_CANDIDATES + 1] if index != group.index]
        if not alike:
            place = bisect_left(self._by_length, (len(graph.nodes), group.index))
            around = self._by_length[max(0, place - 1) : place] + self._by_length[place + 1 : place + 2]
            alike = [index for _, index in around]
        misses = [
            NearestMiss(group=group.index, other=index, findings=self.why_not(self._groups[index], group))
            for index in alike
        ]
        return min(misses, key=_distance, default=None)


def _graph(subject: Group | GraphSignature) -> GraphSignature:
    return subject.representative.graph if isinstance(subject, Group) else subject


def _shape(signature: GraphSignature) -> int:
    """Hash of the node kinds in order. Two shapes may collide; a nearest miss is only a hint."""
    return hash(tuple(node.node_type for node in signature.nodes))


def _distance(miss: NearestMiss) -> tuple[int, int]:
    return sum(finding.count for finding in miss.findings), miss.other
