"""sigcontract.dump version 3, a draft: version 2 in tables that generators of types can take as they are."""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, partial
from itertools import accumulate, chain
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sigcontract.errors import InvariantError, RecordError
from sigcontract.model import (
    VALUE_TYPES,
    ChildGraphNode,
    ConditionalNode,
    FunctionFacts,
    KernelNodeSignature,
    LaunchAttribute,
    ParameterLayout,
    RawValue,
    SignatureDump,
)
from sigcontract.wire import tables, v2
from sigcontract.wire.envelope import document_type, fields_of
from sigcontract.wire.rows import ChildGraphRow, ConditionalRow, Edge, EdgeRow, KernelRow
from sigcontract.wire.rows3 import (
    NODE_CONTENTS,
    NODE_ROWS,
    ROW_OF,
    VALUE_CONTENTS,
    VALUE_ROWS,
    AttributeRow,
    EdgeData,
    FunctionFactsRow,
    FunctionRow,
    Graph,
    LaunchRow,
    NodeRow,
    ParameterColumns,
    UnreadableAttribute,
    UnsupportedAttribute,
)

__all__ = ["DumpDocument", "UnreadDumpDocument", "dump_of", "problems", "wire_of", "with_extensions_read"]

_FIELDS = fields_of(SignatureDump)
_DOC = "A file of graph signatures from one process. Rows of tables stand in the order in which graphs first use them."
_ALL_BUT_EXTENSIONS = {
    "header": fields_of(v2.DumpDocument)["header"],
    **{name: kind for name, kind in _FIELDS.items() if name not in ("graphs", "extensions")},
    "functions": Annotated[
        tuple[FunctionRow, ...], Meta(description="Distinct functions: handles, name, facts; nodes refer to them.")
    ],
    "attributes": Annotated[
        tuple[AttributeRow, ...], Meta(description="Distinct launch attributes. Referred to by launches.")
    ],
    "launches": Annotated[
        tuple[LaunchRow, ...], Meta(description="Distinct launches, all but the grid. Referred to by kernel nodes.")
    ],
    "nodes": Annotated[tuple[NodeRow, ...], Meta(description="Distinct nodes; graphs refer to them.")],
    "graphs": Annotated[
        tuple[Graph, ...],
        Meta(description="Distinct graphs; child graphs and bodies come first."),
    ],
}
DumpDocument = document_type(
    "DumpDocument", "sigcontract.dump", 3, _DOC, _ALL_BUT_EXTENSIONS | {"extensions": _FIELDS["extensions"]}
)
#: As decoded: extensions stay raw, since they have their own limits.
UnreadDumpDocument = document_type(
    "DumpDocument", "sigcontract.dump", 3, _DOC, _ALL_BUT_EXTENSIONS | {"extensions": msgspec.Raw}
)
with_extensions_read = partial(v2.with_extensions_read, finished=DumpDocument)

_RECORDS = {row: record for record, row in NODE_ROWS.items()}
_INNER_RECORDS = {row: record for record, row in ROW_OF.items()}
_VALUES = {row: kind for kind, row in VALUE_ROWS.items()}
_KERNEL, _CHILD, _CONDITIONAL = (NODE_ROWS[record] for record in (KernelNodeSignature, ChildGraphNode, ConditionalNode))


def wire_of(dump: SignatureDump) -> Any:
    """Return a dump as a document. Invalid dumps pass or raise: the codec checks and explains."""
    folded = v2.wire_of(dump)
    attributes = tables.Table()
    row_of: dict[int, int] = {}  # by the number of an object, all of which the dump keeps alive
    attribute_sets = []
    for entries in folded.attribute_sets:
        for entry in entries:
            if id(entry) not in row_of:
                row_of[id(entry)] = attributes.index_of(_attribute_row(entry))
        attribute_sets.append(tuple([row_of[id(entry)] for entry in entries]))
    launches = tables.Table()
    nodes = tuple([_node_row(node, launches, attribute_sets) for node in folded.nodes])
    same = {name: getattr(folded, name) for name in ("header", "environment", "profile", "complete", "extensions")}
    return DumpDocument(
        document="sigcontract.dump",
        version=3,
        functions=tuple(map(_function_row, folded.functions)),
        attributes=tuple(attributes.rows),
        launches=tuple(launches.rows),
        nodes=nodes,
        graphs=tuple(map(_graph_row, folded.graphs)),
        **same,
    )


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


@cache
def _left_out(row: Any) -> tuple[str, ...]:
    """Return the fields of a row that are left out for null."""
    return tuple(field.name for field in msgspec.structs.fields(row) if not field.required)


def _row(row: Any, fields: dict[str, Any]) -> Any:
    """Return the row of a record's fields."""
    for name in _left_out(row):
        if fields[name] is None:
            fields[name] = UNSET
    for name, value in fields.items():
        if type(value) in ROW_OF:
            fields[name] = _row(ROW_OF[type(value)], _fields(value))
    return row(**fields)


def _record(record: Any, fields: dict[str, Any]) -> Any:
    """Return the record of a row's fields."""
    for name, value in fields.items():
        if value is UNSET:
            fields[name] = None
        elif type(value) in _INNER_RECORDS:
            fields[name] = _record(_INNER_RECORDS[type(value)], _fields(value))
    return record(**fields)


def _function_row(row: Any) -> Any:
    facts = row.function
    if facts is None:
        return _row(FunctionRow, _fields(row))
    parameters = None
    if facts.parameters is not None:
        parameters = ParameterColumns(
            offset_bytes=tuple([entry.offset_bytes for entry in facts.parameters]),
            size_bytes=tuple([entry.size_bytes for entry in facts.parameters]),
        )
    return FunctionRow(
        **_fields(row) | {"function": _row(FunctionFactsRow, _fields(facts) | {"parameters": parameters})}
    )


def _facts(row: Any) -> FunctionFacts | None:
    if row is UNSET:
        return None
    parameters = None
    if row.parameters is not UNSET:
        pairs = zip(row.parameters.offset_bytes, row.parameters.size_bytes, strict=True)
        parameters = tuple([ParameterLayout(offset_bytes=offset, size_bytes=size) for offset, size in pairs])
    facts: FunctionFacts = _record(FunctionFacts, _fields(row) | {"parameters": parameters})
    return facts


def _attribute_row(entry: LaunchAttribute) -> Any:
    known = {"id": entry.id, "origin": entry.origin}
    if entry.state == "unreadable":
        return UnreadableAttribute(**known)
    if entry.state == "unsupported":
        return UnsupportedAttribute(**known)
    value: Any = entry.value
    if type(value) not in VALUE_ROWS:
        raise TypeError(f"a launch attribute has no value of type {type(value).__name__}")
    row = VALUE_ROWS[type(value)]
    content = value
    if type(value) is RawValue:
        content = value.hex
    elif type(value) is not int:
        content = VALUE_CONTENTS[type(value)](**_fields(value))
    return row(**known, **{row.__struct_fields__[-1]: content})


def _attribute(row: Any) -> LaunchAttribute:
    """Return the record of a row. Raises InvariantError where the id has values of another type."""
    known = {"id": row.id, "origin": row.origin}
    if type(row) is UnreadableAttribute:
        return LaunchAttribute(**known, state="unreadable", value=None)
    if type(row) is UnsupportedAttribute:
        return LaunchAttribute(**known, state="unsupported", value=None)
    kind = _VALUES[type(row)]
    content = getattr(row, row.__struct_fields__[-1])
    if kind is RawValue:
        content = RawValue(hex=content)
    elif kind is not int:
        content = kind(**_fields(content))
    return LaunchAttribute(**known, state="value", value=content)


def _node_row(node: Any, launches: tables.Table, attribute_sets: list[tuple[int, ...]]) -> Any:
    """Return the row of a node of version 2: its record, or the row of a node that refers to others."""
    if type(node) is KernelRow:
        launch = launches.index_of(
            LaunchRow(
                function=node.function,
                attributes=attribute_sets[node.attributes],
                block_dim=node.block_dim,
                dynamic_shared_mem_bytes=node.dynamic_shared_mem_bytes,
            )
        )
        return _KERNEL(kernel=NODE_CONTENTS[KernelNodeSignature](launch=launch, grid_dim=node.grid_dim))
    kind = _RECORD_OF_ROW.get(type(node), type(node))
    if kind not in NODE_ROWS:
        raise TypeError(f"{type(node).__name__} is no node")
    row = NODE_ROWS[kind]
    return row(**{name: _row(NODE_CONTENTS[kind], _fields(node)) for name in row.__struct_fields__})


_RECORD_OF_ROW: dict[type, type] = {ChildGraphRow: ChildGraphNode, ConditionalRow: ConditionalNode}


def _graph_row(row: Any) -> Graph:
    """Return a row of version 2 with what its edges have in common beside them."""
    if not any(type(edge) is EdgeRow for edge in chain.from_iterable(row.dependencies)):
        return Graph(nodes=row.nodes, dependencies=row.dependencies)
    edges: dict[tuple[int, int, int], list[int]] = {}
    for number, edge in enumerate(chain.from_iterable(row.dependencies)):
        if type(edge) is EdgeRow:
            edges.setdefault((edge.from_port, edge.to_port, edge.type), []).append(number)
    return Graph(
        nodes=row.nodes,
        dependencies=tuple(
            [tuple([edge.node if type(edge) is EdgeRow else edge for edge in into]) for into in row.dependencies]
        ),
        edge_data=tuple(
            [
                EdgeData(from_port=from_port, to_port=to_port, type=kind, edges=tuple(numbers))
                for (from_port, to_port, kind), numbers in edges.items()
            ]
        ),
    )


def _dependencies(row: Graph) -> tuple[tuple[Edge, ...], ...]:
    """Return the edges of a graph as version 2 has them."""
    if isinstance(row.edge_data, UnsetType):
        return row.dependencies
    starts = list(accumulate(map(len, row.dependencies), initial=0))
    lists: list[tuple[Edge, ...]] = list(row.dependencies)
    for data in row.edge_data:
        for number in data.edges:
            index = bisect_right(starts, number) - 1
            edges, at = lists[index], number - starts[index]
            edge = EdgeRow(node=edges[at], from_port=data.from_port, to_port=data.to_port, type=data.type)
            lists[index] = (edge,) if len(edges) == 1 else (*edges[:at], edge, *edges[at + 1 :])
    return tuple(lists)


def problems(document: Any) -> Iterator[RecordError]:
    """Yield contradictions in a decoded document, except digests."""
    missing = False
    for problem in v2.header_problems(document):
        missing = missing or problem.path.endswith(".graph")
        yield problem
    if missing:
        return
    yield from _function_problems(document)
    yield from _attribute_problems(document)
    functions = [row.function for row in document.launches]
    for index, row in enumerate(functions):
        if row >= len(document.functions):
            yield tables.dangling(f"$.launches[{index}].function", row, "functions", len(document.functions))
    yield from tables.unused("functions", functions, len(document.functions))
    launches = [row.kernel.launch for row in document.nodes if type(row) is _KERNEL]
    if max(launches, default=-1) >= len(document.launches):
        for index, row in enumerate(document.nodes):
            if type(row) is _KERNEL and row.kernel.launch >= len(document.launches):
                path = f"$.nodes[{index}].kernel.launch"
                yield tables.dangling(path, row.kernel.launch, "launches", len(document.launches))
    yield from tables.unused("launches", launches, len(document.launches))
    yield from tables.dangling_nodes(document.graphs, len(document.nodes))
    used_nodes = chain.from_iterable(graph.nodes for graph in document.graphs)
    yield from tables.unused("nodes", used_nodes, len(document.nodes))
    entry_graphs = [entry.graph for entry in document.header]
    held = {index: tables.held_graphs(row) for index, row in _holders(document).items()}
    yield from tables.unused("graphs", chain(entry_graphs, *held.values()), len(document.graphs))
    yield from _edge_problems(document)
    yield from tables.nesting(document.graphs, held, entry_graphs)


def _function_problems(document: Any) -> Iterator[RecordError]:
    for index, row in enumerate(document.functions):
        columns = UNSET if row.function is UNSET else row.function.parameters
        if columns is UNSET:
            continue
        path = f"$.functions[{index}].function.parameters"
        offsets, sizes = len(columns.offset_bytes), len(columns.size_bytes)
        yield from tables.check_parameter_count(max(offsets, sizes), path)
        if offsets != sizes:
            msg = f"{offsets} offsets and {sizes} sizes; columns are of equal length"
            yield InvariantError(msg, path=path)


def _attribute_problems(document: Any) -> Iterator[RecordError]:
    for index, row in enumerate(document.attributes):
        kind = _VALUES.get(type(row))
        if kind is not None and kind is not VALUE_TYPES.get(row.id, RawValue):
            try:
                _attribute(row)
            except InvariantError as error:
                yield InvariantError(error.reason, path=f"$.attributes[{index}]")
    ids = [row.id for row in document.attributes]
    for number, launch in enumerate(document.launches):
        path = f"$.launches[{number}].attributes"
        if max(launch.attributes, default=-1) < len(ids):
            yield from tables.check_attribute_set([ids[row] for row in launch.attributes], path)
            continue
        for at, row in enumerate(launch.attributes):
            if row >= len(ids):
                yield tables.dangling(f"{path}[{at}]", row, "attributes", len(ids))
    used = chain.from_iterable(launch.attributes for launch in document.launches)
    yield from tables.unused("attributes", used, len(ids))


def _edge_problems(document: Any) -> Iterator[RecordError]:
    for row, graph in enumerate(document.graphs):
        if graph.edge_data is UNSET:
            continue
        count = sum(map(len, graph.dependencies))
        named = bytearray(count)
        for at, data in enumerate(graph.edge_data):
            previous = -1
            for entry, number in enumerate(data.edges):
                if number >= count or number <= previous or named[number]:
                    fault = (
                        f"does not exist; the graph has {count}" if number >= count else "is repeated or out of order"
                    )
                    path = f"$.graphs[{row}].edge_data[{at}].edges[{entry}]"
                    yield InvariantError(f"edge {number} {fault}", path=path)
                previous = number
            for number in data.edges:
                if number < count:
                    named[number] = 1


def _holders(document: Any) -> dict[int, Any]:
    """Return the nodes that hold graphs, as rows of version 2, by their row."""
    found: dict[int, Any] = {}
    for index, row in enumerate(document.nodes):
        if type(row) is _CHILD:
            found[index] = ChildGraphRow(graph=row.graph.graph)
        elif type(row) is _CONDITIONAL:
            found[index] = ConditionalRow(**_fields(row.conditional))
    return found


def dump_of(document: Any) -> SignatureDump:
    """Return the dump of a document without `problems`.

    Raises
    ------
    InvariantError
        Edges of a graph lead to a missing node or form a cycle.
    """
    attributes = [_attribute(row) for row in document.attributes]
    facts = [_facts(row.function) for row in document.functions]
    launches = [
        (
            document.functions[row.function],
            facts[row.function],
            tuple([attributes[entry] for entry in row.attributes]),
            row,
        )
        for row in document.launches
    ]
    nodes = [_kernel(row.kernel, launches) if type(row) is _KERNEL else _other(row) for row in document.nodes]
    rows = ((row.nodes, _dependencies(row)) for row in document.graphs)
    return v2.dump_with(document, tables.joined(nodes, _holders(document), rows))


def _kernel(row: Any, launches: list[Any]) -> KernelNodeSignature:
    function, facts, attributes, launch = launches[row.launch]
    return KernelNodeSignature(
        name=function.name,
        kern=function.kern,
        func=function.func,
        context=function.context,
        grid_dim=row.grid_dim,
        block_dim=launch.block_dim,
        dynamic_shared_mem_bytes=launch.dynamic_shared_mem_bytes,
        attributes=attributes,
        function=facts,
    )


def _other(row: Any) -> Any:
    """Return the node of a row that is no kernel, None for one that holds a graph."""
    record = _RECORDS[type(row)]
    if record in (ChildGraphNode, ConditionalNode):
        return None
    fields: dict[str, Any] = {}
    for name in row.__struct_fields__:
        fields = _fields(getattr(row, name))
    return _record(record, fields)
