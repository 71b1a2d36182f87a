"""sigcontract.dump version 3, a draft: version 2 in tables that type generators handle."""

from functools import cache, partial
from itertools import chain
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from sigcontract.model import (
    ChildGraphNode,
    ConditionalNode,
    KernelNodeSignature,
    LaunchAttribute,
    MemcpyNode,
    MemsetNode,
    RawValue,
    SignatureDump,
)
from sigcontract.wire import v2
from sigcontract.wire.envelope import document_type, fields_of
from sigcontract.wire.problems3 import problems
from sigcontract.wire.reading3 import dump_of
from sigcontract.wire.rows import ChildGraphRow, ConditionalRow, EdgeRow, KernelRow, MemcpyRow, MemsetRow
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
from sigcontract.wire.tables import Table, Tables

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
    **{name: fields_of(Tables)[name] for name in ("allocations", "blocks", "pointers", "arguments")},
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

_KERNEL = NODE_ROWS[KernelNodeSignature]
_RECORD_OF_ROW: dict[type, type] = {
    ChildGraphRow: ChildGraphNode,
    ConditionalRow: ConditionalNode,
    MemcpyRow: MemcpyNode,
    MemsetRow: MemsetNode,
}


def wire_of(dump: SignatureDump) -> Any:
    """Return a dump as a document. Invalid dumps pass or raise: the codec checks and explains."""
    header, folded = v2.with_header(dump)
    attributes = Table()
    row_of: dict[int, int] = {}  # by the number of an object, all of which the dump keeps alive
    attribute_sets = []
    for entries in folded.attribute_sets:
        for entry in entries:
            if id(entry) not in row_of:
                row_of[id(entry)] = attributes.index_of(_attribute_row(entry))
        attribute_sets.append(tuple([row_of[id(entry)] for entry in entries]))
    launches = Table()
    nodes = tuple([_node_row(node, launches, attribute_sets) for node in folded.nodes])
    return DumpDocument(
        document="sigcontract.dump",
        version=3,
        header=header,
        environment=dump.environment,
        profile=dump.profile,
        complete=dump.complete,
        functions=tuple(map(_function_row, folded.functions)),
        attributes=tuple(attributes.rows),
        launches=tuple(launches.rows),
        allocations=folded.allocations,
        blocks=folded.blocks,
        pointers=folded.pointers,
        arguments=folded.arguments,
        nodes=nodes,
        graphs=tuple(map(_graph_row, folded.graphs)),
        extensions=dump.extensions,
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


def _node_row(node: Any, launches: Table, attribute_sets: list[tuple[int, ...]]) -> Any:
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
        content = NODE_CONTENTS[KernelNodeSignature](
            launch=launch, grid_dim=node.grid_dim, arguments=node.arguments, pointers=node.pointers
        )
        return _KERNEL(kernel=content)
    kind = _RECORD_OF_ROW.get(type(node), type(node))
    if kind not in NODE_ROWS:
        raise TypeError(f"{type(node).__name__} is no node")
    row = NODE_ROWS[kind]
    return row(**{name: _row(NODE_CONTENTS[kind], _fields(node)) for name in row.__struct_fields__})


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
