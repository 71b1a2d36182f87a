"""Keys of graphs: all that must be equal for two graphs to share an exec, in pairing order.

Nodes are visited as the driver pairs them (`sigcontract.update.pairing`), so the driver pairs two graphs of one key
node by node, and refuses no pair.
"""

from collections.abc import Container
from hashlib import sha256
from typing import Any

import msgspec

from sigcontract.model import (
    STREAM_WAIT_VALUE_FLUSH,
    AttributeId,
    AttributeValue,
    BatchMemOpNode,
    ChildGraphNode,
    ConditionalNode,
    DeviceUpdatableNode,
    ExtSemasSignalNode,
    ExtSemasWaitNode,
    FunctionFacts,
    GraphSignature,
    KernelNodeSignature,
    MemAllocNode,
    MemcpyNode,
    MemcpyOperand,
    MemFreeNode,
    MemsetNode,
    NodeSignature,
    PointerFacts,
)
from sigcontract.update.attributes import AttributeSet
from sigcontract.update.kernels import NodeJudge, effective_cluster, may_prefer_cluster
from sigcontract.update.memory_nodes import (
    ARRAY,
    HOST,
    OWNED,
    UNIFIED,
    WAITS,
    is_cuda_allocation,
    may_be_managed,
    owner_of,
)

__all__ = ["judged_alike_key", "pairing_key", "share_key"]


def share_key(graph: GraphSignature, judge: NodeJudge, *, functions: bool) -> str:
    """Return ``sha256:`` and the digest of what the share policies keep fixed.

    Parameters
    ----------
    graph
        The graph.
    judge
        Judges which attributes an update applies.
    functions
        Whether functions of non-cooperative nodes may differ.
    """
    return _digest(_Walk(judge, functions=functions), graph)


def pairing_key(graph: GraphSignature, judge: NodeJudge) -> str:
    """Return ``sha256:`` and the digest of what no update of an exec may change, kernels' attributes left out.

    Of two graphs of different keys an update is never proven safe; of two of one key it may be.
    """
    return _digest(_PairingWalk(judge, functions=True), graph)


def judged_alike_key(graph: GraphSignature, judge: NodeJudge) -> str:
    """Return ``sha256:`` and the digest of all that decides whether an update from or to a graph is safe.

    What the share policies keep, and grid, block and dynamic shared memory of kernels, which a history compares. So
    graphs of one key go together with the same graphs.
    """
    return _digest(_LaunchWalk(judge, functions=False), graph)


def _digest(walk: "_Walk", graph: GraphSignature) -> str:
    walked = walk.graph(graph)
    return "sha256:" + sha256(msgspec.msgpack.encode((walked, list(walk.contents)))).hexdigest()


class _Walk:
    def __init__(self, judge: NodeJudge, *, functions: bool) -> None:
        self._judge = judge
        self._functions = functions
        #: Encoded contents, each once in order of first use: layers repeat, and so do functions.
        self.contents: dict[bytes, int] = {}
        # By id of node and facts, which the graph keeps alive.
        self._content_of: dict[int, int] = {}
        self._facts_of: dict[int, int] = {}
        self._kept_of: dict[tuple[AttributeSet, bool], int] = {}

    def graph(self, graph: GraphSignature) -> list[Any]:
        """Return the nodes in pairing order: for each its content, its number of edges, and four numbers per edge."""
        nodes, dependencies, content_of = graph.nodes, graph.dependencies, self._content_of
        order = list(reversed(graph.sinks))
        positions = [-1] * len(nodes)
        for position, index in enumerate(order):
            positions[index] = position
        walked: list[Any] = [len(nodes), len(order)]
        for index in order:  # grows during the loop: breadth first
            node = nodes[index]
            content = content_of.get(id(node))
            if content is None:
                content = content_of[id(node)] = self._number((node.node_type, self._node(node)))
            edges = dependencies[index]
            walked += (content, len(edges))
            for edge in edges:
                position = positions[edge.node]
                if position < 0:
                    position = positions[edge.node] = len(order)
                    order.append(edge.node)
                walked += (position, edge.from_port, edge.to_port, edge.type)
        return walked

    def _node(self, node: NodeSignature) -> Any:  # noqa: PLR0911  one answer per kind of node
        match node:
            case KernelNodeSignature():
                return self._kernel(node)
            case MemcpyNode():
                return _memcpy(node)
            case MemsetNode() if node.height > 1:
                shape = node.height, node.width, node.element_size_bytes, node.pitch_bytes
                return shape, owner_of(node.pointer), _unless_cuda_allocation(node.pointer, node.destination)
            case MemsetNode():
                return owner_of(node.pointer), _unless_cuda_allocation(node.pointer, node.destination)
            case ExtSemasSignalNode() | ExtSemasWaitNode() | MemAllocNode() | MemFreeNode():
                return node
            case BatchMemOpNode():
                flags = [
                    (op.operation, op.flags & STREAM_WAIT_VALUE_FLUSH if op.operation in WAITS else op.flags)
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
        judge = self._judge
        attributes = judge.effects.set_of(node.attributes)
        free = self._functions and judge.is_free(node)
        function = None if free else (node.name, node.kern, node.func, self._facts(node.function))
        cluster = None if judge.cluster_follows else effective_cluster(node, attributes)
        return node.context, cluster, function, self._kept(attributes, prefers_cluster=may_prefer_cluster(node))

    def _facts(self, facts: FunctionFacts | None) -> int:
        number = self._facts_of.get(id(facts))
        if number is None:
            number = self._facts_of[id(facts)] = self._number(facts)
        return number

    def _kept(self, attributes: AttributeSet, *, prefers_cluster: bool) -> int:
        number = self._kept_of.get((attributes, prefers_cluster))
        if number is None:
            effects = self._judge.effects
            separate = {AttributeId.CLUSTER_DIMENSION}
            if not prefers_cluster:
                separate.add(AttributeId.PREFERRED_CLUSTER_DIMENSION)
            kept = [
                (entry.id, entry.state, _kept_value(entry.value))
                for entry in attributes.attributes
                if entry.id not in separate and effects.of(entry.id).kind not in ("none", "applied")
            ]
            number = self._kept_of[attributes, prefers_cluster] = self._number(kept)
        return number

    def _number(self, content: Any) -> int:
        """Return the number of a content, equal for equal ones."""
        return self.contents.setdefault(msgspec.msgpack.encode(content), len(self.contents))


class _PairingWalk(_Walk):
    def _kernel(self, node: KernelNodeSignature) -> Any:
        return node.context


class _LaunchWalk(_Walk):
    def _kernel(self, node: KernelNodeSignature) -> Any:
        return super()._kernel(node), node.grid_dim, node.block_dim, node.dynamic_shared_mem_bytes


def _kept_value(value: AttributeValue | None) -> Any:
    """Return the part of a value that two graphs must share: without the process-local CUgraphDeviceNode."""
    return value.device_updatable if isinstance(value, DeviceUpdatableNode) else value


def _memcpy(node: MemcpyNode) -> Any:
    shape = None
    if max(node.height, node.depth) > 1:
        names = [name for name in MemcpyOperand.__struct_fields__ if name != "pointer"]
        sides = [[getattr(side, name) for name in names] for side in (node.source, node.destination)]
        shape = node.width_bytes, node.height, node.depth, sides
    kinds = (*OWNED, HOST) if may_be_managed(node) else OWNED
    owners = [
        (side.memory_type, owner_of(side.pointer) if side.memory_type in kinds else None, _kept_address(side, kinds))
        for side in (node.source, node.destination)
    ]
    return shape, owners


def _kept_address(operand: MemcpyOperand, kinds: Container[int]) -> int | None:
    """Return the address if an update does not apply a new one, or its effect is unknown; else None."""
    if operand.memory_type == ARRAY or (operand.memory_type == HOST and HOST in kinds and operand.pointer is None):
        return operand.address
    return _unless_cuda_allocation(operand.pointer, operand.address) if operand.memory_type == UNIFIED else None


def _unless_cuda_allocation(pointer: PointerFacts | None, address: int) -> int | None:
    return None if is_cuda_allocation(pointer) else address
