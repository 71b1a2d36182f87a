"""Fold graphs into tables that store each distinct function, attribute set, node and graph once."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from sigcontract.errors import LimitError, RecordError
from sigcontract.model import (
    Allocation,
    ChildGraphNode,
    ConditionalNode,
    Dependency,
    GraphSignature,
    KernelNodeSignature,
    MemcpyNode,
    MemsetNode,
    NodeSignature,
    Record,
    check_attribute_order,
)
from sigcontract.wire.argument_tables import ArgumentFolder
from sigcontract.wire.decoder_errors import below
from sigcontract.wire.distinct_rows import Table
from sigcontract.wire.limits import MAX_GRAPH_DEPTH
from sigcontract.wire.rows import (
    ArgumentRow,
    AttributeSet,
    BlockRow,
    ChildGraphRow,
    ConditionalRow,
    Edge,
    EdgeRow,
    FunctionRow,
    GraphRow,
    KernelRow,
    NodeRow,
    PointerRow,
)

__all__ = ["Folder", "Table", "Tables"]


class Tables(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Graphs in tables, with rows in the order of first use.

    Those of arguments are left out where none are recorded: digests of such graphs stay what they were.
    """

    functions: Annotated[
        tuple[FunctionRow, ...], Meta(description="Distinct functions: handles, name, facts; nodes refer to them.")
    ]
    attribute_sets: Annotated[
        tuple[AttributeSet, ...],
        Meta(description="Distinct lists of launch attributes, each ascending by id, each id once."),
    ]
    nodes: Annotated[tuple[NodeRow, ...], Meta(description="Distinct nodes; graphs refer to them.")]
    graphs: Annotated[
        tuple[GraphRow, ...],
        Meta(description="Distinct graphs; child graphs and bodies come first."),
    ]
    allocations: Annotated[
        tuple[Allocation, ...], Meta(description="Distinct allocations; pointers refer to them.")
    ] = ()
    blocks: Annotated[tuple[BlockRow, ...], Meta(description="Distinct blocks; pointers refer to them.")] = ()
    pointers: Annotated[
        tuple[PointerRow, ...], Meta(description="Distinct addresses; kernel nodes refer to them.")
    ] = ()
    arguments: Annotated[
        tuple[ArgumentRow, ...], Meta(description="Distinct arguments; kernel nodes refer to them.")
    ] = ()


class Folder:
    """Collects graphs into tables.

    Repeated objects are recognised by identity, equal ones by value. A folder must not outlive its graphs.
    """

    def __init__(self) -> None:
        self._functions = Table()
        self._attribute_sets = Table()
        self._nodes = Table()
        self._graphs = Table()
        self._arguments = ArgumentFolder()
        # Caches by object id: values that many nodes share are processed once.
        self._function_by_parts: dict[bytes, int] = {}
        self._attribute_set_by_identity: dict[int, int] = {}
        self._node_by_identity: dict[int, int] = {}
        self._edges_by_identity: dict[int, tuple[Edge, ...]] = {}
        self._graph_by_identity: dict[int, int] = {}

    def fold(self, graph: GraphSignature, depth: int = 0) -> int:
        """Add a graph and its nested graphs; return its row.

        Raises
        ------
        InvariantError
            The attributes of a node are out of order, or its arguments contradict each other.
        TypeError, AttributeError
            The graph is otherwise invalid; `sigcontract.validate` reports how.
        LimitError
            Child graphs are nested more than MAX_GRAPH_DEPTH deep.
        """
        known = self._graph_by_identity.get(id(graph))
        if known is not None:
            return known
        if depth > MAX_GRAPH_DEPTH:
            raise LimitError(f"child graphs are nested more than {MAX_GRAPH_DEPTH} deep", code="nesting")
        if type(graph.nodes) is not tuple or type(graph.dependencies) is not tuple:
            raise TypeError("nodes and dependencies of a graph must be tuples")
        node_rows, edge_lists = self._node_by_identity, self._edges_by_identity
        nodes = []
        for index, node in enumerate(graph.nodes):
            row = node_rows.get(id(node))
            if row is None:
                try:
                    row = node_rows[id(node)] = self._nodes.index_of(self._node(node, depth))
                except RecordError as error:
                    raise below(f"$.nodes[{index}]", error) from error
            nodes.append(row)
        dependencies = []
        for edges in graph.dependencies:
            compact = edge_lists.get(id(edges))
            if compact is None:
                compact = edge_lists[id(edges)] = _compact(edges)
            dependencies.append(compact)
        row = self._graphs.index_of(GraphRow(nodes=tuple(nodes), dependencies=tuple(dependencies)))
        self._graph_by_identity[id(graph)] = row
        return row

    def tables(self) -> Tables:
        """Return the tables."""
        return Tables(
            functions=tuple(self._functions.rows),
            attribute_sets=tuple(self._attribute_sets.rows),
            nodes=tuple(self._nodes.rows),
            graphs=tuple(self._graphs.rows),
            allocations=tuple(self._arguments.allocations.rows),
            blocks=tuple(self._arguments.blocks.rows),
            pointers=tuple(self._arguments.pointers.rows),
            arguments=tuple(self._arguments.arguments.rows),
        )

    def _node(self, node: NodeSignature, depth: int) -> Any:
        if isinstance(node, KernelNodeSignature):
            arguments, pointers = (UNSET, ()) if node.arguments is None else self._arguments.fold(node.arguments)
            return KernelRow(
                function=self._function(node),
                attributes=self._attributes(node),
                grid_dim=node.grid_dim,
                block_dim=node.block_dim,
                dynamic_shared_mem_bytes=node.dynamic_shared_mem_bytes,
                arguments=arguments,
                pointers=pointers or UNSET,
            )
        if isinstance(node, MemcpyNode):
            return self._arguments.memcpy(node)
        if isinstance(node, MemsetNode):
            return self._arguments.memset(node)
        if isinstance(node, ChildGraphNode):
            return ChildGraphRow(graph=self.fold(node.graph, depth + 1))
        if isinstance(node, ConditionalNode):
            rows: tuple[int | None, ...] | None = None
            if node.bodies is not None:
                rows = tuple(None if body is None else self.fold(body, depth + 1) for body in node.bodies)
            return ConditionalRow(kind=node.kind, handle=node.handle, bodies=rows)
        return node

    def _function(self, node: KernelNodeSignature) -> int:
        parts = msgspec.msgpack.encode((id(node.name), id(node.function), node.kern, node.func, node.context))
        row = self._function_by_parts.get(parts)
        if row is None:
            row = self._function_by_parts[parts] = self._functions.index_of(
                FunctionRow(
                    name=node.name, kern=node.kern, func=node.func, context=node.context, function=node.function
                )
            )
        return row

    def _attributes(self, node: KernelNodeSignature) -> int:
        row = self._attribute_set_by_identity.get(id(node.attributes))
        if row is None:
            if type(node.attributes) is not tuple:
                raise TypeError("the attributes of a node must be a tuple")
            check_attribute_order([attribute.id for attribute in node.attributes], "$.attributes")
            row = self._attribute_set_by_identity[id(node.attributes)] = self._attribute_sets.index_of(node.attributes)
        return row


def _compact(edges: tuple[Dependency, ...]) -> tuple[Edge, ...]:
    if type(edges) is not tuple:
        raise TypeError("the dependencies of a node must be a tuple")
    return tuple(
        [
            edge.node
            if edge.from_port == 0 and edge.to_port == 0 and edge.type == 0
            else EdgeRow(node=edge.node, from_port=edge.from_port, to_port=edge.to_port, type=edge.type)
            for edge in edges
        ]
    )
