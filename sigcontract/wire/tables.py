"""Convert graphs to tables that store each distinct function, attribute set, node and graph once, and back."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sigcontract.errors import InvariantError, LimitError, RecordError
from sigcontract.model import (
    ChildGraphNode,
    ConditionalNode,
    Dependency,
    GraphSignature,
    KernelNodeSignature,
    NodeSignature,
    Record,
    check_attribute_order,
)
from sigcontract.wire.decoder_errors import below
from sigcontract.wire.limits import (
    MAX_ATTRIBUTES,
    MAX_EXPANDED_EDGES,
    MAX_EXPANDED_NODES,
    MAX_GRAPH_DEPTH,
    MAX_HELD_EDGES,
    MAX_HELD_NODES,
    MAX_PARAMETERS,
)
from sigcontract.wire.rows import (
    AttributeSet,
    ChildGraphRow,
    ConditionalRow,
    Edge,
    EdgeRow,
    FunctionRow,
    GraphRow,
    KernelRow,
    NodeRow,
)

__all__ = [
    "Folder",
    "Table",
    "Tables",
    "check_attribute_set",
    "check_parameter_count",
    "dangling",
    "dangling_nodes",
    "expanded",
    "held_graphs",
    "joined",
    "nesting",
    "problems",
    "unused",
]


class Tables(Record, frozen=True, kw_only=True):
    """Graphs in four tables, with rows in the order of first use."""

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


class Table:
    """Distinct rows of one table, in order of arrival.

    Rows are compared by their bytes: Python's hash of records and tuples is predictable, so a hostile file could hold
    many rows of one hash.
    """

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._index_of: dict[bytes, int] = {}

    def index_of(self, row: Any) -> int:
        """Return the index of a row, which is added if new."""
        known = self._index_of.setdefault(_key(row), len(self.rows))
        if known == len(self.rows):
            self.rows.append(row)
        elif self.rows[known] != row:
            raise TypeError("two unequal values have equal encodings, such as a list and a tuple")
        return known


#: Rows of at least this size, in bytes, are kept as digests.
_LONG_KEY = 1024


def _key(value: Any) -> bytes:
    """Return bytes that are equal for values that are written alike."""
    key = msgspec.msgpack.encode(value)
    return key if len(key) <= _LONG_KEY else sha256(key).digest()


class Folder:
    """Collects graphs into tables.

    Repeated objects are recognised by identity, equal ones by value. A folder must not outlive its graphs.
    """

    def __init__(self) -> None:
        self._functions = Table()
        self._attribute_sets = Table()
        self._nodes = Table()
        self._graphs = Table()
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
            The attributes of a node are out of order.
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
        )

    def _node(self, node: NodeSignature, depth: int) -> Any:
        if isinstance(node, KernelNodeSignature):
            return KernelRow(
                function=self._function(node),
                attributes=self._attributes(node),
                grid_dim=node.grid_dim,
                block_dim=node.block_dim,
                dynamic_shared_mem_bytes=node.dynamic_shared_mem_bytes,
            )
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
            node.check()
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


#: Row types of nodes with nested graphs.
_HOLDERS = (ChildGraphRow, ConditionalRow)


def problems(tables: Tables, entry_graphs: Sequence[int]) -> Iterator[RecordError]:
    """Yield contradictions in decoded tables.

    ``entry_graphs`` are the existing graph rows used from outside the tables. References must lead to existing rows,
    and nested graphs to earlier rows, so no graph can hold itself. Every row must be used: an unused row means a lost
    reference.
    """
    for number, attributes in enumerate(tables.attribute_sets):
        yield from check_attribute_set([entry.id for entry in attributes], f"$.attribute_sets[{number}]")
    for number, function in enumerate(tables.functions):
        facts = function.function
        if facts is not None and facts.parameters is not None:
            yield from check_parameter_count(len(facts.parameters), f"$.functions[{number}].function.parameters")
    kernels = [row for row in tables.nodes if type(row) is KernelRow]
    used_functions = [row.function for row in kernels]
    used_attribute_sets = [row.attributes for row in kernels]
    if max(used_functions, default=-1) >= len(tables.functions):
        yield from _dangling_kernels(tables.nodes, "function", "functions", len(tables.functions))
    if max(used_attribute_sets, default=-1) >= len(tables.attribute_sets):
        yield from _dangling_kernels(tables.nodes, "attributes", "attribute_sets", len(tables.attribute_sets))
    held = {index: held_graphs(row) for index, row in enumerate(tables.nodes) if type(row) in _HOLDERS}
    yield from unused("functions", used_functions, len(tables.functions))
    yield from unused("attribute_sets", used_attribute_sets, len(tables.attribute_sets))
    yield from dangling_nodes(tables.graphs, len(tables.nodes))
    yield from unused("nodes", chain.from_iterable(graph.nodes for graph in tables.graphs), len(tables.nodes))
    yield from unused("graphs", chain(entry_graphs, *held.values()), len(tables.graphs))
    yield from nesting(tables.graphs, held, entry_graphs)


def check_attribute_set(ids: list[int], path: str) -> Iterator[RecordError]:
    """Yield what is wrong with the ids of an attribute set, at ``path``."""
    if len(ids) > MAX_ATTRIBUTES:
        msg = f"{len(ids)} launch attributes on one node; the limit is {MAX_ATTRIBUTES}"
        yield LimitError(msg, path=path, code="attributes")
    try:
        check_attribute_order(ids, path)
    except InvariantError as error:
        yield error


def check_parameter_count(count: int, path: str) -> Iterator[RecordError]:
    """Yield that a kernel has too many parameters, at ``path``, where it does."""
    if count > MAX_PARAMETERS:
        msg = f"{count} parameters of one kernel; at most {MAX_PARAMETERS} are read"
        yield LimitError(msg, path=path, code="parameters")


def nesting(  # noqa: C901  one pass, one way out per limit
    graphs: Sequence[Any], held: dict[int, tuple[int, ...]], entry_graphs: Sequence[int]
) -> Iterator[RecordError]:
    """Yield the first fault of nested graphs: wrong order, too deep, or too many nodes in all.

    Each node's nested graphs are processed once, however many graphs use the node.
    """
    depths: list[int] = []  # by graph
    own: list[int] = []  # by graph: its nodes
    own_edges: list[int] = []
    held_sizes: list[int] = []  # by graph: nodes, and graphs held, in the graphs that its nodes hold
    held_edges: list[int] = []
    rows = 1 + max(held, default=-1)
    # By node: what it holds, and depth, size and edges of that.
    nested = [held.get(node) for node in range(rows)]
    inside: list[tuple[int, int, int] | None] = [None] * rows
    for number, graph in enumerate(graphs):
        in_graph = []
        for node in graph.nodes if rows else ():
            children = nested[node] if node < rows else None
            if children is None:
                continue
            known = inside[node]
            if known is not None:
                in_graph.append(known)
                continue
            late = max(children, default=-1)
            if late >= number:
                yield InvariantError(
                    f"node {node} holds graph {late}, which is not before graph {number}: a graph cannot "
                    "hold itself, and held graphs come first",
                    path=f"$.graphs[{number}].nodes[{graph.nodes.index(node)}]",
                )
                return
            depth = 1 + max((depths[child] for child in children), default=-1)
            size = sum(1 + own[child] + held_sizes[child] for child in children)
            inside[node] = found = depth, size, sum(own_edges[child] + held_edges[child] for child in children)
            in_graph.append(found)
        depths.append(max((depth for depth, _, _ in in_graph), default=0))
        own.append(len(graph.nodes))
        own_edges.append(sum(map(len, graph.dependencies)))
        held_sizes.append(sum(size for _, size, _ in in_graph))
        held_edges.append(sum(edges for _, _, edges in in_graph))
        if depths[number] > MAX_GRAPH_DEPTH or held_sizes[number] > MAX_HELD_NODES:
            yield LimitError(
                f"graph {number} is nested {depths[number]} deep and holds {held_sizes[number]} nodes and graphs; "
                f"the limits are {MAX_GRAPH_DEPTH} and {MAX_HELD_NODES}",
                path=f"$.graphs[{number}]",
            )
            return
        if held_edges[number] > MAX_HELD_EDGES:
            msg = f"graph {number} holds graphs of {held_edges[number]} edges; the limit is {MAX_HELD_EDGES}"
            yield LimitError(msg, path=f"$.graphs[{number}]")
            return
    edges_held = sum(held_edges[entry] for entry in entry_graphs)
    if edges_held > MAX_HELD_EDGES:
        yield LimitError(f"nodes hold graphs of {edges_held} edges in all; the limit is {MAX_HELD_EDGES}")
    edges = edges_held + sum(own_edges[entry] for entry in entry_graphs)
    if edges > MAX_EXPANDED_EDGES:
        yield LimitError(f"{edges} edges; the limit is {MAX_EXPANDED_EDGES}")
    in_all = sum(held_sizes[entry] for entry in entry_graphs)
    if in_all > MAX_HELD_NODES:
        yield LimitError(f"nodes hold {in_all} nodes and graphs in all; the limit is {MAX_HELD_NODES}")
    total = in_all + sum(own[entry] for entry in entry_graphs)
    if total > MAX_EXPANDED_NODES:
        yield LimitError(f"{total} nodes and held graphs; the limit is {MAX_EXPANDED_NODES}")


def held_graphs(row: Any) -> tuple[int, ...]:
    """Return the rows of the graphs that a node holds, those of unreadable bodies left out."""
    if type(row) is ChildGraphRow:
        return (row.graph,)
    return tuple(body for body in row.bodies or () if body is not None)


def _dangling_kernels(nodes: tuple[Any, ...], field: str, table: str, length: int) -> Iterator[RecordError]:
    for index, row in enumerate(nodes):
        if type(row) is KernelRow and getattr(row, field) >= length:
            yield dangling(f"$.nodes[{index}].{field}", getattr(row, field), table, length)


def dangling_nodes(graphs: Sequence[Any], length: int) -> Iterator[RecordError]:
    """Yield each reference of a graph to a node that is not among ``length``."""
    for number, graph in enumerate(graphs):
        for at, node in enumerate(graph.nodes if max(graph.nodes, default=-1) >= length else ()):
            if node >= length:
                yield dangling(f"$.graphs[{number}].nodes[{at}]", node, "nodes", length)


def dangling(path: str, reference: int, table: str, length: int) -> InvariantError:
    """Return the fault of a reference, at ``path``, to a row that a table does not have."""
    return InvariantError(f"row {reference} of {table} is missing; the table has {length}", path=path)


def unused(table: str, used: Iterable[int], length: int) -> Iterator[RecordError]:
    """Yield the fault of the first row of a table that nothing refers to.

    By flags and not as a set: a file can have very many numbers that meet in one slot of a hash table.
    """
    flags = bytearray(length)
    for row in used:
        if row < length:
            flags[row] = 1
    missing = flags.find(0)
    if missing >= 0:
        yield InvariantError("unused row: its reference was lost", path=f"$.{table}[{missing}]")


def expanded(tables: Tables) -> list[GraphSignature]:
    """Return the graph of each row of tables without `problems`.

    Raises
    ------
    InvariantError
        Edges of a graph lead to a missing node or form a cycle.
    """
    holders = {index: row for index, row in enumerate(tables.nodes) if type(row) in _HOLDERS}
    return joined(_expanded_nodes(tables), holders, ((row.nodes, row.dependencies) for row in tables.graphs))


def joined(
    nodes: list[Any],
    holders: dict[int, Any],
    rows: Iterable[tuple[tuple[int, ...], tuple[tuple[Edge, ...], ...]]],
) -> list[GraphSignature]:
    """Return the graph of each row, of nodes by row, those of ``holders`` still missing, and lists of edges.

    Raises
    ------
    InvariantError
        Edges of a graph lead to a missing node or form a cycle.
    """
    #: Node rows with nested graphs, by the last of these graphs.
    waiting: dict[int, list[int]] = defaultdict(list)
    for index, row in holders.items():
        waiting[max(held_graphs(row), default=-1)].append(index)
    lists = _EdgeLists()
    graphs: list[GraphSignature] = []
    for number, (refers_to, dependencies) in enumerate(rows):
        for index in waiting.pop(number - 1, ()):
            nodes[index] = _holding(holders[index], graphs)
        try:
            graph = GraphSignature(
                nodes=tuple(map(nodes.__getitem__, refers_to)),
                dependencies=lists.of(dependencies),
            )
        except InvariantError as error:
            raise below(f"$.graphs[{number}]", error) from error
        graphs.append(graph)
    return graphs


def _expanded_nodes(tables: Tables) -> list[Any]:
    """Return one node per row; None for one with nested graphs."""
    functions, attribute_sets = tables.functions, tables.attribute_sets
    nodes: list[Any] = []
    for row in tables.nodes:
        kind = type(row)
        if kind is KernelRow:
            function = functions[row.function]
            nodes.append(
                KernelNodeSignature(
                    name=function.name,
                    kern=function.kern,
                    func=function.func,
                    context=function.context,
                    grid_dim=row.grid_dim,
                    block_dim=row.block_dim,
                    dynamic_shared_mem_bytes=row.dynamic_shared_mem_bytes,
                    attributes=attribute_sets[row.attributes],
                    function=function.function,
                )
            )
        else:
            nodes.append(None if kind in _HOLDERS else row)
    return nodes


def _holding(row: Any, graphs: list[GraphSignature]) -> ChildGraphNode | ConditionalNode:
    if type(row) is ChildGraphRow:
        return ChildGraphNode(graph=graphs[row.graph])
    bodies = row.bodies
    if bodies is not None:
        bodies = tuple(None if body is None else graphs[body] for body in bodies)
    return ConditionalNode(kind=row.kind, handle=row.handle, bodies=bodies)


class _EdgeLists:
    """Lists of edges as dependencies, equal ones made once.

    By bytes, or by the index that an edge leads to: Python's hash of numbers is the same on every machine, so that a
    file of edges that all collide in one slot of a hash table is easily made.
    """

    def __init__(self) -> None:
        #: Of all nodes of a graph, as layers and batch sizes repeat.
        self._of_graph: dict[bytes, tuple[tuple[Dependency, ...], ...]] = {}
        self._of_node: dict[bytes, tuple[Dependency, ...]] = {}
        #: By the index of a node, the default edge from it, as the most common case have one.
        self._default: list[tuple[Dependency] | None] = []

    def of(self, dependencies: tuple[tuple[Edge, ...], ...]) -> tuple[tuple[Dependency, ...], ...]:
        """Return the dependencies of all nodes of a graph."""
        key = _key(dependencies)
        known = self._of_graph.get(key)
        if known is None:
            default = self._default
            default += [None] * (len(dependencies) - len(default))
            size = len(default)
            found: list[tuple[Dependency, ...]] = []
            for edges in dependencies:
                if len(edges) == 1 and type(edges[0]) is int and edges[0] < size:
                    found.append(default[edges[0]] or self._made(edges[0]))
                else:
                    found.append(self._list(edges))
            known = self._of_graph[key] = tuple(found)
        return known

    def _list(self, edges: tuple[Edge, ...]) -> tuple[Dependency, ...]:
        key = _key(edges)
        known = self._of_node.get(key)
        if known is None:
            known = self._of_node[key] = tuple([self._made(edge)[0] for edge in edges])
        return known

    def _made(self, edge: Edge) -> tuple[Dependency]:
        if type(edge) is not int:
            return (Dependency(node=edge.node, from_port=edge.from_port, to_port=edge.to_port, type=edge.type),)
        made = self._default[edge] if edge < len(self._default) else None
        if made is None:
            made = (Dependency(node=edge, from_port=0, to_port=0, type=0),)
            if edge < len(self._default):  # else it leads to no node, as the graph says
                self._default[edge] = made
        return made
