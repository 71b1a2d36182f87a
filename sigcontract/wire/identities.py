"""A graph without the numbers of its process: which handles are the same stays, what they are goes."""

from collections import defaultdict
from typing import Any

from sigcontract.errors import LimitError
from sigcontract.model import (
    GraphSignature,
    NodeSignature,
    Renumbering,
    holds_graphs,
    with_inner_graphs,
)
from sigcontract.wire.limits import MAX_GRAPH_DEPTH
from sigcontract.wire.validation import explains_invalid

__all__ = ["portable_form"]


@explains_invalid("graph")
def portable_form(graph: GraphSignature) -> GraphSignature:
    """Return the graph with its process taken out, equal for two runs that captured the same.

    Functions, contexts, events, the addresses of allocation nodes and device ordinals are renumbered 1, 2, … by first
    use in the graph (child graphs included, in node order): equal ones stay equal, different ones different. A
    kernel's function is its ``func``, or its ``kern`` if there is no ``func``; 0, unknown, stays 0. Addresses of
    memory, host functions and user data, device nodes and conditional handles become 0. Which field holds what is
    declared by the field (`sigcontract.model.handles`).
    """
    return _Renaming().graph(graph, 0)


class _Numbers(dict[Any, int]):
    """Numbers from 1, in the order in which keys are asked for."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self) + 1
        return number


class _Renaming:
    def __init__(self) -> None:
        numbers: defaultdict[str, _Numbers] = defaultdict(_Numbers)
        self._renumbering = Renumbering(lambda kind: numbers[kind].__getitem__)
        self._nodes: dict[int, NodeSignature] = {}

    def graph(self, graph: GraphSignature, depth: int) -> GraphSignature:
        if depth > MAX_GRAPH_DEPTH:
            raise LimitError(f"child graphs are nested more than {MAX_GRAPH_DEPTH} deep", code="nesting")
        # A node that was renamed once is renamed the same ever after: numbers never change once given.
        known = self._nodes
        nodes = []
        for node in graph.nodes:
            renamed = known.get(id(node))
            if renamed is None:
                renamed = self._renumbering.record(node)
                if holds_graphs(node):
                    renamed = with_inner_graphs(renamed, lambda inner: self.graph(inner, depth + 1))
                known[id(node)] = renamed
            nodes.append(renamed)
        return GraphSignature(nodes=tuple(nodes), dependencies=graph.dependencies)
