"""Rows of the tables of a version 2 dump, derived from the records, so each field is declared once."""

from typing import Annotated, Any, Union, get_args

import msgspec
from msgspec import Meta

from sigcontract.model import (
    ChildGraphNode,
    ConditionalNode,
    Dependency,
    KernelNodeSignature,
    LaunchAttribute,
    NodeRecord,
    Record,
    UInt32,
)

__all__ = [
    "FUNCTION_FIELDS",
    "AttributeSet",
    "ChildGraphRow",
    "ConditionalRow",
    "Edge",
    "EdgeRow",
    "FunctionRow",
    "GraphRow",
    "KernelRow",
    "NodeRow",
    "derived",
    "struct_of",
]

#: The fields of a kernel node that belong to its function, stored once for all its launches.
FUNCTION_FIELDS = ("name", "kern", "func", "context", "function")


def derived(  # noqa: PLR0913  one argument per change to the record
    name: str,
    record: type[Record],
    doc: str,
    *,
    without: tuple[str, ...] = (),
    tagged: bool = True,
    array_like: bool = False,
    **replaced: Any,
) -> Any:  # a class created at run time, unknown to mypys fields
    """Return a record type with the fields of another: some omitted, some of another type, new ones at the end."""
    config = record.__struct_config__
    types = {field.name: field.type for field in msgspec.structs.fields(record) if field.name not in without}
    tag_field, tag = (config.tag_field, config.tag) if tagged else (None, None)
    return struct_of(name, types | replaced, doc, tag_field=tag_field, tag=tag, array_like=array_like)


def struct_of(  # noqa: PLR0913  what makes a record type
    name: str,
    fields: dict[str, Any],
    doc: str,
    *,
    tag_field: str | None = None,
    tag: str | int | None = None,
    array_like: bool = False,
) -> Any:  # a class created at run time, unknown to mypys fields
    """Return a record type with these fields; a field with a default is given as (type, default)."""
    listed = [(field, *kind) if isinstance(kind, tuple) else (field, kind) for field, kind in fields.items()]
    return msgspec.defstruct(
        name,
        listed,
        bases=(Record,),
        module=__name__,
        namespace={"__doc__": doc},
        tag_field=tag_field,
        tag=tag,
        array_like=array_like,
        frozen=True,
        kw_only=True,
    )


AttributeSet = tuple[LaunchAttribute, ...]

FunctionRow = derived(
    "FunctionRow",
    KernelNodeSignature,
    "The fields that launches of one function share.",
    without=tuple(field for field in KernelNodeSignature.__struct_fields__ if field not in FUNCTION_FIELDS),
    tagged=False,  # outside a union, msgspec would accept a missing tag
)
KernelRow = derived(
    "KernelRow",
    KernelNodeSignature,
    "A kernel node: the launch of a function.",
    without=tuple(field for field in FUNCTION_FIELDS if field != "function"),
    function=Annotated[UInt32, Meta(description="Row of functions.")],
    attributes=Annotated[UInt32, Meta(description="Row of attribute_sets.")],
)
ChildGraphRow = derived(
    "ChildGraphRow",
    ChildGraphNode,
    ChildGraphNode.__doc__ or "",
    graph=Annotated[UInt32, Meta(description="Row of graphs, before every row that uses this node.")],
)
ConditionalRow = derived(
    "ConditionalRow",
    ConditionalNode,
    ConditionalNode.__doc__ or "",
    bodies=Annotated[
        tuple[UInt32 | None, ...] | None,
        Meta(
            description="Row of graphs of each branch, before every row that uses this node; null if unreadable; "
            "null: number of branches unreadable (phGraph_out)."
        ),
    ],
)

_ROWS: dict[type, Any] = {
    KernelNodeSignature: KernelRow,
    ChildGraphNode: ChildGraphRow,
    ConditionalNode: ConditionalRow,
}
#: Nodes without references are their own rows.
NodeRow: Any = Union[tuple(_ROWS.get(node, node) for node in get_args(NodeRecord))]  # noqa: UP007  of a list

# A list-like record and not a fixed tuple: a union of a bounded int and a fixed tuple makes msgspec 0.23 crash in the
# garbage collector.
EdgeRow = derived("EdgeRow", Dependency, "A non-default edge into a node, as a list of its fields.", array_like=True)
#: A `Dependency`: the node index of a default edge, or all fields of any other.
Edge: Any = UInt32 | EdgeRow


class GraphRow(Record, frozen=True, kw_only=True):
    """A graph: nodes in the driver's order, each with its dependencies in the driver's order."""

    nodes: Annotated[tuple[UInt32, ...], Meta(description="Rows of nodes, in the driver's order (cuGraphGetNodes).")]
    dependencies: Annotated[
        tuple[tuple[Edge, ...], ...],
        Meta(
            description="For each node, its dependencies in the driver's order (cuGraphNodeGetDependencies): the "
            "index in nodes of a default edge, else [node, from_port, to_port, type]."
        ),
    ]
