"""How two graphs differ: align their nodes, and list every difference with its nodes."""

from collections import Counter
from collections.abc import Iterator

from sigcontract.compare.aligned import AlignedGraphs, unwrapped
from sigcontract.compare.aligner import Aligner
from sigcontract.compare.changes import CODE_UNKNOWN, Change, CollectedChanges, NodeIndices
from sigcontract.compare.correspondence import Correspondence
from sigcontract.compare.edge_words import with_ends
from sigcontract.compare.edges import edge_changes
from sigcontract.compare.graph_changes import (
    NODE_ORDER,
    GraphChanges,
    code_unknown_as_one,
    of_graph,
    other_order,
    wrapped_text,
)
from sigcontract.compare.nodes import NodeComparer, NodeComparison
from sigcontract.model import (
    DriverProfile,
    GraphSignature,
    Identities,
    KernelNodeSignature,
    NodeSignature,
    Verdict,
)
from sigcontract.update import (
    Difference,
    Effects,
    NodeOrder,
    StructureUndecided,
    blocks_sharing,
    body_pairs,
    by_rule,
    compact_portable_form,
    is_unproven,
    portable_order,
    predict_update,
    same,
    subject_of,
)

__all__ = ["compare_graphs"]

#: What is not known of functions that may differ is of no account.
_OF_UNKNOWN_FUNCTIONS = frozenset({CODE_UNKNOWN, "function.facts-unknown", "function.name-not-durable"})
_MOVES = frozenset({NODE_ORDER, "node.added", "node.removed", "topology.dependency", "topology.dependency-count"})


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
        The driver's profile, or None.
    policy
        What the two are compared for: what does not count for that is left out. Under ``exact`` every recorded field
        counts, handles and addresses included; else the two may come from different processes, and handles count only
        by which of them are the same.
    one_capture
        Whether both were read by one process in one moment, so that equal handles are one function. Under the share
        policies other handles are another one, as they are for an executable.
    flags
        CUgraphInstantiate_flags of the executable.
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
        self._one_capture = one_capture
        self._new = new
        # Handles of one capture are what an executable knows functions by.
        by_value = policy == "exact" or (one_capture and policy != "portable")
        self._aligner = Aligner(by_value=by_value)
        self._aligner.add(old)
        self._aligner.add(new)
        #: How the old graph's nodes were put in the order of the new one's, where that makes the two equal.
        self._order, self._undecided = (None, False) if by_value else self._portable_order(old, new)
        if self._order is not None:
            old = self._order.applied(old)
            self._aligner.add(old, self._order)
        self._old = old
        self._evidence_of: dict[tuple[int, int], Counter[tuple[str, int, int]]] = {}
        self._identities = Identities()
        self._changes_of: dict[tuple[int, int], list[Change]] = {}
        correspondence = None if by_value else Correspondence(self._evidence(old, new))
        self._comparer = NodeComparer(profile, correspondence, flags=flags)
        # By function number, kern and func: what proves anything in one capture alone.
        self._handles = tuple(dict(self._handles_in(graph)) if one_capture else {} for graph in (old, new))

    def _portable_order(self, old: GraphSignature, new: GraphSignature) -> tuple[NodeOrder | None, bool]:
        """Return the order that makes two graphs equal, if there is one, and whether the search for it was cut short.

        The policy ``portable`` asks the same, so that the two agree.
        """
        if not self._aligner.may_be_equal(old, new):
            return None, False
        try:
            return portable_order(compact_portable_form(old), compact_portable_form(new)), False
        except StructureUndecided:
            return None, True

    def changes(self) -> GraphChanges:
        aligned = self._aligner.align(self._old, self._new)
        changes = code_unknown_as_one(self._changes(self._old, self._new))
        if self._undecided or not self._aligner.exact:
            changes.append(of_graph("node.alignment"))
        return self._found(aligned, self._counting(changes))

    def _found(self, aligned: AlignedGraphs, changes: list[Change]) -> GraphChanges:
        def inside(old: int, new: int) -> list[tuple[str, GraphChanges]]:
            nodes = self._aligner.node(aligned.old_numbers[old]), self._aligner.node(aligned.new_numbers[new])
            return [
                (at, self._found(self._aligner.align(before, after), self._that_count(self._changes(before, after))))
                for at, before, after in body_pairs(*nodes)
            ]

        return GraphChanges(aligned, changes, self._one_capture, inside)

    def _that_count(self, changes: list[Change]) -> list[Change]:
        effects = Effects(self._profile, 0)
        return [change for change in changes if blocks_sharing(self._policy, change.difference, effects)]

    def _counting(self, changes: list[Change]) -> list[Change]:
        """Leave out what does not count for the policy, and judge moves by the pairs that the driver makes."""
        moved = any(change.difference.rule in _MOVES for change in changes)
        one_length = len(self._old.nodes) == len(self._new.nodes)
        if moved and one_length:
            changes = self._with_moves_judged(changes)
        kept = self._that_count(changes)
        if kept or not changes or not one_length:
            return kept
        # The policy has the last word: nodes that moved may not go together with those that they come to stand beside.
        return kept if same(self._policy, *self._side_by_side(), self._profile, flags=self._flags).same else changes

    def _side_by_side(self) -> tuple[GraphSignature, GraphSignature]:
        """Return both graphs in the numbers of one."""
        node, new_numbers = self._aligner.node, self._aligner.numbers(self._new)
        translated = {number: self._comparer.translated(node(number)) for number in set(new_numbers)}
        old = GraphSignature(
            nodes=tuple(map(node, self._aligner.numbers(self._old))), dependencies=self._old.dependencies
        )
        return (
            old if self._order is None else self._order.inverse.applied(old),
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
            if type(before) is not type(after):
                (_, before), (_, after) = unwrapped(before), unwrapped(after)
            found = self._identities.of(before)
            if old_number == new_number:
                for _, kind, number in found:
                    evidence[kind, number, number] += times
            numbers = {path: number for path, _, number in found}
            # Kernels of different names are different functions, whatever their numbers.
            renamed = isinstance(before, KernelNodeSignature) and before.name != getattr(after, "name", None)
            for path, kind, number in self._identities.of(after) if old_number != new_number else ():
                if path in numbers and not (renamed and kind == "function"):
                    evidence[kind, numbers[path], number] += times
            for _, old_body, new_body in body_pairs(before, after):
                for item, inner_times in self._evidence(old_body, new_body).items():
                    evidence[item] += times * inner_times
        self._evidence_of[id(old), id(new)] = evidence
        return evidence

    def _changes(self, old: GraphSignature, new: GraphSignature) -> list[Change]:
        """Return what differs between two graphs, paths from these graphs on, in the order of the new one."""
        known = self._changes_of.get((id(old), id(new)))
        if known is not None:
            return known
        aligned = self._aligner.align(old, new)
        found = CollectedChanges()
        self._add_pairs(found, aligned)
        for edge in edge_changes(aligned.old, new, aligned.alignment):
            found.add_edge(with_ends(edge, aligned), subject_of(new.nodes[edge.new_index]))
        for old_start, old_end, new_start, new_end in aligned.alignment.gaps(len(old.nodes), len(new.nodes)):
            for index in range(old_start, old_end):
                indices = NodeIndices(new_start, index, None)
                found.add_node("node.removed", aligned.old.nodes[index], indices, aligned.recorded(index))
            for index in range(new_start, new_end):
                found.add_node("node.added", new.nodes[index], NodeIndices(index, None, index), index)
        changes = self._changes_of[id(old), id(new)] = [*other_order(aligned), *found.changes()]
        return changes

    def _add_pairs(self, found: "CollectedChanges", aligned: AlignedGraphs) -> None:
        """Add what differs between nodes that correspond: each distinct pair is compared once."""
        of_pair = {pair: self._of_pair(*pair) for pair in aligned.distinct}
        known: dict[tuple[int, int], list[Change]] = {}
        unknown: dict[tuple[int, int], list[Change]] = {}
        for pair, changes in of_pair.items():
            for change in changes:
                (known if change.known else unknown).setdefault(pair, []).append(change)
        if known:
            for old_index, new_index, pair in aligned.pairs_among(known.keys()):
                indices = NodeIndices(new_index, old_index, new_index)
                for change in known[pair]:
                    found.add(change, indices, 1, known=True)
        if not unknown:
            return
        # What is not known may be so at every node: it is counted, and shown at the first.
        for pair, (old_index, new_index) in sorted(aligned.first_pairs().items(), key=lambda item: item[1][1]):
            for change in unknown.get(pair, ()):
                found.add(change, NodeIndices(new_index, old_index, new_index), aligned.distinct[pair], known=False)

    def _of_pair(self, old_number: int, new_number: int) -> list[Change]:
        """Return what differs between two nodes, and between the graphs inside them; paths from the nodes on."""
        before, after = self._aligner.node(old_number), self._aligner.node(new_number)
        if type(before) is not type(after):
            (old_depth, inner), (new_depth, other) = unwrapped(before), unwrapped(after)
            if old_depth != new_depth and type(inner) is type(other):
                return self._of_wrapped(after, (old_depth, inner), (new_depth, other))
        return self._of_nodes(before, after)

    def _of_wrapped(
        self, after: NodeSignature, old: tuple[int, NodeSignature], new: tuple[int, NodeSignature]
    ) -> list[Change]:
        """Return what differs between two nodes inside of different numbers of child graphs."""
        texts = (wrapped_text(*side) for side in (old, new))
        changes = [Change(by_rule("child.wrapper", "", *texts), subject_of(after), [], [""], 1)]
        at = ".graph.nodes[0]" * new[0]
        for change in self._of_nodes(old[1], new[1]):
            paths = [at + path for path in change.paths]
            changes.append(change._replace(difference=change.difference._replace(field=paths[0]), paths=paths))
        return changes

    def _of_nodes(self, before: NodeSignature, after: NodeSignature) -> list[Change]:
        subject = subject_of(after)
        found = self._comparer.compare(before, after)
        changes = []
        for difference in (*found.differences, *self._unproven(found)):
            if difference.field == ".name" and self._is_renamed(difference, before, after):
                difference = by_rule("kernel.renamed", ".name", difference.old, difference.new)  # noqa: PLW2901  a finer difference
            if difference.rule in _OF_UNKNOWN_FUNCTIONS and self._may_differ(before, after):
                continue
            if difference.rule == CODE_UNKNOWN:
                # The numbers distinguish functions of one name until all are counted.
                difference = difference._replace(old=found.functions[0], new=found.functions[1])  # noqa: PLW2901  likewise
            changes.append(Change(difference, subject, [], [difference.field], 1))
        for at, old_body, new_body in body_pairs(before, after):
            for inner in self._changes(old_body, new_body):
                paths = [at + path for path in inner.paths]
                difference = inner.difference._replace(field=paths[0])
                changes.append(inner._replace(difference=difference, indices=[], paths=paths))
        return changes

    def _is_renamed(self, difference: Difference, before: NodeSignature, after: NodeSignature) -> bool:
        """Say whether two functions of two processes differ in nothing but their name, by facts and code."""
        return (
            not self._one_capture
            and self._policy in ("portable", "exact")
            and difference.rule == "kernel.function"
            and isinstance(before, KernelNodeSignature)
            and isinstance(after, KernelNodeSignature)
            and before.function is not None
            and before.function.code_sha256 is not None
            and before.function == after.function
        )

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
        moved, order = (Verdict.worst((prediction.verdict, least)) for least in (Verdict.UPDATABLE, Verdict.HARMLESS))
        verdicts = dict.fromkeys(_MOVES, moved) | {NODE_ORDER: order}
        if moved is Verdict.REJECTED:
            refused = any(c.difference.verdict is moved and c.difference.rule not in _MOVES for c in changes)
            verdicts = {} if refused else {NODE_ORDER: order}
        return [
            change._replace(difference=change.difference._replace(verdict=verdicts[change.difference.rule]))
            if change.difference.rule in verdicts
            else change
            for change in changes
        ]


def _handles(node: NodeSignature, form: NodeSignature) -> Iterator[tuple[int, tuple[int, int]]]:
    if isinstance(node, KernelNodeSignature) and isinstance(form, KernelNodeSignature) and form.func:
        yield form.func, (node.kern, node.func)
    for _, body, form_body in body_pairs(node, form):
        for inner, inner_form in {id(a): (a, b) for a, b in zip(body.nodes, form_body.nodes, strict=True)}.values():
            yield from _handles(inner, inner_form)
