"""Rows of the tables of a version 3 dump: in a form that type generators handle.

No value is one of several types without a tag. What a tag selects is under the name of the tag, so that a generator
without unions (quicktype) keeps the types apart as well. A record that is not known is left out, not null: a schema
of ``anyOf`` reports each fault of the record once for each branch.
"""

from collections.abc import Collection
from typing import Annotated, Any, Union, get_args

from msgspec import UNSET, Meta, UnsetType, inspect as types, structs

from sigcontract.model import (
    AccessPolicyWindow,
    AttributeInteger,
    ChildGraphNode,
    ClusterDim,
    ConditionalNode,
    Dependency,
    DeviceUpdatableNode,
    FunctionFacts,
    KernelNodeSignature,
    LaunchAttribute,
    LaunchCompletionEvent,
    MemcpyNode,
    MemsetNode,
    MemSyncDomainMap,
    NodeRecord,
    ParameterLayout,
    ProgrammaticEvent,
    RawValue,
    Record,
    UInt8,
    UInt32,
)
from sigcontract.wire.rows import ARGUMENT_ROWS, FUNCTION_FIELDS, ROWS, derived, optional, sentence, struct_of

__all__ = [
    "NODE_CONTENTS",
    "NODE_ROWS",
    "ROW_OF",
    "VALUE_CONTENTS",
    "VALUE_ROWS",
    "AttributeRow",
    "EdgeData",
    "FunctionFactsRow",
    "FunctionRow",
    "Graph",
    "LaunchRow",
    "NodeRow",
    "ParameterColumns",
    "UnreadableAttribute",
    "UnsupportedAttribute",
]


#: Rows of records that are fields of others, where they are not the records themselves.
ROW_OF: dict[type, Any] = {}


def _replaced(record: Any, but: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a record that are other ones of its row, of those not in ``but``: a record or null."""
    found: dict[str, Any] = {}
    for field in structs.fields(record):
        if field.name in but:
            continue
        info = types.type_info(field.type)
        kind = info.type if isinstance(info, types.Metadata) else info
        members = [member for member in getattr(kind, "types", (kind,)) if isinstance(member, types.StructType)]
        if isinstance(kind, types.UnionType) and len(members) == 1:
            found[field.name] = optional(members[0].cls, sentence(record, field.name))
        elif isinstance(kind, types.StructType) and (inside := _replaced(kind.cls)):
            inner: Any = kind.cls
            if inner not in ROW_OF:
                ROW_OF[inner] = derived(inner.__name__, inner, inner.__doc__ or "", **inside)
            row: Any = ROW_OF[inner]
            found[field.name] = Annotated[row, Meta(description=sentence(record, field.name))]
    return found


class ParameterColumns(Record, frozen=True, kw_only=True):
    """Parameters of a function, in order: two columns of equal length (cuFuncGetParamInfo)."""

    offset_bytes: Annotated[tuple[UInt32, ...], Meta(description=sentence(ParameterLayout, "offset_bytes"))]
    size_bytes: Annotated[tuple[UInt32, ...], Meta(description=sentence(ParameterLayout, "size_bytes"))]


FunctionFactsRow = derived(
    "FunctionFacts",
    FunctionFacts,
    "Properties of the loaded function (cuFuncGetAttribute). null: not reported, and never equal to anything.",
    **_replaced(FunctionFacts) | {"parameters": optional(ParameterColumns, sentence(FunctionFacts, "parameters"))},
)
FunctionRow = derived(
    "KernelFunction",
    KernelNodeSignature,
    "The fields that launches of one function share.",
    without=tuple(field for field in KernelNodeSignature.__struct_fields__ if field not in FUNCTION_FIELDS),
    tagged=False,
    function=optional(FunctionFactsRow, sentence(KernelNodeSignature, "function")),
)

#: The fields of a kernel node that differ between launches of one configuration: its own row says them.
_OF_NODE = ("grid_dim",)
_NOT_OF_NODE = tuple(field for field in KernelNodeSignature.__struct_fields__ if field not in _OF_NODE)
LaunchRow = derived(
    "Launch",
    KernelNodeSignature,
    "What kernel nodes that differ in the grid have in common.",
    without=(*(field for field in FUNCTION_FIELDS if field != "function"), *_OF_NODE, "arguments"),
    tagged=False,
    function=Annotated[UInt32, Meta(description="Row of functions.")],
    attributes=Annotated[
        tuple[UInt32, ...], Meta(description="Rows of attributes, in ascending order of id, each id once.")
    ],
)

# Launch attributes: the state and the type of the value in one tag.

_ATTRIBUTE_FIELDS = {
    field.name: field.type for field in structs.fields(LaunchAttribute) if field.name in ("id", "origin")
}


def _attribute(stem: str, tag: str, doc: str, content: Any = None) -> Any:
    fields = _ATTRIBUTE_FIELDS if content is None else _ATTRIBUTE_FIELDS | {tag: content}
    return struct_of(f"{stem}Attribute", fields, doc, tag_field="type", tag=tag)


def _content(record: type[Record]) -> Any:
    """Return what a tag selects: the record without its tag, or its only field."""
    if record is RawValue:
        return structs.fields(RawValue)[0].type
    return derived(record.__name__, record, record.__doc__ or "", tagged=False)


_VALUES: tuple[type[Record], ...] = (
    ClusterDim,
    AccessPolicyWindow,
    MemSyncDomainMap,
    ProgrammaticEvent,
    LaunchCompletionEvent,
    DeviceUpdatableNode,
    RawValue,
)
#: What a value is written as, by its type.
VALUE_CONTENTS = {record: _content(record) for record in _VALUES}
#: The row of an attribute with a value, by the type of the value.
VALUE_ROWS: dict[type, Any] = {
    int: _attribute(
        "Number",
        "number",
        "A launch attribute that is one number (ids 2, 3, 5, 6, 8, 10, 14, 16-18).",
        Annotated[AttributeInteger, Meta(description="The value.")],
    )
} | {
    record: _attribute(
        record.__name__,
        str(record.__struct_config__.tag),
        f"A launch attribute with a value of type {record.__name__}.",
        Annotated[VALUE_CONTENTS[record], Meta(description="The value.")],
    )
    for record in _VALUES
}
UnreadableAttribute = _attribute(
    "Unreadable", "unreadable", "A launch attribute that the driver has, and refused to return."
)
UnsupportedAttribute = _attribute("Unsupported", "unsupported", "A launch attribute that this driver does not know.")
AttributeRow: Any = Annotated[
    Union[(*VALUE_ROWS.values(), UnreadableAttribute, UnsupportedAttribute)],
    Meta(title="LaunchAttribute", description="A launch attribute: its value under the name of its type."),
]

# Nodes: what a node of a type has, under the name of the type.

_GRAPH = "Row of graphs, before every row that uses this node."
_BODIES = (
    "Row of graphs of each branch, before every row that uses this node; null if unreadable; "
    "null: number of branches unreadable (phGraph_out)."
)
#: Fields that refer to rows, by the record.
_REFERRING: dict[type, dict[str, Any]] = {
    KernelNodeSignature: {
        "launch": Annotated[UInt32, Meta(description="Row of launches.")],
        **ARGUMENT_ROWS,
    },
    ChildGraphNode: {"graph": Annotated[UInt32, Meta(description=_GRAPH)]},
    ConditionalNode: {"bodies": Annotated[tuple[UInt32 | None, ...] | None, Meta(description=_BODIES)]},
}


#: Records whose pointers refer to allocations by row.
_FIELDS_OF = {record: ROWS[record] for record in (MemcpyNode, MemsetNode)}


def _stem(record: Any) -> str:
    return str(record.__name__).removesuffix("Signature").removesuffix("Node")


def _node_content(record: Any) -> Any:
    without = _NOT_OF_NODE if record is KernelNodeSignature else ()
    referring = _REFERRING.get(record, {})
    fields = _replaced(_FIELDS_OF.get(record, record), {*without, *referring}) | referring
    return derived(_stem(record), record, record.__doc__ or "", without=without, tagged=False, **fields)


def _node_row(record: Any) -> Any:
    tag, doc, content = str(record.__struct_config__.tag), record.__doc__ or "", NODE_CONTENTS[record]
    about = Meta(description=doc.partition("\n")[0])
    fields = {tag: Annotated[content, about]} if content.__struct_fields__ else {}
    return struct_of(f"{_stem(record)}Node", fields, doc, tag_field="node", tag=tag)


#: What a node of a type has, by its record.
NODE_CONTENTS: dict[type, Any] = {record: _node_content(record) for record in get_args(NodeRecord)}
#: The row of a node, by its record: the type, and what it has under the name of the type.
NODE_ROWS: dict[type, Any] = {record: _node_row(record) for record in get_args(NodeRecord)}
NodeRow: Any = Annotated[
    Union[tuple(NODE_ROWS.values())],  # noqa: UP007  of a list
    Meta(title="Node", description="A node: what its type has is under the name of the type."),
]


class EdgeData(Record, frozen=True, kw_only=True):
    """Edges that are not default ones, by what they have in common (CUgraphEdgeData)."""

    from_port: Annotated[UInt8, Meta(description=sentence(Dependency, "from_port"))]
    to_port: Annotated[UInt8, Meta(description=sentence(Dependency, "to_port"))]
    type: Annotated[UInt8, Meta(description=sentence(Dependency, "type"))]
    edges: Annotated[
        tuple[UInt32, ...],
        Meta(description="Numbers of the edges, ascending: edge n is entry n of the lists of dependencies, joined."),
    ]


class Graph(Record, frozen=True, kw_only=True):
    """A graph: nodes in the driver's order, each with its dependencies in the driver's order."""

    nodes: Annotated[tuple[UInt32, ...], Meta(description="Rows of nodes, in the driver's order (cuGraphGetNodes).")]
    dependencies: Annotated[
        tuple[tuple[UInt32, ...], ...],
        Meta(
            description="For each node, the indices in nodes of its dependencies, in the driver's order "
            "(cuGraphNodeGetDependencies)."
        ),
    ]
    edge_data: Annotated[
        tuple[EdgeData, ...] | UnsetType,
        Meta(description="Edges that are not default ones; left out if all are. An edge that none names is one."),
    ] = UNSET
