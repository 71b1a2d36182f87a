"""A graph: nodes in the driver's order, each with its dependencies in the driver's order."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, get_args

from msgspec import Meta
from msgspec.structs import replace

from sigcontract.errors import InvariantError
from sigcontract.model.cuda import GraphNodeType
from sigcontract.model.handles import field_parts, handle
from sigcontract.model.nodes import (
    BatchMemOpNode,
    EmptyNode,
    EventRecordNode,
    EventWaitNode,
    ExtSemasSignalNode,
    ExtSemasWaitNode,
    HostNode,
    KernelNodeSignature,
    MemAllocNode,
    MemcpyNode,
    MemFreeNode,
    MemsetNode,
    OpaqueNode,
)
from sigcontract.model.record import Hex64, Int32, Record, TaggedUnion, UInt8, UInt32

__all__ = [
    "NODE_RECORDS",
    "ChildGraphNode",
    "ConditionalNode",
    "Dependency",
    "GraphSignature",
    "NodeRecord",
    "NodeSignature",
    "graph_fields",
    "holds_graphs",
    "inner_graphs",
    "with_inner_graphs",
]


class Dependency(Record, frozen=True, kw_only=True):
    """One edge into a node (cuGraphNodeGetDependencies, CUgraphEdgeData)."""

    node: Annotated[UInt32, Meta(description="Index in nodes of the dependency.")]
    from_port: Annotated[UInt8, Meta(description="0 default, 1 programmatic, 2 launch order (from_port).")]
    to_port: Annotated[UInt8, Meta(description="0 (to_port).")]
    type: Annotated[UInt8, Meta(description="CUgraphDependencyType: 0 default, 1 programmatic (type).")]


class ChildGraphNode(Record, frozen=True, kw_only=True, tag_field="node", tag="graph"):
    """A child graph node (cuGraphChildGraphNodeGetGraph)."""

    node_type: ClassVar[int] = GraphNodeType.GRAPH.value

    graph: Annotated["GraphSignature", Meta(description="The child graph.")]


class ConditionalNode(Record, frozen=True, kw_only=True, tag_field="node", tag="conditional"):
    """A conditional node (CUDA_CONDITIONAL_NODE_PARAMS). Every field is null before CUDA 13.2, which has no getter."""

    node_type: ClassVar[int] = GraphNodeType.CONDITIONAL.value

    kind: Annotated[
        Int32 | None, Meta(description="CUgraphConditionalNodeType: 0 if, 1 while, 2 switch; null: unreadable (type).")
    ]
    handle: Annotated[
        Hex64 | None,
        Meta(
            description="Process-local CUgraphConditionalHandle; null: unreadable (handle).",
            extra=handle("conditional"),
        ),
    ]
    bodies: Annotated[
        tuple["GraphSignature | None", ...] | None,
        Meta(
            description="One graph per branch, null if unreadable; null: number of branches unreadable (phGraph_out)."
        ),
    ]


#: The records of `NodeSignature`.
NodeRecord = (
    KernelNodeSignature
    | MemcpyNode
    | MemsetNode
    | HostNode
    | ChildGraphNode
    | EmptyNode
    | EventWaitNode
    | EventRecordNode
    | ExtSemasSignalNode
    | ExtSemasWaitNode
    | MemAllocNode
    | MemFreeNode
    | BatchMemOpNode
    | ConditionalNode
    | OpaqueNode
)
#: A node: of msgspec the union of its records, in a pydantic model one whose faults are those of the record named.
NodeSignature = Annotated[NodeRecord, TaggedUnion()]


class GraphSignature(Record, frozen=True, kw_only=True):
    """The signature of a CUgraph: the definition, not an executable.

    The driver pairs the nodes of an update by both orders, so both are part of the record; sorting either would make
    graphs equal that the driver rejects (measured, H200, driver 580).

    Raises
    ------
    InvariantError
        There is not one dependency list per node, an edge leads to a missing node, or edges form a cycle.
    """

    nodes: Annotated[tuple[NodeRecord, ...], Meta(description="Nodes in the driver's order (cuGraphGetNodes).")]
    dependencies: Annotated[
        tuple[tuple[Dependency, ...], ...],
        Meta(description="For each node, its dependencies in the driver's order (cuGraphNodeGetDependencies)."),
    ]

    def __post_init__(self) -> None:
        if len(self.nodes) != len(self.dependencies):
            msg = f"{len(self.nodes)} nodes have {len(self.dependencies)} dependency lists; give one list per node"
            raise InvariantError(msg, path="$.dependencies")
        backward = False
        for index, dependencies in enumerate(self.dependencies):
            for dependency in dependencies:
                if dependency.node >= index:
                    backward = True
        if backward:
            _check_edges(self.dependencies)

    def __repr__(self) -> str:
        # Thousands of nodes would bury any message.
        return f"GraphSignature({self.summary})"

    @property
    def summary(self) -> str:
        """How many nodes of which kinds and how many edges, children's not counted: ``2 nodes (2 kernel), 1 edge``."""
        kinds = Counter(str(node.__struct_config__.tag) for node in self.nodes)
        listed = f" ({', '.join(f'{count} {kind}' for kind, count in kinds.most_common())})" if kinds else ""
        return f"{_counted(len(self.nodes), 'node')}{listed}, {_counted(sum(map(len, self.dependencies)), 'edge')}"

    @property
    def kernel_nodes(self) -> tuple[KernelNodeSignature, ...]:
        """The kernel nodes of this graph, children's not included, in the driver's order."""
        return tuple(node for node in self.nodes if isinstance(node, KernelNodeSignature))

    @property
    def sinks(self) -> tuple[int, ...]:
        """Indices of the nodes that nothing depends on, in the driver's order."""
        needed = bytearray(len(self.nodes))
        for dependencies in self.dependencies:
            for dependency in dependencies:
                needed[dependency.node] = 1
        return tuple(index for index, is_needed in enumerate(needed) if not is_needed)

    def walk(self) -> Iterator[tuple[str, NodeSignature]]:
        """Yield every node with its path (``nodes[3].graph.nodes[0]``), children and readable bodies included."""
        for index, node in enumerate(self.nodes):
            path = f"nodes[{index}]"
            yield path, node
            for at, graph in inner_graphs(node):
                if graph is not None:
                    yield from ((f"{path}{at}{inner}", child) for inner, child in graph.walk())


#: The record of each CUgraphNodeType. A node of any other type is an `OpaqueNode`.
NODE_RECORDS: Mapping[int, type[NodeSignature]] = {
    record.node_type: record for record in get_args(NodeRecord) if record is not OpaqueNode
}


@cache
def graph_fields(record: type[Record]) -> tuple[str, ...]:
    """Return the fields of a record type that hold graphs."""
    return tuple(name for name, parts in field_parts(record).items() if GraphSignature in parts)


def holds_graphs(node: NodeSignature) -> bool:
    """Whether a node is of a type that holds graphs: a child graph or the bodies of a conditional."""
    return bool(graph_fields(type(node)))


def inner_graphs(node: NodeSignature) -> Iterator[tuple[str, GraphSignature | None]]:
    """Yield the graphs in a node by their path below it (``.graph.``, ``.bodies[1].``); None for an unreadable one."""
    for name in graph_fields(type(node)):
        held = getattr(node, name)
        if isinstance(held, GraphSignature):
            yield f".{name}.", held
        else:
            yield from ((f".{name}[{index}].", graph) for index, graph in enumerate(held or ()))


def with_inner_graphs(node: NodeSignature, changed: Callable[[GraphSignature], GraphSignature]) -> NodeSignature:
    """Return a node with each readable graph in it replaced."""
    fields: dict[str, Any] = {}
    for name in graph_fields(type(node)):
        held = getattr(node, name)
        if isinstance(held, GraphSignature):
            fields[name] = changed(held)
        elif held is not None:
            fields[name] = tuple(None if graph is None else changed(graph) for graph in held)
    return replace(node, **fields) if fields else node


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _check_edges(dependencies: tuple[tuple[Dependency, ...], ...]) -> None:
    """Refuse edges to missing nodes and cycles. Only needed where an edge leads forward in node order."""
    for index, edges in enumerate(dependencies):
        for position, edge in enumerate(edges):
            if edge.node >= len(dependencies):
                msg = f"node {edge.node} is not among the {len(dependencies)} nodes; drop the edge or add the node"
                raise InvariantError(msg, path=f"$.dependencies[{index}][{position}].node")
    stuck = _stuck(dependencies)
    if stuck:
        index = next(iter(stuck))
        way: dict[int, None] = {}
        while index not in way:
            way[index] = None
            index = next(edge.node for edge in dependencies[index] if edge.node in stuck)
        ring = [*way]
        cycle = [index, *reversed(ring[ring.index(index) :])]
        msg = f"nodes depend on each other in a cycle ({' -> '.join(map(str, cycle[:8]))}); a CUDA graph has none"
        raise InvariantError(msg, path="$.dependencies")


def _stuck(dependencies: tuple[tuple[Dependency, ...], ...]) -> set[int]:
    """Return the nodes that depend on a cycle, using few bytes per edge: hostile files may hold many edges."""
    waiting_for = list(map(len, dependencies))
    dependents: list[list[int] | None] = [None] * len(dependencies)
    for index, edges in enumerate(dependencies):
        for edge in edges:
            known = dependents[edge.node]
            if known is None:
                dependents[edge.node] = [index]
            else:
                known.append(index)
    ready = [index for index, count in enumerate(waiting_for) if count == 0]
    done = 0
    while ready:
        done += 1
        for index in dependents[ready.pop()] or ():
            waiting_for[index] -= 1
            if waiting_for[index] == 0:
                ready.append(index)
    return set() if done == len(dependencies) else {index for index, count in enumerate(waiting_for) if count}
