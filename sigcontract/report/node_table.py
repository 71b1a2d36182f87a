"""Rows of nodes as a table that fits the terminal, each repeated block once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from textwrap import wrap

from sigcontract.compare import (
    FoldedBlock,
    fold_with_tails,
)
from sigcontract.model import (
    FunctionFacts,
    LaunchAttribute,
)
from sigcontract.report.alike import common_name
from sigcontract.report.change_words import node_index
from sigcontract.report.names import NameCuts
from sigcontract.report.node_rows import NodeRow, attribute_text, is_set

__all__ = ["folded_rows", "table_lines"]

#: A name is cut to what is left of the line, but never below this.
_NARROWEST_NAME = 24
#: Parameters of a function that are listed: they are printed at each of its nodes.
_PARAMETERS = 64
_HEAD = ("node", "type", "grid", "block", "shared")


def table_lines(
    rows: Sequence[NodeRow],
    blocks: Sequence[FoldedBlock],
    width: int,
    *,
    usual: Mapping[int, LaunchAttribute] | None = None,
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
        Attributes that need no mention, by id.
    attributes
        Whether every launch attribute, the function's facts and its code's sha256 follow a kernel node, on lines of
        their own.
    """
    shown = [row for each in blocks for row in rows[each.block.start : each.block.start + each.block.length]]
    if not shown:
        return
    usual = usual or {}
    widths = [max(map(len, column)) for column in zip(_HEAD, *map(_cells, shown), strict=True)]
    node, kind, grid, block_dim, shared = widths
    left = f"{{:>{node}}}  {{:<{kind}}}  {{:>{grid}}}  {{:>{block_dim}}}  {{:>{shared}}}  "
    names = NameCuts(row.subject for row in shown if row.type == "kernel")
    begin = sum(widths) + 2 * len(widths)
    right = width - begin
    yield left.format(*_HEAD) + "kernel"
    for folded in blocks:
        block, tail = folded.block, folded.tail
        if block.count > 1:
            nodes = "this node" if block.length == 1 else f"these {block.length} nodes"
            last = node_index(rows[folded.end - 1].path)
            cut = f", the last time the first {tail}" if tail else ""
            yield from _wrapped(f"{block.count + (tail > 0)} times {nodes}, up to node {last}{cut}:", width, 4)
        for row, name in _named(rows, folded):
            notes = _notes(
                row, () if attributes else [entry for entry in row.attributes if usual.get(entry.id) != entry]
            )
            shown_name = partial(_name, row, name, names)
            beside = right - len(notes) >= min(_NARROWEST_NAME, len(shown_name(right)))
            text = shown_name(max(_NARROWEST_NAME, right - len(notes) if beside else right))
            yield from _wrapped(f"{left.format(*_cells(row))}{text}{notes if beside else ''}", width, begin)
            if not beside:
                yield from _wrapped(f"{'':{begin}}{notes.lstrip()}", width, begin)
            if attributes and row.type == "kernel":
                code = f"code {row.code[:12] or 'unknown'}"
                for parts in ([*map(attribute_text, row.attributes), code], _facts(row.facts)):
                    yield from _wrapped(f"{'':{node}}    {', '.join(parts)}", width, node + 4)
            for line in row.arguments:
                yield from _wrapped(f"{'':{node}}    {line}", width, node + 6)


def folded_rows(rows: Sequence[NodeRow]) -> list[FoldedBlock]:
    """Return blocks of rows that look alike, as layers do that differ in their kernels' numbers alone."""
    # Of one node after another of its kind, names distinguish them.
    twins = {row.alike for row, after in pairwise(rows) if row.alike == after.alike and row.subject != after.subject}
    return list(fold_with_tails([(row.alike, row.subject if row.alike in twins else "") for row in rows]))


def _named(rows: Sequence[NodeRow], folded: FoldedBlock) -> Iterator[tuple[NodeRow, str]]:
    """Yield the rows of one repetition, each with what the names at its position in all repetitions have in common."""
    block = folded.block
    for index in range(block.start, block.start + block.length):
        row = rows[index]
        names = (rows[other].subject for other in range(index, folded.end, block.length))
        yield row, row.subject if block.count == 1 else common_name(names)


def _cells(row: NodeRow) -> tuple[str, ...]:
    return (node_index(row.path), row.type, row.grid, row.block, row.shared)


def _name(row: NodeRow, name: str, names: NameCuts, width: int) -> str:
    if row.type != "kernel":
        return name
    if row.function:
        return f"{names(name, width - len(row.function) - 1)} {row.function}"
    return names(name, width)


def _wrapped(line: str, width: int, begin: int) -> list[str]:
    """Return a line, broken at blanks where it is too long, what goes on after a break below the name."""
    line = line.rstrip()
    if len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    below = " " * min(begin, width // 2)
    return wrap(
        line.lstrip(),
        width,
        initial_indent=indent,
        subsequent_indent=below,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def _facts(facts: FunctionFacts | None) -> Iterator[str]:
    """Yield what is known of a function: the layout of its parameters, and every fact."""
    if facts is None:
        yield "facts not recorded"
        return
    for name in facts.__struct_fields__:
        value = getattr(facts, name)
        if name == "parameters":
            layout = [f"{entry.offset_bytes}+{entry.size_bytes}" for entry in (value or ())[:_PARAMETERS]]
            if value is not None and len(value) > _PARAMETERS:
                layout.append(f"and {len(value) - _PARAMETERS} more")
            yield f"parameters {'unknown' if value is None else ' '.join(layout) or 'none'}"
        elif name != "code_sha256":
            yield f"{name}={'unknown' if value is None else value}"


def _notes(row: NodeRow, attributes: Iterable[LaunchAttribute]) -> str:
    """Return what is not as usual: attributes that are set, dependencies other than the node before."""
    notes = [attribute_text(entry) for entry in attributes if is_set(entry)]
    compiled = row.facts and row.facts.required_cluster_dim
    if compiled and compiled.x:
        notes.append(f"compiled cluster {compiled}")
    if row.after:
        notes.append(f"after {row.after}")
    return f"  [{', '.join(notes)}]" if notes else ""
