"""Read the tables of a version 3 dump."""

from bisect import bisect_right
from itertools import accumulate
from typing import Any

from msgspec import UNSET, UnsetType

from sigcontract.model import (
    ChildGraphNode,
    ConditionalNode,
    FunctionFacts,
    KernelNodeSignature,
    LaunchAttribute,
    MemcpyOperand,
    ParameterLayout,
    PointerFacts,
    RawValue,
    SignatureDump,
)
from sigcontract.wire import v2
from sigcontract.wire.argument_tables import ArgumentReader
from sigcontract.wire.joining import joined
from sigcontract.wire.rows import (
    ChildGraphRow,
    ConditionalRow,
    Edge,
    EdgeRow,
    MemcpyOperandRow,
    PointerFactsRow,
    TargetRow,
)
from sigcontract.wire.rows3 import NODE_ROWS, ROW_OF, VALUE_ROWS, Graph, UnreadableAttribute, UnsupportedAttribute

__all__ = ["VALUES", "attribute_of", "dump_of", "holders"]

#: The type of a value, by the row of its attribute.
VALUES = {row: kind for kind, row in VALUE_ROWS.items()}
_RECORDS = {row: record for record, row in NODE_ROWS.items()}
_INNER_RECORDS = {row: record for record, row in ROW_OF.items()} | {
    ROW_OF[MemcpyOperandRow]: MemcpyOperand,
    PointerFactsRow: PointerFacts,
}
_KERNEL, _CHILD, _CONDITIONAL = (NODE_ROWS[record] for record in (KernelNodeSignature, ChildGraphNode, ConditionalNode))


def dump_of(document: Any) -> SignatureDump:
    """Return the dump of a document without `problems`.

    Raises
    ------
    InvariantError
        Edges of a graph lead to a missing node or form a cycle.
    """
    attributes = [attribute_of(row) for row in document.attributes]
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
    reader = ArgumentReader(document)
    nodes = [
        _kernel(row.kernel, launches, reader) if type(row) is _KERNEL else _other(row, reader) for row in document.nodes
    ]
    rows = ((row.nodes, _dependencies(row)) for row in document.graphs)
    return v2.dump_with(document, joined(nodes, holders(document), rows))


def _kernel(row: Any, launches: list[Any], reader: ArgumentReader) -> KernelNodeSignature:
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
        arguments=reader.arguments(row.arguments, row.pointers),
    )


def _other(row: Any, reader: ArgumentReader) -> Any:
    """Return the node of a row that is no kernel, None for one that holds a graph."""
    record = _RECORDS[type(row)]
    if record in (ChildGraphNode, ConditionalNode):
        return None
    fields: dict[str, Any] = {}
    for name in row.__struct_fields__:
        fields = _fields(getattr(row, name))
    return _record(record, fields, reader)


def holders(document: Any) -> dict[int, Any]:
    """Return the nodes that hold graphs, as rows of version 2, by their row."""
    found: dict[int, Any] = {}
    for index, row in enumerate(document.nodes):
        if type(row) is _CHILD:
            found[index] = ChildGraphRow(graph=row.graph.graph)
        elif type(row) is _CONDITIONAL:
            found[index] = ConditionalRow(**_fields(row.conditional))
    return found


def _facts(row: Any) -> FunctionFacts | None:
    if row is UNSET:
        return None
    parameters = None
    if row.parameters is not UNSET:
        pairs = zip(row.parameters.offset_bytes, row.parameters.size_bytes, strict=True)
        parameters = tuple([ParameterLayout(offset_bytes=offset, size_bytes=size) for offset, size in pairs])
    facts: FunctionFacts = _record(FunctionFacts, _fields(row) | {"parameters": parameters}, None)
    return facts


def attribute_of(row: Any) -> LaunchAttribute:
    """Return the record of a row. Raises InvariantError where the id has values of another type."""
    known = {"id": row.id, "origin": row.origin}
    if type(row) is UnreadableAttribute:
        return LaunchAttribute(**known, state="unreadable", value=None)
    if type(row) is UnsupportedAttribute:
        return LaunchAttribute(**known, state="unsupported", value=None)
    kind = VALUES[type(row)]
    content = getattr(row, row.__struct_fields__[-1])
    if kind is RawValue:
        content = RawValue(hex=content)
    elif kind is not int:
        content = kind(**_fields(content))
    return LaunchAttribute(**known, state="value", value=content)


def _record(record: Any, fields: dict[str, Any], reader: ArgumentReader | None) -> Any:
    """Return the record of a row's fields; ``reader`` finds what addresses in it lead to."""
    for name, value in fields.items():
        if value is UNSET:
            fields[name] = None
        elif type(value) in _INNER_RECORDS:
            fields[name] = _record(_INNER_RECORDS[type(value)], _fields(value), reader)
        elif type(value) is TargetRow and reader is not None:
            fields[name] = reader.target(value)
    return record(**fields)


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


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
