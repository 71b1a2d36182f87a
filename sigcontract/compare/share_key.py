"""The key of the share policies: all that must be equal for one exec to serve two graphs, in the driver's order.

Nodes are walked as the driver pairs them (`sigcontract.compare.pairing`), so two graphs of one key are paired node by
node, and the driver refuses none of the pairs.
"""

from hashlib import sha256
from typing import Any

import msgspec

from sigcontract.compare.differences import NodeJudge, effective_cluster
from sigcontract.compare.other_nodes import ARRAY, OWNED, WAIT_FLUSH, WAITS
from sigcontract.model.attributes import AttributeId
from sigcontract.model.graph import ChildGraphNode, ConditionalNode, GraphSignature, NodeSignature
from sigcontract.model.nodes import (
    BatchMemOpNode,
    ExtSemasSignalNode,
    ExtSemasWaitNode,
    KernelNodeSignature,
    MemAllocNode,
    MemcpyNode,
    MemcpyOperand,
    MemFreeNode,
    MemsetNode,
)

__all__ = ["share_key"]


def share_key(graph: GraphSignature, judge: NodeJudge, *, functions: bool) -> str:
    """Return ``sha256:`` and the digest of what the share policies keep.

    Parameters
    ----------
    graph
        The graph.
    judge
        Knows which attributes an update carries.
    functions
        Whether functions of non-cooperative nodes may differ.
    """
    walk = _Walk(judge, functions=functions)
    walked = walk.graph(graph)
    return "sha256:" + sha256(msgspec.msgpack.encode((walked, list(walk.contents)))).hexdigest()


class _Walk:
    def __init__(self, judge: NodeJudge, *, functions: bool) -> None:
        self._judge = judge
        self._functions = functions
        #: What nodes keep, encoded, each once in the order of arrival: layers repeat.
        self.contents: dict[bytes, int] = {}
        self._content_of: dict[int, int] = {}  # by the number of the node, which the graph keeps alive

    def graph(self, graph: GraphSignature) -> list[Any]:
        """Return the nodes in the driver's order, each with its edges to places in that order."""
        order = list(reversed(graph.sinks))
        places = {index: place for place, index in enumerate(order)}
        walked: list[Any] = [len(graph.nodes), len(order)]
        for index in order:  # grows while it is walked: breadth first
            edges = []
            for edge in graph.dependencies[index]:
                if edge.node not in places:
                    places[edge.node] = len(order)
                    order.append(edge.node)
                edges.append((places[edge.node], edge.from_port, edge.to_port, edge.type))
            node = graph.nodes[index]
            content = self._content_of.get(id(node))
            if content is None:
                encoded = msgspec.msgpack.encode((node.node_type, self._node(node)))
                content = self._content_of[id(node)] = self.contents.setdefault(encoded, len(self.contents))
            walked.append((content, edges))
        return walked

    def _node(self, node: NodeSignature) -> Any:  # noqa: PLR0911  one answer per kind of node
        match node:
            case KernelNodeSignature():
                return self._kernel(node)
            case MemcpyNode():
                return _memcpy(node)
            case MemsetNode() if node.height > 1:
                return node.height, node.width, node.element_size_bytes, node.pitch_bytes, node.pointer
            case MemsetNode():
                return node.pointer
            case ExtSemasSignalNode() | ExtSemasWaitNode() | MemAllocNode() | MemFreeNode():
                return node
            case BatchMemOpNode():
                flags = [
                    (op.operation, op.flags & WAIT_FLUSH if op.operation in WAITS else op.flags)
                    for op in node.operations
                ]
                return node.context, node.flags, flags
            case ChildGraphNode():
                return self.graph(node.graph)
            case ConditionalNode():
                bodies = node.bodies and [body and self.graph(body) for body in node.bodies]
                return node.kind, bodies
            case _:
                return None

    def _kernel(self, node: KernelNodeSignature) -> Any:
        effects = self._judge.effects
        entries = effects.set_of(node.attributes).entries
        kept = [
            (entry.id, entry.state, entry.value)
            for entry in node.attributes
            if entry.id != AttributeId.CLUSTER_DIMENSION and effects.of(entry.id).kind not in ("none", "applied")
        ]
        cooperative = entries.get(AttributeId.COOPERATIVE)
        free = self._functions and cooperative is not None and cooperative.value == 0
        function = None if free else (node.name, node.kern, node.func, node.function)
        return node.context, effective_cluster(node), function, kept


def _memcpy(node: MemcpyNode) -> Any:
    shape = None
    if max(node.height, node.depth) > 1:
        names = [name for name in MemcpyOperand.__struct_fields__ if name != "pointer"]
        sides = [[getattr(side, name) for name in names] for side in (node.source, node.destination)]
        shape = node.width_bytes, node.height, node.depth, sides
    owners = [
        (side.memory_type, side.pointer if side.memory_type in OWNED else None, _array(side))
        for side in (node.source, node.destination)
    ]
    return shape, owners


def _array(operand: MemcpyOperand) -> int | None:
    return operand.address if operand.memory_type == ARRAY else None
