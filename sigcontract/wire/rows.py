"""Rows of the tables that graphs are folded into, derived from the records, so each field is declared once.

Digests are of these rows, so what they are without arguments never changes. Version 2 of the dump has the same rows but
those of arguments (`sigcontract.wire.v2`), version 3 rows of its own (`sigcontract.wire.rows3`).
"""

from typing import Annotated, Any, Union, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from sigcontract.model import (
    AllocatorBlock,
    ArgumentPointer,
    ChildGraphNode,
    ConditionalNode,
    Dependency,
    KernelArgument,
    KernelNodeSignature,
    LaunchAttribute,
    MemcpyNode,
    MemcpyOperand,
    MemsetNode,
    NodeRecord,
    PointerFacts,
    PointerTarget,
    Record,
    UInt32,
)

__all__ = [
    "ARGUMENT_ROWS",
    "FUNCTION_FIELDS",
    "ROWS",
    "ArgumentRow",
    "AttributeSet",
    "BlockRow",
    "BlockUseRow",
    "ChildGraphRow",
    "ConditionalRow",
    "Edge",
    "EdgeRow",
    "FunctionRow",
    "GraphRow",
    "KernelRow",
    "MemcpyOperandRow",
    "MemcpyRow",
    "MemsetRow",
    "NodeRow",
    "PointerFactsRow",
    "PointerRow",
    "TargetRow",
    "derived",
    "optional",
    "sentence",
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


def _type(record: type[Record], field: str) -> Any:
    return next(found.type for found in structs.fields(record) if found.name == field)


def _member(record: type[Record], field: str) -> Any:
    """Return the type of a field without its null."""
    (member,) = [part for part in get_args(get_args(_type(record, field))[0]) if part is not type(None)]
    return member


def sentence(record: type[Record], field: str) -> str:
    """Return the description of a field of a record."""
    metas = _type(record, field).__metadata__
    return next(meta.description for meta in metas if isinstance(meta, Meta) and meta.description)


def optional(kind: Any, about: str) -> tuple[Any, Any]:
    """Return the type and default of a field that is left out where the record has null."""
    about = about.replace("null", "left out") if "null" in about else f"{about} Left out if not reported."
    return Annotated[kind | UnsetType, Meta(description=about)], UNSET


# What arguments consist of: rows of tables of their own, so that what many nodes share is written once.

BlockRow = derived(
    "AllocatorBlock",
    AllocatorBlock,
    "A block of a framework's caching allocator, as it was when the graph was read.",
    without=("offset_bytes",),
)
BlockUseRow = struct_of(
    "BlockUse",
    {
        "block": Annotated[UInt32, Meta(description="Row of blocks.")],
        "offset_bytes": _type(AllocatorBlock, "offset_bytes"),
    },
    "Where in a block an address is.",
)
TargetRow = derived(
    "PointerTarget",
    PointerTarget,
    PointerTarget.__doc__ or "",
    allocation=Annotated[UInt32, Meta(description="Row of allocations.")],
    block=optional(BlockUseRow, sentence(PointerTarget, "block")),
)
PointerRow = derived(
    "ArgumentPointer",
    ArgumentPointer,
    "An address in the arguments of kernels.",
    without=("offset_bytes",),
    address=optional(
        _type(ArgumentPointer, "address"),
        "Process-local address; null: that of the allocation plus the offset into it. 0 if redacted.",
    ),
    target=optional(TargetRow, sentence(ArgumentPointer, "target")),
)
ArgumentRow = derived(
    "KernelArgument",
    KernelArgument,
    "One argument of kernels: all but its addresses, which are of the node.",
    value=optional(_member(KernelArgument, "value"), sentence(KernelArgument, "value")),
    pointers=Annotated[
        tuple[UInt32, ...],
        Meta(description="Offsets into the argument of the words that are addresses, in bytes, ascending."),
    ],
)
#: Fields of a kernel node with arguments, by name.
ARGUMENT_ROWS: dict[str, Any] = {
    "arguments": optional(tuple[UInt32, ...], "Rows of arguments, in order; null if not recorded."),
    "pointers": optional(
        tuple[UInt32, ...],
        "Rows of pointers: for each word that is an address, in order of the arguments; null if there is none.",
    ),
}

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
    **ARGUMENT_ROWS,
)
PointerFactsRow = derived(
    "PointerFacts",
    PointerFacts,
    PointerFacts.__doc__ or "",
    target=optional(TargetRow, sentence(PointerFacts, "target")),
)
MemcpyOperandRow = derived(
    "MemcpyOperand",
    MemcpyOperand,
    MemcpyOperand.__doc__ or "",
    pointer=Annotated[PointerFactsRow | None, Meta(description=sentence(MemcpyOperand, "pointer"))],
)
MemcpyRow = derived(
    "MemcpyNode",
    MemcpyNode,
    MemcpyNode.__doc__ or "",
    source=Annotated[MemcpyOperandRow, Meta(description=sentence(MemcpyNode, "source"))],
    destination=Annotated[MemcpyOperandRow, Meta(description=sentence(MemcpyNode, "destination"))],
)
MemsetRow = derived(
    "MemsetNode",
    MemsetNode,
    MemsetNode.__doc__ or "",
    pointer=Annotated[PointerFactsRow | None, Meta(description=sentence(MemsetNode, "pointer"))],
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

#: The row of a node, by its record; other nodes are their own rows.
ROWS: dict[type, Any] = {
    KernelNodeSignature: KernelRow,
    MemcpyNode: MemcpyRow,
    MemsetNode: MemsetRow,
    ChildGraphNode: ChildGraphRow,
    ConditionalNode: ConditionalRow,
}
NodeRow: Any = Union[tuple(ROWS.get(node, node) for node in get_args(NodeRecord))]  # noqa: UP007  of a list

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
