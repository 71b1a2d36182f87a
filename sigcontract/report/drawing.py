"""The changes of one graph as lines: the distinct ones first, then the rows around them."""

import re
from collections.abc import Iterator, Sequence

from sigcontract.compare import (
    Cause,
    CauseChange,
    Change,
    GraphChanges,
    causes_of,
    unnumbered,
)
from sigcontract.model import (
    KernelNodeSignature,
    Verdict,
)
from sigcontract.report.alike import common_name
from sigcontract.report.change_words import change_words, index_words
from sigcontract.report.hunks import CONTEXT, Row, Stretch, stretches_of
from sigcontract.report.names import NameCuts
from sigcontract.report.page import BOLD, LEAST, Page, visible
from sigcontract.report.phrases import (
    counted,
)

__all__ = ["NAME", "Drawing", "is_explained"]

#: Distinct changes listed of one graph.
_CAUSES = 40
NAME = 56
_VALUE = 44
_DETAILS = 90
#: Renamed kernels named one by one.
_RENAMED = 3
#: What stands on a line besides two values: indent, field, arrow, verdict.
_BESIDE_VALUES = 32
#: Columns of `another kernel: … → …` and a verdict, the names aside.
_BESIDE_NAMES = 31
#: What stands on a line besides the changes of a node: indent, verdict.
_BESIDE_DETAILS = 24
#: Unchanged rows above and below a change, where the changes themselves are listed before.
_NARROW_CONTEXT = 1
_MARK_COLORS = {"+": "\x1b[32m", "-": "\x1b[31m", "~": "\x1b[33m", "…": "\x1b[2m", " ": ""}


class Drawing:
    """Draws the changes of a graph, with or without what an update makes of each."""

    def __init__(self, page: Page, found: GraphChanges, *, verdicts: bool) -> None:
        self._page = page
        self._found = found
        self._verdicts = verdicts
        self._names = NameCuts(_names_in(found))

    # The distinct changes.

    def causes(self) -> Iterator[str]:
        """Yield each distinct change once, with its count and nodes."""
        renamed: list[Cause] = []
        came: dict[str, list[Cause]] = {}
        others: list[Cause] = []
        for cause in causes_of(self._found):
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
            yield from self._page.wrapped(
                f"… and {len(texts) - _CAUSES} more distinct changes; --format json lists every finding", "  "
            )

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
        return "several kernels" if subject is None else self._names(subject, self._page.room(NAME, _BESIDE_VALUES))

    # Where they are.

    def stretches(self, found: GraphChanges | None = None, at: str = "", indent: str = "  ") -> Iterator[str]:
        """Yield the rows around the changes; those of graphs inside of a node below it, with their own indices."""
        found = found or self._found
        plain = not self._verdicts and not at
        drawn = list(stretches_of(found, _NARROW_CONTEXT if plain else CONTEXT, once=plain))
        if plain and all(row.mark == "~" and not any(c.inside for c in row.changes) for s in drawn for row in s.rows):
            return  # there is nothing around the changes, and those are listed
        width = max((len(f"{at}{stretch.last}") for stretch in drawn), default=1)
        for stretch in drawn:
            if stretch.times > 1:
                nodes = counted(stretch.length, "node")
                tail = f", the last time the first {stretch.tail}" if stretch.tail else ""
                yield self._page(
                    f"{indent}{stretch.times} times these {nodes}, up to [{at}{stretch.last}]{tail}:", BOLD
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
        if row.mark in "+-" and (self._verdicts or at):
            difference = row.changes[0].difference
            rules = f"  {page.verdict(difference.verdict)}  {difference.rule}"
        begin = f"{indent}{row.mark} [{at + str(row.at):>{width}}] "
        yield page(begin + self._node(row, page.width - len(begin) - visible(rules)), mark_color) + rules
        if row.mark != "~":
            return
        below = f"{indent}    {'':{width}}"
        own = [change for change in row.changes if not change.inside]
        if self._verdicts or at:
            yield from (f"{below}{line}" for line in self._details(own, page.width - len(below)))
        if row.pair is None or len(own) == len(row.changes):
            return
        for inner_at, inner in found.inside(*row.pair):
            branch = f"b{inner_at.split('[')[1].split(']')[0]}" if inner_at.startswith(".bodies") else ""
            yield from self.stretches(inner, f"{at}{row.at}{branch}.", below)
        wrapped = [change for change in row.changes if change.inside and change.difference.field.startswith(".graph")]
        if any(change.difference.rule == "child.wrapper" for change in own):
            yield from (f"{below}{line}" for line in self._details(wrapped, page.width - len(below)))

    def _node(self, row: Row, width: int) -> str:
        node = row.node
        kind = "" if node is None else str(node.__struct_config__.tag)
        if not isinstance(node, KernelNodeSignature):
            return kind
        launch = f"<<<{node.grid_dim}, {node.block_dim}>>>"
        name = self._names(row.name or node.name, min(NAME, max(LEAST, width - len(kind) - len(launch) - 3)))
        return f"{kind} {name}  {launch}"

    def _details(self, changes: Sequence[Change], room: int) -> Iterator[str]:
        """Yield the changes of one node; those of one safe verdict share lines, the others name their rule."""
        page = self._page
        line, verdict = "", Verdict.IDENTICAL
        value = min(page.room(2 * _VALUE, _BESIDE_VALUES), max(LEAST, room - _BESIDE_NAMES)) // 2
        for change in changes:
            difference = change.difference
            text = _words(change, value)
            fits = len(line) + len(text) <= min(_DETAILS, room - _BESIDE_DETAILS)
            if line and (difference.verdict is not verdict or not fits):
                yield from page.beside(line, page.verdict(verdict), room)
                line = ""
            if is_explained(difference.verdict, difference.rule):
                yield from page.beside(text, f"{page.verdict(difference.verdict)}  {difference.rule}", room)
                continue
            line, verdict = (f"{line}, {text}" if line else text), difference.verdict
        if line:
            yield from page.beside(line, page.verdict(verdict), room)


def _names_in(found: GraphChanges) -> Iterator[str]:
    """Yield the names of kernels that changed, then those of all others of the new graph."""
    for change in found.changes:
        yield from filter(None, [change.subject])
    yield from (node.name for node in found.aligned.new.nodes if isinstance(node, KernelNodeSignature))


def _left_out(row: Row) -> str:
    nodes = counted(row.left_out, "node")
    return f"{nodes}, {row.again} of them changed as above" if row.again else f"{nodes}, unchanged"


def _times(count: int) -> str:
    return f"{count} × " if count > 1 else ""  # noqa: RUF001  times, as people write it


def _nodes(paths: Sequence[str], count: int) -> str:
    ordered = sorted(paths, key=_numbers)
    return f"{'node' if count == 1 else 'nodes'} {index_words(ordered, count)}"


def _numbers(path: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path)]


def _words(change: Change, width: int) -> str:
    """Return a change in words, and how many more there are of it in the graphs inside of a node."""
    difference = change.difference
    field = change.paths[0] if change.paths[0].startswith("dependencies") else difference.field
    if field.startswith("dependencies"):
        field = f"dependencies{field.partition(']')[2]}"
    stated = CauseChange(field.removeprefix("."), difference.old, difference.new, difference.rule, difference.verdict)
    more = change.number // max(1, len(change.indices)) - 1
    return f"{change_words(stated, width)}{f' and {more} more' if more > 0 else ''}"


def is_explained(verdict: Verdict, rule: str) -> bool:
    """Whether a rule is named beside its change and explained: where it is not safe, and of code and freed memory.

    An update applies another function or address, so those verdicts are safe; that one name stands for two kernels, or
    that the memory is gone, needs an action all the same.
    """
    return not verdict.safe or rule in ("function.code", "memory.gone")
