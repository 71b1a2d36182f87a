"""Many dumps held against each other, as text: who deviates and where, the table, what is missing."""

from collections.abc import Iterator, Sequence
from itertools import islice
from textwrap import wrap

from sigcontract.compare import CauseChange
from sigcontract.model import FleetCause, FleetChange, FleetClass, FleetGap, FleetGraphs, FleetReport, FleetRow
from sigcontract.report.change_words import change_words, node_index
from sigcontract.report.names import elided, safe, shortened
from sigcontract.report.phrases import counted

__all__ = ["fleet_head", "fleet_text", "gap_lines", "parted_head", "values_of", "what_changed", "where_of", "who"]

_LABELS = 4
_SECTIONS = 20
_CAUSES = 20
_ROWS = 60
_GAPS = 40
_NAME = 56
_LEAST = 24
_MARKS = {"changed": "~", "added": "+", "removed": "-", "graph": "~", "unknown": "?"}
_COLORS = {"agree": "\x1b[32m", "deviate": "\x1b[31m", "undetermined": "\x1b[35m"}
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def fleet_text(report: FleetReport, *, color: bool = False, width: int = 120) -> str:
    """Return a report on many dumps for a person at a terminal.

    Parameters
    ----------
    report
        What `sigcontract.fleet.compare_fleet` found.
    color
        Whether to use ANSI colours.
    width
        Columns that a line of the table should keep to.
    """
    return "\n".join(_lines(report, color=color, width=width)) + "\n"


def _lines(report: FleetReport, *, color: bool, width: int) -> Iterator[str]:
    head = fleet_head(report)
    yield f"{_COLORS[report.answer]}{head}{_PLAIN}" if color else head
    parted = [each for each in report.graphs if len(each.classes) > 1]
    for graphs in parted[:_SECTIONS]:
        yield ""
        title = parted_head(graphs)
        yield f"{_BOLD}{title}{_PLAIN}" if color else title
        for place, each in enumerate(graphs.classes):
            if place != (graphs.expected or 0):
                yield from _class_lines(graphs, each, report, width)
    if len(parted) > _SECTIONS:
        yield f"… {counted(len(parted) - _SECTIONS, 'more part')} of the graphs; --format json has all"
    if report.rows:
        yield ""
        yield f"what differs by rank: {counted(len(report.rows), 'row')}"
        yield from (f"  {_row(row, width - 2)}" for row in report.rows[:_ROWS])
        if len(report.rows) > _ROWS:
            yield f"  … {counted(len(report.rows) - _ROWS, 'more row')}; --format json has all"
    if report.gaps:
        yield ""
        yield from gap_lines(report.gaps)


def fleet_head(report: FleetReport) -> str:
    """Return one sentence: the answer, and of how much."""
    dumps, labels = report.dumps, [label for each in report.graphs for label in each.labels]
    within = ""
    if report.group_by is not None:
        groups = {each.group for each in report.graphs}
        within = f" within {counted(len(groups), 'group')} by {safe(report.group_by)}"
    if report.answer == "agree":
        return f"all {counted(len(dumps), 'rank')} agree{within}: {_each(report)}"
    parted = [each for each in report.graphs if len(each.classes) > 1]
    if parted:
        differing = sum(len(each.labels) for each in parted)
        of = f"{differing} of {counted(len(labels), 'graph')}, {counted(len(dumps), 'dump')} read"
        text = f"ranks differ{within}: {of}"
        return f"{text}, {counted(len(report.gaps), 'gap')}" if report.gaps else text
    alike = (
        f"; no difference in what was compared{within}: {counted(len(labels), 'graph')}, {counted(len(dumps), 'dump')}"
    )
    return f"cannot tell: {counted(len(report.gaps), 'gap')}{alike if len(dumps) > 1 and labels else ''}"


def _each(report: FleetReport) -> str:
    held = [0] * len(report.dumps)
    for graphs in report.graphs:
        for each in graphs.classes:
            for row in each.dumps:
                held[row] += len(graphs.labels)
    least, most = min(held), max(held)
    return f"{counted(most, 'graph')} each" if least == most else f"{least} to {most} graphs each"


def parted_head(graphs: FleetGraphs) -> str:
    """Return who parts over which graphs: a split as a split, else how many deviate."""
    shown = ", ".join(map(safe, graphs.labels[:_LABELS]))
    more = f" and {len(graphs.labels) - _LABELS} more" if len(graphs.labels) > _LABELS else ""
    group = "" if graphs.group is None else f"[{safe(graphs.group)}] "
    sizes = [len(each.dumps) for each in graphs.classes]
    if graphs.expected is None:
        split = "/".join(map(str, sizes[:8])) + ("/…" if len(sizes) > 8 else "")  # noqa: PLR2004  a line has an end
        return f"{group}{shown}{more}: a split, {split}: no class holds more than half"
    expected = graphs.classes[graphs.expected]
    deviating = sum(sizes) - len(expected.dumps)
    return f"{group}{shown}{more}: {deviating} of {sum(sizes)} deviate{'s' if deviating == 1 else ''}"


def who(each: FleetClass, report: FleetReport) -> str:
    """Return the ranks with a noun, and the file of one that is alone."""
    if not each.ranks[:1].isdigit():
        return safe(each.ranks)
    noun = "rank" if len(each.dumps) == 1 else "ranks"
    file = f" ({safe(report.dumps[each.dumps[0]].file)})" if len(each.dumps) == 1 else ""
    return f"{noun} {safe(each.ranks)}{file}"


def _class_lines(graphs: FleetGraphs, each: FleetClass, report: FleetReport, width: int) -> Iterator[str]:
    base = who(graphs.classes[graphs.expected or 0], report)
    verb = "differ from" if graphs.expected is None or len(each.dumps) > 1 else "differs from"
    if graphs.expected is None and len(each.dumps) == 1:
        verb = "differs from"
    yield f"  {who(each, report)} {verb} {base}"
    if not each.causes:
        yield "    by digest alone: nothing else could be told"
    for cause in each.causes[:_CAUSES]:
        told = f"{_MARKS[cause.kind]} {what_changed(cause, width - 8)}; {where_of(cause, len(graphs.labels))}"
        yield from wrap(told, width, initial_indent="    ", subsequent_indent="      ", break_long_words=False)
    if len(each.causes) > _CAUSES:
        yield f"    … {counted(len(each.causes) - _CAUSES, 'more cause')}; --format json has all"


def what_changed(cause: FleetCause, width: int = 160) -> str:
    """Return the kernel and what changed at it; a change of name names both kernels."""
    value = max(_LEAST, min(_NAME, width // 3))
    subject = shortened(cause.subject or "node", value)
    if cause.kind in ("added", "removed"):
        return f"{cause.kind}: {subject}"
    changes = ", ".join(_change(change, value) for change in cause.changes)
    named = cause.subject is None or any(change.field == "name" for change in cause.changes)
    return changes if named else f"{subject}: {changes}"


def _change(change: FleetChange, width: int) -> str:
    told = change_words(CauseChange(change.field, change.old, change.new, change.rule, change.verdict), width)
    return told if change.verdict.safe else f"{told} ({change.verdict}, {change.rule})"


def where_of(cause: FleetCause, of_graphs: int) -> str:
    """Return at how many nodes, the first of them, and in which graphs."""
    nodes = ""
    if cause.paths and cause.paths[0]:
        noun = "node" if cause.count == len(cause.labels) else f"{cause.count} nodes from"
        nodes = f"{noun} {safe(node_index(cause.paths[0]))} "
    if len(cause.labels) == of_graphs > 1:
        return f"{nodes}in each of these {of_graphs} graphs"
    shown = ", ".join(map(safe, cause.labels[:_LABELS]))
    more = f" and {len(cause.labels) - _LABELS} more" if len(cause.labels) > _LABELS else ""
    return f"{nodes}in {shown}{more}"


def _row(row: FleetRow, width: int) -> str:
    nodes = f" and {row.count - 1} more" if row.count > 1 else ""
    group = "" if row.group is None else f"[{safe(row.group)}] "
    head = f"{group}{safe(row.label)} {safe(row.path)}{nodes}"
    room = max(_LEAST, (width - len(head)) // max(1, len(row.cells)) - 12)
    cells = [f"{safe(cell.ranks)}: {elided(values_of(row.fields, cell.values, room), room)}" for cell in row.cells]
    return f"{head}  {' | '.join(cells)}"


def values_of(fields: Sequence[str], values: Sequence[int | str | None], width: int = _NAME) -> str:
    """Return the values of one cell; names and whole nodes as they are, others with their field."""
    told = []
    for field, value in zip(fields, values, strict=True):
        text = "none" if value is None else shortened(str(value), width)
        told.append(text if field in ("", "name") else f"{safe(field)} {text}")
    return ", ".join(told)


def gap_lines(gaps: Sequence[FleetGap]) -> Iterator[str]:
    """Yield what keeps the answer from being complete, one line each."""
    yield f"{counted(len(gaps), 'gap')}: what keeps the answer from being complete"
    yield from (f"  {gap.kind}: {safe(gap.detail)}" for gap in islice(gaps, _GAPS))
    if len(gaps) > _GAPS:
        yield f"  … {counted(len(gaps) - _GAPS, 'more gap')}; --format json has all"
