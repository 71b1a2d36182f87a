"""Graphs as sequences of small integers, aligned by equal nodes, by edges and by names.

Nodes are compared in portable form (`sigcontract.wire.identities`), where functions, contexts, events, allocations and
devices are numbered by first use. An inserted node shifts those numbers, so nodes are first aligned without them, and
then the numbers are put in correspondence.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from operator import itemgetter
from typing import Any

import msgspec
from msgspec.structs import replace

from sigcontract.compare.aligned import AlignedGraphs, distinct_pairs, edges_in_common, order_of, pairs_of, unwrapped
from sigcontract.compare.alignment import Alignment, Match, align_by_levels, joined
from sigcontract.compare.kernel_names import unnumbered
from sigcontract.model import (
    GraphSignature,
    KernelNodeSignature,
    NodeSignature,
    Renumbering,
    graph_fields,
    inner_graphs,
    local_fields,
)
from sigcontract.update import (
    NodeOrder,
    Reordering,
    is_chain,
    node_content,
    node_order,
    reordered,
    similarity_key,
)
from sigcontract.wire import (
    portable_form,
)

__all__ = ["Aligner"]

#: Share of the smaller graph's nodes that edges must identify for no other pairs to be tried.
_SHOWN_BY_EDGES = 0.9


class _View:
    """Table values for the numbers of a sequence, looked up per requested slice."""

    def __init__(self, numbers: list[int], table: list[int]) -> None:
        self._numbers, self._table = numbers, table

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, stretch: slice) -> list[int]:
        return list(map(self._table.__getitem__, self._numbers[stretch]))


def _as_recorded(nodes: tuple[NodeSignature, ...]) -> tuple[NodeSignature, ...]:
    return nodes


def _portable(nodes: tuple[NodeSignature, ...]) -> tuple[NodeSignature, ...]:
    return portable_form(GraphSignature(nodes=nodes, dependencies=((),) * len(nodes))).nodes


class Aligner:
    """Numbers nodes, equal ones equally, and aligns graphs by these numbers.

    Parameters
    ----------
    by_value
        Whether nodes align by every recorded field, handles and addresses included; else by portable form.
    """

    def __init__(self, *, by_value: bool) -> None:
        self._by_value = by_value
        self._unnumbered = Renumbering(lambda _kind: lambda _number: 1)
        self._nodes: list[NodeSignature] = []
        self._keys: list[int] = []
        self._similarity_keys: list[int] = []
        #: As similarity keys, with kernel names without trailing number.
        self._kinship_keys: list[int] = []
        self._cut_short = False
        self._number_of: dict[bytes, int] = {}
        self._key_of: dict[bytes, int] = {}
        self._number_of_key: dict[Any, int] = {}
        self._numbers_of_graph: dict[int, tuple[GraphSignature, list[int]]] = {}
        self._aligned: dict[tuple[int, int], AlignedGraphs] = {}
        #: By id of a reordered graph, the recorded index of each node.
        self._order_of: dict[int, list[int]] = {}

    def add(self, graph: GraphSignature, order: NodeOrder | None = None) -> None:
        """Add an outermost graph: as recorded if nodes align by value, else in portable form.

        ``order`` is the order of its nodes, if not the recorded one.
        """
        numbers = self._enter(graph, _as_recorded if self._by_value else _portable)
        if order is not None:
            self._keep_order(graph, tuple(map(self.node, numbers)), order)

    def _keep_order(self, graph: GraphSignature, forms: tuple[NodeSignature, ...], order: NodeOrder) -> None:
        """Keep the order of a graph, and of its nested graphs, for `align`."""
        if order.moved_here:
            self._order_of[id(graph)] = list(order.order)
        for node, orders in zip(forms, order.inside, strict=True):
            for (_, inner), inner_order in zip(_readable(node), orders, strict=True):
                self._keep_order(inner, inner.nodes, inner_order)

    def may_be_equal(self, old: GraphSignature, new: GraphSignature) -> bool:
        """Whether two graphs have the same nodes except numbers, but not all at equal indices."""
        numbers = self.numbers(old), self.numbers(new)
        if numbers[0] == numbers[1] and old.dependencies == new.dependencies:
            return False
        keys = [[self._keys[number] for number in side] for side in numbers]
        return sorted(keys[0]) == sorted(keys[1])

    @property
    def exact(self) -> bool:
        """Whether every search so far was complete."""
        return not self._cut_short and all(aligned.alignment.exact for aligned in self._aligned.values())

    def node(self, number: int) -> NodeSignature:
        """Return the node of that number, in compared form."""
        return self._nodes[number]

    def align(self, old: GraphSignature, new: GraphSignature) -> AlignedGraphs:
        """Return the alignment of two graphs; cached."""
        known = self._aligned.get((id(old), id(new)))
        if known is not None:
            return known
        numbers = self.numbers(old), self.numbers(new)
        in_order = old.dependencies == new.dependencies and (
            [self._keys[number] for number in numbers[0]] == [self._keys[number] for number in numbers[1]]
        )
        if in_order or (is_chain(old.dependencies) and is_chain(new.dependencies)):
            aligned = self._in_order(old, new)
        else:
            aligned = self._by_structure(old, new)
        order = self._order_of.get(id(old))
        if order is not None:
            aligned = aligned._replace(order=order)
        self._aligned[id(old), id(new)] = aligned
        return aligned

    def _in_order(self, old: GraphSignature, new: GraphSignature) -> AlignedGraphs:
        """Align two graphs by the order of their nodes.

        Equal nodes first. If unmatched nodes remain on both sides, try kernel names first too, and take the result with
        fewer unmatched nodes.
        """
        old_numbers, new_numbers = self.numbers(old), self.numbers(new)
        levels = self._levels(old_numbers, new_numbers)
        alignment = align_by_levels(levels)
        paired = sum(match.length for match in alignment.matches)
        if not self._by_value and paired < min(len(old_numbers), len(new_numbers)):
            by_name = align_by_levels(levels[::-1])
            if sum(match.length for match in by_name.matches) > paired:
                alignment = self._equal_ones_first(by_name, old_numbers, new_numbers)
        return AlignedGraphs(
            old, new, old_numbers, new_numbers, alignment, distinct_pairs(old_numbers, new_numbers, alignment)
        )

    def _equal_ones_first(self, alignment: Alignment, old: list[int], new: list[int]) -> Alignment:
        """Match a node with an equal one that is unmatched next to its counterpart, if that has no equal."""
        partner = dict(pairs_of(alignment))
        for index in range(len(old)):
            if index in partner:
                continue
            for beside in (index - 1, index + 1):
                at = partner.get(beside)
                if at is not None and self._keys[old[index]] == self._keys[new[at]] != self._keys[old[beside]]:
                    partner[index] = partner.pop(beside)
                    break
        taken = {at: index for index, at in partner.items()}
        for at in range(len(new)):
            if at in taken:
                continue
            for beside in (at - 1, at + 1):
                index = taken.get(beside, -1)
                if index >= 0 and self._keys[old[index]] == self._keys[new[at]] != self._keys[new[beside]]:
                    taken[at] = taken.pop(beside)
                    break
        pairs = sorted((index, at) for at, index in taken.items())
        return Alignment(tuple(joined([Match(index, at, 1) for index, at in pairs])), alignment.exact)

    def _by_structure(self, old: GraphSignature, new: GraphSignature) -> AlignedGraphs:
        """Align two graphs by their edges or by node order, whichever matches more.

        If they are not isomorphic, either graph may lead: the result is symmetric.
        """
        old_numbers, new_numbers = self.numbers(old), self.numbers(new)
        keys = [(before[:], after[:]) for before, after in self._levels(old_numbers, new_numbers)]
        found = node_order(keys, old.dependencies, new.dependencies)
        self._cut_short = self._cut_short or not found.exact
        if found.total:
            return self._in_other_order(old, new, [(index, at) for at, index in enumerate(found.order)])
        shown = self._by_edges(found, old_numbers, new_numbers)
        if shown is not None:
            return self._in_other_order(old, new, shown)
        most = (Counter(keys[-1][0]) & Counter(keys[-1][1])).total()
        forward = self._levels([old_numbers[index] for index in found.order], new_numbers)
        back = found.back
        backward = self._levels(old_numbers, [new_numbers[index] for index in back])
        led = (
            [(found.order[a], b) for a, b in self._searched(forward)],
            [(a, back[b]) for a, b in self._searched(backward)],
        )
        candidates = [self._in_other_order(old, new, pairs) for pairs in led]
        if max(map(len, led)) < most:
            candidates.insert(0, self._in_order(old, new))
        return max(candidates, key=self._agreement)

    def _by_edges(self, found: Reordering, old: list[int], new: list[int]) -> list[tuple[int, int]] | None:
        """Return the pairs found by edges, and for the remaining nodes those found by type and name.

        None if edges find few: if much differs, node order is more reliable.
        """
        pairs = [(index, at) for index, at in enumerate(found.partner) if at >= 0]
        if len(pairs) < _SHOWN_BY_EDGES * min(len(old), len(new)):
            return None
        taken = {at for _, at in pairs}
        left = [index for index in found.order if found.partner[index] < 0]
        left_new = [at for at in range(len(new)) if at not in taken]
        levels = self._levels([old[index] for index in left], [new[at] for at in left_new])
        return [*pairs, *((left[a], left_new[b]) for a, b in self._searched(levels))]

    def _searched(self, levels: list[tuple["_View", "_View"]]) -> Iterator[tuple[int, int]]:
        alignment = align_by_levels(levels)
        self._cut_short = self._cut_short or not alignment.exact
        return pairs_of(alignment)

    def _in_other_order(
        self, old: GraphSignature, new: GraphSignature, pairs: Iterable[tuple[int, int]]
    ) -> AlignedGraphs:
        """Return the same graphs with other node pairs, old nodes in the order of their counterparts."""
        pairs = sorted(pairs, key=itemgetter(1))
        old_numbers, new_numbers = self.numbers(old), self.numbers(new)
        order = order_of(pairs, len(old_numbers))
        moved = any(index != position for position, index in enumerate(order))
        at = {index: position for position, index in enumerate(order)}
        alignment = Alignment(tuple(joined([Match(at[a], b, 1) for a, b in pairs])), exact=True)
        numbers = [old_numbers[index] for index in order]
        distinct = distinct_pairs(numbers, new_numbers, alignment)
        graph = reordered(old, order) if moved else old
        return AlignedGraphs(graph, new, numbers, new_numbers, alignment, distinct, order if moved else None)

    def _agreement(self, aligned: AlignedGraphs) -> tuple[int, int, int]:
        """Return a measure of agreement: edges between equal nodes, equal nodes, all pairs."""
        nodes = sum(times for (a, b), times in aligned.distinct.items() if self._keys[a] == self._keys[b])
        return nodes + edges_in_common(aligned), nodes, aligned.distinct.total()

    def _levels(self, old_numbers: list[int], new_numbers: list[int]) -> list[tuple["_View", "_View"]]:
        tables = self._keys, self._similarity_keys, self._kinship_keys
        return [(_View(old_numbers, table), _View(new_numbers, table)) for table in tables]

    def numbers(self, graph: GraphSignature) -> list[int]:
        """Return the number of each node of a graph, outermost or nested."""
        known = self._numbers_of_graph.get(id(graph))
        # The forms of the outermost graph include those of all nested graphs.
        return self._enter(graph, _as_recorded) if known is None else known[1]

    def _enter(
        self, graph: GraphSignature, forms_of: Callable[[tuple[NodeSignature, ...]], tuple[NodeSignature, ...]]
    ) -> list[int]:
        # Decoding makes equal nodes one object; each object is processed once.
        ids = list(map(id, graph.nodes))
        objects = dict(zip(ids, graph.nodes, strict=True))
        kept: dict[bytes, int] = {}
        kept_nodes: list[NodeSignature] = []
        kept_indices = []
        for node in objects.values():
            index = kept.setdefault(_recorded_content(node), len(kept_nodes))
            if index == len(kept_nodes):
                kept_nodes.append(node)
            kept_indices.append(index)
        numbers_of_kept = list(map(self._number, forms_of(tuple(kept_nodes))))
        number = dict(zip(objects, map(numbers_of_kept.__getitem__, kept_indices), strict=True))
        numbers = list(map(number.__getitem__, ids))
        # Keep the graph alive with its numbers, so its id stays unique.
        self._numbers_of_graph[id(graph)] = graph, numbers
        return numbers

    def _number(self, node: NodeSignature) -> int:
        content = self._content(node)
        known = self._number_of.get(content)
        if known is not None:
            return known
        key = self._key(node)  # numbers nested nodes first
        number = self._number_of[content] = len(self._nodes)
        self._nodes.append(node)
        self._keys.append(number if self._by_value else self._key_of.setdefault(key, len(self._key_of)))
        kind, name = similarity_key(unwrapped(node)[1])
        self._similarity_keys.append(self._number_of_key.setdefault((kind, name), len(self._number_of_key)))
        kin = kind, unnumbered(name), ""
        self._kinship_keys.append(self._number_of_key.setdefault(kin, len(self._number_of_key)))
        return number

    def _content(self, node: NodeSignature) -> bytes:
        """Return bytes equal for equal nodes; nested graphs are represented by their content.

        By bytes: Python's hash of records is predictable, so a hostile file may hold many of one hash.
        """
        if not graph_fields(type(node)):
            return node_content(node)
        return _with_graphs(node, frozenset(), lambda graph: (self.numbers(graph), graph.dependencies))

    def _key(self, node: NodeSignature) -> bytes:
        """Return a key equal for nodes that may correspond, without their numbers."""
        kind = type(node)
        if graph_fields(kind):
            local = frozenset(name for name, _ in local_fields(kind).handles)
            return _with_graphs(
                node, local, lambda graph: (list(map(self._keys.__getitem__, self.numbers(graph))), graph.dependencies)
            )
        if (
            isinstance(node, KernelNodeSignature)
            and node.function is not None
            and node.function.code_sha256 is not None
        ):
            # If its code is known, the compiler's number in a kernel's name is irrelevant.
            node = replace(node, name=unnumbered(node.name))
        return node_content(self._unnumbered.record(node))


def _readable(node: NodeSignature) -> list[tuple[str, GraphSignature]]:
    return [(at, graph) for at, graph in inner_graphs(node) if graph is not None]


def _recorded_content(node: NodeSignature) -> bytes:
    """Return bytes equal for nodes equal as recorded; a node with nested graphs has unique ones."""
    return b"%d" % id(node) if graph_fields(type(node)) else node_content(node)


def _with_graphs(
    node: NodeSignature, left_out: frozenset[str], content_of: Callable[[GraphSignature], object]
) -> bytes:
    """Return bytes for a node with nested graphs, each represented by a digest."""
    kind = type(node)
    graphs = graph_fields(kind)
    own = [getattr(node, name) for name in kind.__struct_fields__ if name not in graphs and name not in left_out]
    # None, an unreadable graph, differs from no graph.
    absent = [getattr(node, name) is None for name in graphs]
    inner = [graph and sha256(msgspec.msgpack.encode(content_of(graph))).digest() for _, graph in inner_graphs(node)]
    return b"graphs" + msgspec.msgpack.encode((kind.__struct_config__.tag, own, absent, inner))
