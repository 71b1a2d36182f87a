"""Rows of nodes as a table that fits the terminal, each repeated block once."""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from sigcontract.compare import (
    Block,
)
from sigcontract.model import (
    LaunchAttribute,
)
from sigcontract.report.names import shortened
from sigcontract.report.node_rows import NodeRow, attribute_text, is_set

__all__ = ["table_lines"]

#: A name is cut to what is left of the line, but never below this.
_NARROWEST_NAME = 24
_HEAD = ("node", "type", "grid", "block", "shared")


def table_lines(
    rows: Sequence[NodeRow],
    blocks: Sequence[Block],
    width: int,
    *,
    usual: AbstractSet[LaunchAttribute] = frozenset(),
    attributes: bool = False,
) -> Iterator[str]:
    """Yield the table line by line.

    Parameters
    ----------
    rows
        Of one graph, every node.
    blocks
        That spell the rows out; the rows of a repeated one are shown once.
    width
        Columns that a line should keep to. Notes that leave a name too few go on a line of their own.
    usual
        Attributes that need no mention.
    attributes
        Whether every launch attribute and the code's sha256 follow a kernel node, on a line of their own.
    """
    shown = [row for block in blocks for row in rows[block.start : block.start + block.length]]
    if not shown:
        return
    widths = [max(map(len, column)) for column in zip(_HEAD, *map(_cells, shown), strict=True)]
    node, kind, grid, block_dim, shared = widths
    left = f"{{:>{node}}}  {{:<{kind}}}  {{:>{grid}}}  {{:>{block_dim}}}  {{:>{shared}}}  "
    begin = sum(widths) + 2 * len(widths)
    right = width - begin
    yield left.format(*_HEAD) + "kernel"
    for block in blocks:
        if block.count > 1:
            last = _place(rows[block.start + block.length * block.count - 1])
            nodes = "this node" if block.length == 1 else f"these {block.length} nodes"
            yield f"{block.count} times {nodes}, up to node {last}:"
        for row in rows[block.start : block.start + block.length]:
            notes = _notes(row, () if attributes else [entry for entry in row.attributes if entry not in usual])
            beside = right - len(notes) >= min(_NARROWEST_NAME, len(_name(row, right)))
            name = _name(row, max(_NARROWEST_NAME, right - len(notes) if beside else right))
            yield f"{left.format(*_cells(row))}{name}{notes if beside else ''}".rstrip()
            if not beside:
                yield f"{'':{begin}}{notes.lstrip()}"
            if attributes and row.type == "kernel":
                code = f"code {row.code[:12] or 'unknown'}"
                yield f"{'':{node}}    {', '.join([*map(attribute_text, row.attributes), code])}"


def _cells(row: NodeRow) -> tuple[str, ...]:
    return (_place(row), row.type, row.grid, row.block, row.shared)


def _place(row: NodeRow) -> str:
    """Return ``3.0`` for ``nodes[3].graph.nodes[0]``, ``3b1.0`` for the first node of branch 1."""
    return row.path.replace(".graph", "").replace(".bodies[", "b").replace("nodes[", "").replace("]", "")


def _name(row: NodeRow, width: int) -> str:
    if row.type != "kernel":
        return row.subject
    if row.function:
        return f"{shortened(row.subject, width - len(row.function) - 1)} {row.function}"
    return shortened(row.subject, width)


def _notes(row: NodeRow, attributes: Iterable[LaunchAttribute]) -> str:
    """Return what is not as usual: attributes that are set, dependencies other than the node before."""
    notes = [attribute_text(entry) for entry in attributes if is_set(entry)]
    if row.after:
        notes.append(f"after {row.after}")
    return f"  [{', '.join(notes)}]" if notes else ""
