"""The portable form of a graph: handles renumbered by first use."""

from collections import defaultdict
from typing import Any

import msgspec

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
    """Return the graph without process-local values, equal for two runs that captured the same.

    Functions, contexts, events, the addresses of allocation nodes and device ordinals are renumbered 1, 2, … by first
    use in the graph (child graphs included, in node order): equal ones stay equal, different ones different. A kernel's
    function is its ``func``, or its ``kern`` if there is no ``func``; 0, unknown, stays 0. Addresses of memory, host
    functions and user data, device nodes and conditional handles become 0. Fields declare their kind
    (`sigcontract.model.handles`).
    """
    return _Renaming().graph(graph, 0)


class _Numbers:
    """Numbers from 1, in the order of first lookup.

    By the bytes of a key: a file can have very many handles that collide in a hash table, as Python's hash of
    integers is the same on every machine.
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def of(self, key: Any) -> int:
        return self._numbers.setdefault(msgspec.msgpack.encode(key), len(self._numbers) + 1)


class _Renaming:
    def __init__(self) -> None:
        numbers: defaultdict[str, _Numbers] = defaultdict(_Numbers)
        self._renumbering = Renumbering(lambda kind: numbers[kind].of)
        self._nodes: dict[int, NodeSignature] = {}
        self._graphs: dict[int, GraphSignature] = {}

    def graph(self, graph: GraphSignature, depth: int) -> GraphSignature:
        if depth > MAX_GRAPH_DEPTH:
            raise LimitError(f"child graphs are nested more than {MAX_GRAPH_DEPTH} deep", code="nesting")
        # What was renamed once is renamed the same ever after: numbers never change once given.
        done = self._graphs.get(id(graph))
        if done is not None:
            return done
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
        self._graphs[id(graph)] = done = GraphSignature(nodes=tuple(nodes), dependencies=graph.dependencies)
        return done
