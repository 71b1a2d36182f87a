"""Parameter layouts of the graphs of one comparison: equal ones are one object, and no two are compared twice.

A document holds a function once, however many nodes run it, and a layout may be as long as the document. Compared once
per pair of nodes, a million parameters of a million nodes never end.
"""

from hashlib import sha256
from itertools import compress, count
from operator import ne
from typing import Final

import msgspec
from msgspec.structs import replace

from sigcontract.model import (
    FunctionFacts,
    GraphSignature,
    KernelNodeSignature,
    NodeSignature,
    ParameterLayout,
    holds_graphs,
    inner_graphs,
    with_inner_graphs,
)

__all__ = ["SharedLayouts", "layout_texts", "node_content"]

#: Shorter layouts, which are those of real kernels, are compared wherever they stand.
_LONG: Final = 64


class _SharedLayout(tuple[ParameterLayout, ...]):  # noqa: SLOT001  a tuple has no room for slots
    """A layout that equals no other object of its type.

    Attributes
    ----------
    digest
        sha256 of its parameters.
    texts
        What `layout_texts` returns, by the id of the other layout.
    """

    digest: bytes
    texts: dict[int, tuple[str, str]]

    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


class SharedLayouts:
    """Makes equal layouts of graphs one object.

    The graphs it returns are for comparison with each other, and those it was given must outlive it.
    """

    def __init__(self) -> None:
        self._of_content: dict[bytes, _SharedLayout] = {}
        # By the ids of what they were made from.
        self._layouts: dict[int, _SharedLayout] = {}
        self._functions: dict[int, FunctionFacts] = {}
        self._nodes: dict[int, NodeSignature] = {}
        self._graphs: dict[int, GraphSignature] = {}

    def graph(self, graph: GraphSignature) -> GraphSignature:
        """Return a graph with its long layouts shared; the graph itself if it has none."""
        known = self._graphs.get(id(graph))
        if known is None:
            nodes = {id(node): node for node in graph.nodes if _may_hold_layouts(node)}
            changed = {at: self._node(node) for at, node in nodes.items()}
            known = graph
            if any(changed[at] is not node for at, node in nodes.items()):
                known = replace(graph, nodes=tuple(changed.get(id(node), node) for node in graph.nodes))
            self._graphs[id(graph)] = known
        return known

    def _node(self, node: NodeSignature) -> NodeSignature:
        known = self._nodes.get(id(node), node)
        if known is node:
            if isinstance(node, KernelNodeSignature) and node.function is not None:
                known = replace(node, function=self._function(node.function))
            elif any(inner is not None and self.graph(inner) is not inner for _, inner in inner_graphs(node)):
                known = with_inner_graphs(node, self.graph)
            self._nodes[id(node)] = known
        return known

    def _function(self, function: FunctionFacts) -> FunctionFacts:
        known = self._functions.get(id(function))
        if known is None:
            shared = self._layout(function.parameters or ())
            known = self._functions[id(function)] = replace(function, parameters=shared)
        return known

    def _layout(self, layout: tuple[ParameterLayout, ...]) -> _SharedLayout:
        known = self._layouts.get(id(layout))
        if known is None:
            content = msgspec.msgpack.encode(layout)
            known = self._of_content.get(content)
            if known is None:
                known = self._of_content[content] = _SharedLayout(layout)
                known.digest = sha256(content).digest()
                known.texts = {}
            self._layouts[id(layout)] = known
        return known


def _may_hold_layouts(node: NodeSignature) -> bool:
    """Whether a node has a long layout that is not shared yet, or holds graphs."""
    if not isinstance(node, KernelNodeSignature):
        return holds_graphs(node)
    function = node.function
    if function is None or function.parameters is None or len(function.parameters) <= _LONG:
        return False
    return not isinstance(function.parameters, _SharedLayout)


def node_content(node: NodeSignature) -> bytes:
    """Return bytes equal for equal nodes of one comparison, in time that does not depend on shared layouts."""
    if isinstance(node, KernelNodeSignature) and node.function is not None:
        layout = node.function.parameters
        if isinstance(layout, _SharedLayout):
            rest = replace(node, function=replace(node.function, parameters=None))
            return msgspec.msgpack.encode(rest) + layout.digest
    return msgspec.msgpack.encode(node)


def layout_texts(old: tuple[ParameterLayout, ...], new: tuple[ParameterLayout, ...]) -> tuple[str, str]:
    """Return how two different layouts differ: in their sizes, or in which parameter first."""
    if not isinstance(old, _SharedLayout):
        return _layout_texts(old, new)
    known = old.texts.get(id(new))
    if known is None:
        known = old.texts[id(new)] = _layout_texts(old, new)
    return known


def _layout_texts(old: tuple[ParameterLayout, ...], new: tuple[ParameterLayout, ...]) -> tuple[str, str]:
    if len(old) != len(new):
        return _size(old), _size(new)
    differing = list(compress(count(), map(ne, old, new)))
    first = differing[0]
    more = f", and {len(differing) - 1} more" if len(differing) > 1 else ""
    a, b = (f"[{first}] {one.size_bytes} bytes at {one.offset_bytes}{more}" for one in (old[first], new[first]))
    return a, b


def _size(layout: tuple[ParameterLayout, ...]) -> str:
    size_bytes = layout[-1].offset_bytes + layout[-1].size_bytes if layout else 0
    return f"{len(layout)} parameter{'' if len(layout) == 1 else 's'}, {size_bytes} bytes"
