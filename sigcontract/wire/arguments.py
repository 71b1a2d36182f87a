"""Dumps with arguments of kernels: what an older version refuses, and what redaction removes."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from sigcontract.errors import InvariantError
from sigcontract.model import (
    GraphSignature,
    KernelNodeSignature,
    MemcpyNode,
    MemsetNode,
    NodeSignature,
    PointerFacts,
    SignatureDump,
    holds_graphs,
    inner_graphs,
    with_inner_graphs,
)
from sigcontract.wire.validation import explains_invalid

__all__ = ["WITH_ARGUMENTS", "has_arguments", "redacted", "redacted_graph", "refuse_arguments", "without_arguments"]

#: The first version of the dump that has arguments.
WITH_ARGUMENTS: Final = 3


def refuse_arguments(dump: SignatureDump, version: int) -> None:
    """Raise InvariantError, code ``arguments``, if a dump has what a version of the document has no field for."""
    seen: set[int] = set()
    for number, entry in enumerate(dump.graphs):
        for path in _recorded(entry.graph, seen):
            msg = (
                f"version {version} has no field for arguments of kernels and targets of pointers; "
                f"write version {WITH_ARGUMENTS}, "
                "or leave them out first: sigcontract.without_arguments(dump)"
            )
            raise InvariantError(msg, path=f"$.graphs[{number}].graph{path}", code="arguments")


def has_arguments(dump: SignatureDump) -> bool:
    """Return whether arguments of kernels or targets of pointers are recorded."""
    seen: set[int] = set()
    return any(True for entry in dump.graphs for _ in _recorded(entry.graph, seen))


def _recorded(graph: GraphSignature, seen: set[int]) -> Iterator[str]:
    """Yield the path in a graph of each argument list and target, of graphs and nodes that are not in ``seen``."""
    if id(graph) in seen:
        return
    seen.add(id(graph))
    for index, node in enumerate(graph.nodes):
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield from (f".nodes[{index}]{path}" for path in _recorded_of(node))
        if holds_graphs(node):
            for path, inner in inner_graphs(node):
                if inner is not None:
                    yield from (f".nodes[{index}]{path}{below}" for below in _recorded(inner, seen))


def _recorded_of(node: NodeSignature) -> Iterator[str]:
    if isinstance(node, KernelNodeSignature):
        if node.arguments is not None:
            yield ".arguments"
        return
    pointers: dict[str, PointerFacts | None] = {}
    if isinstance(node, MemcpyNode):
        pointers = {"source.pointer": node.source.pointer, "destination.pointer": node.destination.pointer}
    elif isinstance(node, MemsetNode):
        pointers = {"pointer": node.pointer}
    for name, facts in pointers.items():
        if facts is not None and facts.target is not None:
            yield f".{name}.target"


@explains_invalid("dump")
def redacted(dump: SignatureDump) -> SignatureDump:
    """Return a dump without the values of arguments: ``value`` is null and ``address`` 0 in each.

    Layout, allocations, offsets into them and blocks of allocators stay, so allocations and offsets still compare.
    The digests change.

    Raises
    ------
    RecordError
        The dump is invalid.
    """
    return _Change(_redacted).dump(dump)


def redacted_graph(graph: GraphSignature) -> GraphSignature:
    """Return a valid graph, and the graphs in it, without the values of arguments, as `redacted` does."""
    return _Change(_redacted).graph(graph)


@explains_invalid("dump")
def without_arguments(dump: SignatureDump) -> SignatureDump:
    """Return a dump as if arguments had not been recorded: for readers of version 2 and older.

    Raises
    ------
    RecordError
        The dump is invalid.
    """
    return _Change(_without).dump(dump)


class _Change:
    """Changes each kernel, memcpy and memset node of a dump once, however many graphs share it."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self._change = change
        # Keyed by object id; the dump keeps the objects alive.
        self._nodes: dict[int, NodeSignature] = {}
        self._graphs: dict[int, GraphSignature] = {}

    def dump(self, dump: SignatureDump) -> SignatureDump:
        return replace(dump, graphs=tuple([replace(entry, graph=self.graph(entry.graph)) for entry in dump.graphs]))

    def graph(self, graph: GraphSignature) -> GraphSignature:
        known = self._graphs.get(id(graph))
        if known is None:
            known = replace(graph, nodes=tuple([self._node(node) for node in graph.nodes]))
            self._graphs[id(graph)] = known
        return known

    def _node(self, node: NodeSignature) -> NodeSignature:
        known = self._nodes.get(id(node))
        if known is None:
            known = with_inner_graphs(node, self.graph) if holds_graphs(node) else self._change(node)
            self._nodes[id(node)] = known
        return known


def _redacted(node: Any) -> Any:
    if type(node) is not KernelNodeSignature or node.arguments is None:
        return node
    return replace(
        node,
        arguments=tuple(
            [
                replace(
                    argument,
                    value=None,
                    pointers=tuple([replace(pointer, address=0) for pointer in argument.pointers]),
                )
                for argument in node.arguments
            ]
        ),
    )


def _without(node: Any) -> Any:
    if type(node) is KernelNodeSignature:
        return node if node.arguments is None else replace(node, arguments=None)
    if type(node) is MemcpyNode:
        return replace(node, source=_without_target(node.source), destination=_without_target(node.destination))
    return _without_target(node) if type(node) is MemsetNode else node


def _without_target(holder: Any) -> Any:
    """Return an operand or a node without the target of its pointer."""
    facts = holder.pointer
    if facts is None or facts.target is None:
        return holder
    return replace(holder, pointer=replace(facts, target=None))
