"""A diff as text for people: the distinct changes first, then where they are, layers once, and why it matters."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from textwrap import wrap
from typing import NamedTuple

from sigcontract.compare import (
    Cause,
    CauseChange,
    Change,
    DumpComparison,
    GraphChanges,
    causes_of,
    unnumbered,
)
from sigcontract.model import (
    Finding,
    GraphDiff,
    KernelNodeSignature,
    Verdict,
)
from sigcontract.report.alike import common_name
from sigcontract.report.change_words import change_words, index_words
from sigcontract.report.hunks import CONTEXT, Row, Stretch, stretches_of
from sigcontract.report.left_out import left_out
from sigcontract.report.names import safe, shortened
from sigcontract.report.phrases import (
    change_in,
    counted,
    label_of,
    like_graphs,
    profile_of,
    programmatic_edges,
    summary,
)
from sigcontract.update import (
    RULES,
)

__all__ = ["diff_text"]

#: Lines drawn of one graph around its changes; a graph that differs everywhere is not a screen to read.
_LINES = 60
#: The same where the distinct changes say all: with those, a graph takes about so many lines, or this few around them.
_LINES_PLAIN, _FEWEST_LINES = 40, 10
#: Distinct changes told of one graph.
_CAUSES = 40
#: Verdicts whose reasons are given even where nobody asked what an update makes of each change: one says what to do,
#: the other that an update would go wrong in silence.
_EXPLAINED = frozenset({Verdict.UNDETERMINED, Verdict.STALE})
_LABELS = 4
#: Rules named of an update that is not safe.
_RULES = 3
_NAME = 56
_VALUE = 44
_DETAILS = 90
_REASON = 110
_FIELDS_SHOWN = 3
#: Renamed kernels named one by one.
_RENAMED = 3
#: What is cut to fit a narrow page keeps at least this much.
_LEAST = 20
#: What stands on a line besides two values: indent, field, arrow, verdict.
_BESIDE_VALUES = 32
#: Columns of `another kernel: … → …` and a verdict, the names aside.
_BESIDE_NAMES = 31
#: What stands on a line besides the changes of a node: indent, verdict.
_BESIDE_DETAILS = 24
#: Unchanged rows above and below a change, where the changes themselves are told before.
_NARROW_CONTEXT = 1

_COLORS = {
    Verdict.STALE: "\x1b[1;31m",
    Verdict.REJECTED: "\x1b[31m",
    Verdict.UNDETERMINED: "\x1b[35m",
    Verdict.UPDATABLE: "\x1b[33m",
    Verdict.HARMLESS: "\x1b[36m",
    Verdict.IDENTICAL: "\x1b[32m",
}
_MARK_COLORS = {"+": "\x1b[32m", "-": "\x1b[31m", "~": "\x1b[33m", "…": "\x1b[2m", " ": ""}
_COLOR_CODES = re.compile(r"\x1b\[[0-9;]*m")
_ATTRIBUTE = re.compile(r"attributes\[(\w+)\]")
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class _Page(NamedTuple):
    """What the text is written on: how wide, and whether in colour."""

    color: bool
    width: int

    def __call__(self, text: str, color: str) -> str:
        return f"{color}{text}{_PLAIN}" if self.color and color and text else text

    def room(self, most: int, beside: int) -> int:
        """Return how long something may be that shares its line with so much else."""
        return min(most, max(_LEAST, self.width - beside))

    def verdict(self, verdict: Verdict) -> str:
        """Return the verdict's word in its colour."""
        return self(str(verdict), _COLORS[verdict])

    def beside(self, text: str, note: str, room: int) -> Iterator[str]:
        """Yield the text with a note beside it, or below where the line has no room for both."""
        if len(text) + 2 + _visible(note) <= room:
            yield f"{text}  {note}"
        else:
            yield from (text, f"  {note}")

    def wrapped(self, text: str, indent: str = "") -> Iterator[str]:
        """Yield the text on as many lines as it takes, what goes on after a break indented."""
        if _visible(text) + len(indent) <= self.width:
            yield indent + text
            return
        yield from wrap(
            text,
            self.width,
            initial_indent=indent,
            subsequent_indent=f"{indent}    ",
            break_on_hyphens=False,
        )


def diff_text(
    comparison: DumpComparison, *, color: bool = False, width: int = 120, verdicts: bool | None = None
) -> str:
    """Return a diff for a person at a terminal.

    Graphs with the same findings are drawn once. Names are demangled where the extra ``report`` is installed, cut to
    fit a line, and free of control characters.

    Parameters
    ----------
    comparison
        What `compare_dumps` found.
    color
        Whether to use ANSI colours.
    width
        Columns that a line should keep to: reasons are wrapped to it, names and values cut.
    verdicts
        Whether each change says what an update makes of it, and why. None: within one capture, where one graph may be
        an update of the other. Between two processes the question is what changed, and each graph says once what an
        update would make of it.
    """
    lines = list(_lines(comparison, _Page(color, width), verdicts=verdicts))
    return "\n".join(lines) + "\n"


def _lines(comparison: DumpComparison, page: _Page, *, verdicts: bool | None) -> Iterator[str]:
    result = comparison.diff
    verdict, _, rest = summary(result).partition(":")
    yield f"{page.verdict(result.verdict)}:{rest}" if rest else verdict
    if result.findings:
        yield from page.wrapped(profile_of(result))
    else:
        yield from page.wrapped(left_out(result))
    if result.environment:
        yield ""
        yield page("environment", _BOLD)
        for finding in result.environment:
            yield from _plain_line(finding, page)
    changes_of = {id(graph): found for graph, found in zip(result.graphs, comparison.changes, strict=True)}
    explained: list[Finding] = list(result.environment)
    for graphs in like_graphs(result.graphs):
        first = graphs[0]
        found = changes_of[id(first)]
        yield ""
        if found is None:
            explained += first.findings
            yield f"{page(_labels(graphs), _BOLD)}: {page.verdict(first.verdict)}"
            for finding in first.findings:
                yield from _plain_line(finding, page)
            continue
        told = found.one_capture if verdicts is None else verdicts
        explained += [finding for finding in first.findings if told or finding.verdict in _EXPLAINED]
        drawing = _Drawing(page, told=told)
        head = [*_heading(graphs, found, page, told=told), *drawing.causes(found)]
        yield from head
        yield from _limited(drawing.stretches(found), _LINES if told else max(_FEWEST_LINES, _LINES_PLAIN - len(head)))
        notes = [c for c in found.changes if not c.known or c.difference.rule == "node.alignment"]
        yield from _notes(notes, page)
    yield from _reasons(explained, page)


def _heading(graphs: Sequence[GraphDiff], found: GraphChanges, page: _Page, *, told: bool) -> Iterator[str]:
    """Yield which graphs these are, how their sizes changed, and what an update makes of all changes together."""
    first = graphs[0]
    old, new = found.aligned.old, found.aligned.new
    sizes = _change_of_number(len(old.nodes), len(new.nodes), "node")
    before, after = programmatic_edges(old), programmatic_edges(new)
    edges = f", {_change_of_number(before, after, 'programmatic edge')}" if before or after else ""
    if told:
        yield from page.wrapped(f"{page(_labels(graphs), _BOLD)}: {page.verdict(first.verdict)}, {sizes}{edges}")
        return
    rules = list(dict.fromkeys(finding.rule for finding in first.findings if finding.verdict is first.verdict))
    more = ", …" if len(rules) > _RULES else ""
    why = "" if first.verdict.safe else f" ({', '.join(rules[:_RULES])}{more})"
    yield from page.wrapped(
        f"{page(_labels(graphs), _BOLD)}: {sizes}{edges}; update: {page.verdict(first.verdict)}{why}"
    )


def _change_of_number(old: int, new: int, noun: str) -> str:
    return counted(new, noun) if old == new else f"{old} → {counted(new, noun)}"


def _labels(graphs: Sequence[GraphDiff]) -> str:
    shown = ", ".join(map(label_of, graphs[:_LABELS]))
    return f"{shown} and {counted(len(graphs) - _LABELS, 'more graph')}" if len(graphs) > _LABELS else shown


def _plain_line(finding: Finding, page: _Page) -> Iterator[str]:
    path = safe(finding.path.removeprefix("environment."))
    change = change_in(finding, width=page.room(60, 40))
    yield from page.wrapped(f"{path}  {change}  {page.verdict(finding.verdict)}  {finding.rule}", "  ")


def _limited(lines: Iterator[str], most: int) -> Iterator[str]:
    """Yield no more lines than that; what is beyond them is not drawn, and is told among the distinct changes."""
    drawn = list(islice(lines, most + 1))
    yield from drawn if len(drawn) <= most else drawn[: most - 1]
    if len(drawn) > most:
        yield f"  … cut after {most - 1} lines: the changes above say where all are, --format json has every finding"


class _Drawing:
    """Draws the changes of a graph, with or without what an update makes of each."""

    def __init__(self, page: _Page, *, told: bool) -> None:
        self._page = page
        self._told = told

    # The distinct changes.

    def causes(self, found: GraphChanges) -> Iterator[str]:
        """Yield each distinct change once, with its count and nodes."""
        renamed: list[Cause] = []
        came: dict[str, list[Cause]] = {}
        others: list[Cause] = []
        for cause in causes_of(found):
            if cause.kind in ("added", "removed"):
                came.setdefault(unnumbered(cause.subject or ""), []).append(cause)
            elif [change.rule for change in cause.changes] == ["kernel.renamed"]:
                renamed.append(cause)
            elif cause.kind != "unknown" and cause.changes[0].rule != "node.alignment":
                others.append(cause)
        texts = [*map(self._changed, others), *self._renamed(renamed)]
        texts += (text for same in came.values() for text in self._came(same))
        for text in texts[:_CAUSES]:
            yield from self._page.wrapped(text, "  ")
        if len(texts) > _CAUSES:
            yield f"  … and {len(texts) - _CAUSES} more distinct changes; --format json has every finding"

    def _changed(self, cause: Cause) -> str:
        value = self._page.room(2 * _VALUE, _BESIDE_VALUES) // 2
        changes = ", ".join(change_words(change, value) for change in cause.changes)
        if not cause.paths[0] or cause.paths == ("nodes",):
            return f"~ {changes}"
        # Where the name changed, the change has both names.
        subject = "" if cause.changes[0].field == "name" else f"{self._name(cause.subject)}: "
        return f"~ {_times(cause.count)}{subject}{changes}, {_nodes(cause.paths, cause.count)}"

    def _came(self, same: Sequence[Cause]) -> Iterator[str]:
        """Yield nodes of one name, numbers aside, that came, went, or stand elsewhere."""
        sides = {kind: [cause for cause in same if cause.kind == kind] for kind in ("removed", "added")}
        counts = {kind: sum(cause.count for cause in side) for kind, side in sides.items()}
        where = {kind: _nodes([path for c in side for path in c.paths], counts[kind]) for kind, side in sides.items()}
        if counts["removed"] == counts["added"] and len({cause.subject for cause in same}) == 1:
            name = self._name(same[0].subject)
            yield f"~ {_times(counts['added'])}{name}: moved, old {where['removed']} → {where['added']}"
            return
        for mark, kind, which in (("-", "removed", "old "), ("+", "added", "")):
            if sides[kind]:
                name = self._name(common_name(cause.subject or "" for cause in sides[kind]))
                yield f"{mark} {_times(counts[kind])}{name}, {which}{where[kind]}"

    def _renamed(self, renamed: Sequence[Cause]) -> Iterator[str]:
        if not renamed:
            return
        value = self._page.room(2 * _VALUE, _BESIDE_VALUES) // 2
        pairs = [change_words(cause.changes[0], value).partition(": ")[2] for cause in renamed]
        more = f" and {counted(len(pairs) - _RENAMED, 'more name')}" if len(pairs) > _RENAMED else ""
        count = sum(cause.count for cause in renamed)
        paths = [path for cause in renamed for path in cause.paths]
        names = ", ".join(pairs[:_RENAMED])
        yield f"~ {_times(count)}renamed, same code: {names}{more}, {_nodes(paths, count)}"

    def _name(self, subject: str | None) -> str:
        return "several kernels" if subject is None else shortened(subject, self._page.room(_NAME, _BESIDE_VALUES))

    # Where they are.

    def stretches(self, found: GraphChanges, at: str = "", indent: str = "  ") -> Iterator[str]:
        """Yield the rows around the changes; those of graphs inside of a node below it, with their own indices."""
        plain = not self._told and not at
        drawn = list(stretches_of(found, _NARROW_CONTEXT if plain else CONTEXT, once=plain))
        if plain and all(row.mark == "~" and not any(c.inside for c in row.changes) for s in drawn for row in s.rows):
            return  # there is nothing around the changes, and those are told
        width = max((len(f"{at}{stretch.last}") for stretch in drawn), default=1)
        for stretch in drawn:
            if stretch.times > 1:
                nodes = counted(stretch.length, "node")
                tail = f", the last time the first {stretch.tail}" if stretch.tail else ""
                yield self._page(
                    f"{indent}{stretch.times} times these {nodes}, up to [{at}{stretch.last}]{tail}:", _BOLD
                )
            for row in self._ends_cut(stretch, drawn):
                yield from self._row(row, found, at, width, indent)

    def _ends_cut(self, stretch: Stretch, drawn: Sequence[Stretch]) -> Sequence[Row]:
        """Leave out that nodes are left out at both ends: the indices say it."""
        rows = stretch.rows
        if stretch.times == 1 and not any(row.changes or row.again for row in rows):
            return []
        begin = rows[0].mark == "…" and not rows[0].again and (stretch is drawn[0] or stretch.times > 1)
        end = rows[-1].mark == "…" and not rows[-1].again and (stretch is drawn[-1] or stretch.times > 1)
        return rows[begin : len(rows) - end]

    def _row(self, row: Row, found: GraphChanges, at: str, width: int, indent: str) -> Iterator[str]:
        page = self._page
        mark_color = _MARK_COLORS[row.mark]
        if row.node is None:
            yield page(f"{indent}… {_left_out(row)}", mark_color)
            return
        rules = ""
        if row.mark in "+-" and (self._told or at):
            difference = row.changes[0].difference
            rules = f"  {page.verdict(difference.verdict)}  {difference.rule}"
        begin = f"{indent}{row.mark} [{at + str(row.at):>{width}}] "
        yield page(begin + _node(row, page.width - len(begin) - _visible(rules)), mark_color) + rules
        if row.mark != "~":
            return
        below = f"{indent}    {'':{width}}"
        own = [change for change in row.changes if not change.inside]
        if self._told or at:
            yield from (f"{below}{line}" for line in self._details(own, page.width - len(below)))
        if row.pair is None or len(own) == len(row.changes):
            return
        for inner_at, inner in found.inside(*row.pair):
            branch = f"b{inner_at.split('[')[1].split(']')[0]}" if inner_at.startswith(".bodies") else ""
            yield from self.stretches(inner, f"{at}{row.at}{branch}.", below)
        wrapped = [change for change in row.changes if change.inside and change.difference.field.startswith(".graph")]
        if any(change.difference.rule == "child.wrapper" for change in own):
            yield from (f"{below}{line}" for line in self._details(wrapped, page.width - len(below)))

    def _details(self, changes: Sequence[Change], room: int) -> Iterator[str]:
        """Yield the changes of one node; those of one safe verdict share lines, the others name their rule."""
        page = self._page
        line, verdict = "", Verdict.IDENTICAL
        value = min(page.room(2 * _VALUE, _BESIDE_VALUES), max(_LEAST, room - _BESIDE_NAMES)) // 2
        for change in changes:
            difference = change.difference
            text = _words(change, value)
            fits = len(line) + len(text) <= min(_DETAILS, room - _BESIDE_DETAILS)
            if line and (difference.verdict is not verdict or not fits):
                yield from page.beside(line, page.verdict(verdict), room)
                line = ""
            if _is_explained(difference.verdict, difference.rule):
                yield from page.beside(text, f"{page.verdict(difference.verdict)}  {difference.rule}", room)
                continue
            line, verdict = (f"{line}, {text}" if line else text), difference.verdict
        if line:
            yield from page.beside(line, page.verdict(verdict), room)


def _left_out(row: Row) -> str:
    nodes = counted(row.left_out, "node")
    return f"{nodes}, {row.again} of them changed as above" if row.again else f"{nodes} as before"


def _times(count: int) -> str:
    return f"{count} × " if count > 1 else ""  # noqa: RUF001  times, as people write it


def _nodes(paths: Sequence[str], count: int) -> str:
    ordered = sorted(paths, key=_numbers)
    return f"{'node' if count == 1 else 'nodes'} {index_words(ordered, count)}"


def _numbers(path: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path)]


def _visible(text: str) -> int:
    """Return how many columns a text takes, colours aside."""
    return len(_COLOR_CODES.sub("", text))


def _node(row: Row, width: int) -> str:
    node = row.node
    kind = "" if node is None else str(node.__struct_config__.tag)
    if not isinstance(node, KernelNodeSignature):
        return kind
    launch = f"<<<{node.grid_dim}, {node.block_dim}>>>"
    name = shortened(row.name or node.name, min(_NAME, max(_LEAST, width - len(kind) - len(launch) - 3)))
    return f"{kind} {name}  {launch}"


def _words(change: Change, width: int) -> str:
    """Return a change in words, and how many more there are of it in the graphs inside of a node."""
    difference = change.difference
    field = change.paths[0] if change.paths[0].startswith("dependencies") else difference.field
    if field.startswith("dependencies"):
        field = f"dependencies{field.partition(']')[2]}"
    told = CauseChange(field.removeprefix("."), difference.old, difference.new, difference.rule, difference.verdict)
    more = change.number // max(1, len(change.places)) - 1
    return f"{change_words(told, width)}{f' and {more} more' if more > 0 else ''}"


def _field(change: Change) -> str:
    """Return the path below the node, as a person would say it."""
    return _ATTRIBUTE.sub(r"\1", change.difference.field).removeprefix(".")


def _notes(changes: Sequence[Change], page: _Page) -> Iterator[str]:
    """Yield a line for each rule: what is not known, and of how much."""
    by_rule: dict[tuple[str, Verdict], list[Change]] = {}
    for change in changes:
        by_rule.setdefault((change.difference.rule, change.difference.verdict), []).append(change)
    for (rule, verdict), same in by_rule.items():
        extent = f"{rule}{_extent(rule, same)}"
        room = page.room(_NAME, len(f"  ? {verdict}  {extent} ()"))
        about = f" ({shortened(same[0].subject, room)})" if len(same) == 1 and same[0].subject else ""
        yield f"  ? {page.verdict(verdict)}  {extent}{about}"


def _extent(rule: str, changes: Sequence[Change]) -> str:
    """Return of what and of how much something is not known."""
    if rule == "node.alignment":
        return ""
    nodes: Counter[str] = Counter()
    for change in changes:
        nodes[_field(change)] += change.number
    count = max(nodes.values())
    if rule == "function.code-unknown":
        return f": {counted(count, 'function')}"
    fields = list(nodes)
    more = f" and {len(fields) - _FIELDS_SHOWN} more" if len(fields) > _FIELDS_SHOWN else ""
    return f": {safe(', '.join(fields[:_FIELDS_SHOWN]))}{more} of {counted(count, 'node')}"


def _is_explained(verdict: Verdict, rule: str) -> bool:
    """Whether a rule is named beside its change and explained: where it is not plainly safe, and where it is of code.

    An update carries another function, so that verdict is safe; that one name stands for two kernels is news all the
    same.
    """
    return not verdict.safe or rule == "function.code"


def _reasons(findings: Sequence[Finding], page: _Page) -> Iterator[str]:
    """Yield, once for each rule that is explained, why its verdict is what it is and how that is known."""
    told = {
        finding.rule: finding
        for finding in findings
        if _is_explained(finding.verdict, finding.rule) and finding.rule in RULES
    }
    for rule_id, finding in told.items():
        rule = RULES[rule_id]
        yield ""
        yield f"{page(rule_id, _BOLD)}: {page.verdict(finding.verdict)}, {finding.evidence}"
        yield from wrap(rule.why, page.room(_REASON, 0), initial_indent="  ", subsequent_indent="  ")
