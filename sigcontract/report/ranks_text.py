"""Many dumps compared, as text: which ranks deviate and how, the table, what is missing."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from sigcontract.compare import CauseChange
from sigcontract.model import (
    FleetCause,
    FleetChange,
    FleetClass,
    FleetGap,
    FleetGraphs,
    FleetReport,
    FleetRow,
    RankDiffs,
    Verdict,
)
from sigcontract.report.change_words import change_words, node_index
from sigcontract.report.cuda_words import value_word
from sigcontract.report.names import differing, safe, shortened
from sigcontract.report.phrases import counted

__all__ = [
    "cell_texts",
    "classes_head",
    "fleet_head",
    "fleet_text",
    "gap_lines",
    "ranks_head",
    "ranks_of",
    "what_changed",
    "where_of",
    "who",
]

_LABELS = 4
_SECTIONS = 20
_CLASSES = 20
_CAUSES = 20
_ROWS = 60
_GAPS_OF_KIND = 12
_NAME = 56
_LEAST = 24
#: Characters of a list of ranks: three hundred holes are no reading for a person.
_RANKS = 96
_MARKS = {"changed": "~", "added": "+", "removed": "-", "graph": "~", "unknown": "?"}
_COLORS = {"agree": "\x1b[32m", "deviate": "\x1b[31m", "undetermined": "\x1b[35m"}
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def fleet_text(report: FleetReport, *, color: bool = False, width: int = 120) -> str:
    """Return a report on many dumps for a person at a terminal.

    Parameters
    ----------
    report
        The result of `sigcontract.fleet.compare_fleet`.
    color
        Whether to use ANSI colours.
    width
        Columns that lines should keep to.
    """
    return "\n".join(_lines(report, color=color, width=width)) + "\n"


def _lines(report: FleetReport, *, color: bool, width: int) -> Iterator[str]:
    head = fleet_head(report)
    yield f"{_COLORS[report.answer]}{head}{_PLAIN}" if color else head
    differing_graphs = [each for each in report.graphs if len(each.classes) > 1]
    for graphs in differing_graphs[:_SECTIONS]:
        yield ""
        title = classes_head(graphs)
        yield f"{_BOLD}{title}{_PLAIN}" if color else title
        others = [each for index, each in enumerate(graphs.classes) if index != (graphs.expected or 0)]
        for each in others[:_CLASSES]:
            yield from _class_lines(graphs, each, report, width)
        yield from _more(len(others) - _CLASSES, "class", indent=2)
    yield from _more(len(differing_graphs) - _SECTIONS, "set of graphs", "sets of graphs")
    if report.rows:
        yield ""
        yield f"differences by rank: {counted(len(report.rows), 'row')}"
        for row in report.rows[:_ROWS]:
            yield from _row_lines(row, width)
        yield from _more(len(report.rows) - _ROWS, "row", indent=2)
    if report.gaps:
        yield ""
        yield from gap_lines(report.gaps, width)


def _more(count: int, noun: str, plural: str | None = None, *, indent: int = 0) -> Iterator[str]:
    if count > 0:
        nouns = noun if count == 1 else plural or f"{noun}{'es' if noun.endswith('s') else 's'}"
        yield f"{' ' * indent}… {count} more {nouns}; --format json lists all"


def fleet_head(report: FleetReport) -> str:
    """Return one sentence: the answer, and how much it covers."""
    dumps, labels = report.dumps, [label for each in report.graphs for label in each.labels]
    within = ""
    if report.group_by is not None:
        groups = {each.group for each in report.graphs}
        within = f" within {counted(len(groups), 'group')} by {safe(report.group_by)}"
    if report.answer == "agree":
        return f"all {counted(len(dumps), 'rank')} agree{within}: {_each(report)}"
    differ = sum(len(each.labels) for each in report.graphs if len(each.classes) > 1)
    gaps = counted(len(report.gaps), "gap")
    if differ:
        text = f"ranks differ{within}: {differ} of {counted(len(labels), 'graph')}, {counted(len(dumps), 'dump')} read"
        return f"{text}, {gaps}" if report.gaps else text
    compared = sum(len(each.labels) for each in report.graphs if len(each.classes[0].dumps) > 1)
    if compared == 0:
        why = ": no two dumps have a label in common" if len(dumps) > 1 else ""
        return f"undetermined: {gaps}; nothing was compared{why}"
    return (
        f"undetermined: {gaps}; no differences found{within}: "
        f"{counted(compared, 'graph')}, {counted(len(dumps), 'dump')}"
    )


def _each(report: FleetReport) -> str:
    held = [0] * len(report.dumps)
    for graphs in report.graphs:
        for each in graphs.classes:
            for row in each.dumps:
                held[row] += len(graphs.labels)
    least, most = min(held), max(held)
    return f"{counted(most, 'graph')} each" if least == most else f"{least} to {most} graphs each"


def classes_head(graphs: FleetGraphs) -> str:
    """Return which graphs differ, and among how many ranks: a split as a split, else how many deviate."""
    group = "" if graphs.group is None else f"[{safe(graphs.group)}] "
    sizes = [len(each.dumps) for each in graphs.classes]
    if graphs.expected is None:
        split = "/".join(map(str, sizes[:8])) + ("/…" if len(sizes) > 8 else "")  # noqa: PLR2004  a line has an end
        return f"{group}{_labels(graphs.labels)}: a split, {split}: no class has more than half"
    deviating = sum(sizes) - sizes[graphs.expected]
    return f"{group}{_labels(graphs.labels)}: {deviating} of {sum(sizes)} deviate{'s' if deviating == 1 else ''}"


def _labels(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else ""
    return ", ".join(map(safe, labels[:_LABELS])) + more


def who(each: FleetClass, report: FleetReport) -> str:
    """Return the ranks of a class with a noun, and the file if it is one."""
    ranks = ranks_of(each.ranks, len(each.dumps))
    if not each.ranks[:1].isdigit():
        return ranks
    file = f" ({safe(report.dumps[each.dumps[0]].file)})" if len(each.dumps) == 1 else ""
    return f"{'rank' if len(each.dumps) == 1 else 'ranks'} {ranks}{file}"


def ranks_of(ranks: str, dumps: int | None = None) -> str:
    """Return a list of ranks, cut where it is too long to be read, with the number of dumps where that is known."""
    if len(ranks) <= _RANKS or "," not in ranks:
        return safe(ranks)
    cut = f"{safe(ranks[: max(ranks.rfind(',', 0, _RANKS), ranks.find(',')) + 1])}…"
    return cut if dumps is None else f"{cut} ({counted(dumps, 'dump')})"


def _class_lines(graphs: FleetGraphs, each: FleetClass, report: FleetReport, width: int) -> Iterator[str]:
    base = who(graphs.classes[graphs.expected or 0], report)
    yield from _wrapped(f"{who(each, report)} {'differs' if len(each.dumps) == 1 else 'differ'} from {base}", width, 2)
    if not each.causes:
        yield "    the digests differ; the cause was not determined"
    for cause in each.causes[:_CAUSES]:
        text = f"{_MARKS[cause.kind]} {what_changed(cause, width - 8)}; {where_of(cause, len(graphs.labels))}"
        yield from _wrapped(text, width, 4)
    yield from _more(len(each.causes) - _CAUSES, "cause", indent=4)


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    return wrap(
        text,
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def what_changed(cause: FleetCause, width: int = 160) -> str:
    """Return the kernel and its changes; a change of name names both kernels."""
    value = max(_LEAST, min(_NAME, width // 3))
    subject = shortened(cause.subject or "node", value)
    if cause.kind in ("added", "removed"):
        return f"{cause.kind}: {subject}"
    changes = ", ".join(_change(change, value) for change in cause.changes)
    named = cause.subject is None or any(change.field == "name" for change in cause.changes)
    return changes if named else f"{subject}: {changes}"


def _change(change: FleetChange, width: int) -> str:
    words = change_words(CauseChange(change.field, change.old, change.new, change.rule, change.verdict), width)
    return words if change.verdict.safe else f"{words} ({change.verdict}, {change.rule})"


def where_of(cause: FleetCause, of_graphs: int) -> str:
    """Return the number of nodes, the first of them, and the graphs."""
    nodes = ""
    if cause.paths and cause.paths[0]:
        noun = "node" if cause.count == len(cause.labels) else f"{cause.count} nodes from"
        nodes = f"{noun} {safe(node_index(cause.paths[0]))} "
    if len(cause.labels) == of_graphs > 1:
        return f"{nodes}in each of these {of_graphs} graphs"
    return f"{nodes}in {_labels(cause.labels)}"


def _row_lines(row: FleetRow, width: int) -> list[str]:
    """Return a row of the table: on one line where its values fit whole, else with a line for each cell."""
    nodes = f" and {row.count - 1} more" if row.count > 1 else ""
    group = "" if row.group is None else f"[{safe(row.group)}] "
    head = f"  {group}{safe(row.label)} {safe(row.path)}{nodes}"
    line = f"{head}  {' | '.join(_cells(row, width))}"
    if len(line) <= width:
        return [line]
    return [head, *(part for cell in _cells(row, max(_LEAST, width * 2 // 3)) for part in _wrapped(cell, width, 4))]


def _cells(row: FleetRow, width: int) -> list[str]:
    texts = cell_texts(row, width)
    return [f"{ranks_of(cell.ranks)}: {text}" for cell, text in zip(row.cells, texts, strict=True)]


def cell_texts(row: FleetRow, width: int) -> list[str]:
    """Return the values of each cell, each cut to the width so that cells which differ look different.

    Names and whole nodes are written as they are, other values after their field.
    """
    columns = []
    for index, field in enumerate(row.fields):
        values = [cell.values[index] for cell in row.cells]
        words = ["none" if value is None else str(value_word(field, value)) for value in values]
        prefix = "" if field in ("", "name") else f"{safe(field)} "
        short = [shortened(word, width) for word in words]
        texts = short if len(set(short)) == len(set(words)) else differing(*words, width=width)
        columns.append([prefix + text for text in texts])
    return [", ".join(cell) for cell in zip(*columns, strict=True)]


def ranks_head(found: RankDiffs) -> str:
    """Return one sentence on two folders: the verdict, and how many pairs of dumps differ."""
    differing = sum(each.diff.verdict is not Verdict.IDENTICAL for each in found.diffs)
    gaps = f", {counted(len(found.gaps), 'gap')}" if found.gaps else ""
    return f"{found.verdict}: {counted(len(found.diffs), 'distinct pair')} of dumps, {differing} with differences{gaps}"


def gap_lines(gaps: Sequence[FleetGap], width: int = 120) -> Iterator[str]:
    """Yield what prevents a complete answer: each gap, and of many of one kind the first ones."""
    yield f"{counted(len(gaps), 'gap')} prevent{'s' if len(gaps) == 1 else ''} a complete answer"
    for kind, group in groupby(gaps, key=lambda gap: gap.kind):
        of_kind = list(group)
        for gap in of_kind[:_GAPS_OF_KIND]:
            yield from _wrapped(f"{kind}: {safe(gap.detail)}", width, 2)
        yield from _more(len(of_kind) - _GAPS_OF_KIND, f"{kind} gap", indent=2)
