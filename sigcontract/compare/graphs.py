"""How two graphs differ: their nodes aligned, every difference with the places where it is."""

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import NamedTuple

from sigcontract.compare.correspondence import AlignedGraphs, Aligner, Correspondence, identities
from sigcontract.compare.edges import EdgeChange, edge_changes
from sigcontract.compare.nodes import NodeComparer, NodeComparison
from sigcontract.model import (
    DriverProfile,
    Finding,
    GraphSignature,
    KernelNodeSignature,
    NodeSignature,
    Verdict,
)
from sigcontract.update import (
    MAX_ALSO,
    Difference,
    Effects,
    blocks_sharing,
    body_pairs,
    by_rule,
    finding_of,
    is_difference,
    is_unproven,
    predict_update,
    same,
    subject_of,
)

__all__ = ["Change", "GraphChanges", "compare_graphs"]

_CODE_UNKNOWN = "function.code-unknown"
#: What is not known of functions that may differ is of no account.
_OF_UNKNOWN_FUNCTIONS = frozenset({_CODE_UNKNOWN, "function.facts-unknown", "function.name-not-durable"})
#: What the driver may take all the same, because it pairs nodes by order and not by similarity.
_MOVES = frozenset({"node.added", "node.removed", "topology.dependency", "topology.dependency-count"})


class Place(NamedTuple):
    """Where a change is: indices in the old and in the new graph, None on the side that has no such node.

    ``at`` is where it stands in the order of the new graph.
    """

    at: int
    old: int | None
    new: int | None


class Change(NamedTuple):
    """One difference and all its places.

    Attributes
    ----------
    difference
        What differs; its ``field`` is the path below the node.
    subject
        What tells a person which node it is.
    places
        Where, ascending: all of them for a known difference. Empty for one of the graph as a whole.
    paths
        Full paths in the new graph (in the old one where the node was removed), as many as are ever shown.
    number
        How many places there are, those inside child graphs counted one by one.
    """

    difference: Difference
    subject: str | None
    places: list[Place]
    paths: list[str]
    number: int

    @property
    def known(self) -> bool:
        """Whether this is known to be a difference; else it says what is not known, at the first places only."""
        return is_difference(self.difference.rule, self.difference.old, self.difference.new)


class GraphChanges(NamedTuple):
    """Two graphs, which nodes correspond, and what differs."""

    aligned: AlignedGraphs
    changes: list[Change]

    def findings(self, profile: DriverProfile | None) -> tuple[Finding, ...]:
        """Return each change as one finding."""
        return tuple(
            finding_of(change.difference, change.paths, change.subject, change.number, profile)
            for change in self.changes
        )


def compare_graphs(  # noqa: PLR0913  two graphs, and four separate questions about them
    old: GraphSignature,
    new: GraphSignature,
    profile: DriverProfile | None,
    *,
    policy: str = "portable",
    one_capture: bool = False,
    flags: int = 0,
) -> GraphChanges:
    """Compare two graphs that correspond.

    Parameters
    ----------
    old, new
        The graphs, as recorded.
    profile
        What is known of the driver, or None.
    policy
        What the two are compared for: what does not count for that is left out. Under ``exact`` every recorded field
        counts, handles and addresses included; else the two may come from different processes, and handles count only
        by which of them are the same.
    one_capture
        Whether both were read by one process in one moment, so that equal handles are one function. Under the share
        policies other handles are another one, as they are for an executable.
    flags
        CUgraphInstantiate_flags of the executable whose update is judged.
    """
    return _GraphComparison(old, new, profile, policy=policy, one_capture=one_capture, flags=flags).changes()


class _GraphComparison:
    def __init__(  # noqa: PLR0913  as for compare_graphs
        self,
        old: GraphSignature,
        new: GraphSignature,
        profile: DriverProfile | None,
        *,
        policy: str,
        one_capture: bool,
        flags: int,
    ) -> None:
        self._profile = profile
        self._flags = flags
        self._policy = policy
        self._old, self._new = old, new
        # Handles of one capture are what an executable knows functions by.
        by_value = policy == "exact" or (one_capture and policy != "portable")
        self._aligner = Aligner(by_value=by_value)
        self._aligner.add(old)
        self._aligner.add(new)
        self._evidence_of: dict[tuple[int, int], Counter[tuple[str, int, int]]] = {}
        self._changes_of: dict[tuple[int, int], list[Change]] = {}
        correspondence = None if by_value else Correspondence(self._evidence(old, new))
        self._comparer = NodeComparer(profile, correspondence, flags=flags)
        # By function number, kern and func: what proves anything in one capture alone.
        self._handles = tuple(dict(self._handles_in(graph)) if one_capture else {} for graph in (old, new))

    def changes(self) -> GraphChanges:
        aligned = self._aligner.align(self._old, self._new)
        changes = _code_unknown_as_one(self._changes(self._old, self._new))
        if not self._aligner.exact:
            changes.append(_of_graph("node.alignment"))
        return GraphChanges(aligned, self._counting(changes))

    def _counting(self, changes: list[Change]) -> list[Change]:
        """Leave out what does not count for the policy, and judge moves by the pairs that the driver makes."""
        moved = any(change.difference.rule in _MOVES for change in changes)
        one_length = len(self._old.nodes) == len(self._new.nodes)
        if moved and one_length:
            changes = self._with_moves_judged(changes)
        effects = Effects(self._profile, self._flags)
        kept = [change for change in changes if blocks_sharing(self._policy, change.difference, effects)]
        if kept or not changes or not one_length:
            return kept
        # The policy has the last word: nodes that moved may not go together with those that they come to stand beside.
        return kept if same(self._policy, *self._side_by_side(), self._profile, flags=self._flags).same else changes

    def _side_by_side(self) -> tuple[GraphSignature, GraphSignature]:
        """Return both graphs in the numbers of one."""
        node, new_numbers = self._aligner.node, self._aligner.numbers(self._new)
        translated = {number: self._comparer.translated(node(number)) for number in set(new_numbers)}
        return (
            GraphSignature(
                nodes=tuple(map(node, self._aligner.numbers(self._old))), dependencies=self._old.dependencies
            ),
            GraphSignature(nodes=tuple(map(translated.__getitem__, new_numbers)), dependencies=self._new.dependencies),
        )

    def _evidence(self, old: GraphSignature, new: GraphSignature) -> Counter[tuple[str, int, int]]:
        """Count, over all nodes that correspond, which number of the old graph stands where one of the new does."""
        known = self._evidence_of.get((id(old), id(new)))
        if known is not None:
            return known
        evidence: Counter[tuple[str, int, int]] = Counter()
        aligned = self._aligner.align(old, new)
        for (old_number, new_number), times in aligned.distinct.items():
            before, after = self._aligner.node(old_number), self._aligner.node(new_number)
            found = list(identities(before))
            if old_number == new_number:
                for _, kind, number in found:
                    evidence[kind, number, number] += times
            numbers = {path: number for path, _, number in found}
            # Kernels of different names are different functions, whatever their numbers.
            renamed = isinstance(before, KernelNodeSignature) and before.name != getattr(after, "name", None)
            for path, kind, number in identities(after) if old_number != new_number else ():
                if path in numbers and not (renamed and kind == "function"):
                    evidence[kind, numbers[path], number] += times
            for _, old_body, new_body in body_pairs(before, after):
                for item, inner_times in self._evidence(old_body, new_body).items():
                    evidence[item] += times * inner_times
        self._evidence_of[id(old), id(new)] = evidence
        return evidence

    def _changes(self, old: GraphSignature, new: GraphSignature) -> list[Change]:
        """Return what differs between two graphs, paths from these graphs on, in the order of the new one."""
        told = self._changes_of.get((id(old), id(new)))
        if told is not None:
            return told
        aligned = self._aligner.align(old, new)
        found = _Collected()
        self._add_pairs(found, aligned)
        for edge in edge_changes(old, new, aligned.alignment):
            found.add_edge(edge, subject_of(new.nodes[edge.new_index]))
        for old_start, old_end, new_start, new_end in aligned.alignment.gaps(len(old.nodes), len(new.nodes)):
            for index in range(old_start, old_end):
                found.add_node("node.removed", old.nodes[index], Place(new_start, index, None))
            for index in range(new_start, new_end):
                found.add_node("node.added", new.nodes[index], Place(index, None, index))
        changes = self._changes_of[id(old), id(new)] = found.changes()
        return changes

    def _add_pairs(self, found: "_Collected", aligned: AlignedGraphs) -> None:
        """Add what differs between nodes that correspond: each distinct pair is compared once."""
        of_pair = {pair: self._of_pair(*pair) for pair in aligned.distinct}
        known = {pair: [change for change in changes if change.known] for pair, changes in of_pair.items()}
        wanted = frozenset(pair for pair, changes in known.items() if changes)
        if wanted:
            for old_index, new_index, pair in aligned.places(wanted):
                for change in known[pair]:
                    found.add(change, Place(new_index, old_index, new_index), 1)
        if all(len(known[pair]) == len(changes) for pair, changes in of_pair.items()):
            return
        # What is not known may be so at every node: it is counted, and shown at the first.
        for pair, (old_index, new_index) in sorted(aligned.first_places().items(), key=lambda item: item[1][1]):
            for change in of_pair[pair]:
                if not change.known:
                    found.add(change, Place(new_index, old_index, new_index), aligned.distinct[pair])

    def _of_pair(self, old_number: int, new_number: int) -> list[Change]:
        """Return what differs between two nodes, and between the graphs inside them; paths from the nodes on."""
        before, after = self._aligner.node(old_number), self._aligner.node(new_number)
        subject = subject_of(after)
        found = self._comparer.compare(before, after)
        changes = []
        for difference in (*found.differences, *self._unproven(found)):
            if difference.rule in _OF_UNKNOWN_FUNCTIONS and self._may_differ(before, after):
                continue
            if difference.rule == _CODE_UNKNOWN:
                # The numbers keep functions of one name apart until all are counted.
                difference = difference._replace(old=found.functions[0], new=found.functions[1])  # noqa: PLW2901
            changes.append(Change(difference, subject, [], [difference.field], 1))
        for at, old_body, new_body in body_pairs(before, after):
            for inner in self._changes(old_body, new_body):
                paths = [at + path for path in inner.paths]
                difference = inner.difference._replace(field=paths[0])
                changes.append(inner._replace(difference=difference, places=[], paths=paths))
        return changes

    def _may_differ(self, before: NodeSignature, after: NodeSignature) -> bool:
        """Say whether two kernels with handles may run two functions for all that the policy cares."""
        if not isinstance(before, KernelNodeSignature) or not isinstance(after, KernelNodeSignature):
            return False
        judge = self._comparer.judge
        return (
            self._policy == "share-functions"
            and all((node.kern or node.func) != 0 and judge.is_free(node) for node in (before, after))
            and not is_unproven(before, after, judge, free=True)
        )

    def _unproven(self, found: NodeComparison) -> list[Difference]:
        """Return what is not known of two functions of which nothing differs: nothing where they are one handle."""
        old, new = (known.get(number) for known, number in zip(self._handles, found.functions, strict=True))
        return [] if old is not None and old == new else found.unproven

    def _handles_in(self, graph: GraphSignature) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield function number and handles of every distinct kernel node, those of graphs inside included."""
        for index in dict(zip(self._aligner.numbers(graph), range(len(graph.nodes)), strict=True)).values():
            yield from _handles(graph.nodes[index], self._aligner.node(self._aligner.numbers(graph)[index]))

    def _with_moves_judged(self, changes: list[Change]) -> list[Change]:
        """Ask the driver's rule where nodes or edges moved and none was added: it pairs by order, not by similarity."""
        prediction = predict_update(*self._side_by_side(), self._profile, flags=self._flags)
        verdict = Verdict.worst((prediction.verdict, Verdict.UPDATABLE))
        if verdict is Verdict.REJECTED:
            return changes
        return [
            change._replace(difference=change.difference._replace(verdict=verdict))
            if change.difference.rule in _MOVES
            else change
            for change in changes
        ]


def _handles(node: NodeSignature, form: NodeSignature) -> Iterator[tuple[int, tuple[int, int]]]:
    if isinstance(node, KernelNodeSignature) and isinstance(form, KernelNodeSignature) and form.func:
        yield form.func, (node.kern, node.func)
    for _, body, form_body in body_pairs(node, form):
        for inner, inner_form in {id(a): (a, b) for a, b in zip(body.nodes, form_body.nodes, strict=True)}.values():
            yield from _handles(inner, inner_form)


class _Collected:
    """Collects changes; equal ones become one with all its places."""

    def __init__(self) -> None:
        self._changes: dict[Hashable, Change] = {}

    def add(self, change: Change, place: Place, times: int) -> None:
        """Add a difference of two nodes that correspond: where, and at how many places like it."""
        node = f"nodes[{place.at}]"
        # What is not known has one cause, whichever kernels it is about; functions are counted one by one.
        about = change.subject if change.known or change.difference.rule == _CODE_UNKNOWN else None
        counted = change._replace(number=change.number * times)
        self._add((change.difference, about), counted, place, [node + path for path in change.paths])

    def add_node(self, rule_id: str, node: NodeSignature, place: Place) -> None:
        """Add a node without counterpart."""
        subject = subject_of(node)
        difference = by_rule(rule_id, "", *((subject, None) if place.new is None else (None, subject)))
        index = place.old if place.new is None else place.new
        self._add((difference, subject), Change(difference, subject, [], [], 1), place, [f"nodes[{index}]"])

    def add_edge(self, edge: EdgeChange, subject: str) -> None:
        """Add a difference among the dependencies of two nodes that correspond."""
        difference = by_rule(edge.rule, edge.field, edge.old, edge.new)
        # Indices differ from layer to layer where distances do not.
        key = edge.rule, edge.field, edge.distance, subject
        place = Place(edge.new_index, edge.old_index, edge.new_index)
        path = f"dependencies[{edge.new_index}]{edge.field}"
        self._add(key, Change(difference, subject, [], [], 1), place, [path])

    def _add(self, key: Hashable, change: Change, place: Place, paths: list[str]) -> None:
        known = self._changes.get(key)
        if known is None:
            self._changes[key] = change._replace(places=[place], paths=paths[: 1 + MAX_ALSO])
            return
        known.places.append(place)
        known.paths.extend(paths[: 1 + MAX_ALSO - len(known.paths)])
        subject = known.subject if known.subject == change.subject else None
        self._changes[key] = known._replace(number=known.number + change.number, subject=subject)

    def changes(self) -> list[Change]:
        """Return the changes by their first place."""
        return sorted(self._changes.values(), key=lambda change: change.places[0].at)


def _code_unknown_as_one(changes: list[Change]) -> list[Change]:
    """Say once how many functions there are whose machine code is not known, and not for each."""
    unknown = [change for change in changes if change.difference.rule == _CODE_UNKNOWN]
    if not unknown:
        return changes
    functions = {(change.subject, *change.difference[-2:]): change for change in reversed(unknown)}
    first = unknown[0]
    one = Change(
        first.difference._replace(old=None, new=None),
        first.subject if len(functions) == 1 else None,
        [],
        [change.paths[0] for change in reversed(functions.values())][: 1 + MAX_ALSO],
        len(functions),
    )
    return [*(change for change in changes if change.difference.rule != _CODE_UNKNOWN), one]


def _of_graph(rule_id: str) -> Change:
    return Change(by_rule(rule_id, "", None, None), None, [], ["nodes"], 1)
