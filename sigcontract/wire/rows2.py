"""The rows of version 2 of the dump: those of `sigcontract.wire.rows` without arguments, frozen."""

from typing import Annotated, Any, Union, get_args

from msgspec import UNSET, Meta

from sigcontract.model import (
    KernelNodeSignature,
    MemcpyNode,
    MemcpyOperand,
    MemsetNode,
    NodeRecord,
    PointerFacts,
    Record,
)
from sigcontract.wire.rows import (
    ARGUMENT_ROWS,
    ROWS,
    AttributeSet,
    FunctionRow,
    GraphRow,
    KernelRow,
    MemcpyOperandRow,
    MemcpyRow,
    MemsetRow,
    PointerFactsRow,
    derived,
    sentence,
)
from sigcontract.wire.tables import Tables

__all__ = ["KernelRow2", "Tables2", "frozen", "node_of"]


KernelRow2 = derived("KernelRow", KernelRow, KernelRow.__doc__ or "", without=tuple(ARGUMENT_ROWS))
_Facts = derived("PointerFacts", PointerFacts, PointerFacts.__doc__ or "", without=("target",))
_POINTER: dict[str, Any] = {"pointer": Annotated[_Facts | None, Meta(description=sentence(MemcpyOperand, "pointer"))]}
_Operand = derived("MemcpyOperand", MemcpyOperand, MemcpyOperand.__doc__ or "", **_POINTER)
_Memcpy = derived(
    "MemcpyNode",
    MemcpyNode,
    MemcpyNode.__doc__ or "",
    source=Annotated[_Operand, Meta(description=sentence(MemcpyNode, "source"))],
    destination=Annotated[_Operand, Meta(description=sentence(MemcpyNode, "destination"))],
)
_Memset = derived(
    "MemsetNode",
    MemsetNode,
    MemsetNode.__doc__ or "",
    pointer=Annotated[_Facts | None, Meta(description=sentence(MemsetNode, "pointer"))],
)
_ROWS2: dict[type, Any] = ROWS | {KernelNodeSignature: KernelRow2, MemcpyNode: _Memcpy, MemsetNode: _Memset}
_NodeRow: Any = Union[tuple(_ROWS2.get(node, node) for node in get_args(NodeRecord))]  # noqa: UP007  of a list

#: What a row is here, and the record that a row is read as.
_FROZEN: dict[type, Any] = {
    KernelRow: KernelRow2,
    MemcpyRow: _Memcpy,
    MemcpyOperandRow: _Operand,
    MemsetRow: _Memset,
    PointerFactsRow: _Facts,
}
_RECORDS: dict[type, Any] = {
    _Memcpy: MemcpyNode,
    _Operand: MemcpyOperand,
    _Memset: MemsetNode,
    _Facts: PointerFacts,
}


class Tables2(Record, frozen=True, kw_only=True):
    """Graphs in four tables, with rows in the order of first use."""

    functions: Annotated[
        tuple[FunctionRow, ...], Meta(description="Distinct functions: handles, name, facts; nodes refer to them.")
    ]
    attribute_sets: Annotated[
        tuple[AttributeSet, ...],
        Meta(description="Distinct lists of launch attributes, each ascending by id, each id once."),
    ]
    nodes: Annotated[tuple[_NodeRow, ...], Meta(description="Distinct nodes; graphs refer to them.")]
    graphs: Annotated[
        tuple[GraphRow, ...],
        Meta(description="Distinct graphs; child graphs and bodies come first."),
    ]


def frozen(tables: Tables) -> Tables2:
    """Return tables without arguments as those of version 2."""
    return Tables2(
        functions=tables.functions,
        attribute_sets=tables.attribute_sets,
        nodes=tuple([_converted(row, _FROZEN) for row in tables.nodes]),
        graphs=tables.graphs,
    )


def node_of(row: Any) -> Any:
    """Return the node of a row that refers to no other."""
    return _converted(row, _RECORDS)


def _converted(value: Any, kinds: dict[type, Any]) -> Any:
    kind = kinds.get(type(value))
    if kind is None:
        return value
    fields = {name: _converted(getattr(value, name), kinds) for name in value.__struct_fields__}
    return kind(**{name: field for name, field in fields.items() if field is not UNSET})
