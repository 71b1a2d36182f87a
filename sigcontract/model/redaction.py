"""A graph without the values of its kernels' arguments: for dumps that go to others."""

from msgspec.structs import replace

from sigcontract.model.arguments import KernelArgument
from sigcontract.model.graph import GraphSignature, NodeSignature, holds_graphs, with_inner_graphs
from sigcontract.model.nodes import KernelNodeSignature

__all__ = ["redacted_graph"]


def redacted_graph(graph: GraphSignature) -> GraphSignature:
    """Return a graph, and the graphs in it, with ``value`` null and ``address`` 0 in every argument.

    Which words are pointers, layout, allocations and offsets into them stay. Nodes that are one object stay one.
    """
    changed: dict[int, NodeSignature] = {}  # by id: the graph keeps its nodes alive
    for node in graph.nodes:
        if id(node) not in changed:
            changed[id(node)] = _redacted(node)
    return replace(graph, nodes=tuple(changed[id(node)] for node in graph.nodes))


def _redacted(node: NodeSignature) -> NodeSignature:
    if isinstance(node, KernelNodeSignature):
        return node if node.arguments is None else replace(node, arguments=tuple(map(_without_value, node.arguments)))
    return with_inner_graphs(node, redacted_graph) if holds_graphs(node) else node


def _without_value(argument: KernelArgument) -> KernelArgument:
    pointers = tuple(replace(pointer, address=0) for pointer in argument.pointers)
    return replace(argument, value=None, pointers=pointers)
