"""A graph without the numbers of its process: which handles are the same stays, what they are goes."""

from collections import defaultdict
from typing import Any

from msgspec.structs import replace

from sigcontract.errors import LimitError
from sigcontract.model import (
    AccessPolicyWindow,
    BatchMemOpNode,
    ChildGraphNode,
    ConditionalNode,
    DeviceUpdatableNode,
    EventRecordNode,
    EventWaitNode,
    GraphSignature,
    HostNode,
    KernelNodeSignature,
    LaunchAttribute,
    LaunchCompletionEvent,
    MemAllocNode,
    MemcpyNode,
    MemcpyOperand,
    MemFreeNode,
    MemsetNode,
    NodeSignature,
    PointerFacts,
    ProgrammaticEvent,
)
from sigcontract.wire.limits import MAX_GRAPH_DEPTH
from sigcontract.wire.validation import explains_invalid

__all__ = ["DEVICE_LOCATION", "portable_form"]

_NO_HANDLE = "0x" + "0" * 16
#: CU_MEM_LOCATION_TYPE_DEVICE: the location's id is a device ordinal.
DEVICE_LOCATION = 1


@explains_invalid("graph")
def portable_form(graph: GraphSignature) -> GraphSignature:
    """Return the graph with its process taken out, equal for two runs that captured the same.

    Functions, contexts, events, the addresses of allocation nodes and device ordinals become the numbers 1, 2, … in
    the order in which the graph (children included, in node order) first shows them, so which are the same and which
    differ is kept. A kernel's function is its ``func``, or its ``kern`` where there is no ``func``; 0, unknown, stays
    0. Addresses of memory, host functions and user data, device nodes and conditional handles become 0.
    """
    return _Renaming().graph(graph, 0)


class _Numbers(dict[Any, int]):
    """Numbers from 1, in the order in which keys are asked for."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self) + 1
        return number


class _Renaming:
    def __init__(self) -> None:
        self._numbers: defaultdict[str, _Numbers] = defaultdict(_Numbers)
        self._nodes: dict[int, NodeSignature] = {}
        self._attribute_sets: dict[int, tuple[LaunchAttribute, ...]] = {}

    def graph(self, graph: GraphSignature, depth: int) -> GraphSignature:
        if depth > MAX_GRAPH_DEPTH:
            raise LimitError(f"child graphs are nested more than {MAX_GRAPH_DEPTH} deep", code="nesting")
        # A node that was renamed once is renamed the same ever after: numbers never change once given.
        known = self._nodes
        nodes = []
        for node in graph.nodes:
            renamed = known.get(id(node))
            if renamed is None:
                renamed = known[id(node)] = self._node(node, depth)
            nodes.append(renamed)
        return GraphSignature(nodes=tuple(nodes), dependencies=graph.dependencies)

    def _handle(self, kind: str, handle: int) -> int:
        return self._numbers[kind][handle] if handle else 0

    def _node(self, node: NodeSignature, depth: int) -> NodeSignature:  # noqa: C901, PLR0911  one answer per kind of node
        match node:
            case KernelNodeSignature():
                return self._kernel(node)
            case MemcpyNode():
                return replace(node, source=self._operand(node.source), destination=self._operand(node.destination))
            case MemsetNode():
                return replace(node, destination=0, pointer=self._pointer(node.pointer))
            case HostNode():
                return replace(node, function_address=0, user_data=0)
            case ChildGraphNode():
                return ChildGraphNode(graph=self.graph(node.graph, depth + 1))
            case ConditionalNode():
                bodies = node.bodies and tuple(body and self.graph(body, depth + 1) for body in node.bodies)
                return replace(node, handle=None if node.handle is None else _NO_HANDLE, bodies=bodies)
            case EventWaitNode() | EventRecordNode():
                return replace(node, event=self._handle("event", node.event))
            case MemAllocNode():
                accesses = tuple(
                    replace(access, location_id=self._location(access.location_type, access.location_id))
                    for access in node.accesses
                )
                return replace(
                    node,
                    address=self._handle("allocation", node.address),
                    location_id=self._location(node.location_type, node.location_id),
                    accesses=accesses,
                )
            case MemFreeNode():
                return replace(node, address=self._handle("allocation", node.address))
            case BatchMemOpNode():
                operations = tuple(replace(operation, address=0) for operation in node.operations)
                return replace(node, context=self._handle("context", node.context), operations=operations)
            case _:
                return node

    def _kernel(self, node: KernelNodeSignature) -> KernelNodeSignature:
        identity = ("func", node.func) if node.func else ("kern", node.kern)
        attributes = self._attribute_sets.get(id(node.attributes))
        if attributes is None:
            attributes = self._attribute_sets[id(node.attributes)] = self._attributes(node.attributes)
        return KernelNodeSignature(
            name=node.name,
            kern=0,
            func=self._numbers["function"][identity] if identity[1] else 0,
            context=self._handle("context", node.context),
            grid_dim=node.grid_dim,
            block_dim=node.block_dim,
            dynamic_shared_mem_bytes=node.dynamic_shared_mem_bytes,
            attributes=attributes,
            function=node.function,
        )

    def _attributes(self, attributes: tuple[LaunchAttribute, ...]) -> tuple[LaunchAttribute, ...]:
        renamed = tuple([self._attribute(attribute) for attribute in attributes])
        return attributes if renamed == attributes else renamed

    def _attribute(self, attribute: LaunchAttribute) -> LaunchAttribute:
        match attribute.value:
            case AccessPolicyWindow() as window:
                return replace(attribute, value=replace(window, base_address=0))
            case DeviceUpdatableNode() as updatable:
                return replace(attribute, value=replace(updatable, device_node=0))
            case ProgrammaticEvent() | LaunchCompletionEvent() as event:
                return replace(attribute, value=replace(event, event=self._handle("event", event.event)))
            case _:
                return attribute

    def _operand(self, operand: MemcpyOperand) -> MemcpyOperand:
        return replace(operand, address=0, pointer=self._pointer(operand.pointer))

    def _pointer(self, facts: PointerFacts | None) -> PointerFacts | None:
        if facts is None:
            return None
        ordinal, context = facts.device_ordinal, facts.context
        return replace(
            facts,
            device_ordinal=None if ordinal is None else self._numbers["device"][ordinal],
            context=None if context is None else self._handle("context", context),
        )

    def _location(self, kind: int, location: int) -> int:
        return self._numbers["device"][location] if kind == DEVICE_LOCATION else location
