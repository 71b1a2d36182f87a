"""Graphs grouped under a policy: the one engine behind `SignatureRegistry` and ``sigcontract groups``."""

from collections import Counter
from collections.abc import Iterator
from heapq import nsmallest
from itertools import islice
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from sigcontract.model import (
    Finding,
    GraphSignature,
    NodeSignature,
    inner_graphs,
)
from sigcontract.update.kernels import NodeJudge
from sigcontract.update.policies import (
    GROUPING_POLICIES,
    SHARE_UPDATABLE,
    check_policy,
    first_come_policy,
    is_judged_same,
    judged_key,
    judged_same,
)
from sigcontract.update.similarity import similarity_key
from sigcontract.update.single_exec import single_exec_finding
from sigcontract.update.updatable import FirstCome, fewest_executables
from sigcontract.wire import portable_digest

__all__ = ["NEAREST_CANDIDATES", "Group", "Grouping", "Nearest", "distinct_nodes", "unprovable"]

#: Graphs that a lone graph is compared with in full: the most similar by kinds and names of nodes.
NEAREST_CANDIDATES: Final = 4

#: How many nodes of each kind and name a graph has.
_Kinds = dict[tuple[int, str], int]


class Labelled(Protocol):
    """A graph with a label, as `LabeledGraph` is one."""

    @property
    def label(self) -> str:
        """Its name in reports."""

    @property
    def graph(self) -> GraphSignature:
        """The graph."""


G = TypeVar("G", bound=Labelled)


class Group(Generic[G]):
    """Graphs that are the same under a policy: a read-only view.

    Attributes
    ----------
    index
        Position in the order of first arrival, from 0.
    key
        The policy's key, equal for all members.
    alone
        Why no other graph can join (an opaque node, an unreadable attribute); empty if others can.
    """

    __slots__ = ("_members", "alone", "index", "key")

    def __init__(self, index: int, key: str, alone: tuple[Finding, ...], members: list[G]) -> None:
        self.index: Final = index
        self.key: Final = key
        self.alone: Final = alone
        self._members = members

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[G]:
        return iter(tuple(self._members))

    def __repr__(self) -> str:
        return f"<Group {self.index}: {len(self)} x {self._members[0].label!r}>"

    @property
    def members(self) -> tuple[G, ...]:
        """The graphs, in order of arrival."""
        return tuple(self._members)

    @property
    def representative(self) -> G:
        """The graph that arrived first."""
        return self._members[0]


class Nearest(NamedTuple, Generic[G]):
    """The graph closest to one that is alone in its group.

    Attributes
    ----------
    graph
        The closest of those that were compared.
    group
        Its group.
    findings
        The differences that keep the two from sharing.
    """

    graph: G
    group: Group[G]
    findings: tuple[Finding, ...]


class Grouping(Generic[G]):
    """Graphs grouped by what is the same under a policy.

    Two graphs of one key of which everything is known are the same, so a graph is found by its key and compared with
    none, but under ``portable`` with the first of each group of its key, where its nodes stand in an order that none
    of the group had. Under ``share-updatable`` graphs are found by the key of ``share-functions`` as they arrive, and
    `seal` puts groups together. Graphs are expected to be valid, and are kept alive here, as the judge requires.

    Parameters
    ----------
    policy
        The name of a policy.
    judge
        Judges nodes, under one profile and one set of instantiation flags.

    Raises
    ------
    UsageError
        The policy is unknown.
    """

    def __init__(self, policy: str, judge: NodeJudge) -> None:
        check_policy(policy, GROUPING_POLICIES)
        self.policy: Final = policy
        self._first_come: Final = first_come_policy(policy)
        self.groups: Final[list[Group[G]]] = []
        #: Fewer groups cannot hold the graphs; known once sealed.
        self.at_least = 0
        self._judge = judge
        self._judged: dict[int, tuple[str | None, tuple[Finding, ...] | None]] = {}
        self._members: list[list[G]] = []
        self._digests: dict[int, str] = {}
        #: By key, the groups that others can join.
        self._open: dict[str, list[int]] = {}
        self._arrivals: list[tuple[G, Group[G]]] = []
        self._counted = 0
        self._by_kinds: dict[frozenset[tuple[tuple[int, str], int]], tuple[_Kinds, list[int]]] = {}

    def __len__(self) -> int:
        """Return the number of graphs."""
        return len(self._arrivals)

    def add(self, member: G, alone: tuple[Finding, ...] | None = None) -> Group[G]:
        """Put a graph into its group, or into a new one.

        Parameters
        ----------
        member
            The graph.
        alone
            Why it must not share; by default what is unknown of it.
        """
        graph = member.graph
        # Labels of one graph, as decoding makes equal ones, are judged once; the members keep the graphs.
        digest, unknown = self._judged.get(id(graph), (None, None))
        if digest is None:
            digest = judged_key(self._first_come, graph, self._judge)
        if alone is None:
            alone = unknown = self.alone(graph) if unknown is None else unknown
        self._judged[id(graph)] = digest, unknown
        index = None if alone else self._joined(digest, graph)
        if index is None:
            index = len(self.groups)
            self._members.append([])
            self.groups.append(Group(index, digest, alone, self._members[index]))
            if not alone:
                self._open.setdefault(digest, []).append(index)
        self._members[index].append(member)
        self._arrivals.append((member, self.groups[index]))
        return self.groups[index]

    def seal(self) -> None:
        """Form the final groups: under ``share-updatable`` the fewest in which every graph goes with every other."""
        if self.policy == SHARE_UPDATABLE:
            self._merge()
        else:
            self.at_least = len(self.groups)

    def _merge(self) -> None:
        """Put groups together. Groups that were handed out before are of no use any more."""
        numbers: dict[int, list[int]] = {}
        for number, (_, group) in enumerate(self._arrivals):
            numbers.setdefault(group.index, []).append(number)
        alone = [group for group in self.groups if group.alone]
        found = fewest_executables(
            [member.graph for member, _ in self._arrivals],
            [FirstCome(tuple(numbers[group.index])) for group in self.groups if not group.alone],
            self._judge,
        )
        self.at_least = len(alone) + found.at_least
        merged = sorted([*found.groups, *(tuple(numbers[group.index]) for group in alone)])
        arrivals, self.groups[:], self._members[:] = tuple(self._arrivals), [], []
        for index, members in enumerate(merged):
            first = arrivals[members[0]][1]
            self._members.append([arrivals[number][0] for number in members])
            self.groups.append(Group(index, first.key, first.alone, self._members[index]))
            for number in members:
                self._arrivals[number] = arrivals[number][0], self.groups[index]

    def _joined(self, key: str, graph: GraphSignature) -> int | None:
        """Return the index of the group that a graph of that key is of, None if it is the first of its own."""
        known = self._open.get(key, ())
        if self.policy != "portable":
            return known[0] if known else None
        for index in known:
            first = self._members[index][0].graph
            if self._digest(first) == self._digest(graph) or not self.differences(first, graph):
                return index
        return None

    def _digest(self, graph: GraphSignature) -> str:
        known = self._digests.get(id(graph))
        if known is None:
            known = self._digests[id(graph)] = portable_digest(graph)
        return known

    def alone(self, graph: GraphSignature) -> tuple[Finding, ...]:
        """Return why a graph must share no executable: CUDA allows one of it, or something of it is unknown."""
        nodes = distinct_nodes(graph)
        single = None if self.policy == "portable" else single_exec_finding(graph, nodes)
        return unprovable(self._first_come, graph, nodes, self._judge) if single is None else (single,)

    def differences(self, a: GraphSignature, b: GraphSignature) -> tuple[Finding, ...]:
        """Return the differences that keep two graphs from sharing; empty if they are the same."""
        return judged_same(self.policy, a, b, self._judge).reasons

    def nearest(self, group: Group[G]) -> Nearest[G] | None:
        """Return the graph of another group closest to the first of this one, None if there is no other group.

        Of the `NEAREST_CANDIDATES` most similar by kinds and names of nodes, the one with the fewest differences.
        """
        subject = group.representative.graph
        best: tuple[int, Nearest[G]] | None = None
        for number in self._candidates(group):
            graph, other = self._arrivals[number]
            findings = self.differences(graph.graph, subject)
            count = sum(finding.count for finding in findings)
            if best is None or count < best[0]:
                best = count, Nearest(graph, other, findings)
        return None if best is None else best[1]

    def _candidates(self, group: Group[G]) -> list[int]:
        """Return the most similar graphs of other groups, by their numbers in the order of arrival."""
        for number in range(self._counted, len(self._arrivals)):
            kinds = _kinds(self._arrivals[number][0].graph)
            self._by_kinds.setdefault(frozenset(kinds.items()), (kinds, []))[1].append(number)
        self._counted = len(self._arrivals)
        own = _kinds(group.representative.graph)
        found: list[tuple[int, int]] = []
        for kinds, numbers in self._by_kinds.values():
            others = (number for number in numbers if self._arrivals[number][1] is not group)
            distance = _distance(own, kinds)
            found.extend((distance, number) for number in islice(others, NEAREST_CANDIDATES))
        return [number for _, number in nsmallest(NEAREST_CANDIDATES, found)]


def _kinds(graph: GraphSignature) -> _Kinds:
    return Counter(map(similarity_key, graph.nodes))


def _distance(a: _Kinds, b: _Kinds) -> int:
    """Return how many nodes only one of two graphs has, by kind and name."""
    common = sum(min(count, b.get(kind, 0)) for kind, count in a.items())
    return sum(a.values()) + sum(b.values()) - 2 * common


def distinct_nodes(graph: GraphSignature) -> tuple[NodeSignature, ...]:
    """Return every node object once, those of children and readable bodies included.

    Layers repeat and readers share equal records, so most questions need to be asked of each record only once.
    """
    found: dict[int, NodeSignature] = {}
    graphs = [graph]
    for one in graphs:  # grows while it is walked
        for node in one.nodes:
            if id(node) in found:
                continue
            found[id(node)] = node
            graphs.extend(inner for _, inner in inner_graphs(node) if inner is not None)
    return tuple(found.values())


def unprovable(
    policy: str, graph: GraphSignature, nodes: tuple[NodeSignature, ...], judge: NodeJudge
) -> tuple[Finding, ...]:
    """Return the unknowns that keep a graph from being the same as any under a policy, itself included.

    Unknowns are of nodes. So a graph of its ``nodes`` (`distinct_nodes`) without edges is asked first, and the whole
    graph only for the paths.
    """
    bare = GraphSignature(nodes=nodes, dependencies=((),) * len(nodes))
    if is_judged_same(policy, bare, bare, judge):
        return ()
    return judged_same(policy, graph, graph, judge).reasons
