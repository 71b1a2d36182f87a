"""Graphs as sequences of small integers, and the numbers of two processes matched with each other.

Nodes are compared in their portable form (`sigcontract.wire.portable`): there, functions, contexts, events,
allocations and devices are numbered by their first appearance. One inserted node shifts those numbers, so nodes are
aligned without them, and only then is it asked which number of one graph is which of the other.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from sigcontract.compare.alignment import Alignment, align_by_levels
from sigcontract.model.attributes import LaunchAttribute, LaunchCompletionEvent, ProgrammaticEvent
from sigcontract.model.graph import ChildGraphNode, ConditionalNode, GraphSignature, NodeSignature
from sigcontract.model.nodes import (
    BatchMemOpNode,
    EventRecordNode,
    EventWaitNode,
    KernelNodeSignature,
    MemAccess,
    MemAllocNode,
    MemcpyNode,
    MemcpyOperand,
    MemFreeNode,
    MemsetNode,
    PointerFacts,
)
from sigcontract.wire.portable import DEVICE_LOCATION, portable_form

__all__ = ["AlignedGraphs", "Aligner", "Correspondence", "identities", "likeness", "renumbered"]

#: Fields whose number says only which others are the same, by record; what kind of thing the number stands for.
_IDENTITIES: Mapping[type, tuple[tuple[str, str], ...]] = {
    KernelNodeSignature: (("func", "function"), ("context", "context")),
    BatchMemOpNode: (("context", "context"),),
    PointerFacts: (("context", "context"), ("device_ordinal", "device")),
    EventWaitNode: (("event", "event"),),
    EventRecordNode: (("event", "event"),),
    ProgrammaticEvent: (("event", "event"),),
    LaunchCompletionEvent: (("event", "event"),),
    MemAllocNode: (("address", "allocation"), ("location_id", "device")),
    MemAccess: (("location_id", "device"),),
    MemFreeNode: (("address", "allocation"),),
}
#: Fields by which a record holds others that have identities.
_HOLDERS: Mapping[type, tuple[str, ...]] = {
    KernelNodeSignature: ("attributes",),
    LaunchAttribute: ("value",),
    MemcpyNode: ("source", "destination"),
    MemcpyOperand: ("pointer",),
    MemsetNode: ("pointer",),
    MemAllocNode: ("accesses",),
}


def likeness(node: NodeSignature) -> tuple[int, str]:
    """Return what a node keeps when it changes: its CUgraphNodeType, and a kernel's name."""
    return node.node_type, node.name if isinstance(node, KernelNodeSignature) else ""


def identities(record: Any, path: str = "") -> Iterator[tuple[str, str, int]]:
    """Yield path, kind and number of every identity in a node, children's not included."""
    kind = type(record)
    for field, what in _IDENTITIES.get(kind, ()):
        number = getattr(record, field)
        if number and _is_identity(record, field):
            yield f"{path}.{field}", what, number
    for field in _HOLDERS.get(kind, ()):
        value = getattr(record, field)
        if isinstance(value, tuple):
            for index, item in enumerate(value):
                if type(item) is not LaunchAttribute or type(item.value) in _IDENTITIES:
                    yield from identities(item, f"{path}.{field}[{index}]")
        elif value is not None:
            yield from identities(value, f"{path}.{field}")


def renumbered(record: Any, number: Callable[[str, int], int]) -> Any:
    """Return a record with every identity replaced by what ``number`` gives for its kind and number."""
    kind = type(record)
    changed: dict[str, Any] = {}
    for field, what in _IDENTITIES.get(kind, ()):
        value = getattr(record, field)
        if value and _is_identity(record, field):
            changed[field] = number(what, value)
    for field in _HOLDERS.get(kind, ()):
        value = getattr(record, field)
        if not isinstance(value, tuple):
            changed[field] = renumbered(value, number)
        elif any(type(item) is not LaunchAttribute or type(item.value) in _IDENTITIES for item in value):
            changed[field] = tuple(renumbered(item, number) for item in value)
    return replace(record, **changed) if changed else record


def _is_identity(record: Any, field: str) -> bool:
    """Say whether a field holds a number of this process: a location's id does where the location is a device."""
    return field != "location_id" or record.location_type == DEVICE_LOCATION


class AlignedGraphs(NamedTuple):
    """Two graphs, which of their nodes correspond, and how often each distinct pair of nodes does.

    ``distinct`` counts pairs of node numbers (`Aligner.node`): 24 equal layers that changed alike are the few pairs
    of one layer, 24 times each.
    """

    old: GraphSignature
    new: GraphSignature
    old_numbers: list[int]
    new_numbers: list[int]
    alignment: Alignment
    distinct: Counter[tuple[int, int]]

    def places(self, wanted: frozenset[tuple[int, int]]) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Yield old index, new index and node numbers of every pair that is among the wanted ones."""
        for start, new_start, length in self.alignment.matches:
            olds, news = self.old_numbers[start : start + length], self.new_numbers[new_start : new_start + length]
            for offset, pair in enumerate(zip(olds, news, strict=True)):
                if pair in wanted:
                    yield start + offset, new_start + offset, pair

    def first_places(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Return old and new index of the first place of each distinct pair."""
        first: dict[tuple[int, int], tuple[int, int]] = {}
        for start, new_start, length in reversed(self.alignment.matches):
            olds, news = self.old_numbers[start : start + length], self.new_numbers[new_start : new_start + length]
            pairs = zip(reversed(olds), reversed(news), strict=True)
            backwards = range(start + length - 1, start - 1, -1), range(new_start + length - 1, new_start - 1, -1)
            first.update(zip(pairs, zip(*backwards, strict=True), strict=True))
        return first


class _View:
    """Values of a table, by the numbers of a sequence; looked up for the stretches that are asked for."""

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
    """Numbers nodes so that equal ones have equal numbers, and aligns graphs by them.

    Parameters
    ----------
    by_value
        Whether nodes align by every recorded field, handles and addresses included; else by what is the same in
        another process.
    """

    def __init__(self, *, by_value: bool) -> None:
        self._by_value = by_value
        self._nodes: list[NodeSignature] = []
        self._keys: list[int] = []
        self._likenesses: list[int] = []
        self._number_of: dict[bytes, int] = {}
        self._key_of: dict[bytes, int] = {}
        self._likeness_of: dict[Any, int] = {}
        self._numbers_of_graph: dict[int, tuple[GraphSignature, list[int]]] = {}
        self._aligned: dict[tuple[int, int], AlignedGraphs] = {}

    def add(self, graph: GraphSignature) -> None:
        """Take in an outermost graph: as recorded where nodes align by value, else in its portable form."""
        self._enter(graph, _as_recorded if self._by_value else _portable)

    @property
    def exact(self) -> bool:
        """Whether no search among the graphs aligned so far was cut short."""
        return all(aligned.alignment.exact for aligned in self._aligned.values())

    def node(self, number: int) -> NodeSignature:
        """Return the node of that number, in the form that is compared."""
        return self._nodes[number]

    def align(self, old: GraphSignature, new: GraphSignature) -> AlignedGraphs:
        """Return the alignment of two graphs; asked for again, the same object."""
        known = self._aligned.get((id(old), id(new)))
        if known is not None:
            return known
        old_numbers, new_numbers = self.numbers(old), self.numbers(new)
        levels = [(_View(old_numbers, table), _View(new_numbers, table)) for table in (self._keys, self._likenesses)]
        alignment = align_by_levels(levels)
        distinct: Counter[tuple[int, int]] = Counter()
        for start, new_start, length in alignment.matches:
            pairs = zip(old_numbers[start : start + length], new_numbers[new_start : new_start + length], strict=True)
            distinct.update(pairs)
        aligned = AlignedGraphs(old, new, old_numbers, new_numbers, alignment, distinct)
        self._aligned[id(old), id(new)] = aligned
        return aligned

    def numbers(self, graph: GraphSignature) -> list[int]:
        """Return the number of each node of a graph, of an outermost one or of one inside a node."""
        known = self._numbers_of_graph.get(id(graph))
        # The forms of the outermost graph include those of all graphs inside.
        return self._enter(graph, _as_recorded) if known is None else known[1]

    def _enter(
        self, graph: GraphSignature, forms_of: Callable[[tuple[NodeSignature, ...]], tuple[NodeSignature, ...]]
    ) -> list[int]:
        # Nodes that are one object, as decoding makes equal ones, are looked at once; equal ones have one form.
        ids = list(map(id, graph.nodes))
        objects = dict(zip(ids, graph.nodes, strict=True))
        kept: dict[bytes, int] = {}
        kept_nodes: list[NodeSignature] = []
        kept_places = []
        for node in objects.values():
            place = kept.setdefault(self._recorded_content(node), len(kept_nodes))
            if place == len(kept_nodes):
                kept_nodes.append(node)
            kept_places.append(place)
        numbers_of_kept = list(map(self._number, forms_of(tuple(kept_nodes))))
        number = dict(zip(objects, map(numbers_of_kept.__getitem__, kept_places), strict=True))
        numbers = list(map(number.__getitem__, ids))
        # The graph is kept with its numbers: its id must not be given to another one.
        self._numbers_of_graph[id(graph)] = graph, numbers
        return numbers

    def _number(self, node: NodeSignature) -> int:
        content = self._content(node)
        known = self._number_of.get(content)
        if known is not None:
            return known
        key = self._key(node)  # numbers the nodes of graphs inside first
        number = self._number_of[content] = len(self._nodes)
        self._nodes.append(node)
        self._keys.append(number if self._by_value else self._key_of.setdefault(key, len(self._key_of)))
        self._likenesses.append(self._likeness_of.setdefault(likeness(node), len(self._likeness_of)))
        return number

    def _recorded_content(self, node: NodeSignature) -> bytes:
        """Return bytes that are equal for nodes that are equal as recorded; for a node with graphs inside, its own."""
        if isinstance(node, ChildGraphNode | ConditionalNode):
            return b"%d" % id(node)
        return msgspec.msgpack.encode(node)

    def _content(self, node: NodeSignature) -> bytes:
        """Return bytes that are equal for equal nodes; graphs inside a node stand there by their own content.

        By bytes, since Python's hash of records is the same everywhere: a file can have very many of one hash.
        """
        if isinstance(node, ChildGraphNode):
            return b"child" + self._graph_content(node.graph)
        if isinstance(node, ConditionalNode):
            bodies = node.bodies and [body and self._graph_content(body) for body in node.bodies]
            return b"conditional" + msgspec.msgpack.encode((node.kind, node.handle, bodies))
        return msgspec.msgpack.encode(node)

    def _graph_content(self, graph: GraphSignature) -> bytes:
        return self._digest((self.numbers(graph), graph.dependencies))

    def _key(self, node: NodeSignature) -> bytes:
        """Return what is the same for nodes that may correspond: which numbers they have is not part of it."""
        if isinstance(node, ChildGraphNode):
            return b"child" + self._graph_key(node.graph)
        if isinstance(node, ConditionalNode):
            bodies = node.bodies and [body and self._graph_key(body) for body in node.bodies]
            return b"conditional" + msgspec.msgpack.encode((node.kind, bodies))
        return msgspec.msgpack.encode(renumbered(node, lambda _, number: min(number, 1)))

    def _graph_key(self, graph: GraphSignature) -> bytes:
        return self._digest((list(map(self._keys.__getitem__, self.numbers(graph))), graph.dependencies))

    @staticmethod
    def _digest(content: Any) -> bytes:
        return sha256(msgspec.msgpack.encode(content)).digest()


class Correspondence:
    """Which number of one graph is which of the other, taken from the nodes that correspond.

    Where numbers contradict each other (one function in the old graph, two in the new one), the pair that most nodes
    show is taken for true; `split` and `merged` say how another contradicts it.
    """

    def __init__(self, evidence: Counter[tuple[str, int, int]]) -> None:
        self._old_of: dict[tuple[str, int], int] = {}
        self._new_of: dict[tuple[str, int], int] = {}
        for kind, old, new in sorted(evidence, key=lambda item: (-evidence[item], item)):
            if (kind, old) not in self._new_of and (kind, new) not in self._old_of:
                self._new_of[kind, old] = new
                self._old_of[kind, new] = old
        #: Whether every number of the new graph is its own in the old one.
        self.identity = all(old == new for _, old, new in evidence)
        self._fresh = 1 + max((old for _, old, _ in evidence), default=0)

    def translate(self, kind: str, new: int) -> int:
        """Return the old graph's number for one of the new graph; for one without counterpart, a number of its own."""
        old = self._old_of.get((kind, new))
        return self._fresh + new if old is None else old

    def split(self, kind: str, old: int, new: int) -> bool:
        """Say whether the new number has no counterpart, so that the old one has become two."""
        return (kind, new) not in self._old_of and (kind, old) in self._new_of

    def merged(self, kind: str, old: int, new: int) -> bool:
        """Say whether the old number has no counterpart, so that it and another have become one."""
        return (kind, old) not in self._new_of and (kind, new) in self._old_of
