"""A diff as text for people: the distinct changes first, then where they are, layers once, and why it matters."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from textwrap import wrap

from sigcontract.compare import (
    Change,
    DumpComparison,
    GraphChanges,
)
from sigcontract.model import (
    Finding,
    GraphDiff,
    Verdict,
)
from sigcontract.report.drawing import NAME, Drawing, is_explained
from sigcontract.report.left_out import left_out
from sigcontract.report.names import safe, shortened
from sigcontract.report.page import BOLD, Page
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
#: Verdicts whose reasons are given even without verdicts for each change: one needs an action,
#: the other that an update would go wrong in silence.
_EXPLAINED = frozenset({Verdict.UNDETERMINED, Verdict.STALE})
_LABELS = 4
#: Rules named of an update that is not safe.
_RULES = 3
_REASON = 110
_FIELDS_SHOWN = 3
_ATTRIBUTE = re.compile(r"attributes\[(\w+)\]")


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
        Whether each change has its update verdict and the reason. None: within one capture, where one graph may be
        an update of the other. Between two processes the question is what changed, and each graph has one update
        verdict.
    """
    lines = list(_lines(comparison, Page(color, width), verdicts=verdicts))
    return "\n".join(lines) + "\n"


def _lines(comparison: DumpComparison, page: Page, *, verdicts: bool | None) -> Iterator[str]:
    result = comparison.diff
    verdict, _, rest = summary(result).partition(":")
    yield f"{page.verdict(result.verdict)}:{rest}" if rest else verdict
    if result.findings:
        yield from page.wrapped(profile_of(result))
    else:
        yield from page.wrapped(left_out(result))
    if result.environment:
        yield ""
        yield page("environment", BOLD)
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
            yield f"{page(_labels(graphs), BOLD)}: {page.verdict(first.verdict)}"
            for finding in first.findings:
                yield from _plain_line(finding, page)
            continue
        each = found.one_capture if verdicts is None else verdicts
        explained += [
            finding
            for finding in first.findings
            if each or finding.verdict in _EXPLAINED or finding.rule == "memory.gone"
        ]
        drawing = Drawing(page, found, verdicts=each)
        head = [*_heading(graphs, found, page, verdicts=each), *drawing.causes()]
        yield from head
        yield from _limited(drawing.stretches(), _LINES if each else max(_FEWEST_LINES, _LINES_PLAIN - len(head)), page)
        notes = [c for c in found.changes if not c.known or c.difference.rule == "node.alignment"]
        yield from _notes(notes, page)
    yield from _reasons(explained, page)


def _heading(graphs: Sequence[GraphDiff], found: GraphChanges, page: Page, *, verdicts: bool) -> Iterator[str]:
    """Yield which graphs these are, how their sizes changed, and what an update makes of all changes together."""
    first = graphs[0]
    old, new = found.aligned.old, found.aligned.new
    sizes = _change_of_number(len(old.nodes), len(new.nodes), "node")
    before, after = programmatic_edges(old), programmatic_edges(new)
    edges = f", {_change_of_number(before, after, 'programmatic edge')}" if before or after else ""
    if verdicts:
        yield from page.wrapped(f"{page(_labels(graphs), BOLD)}: {page.verdict(first.verdict)}, {sizes}{edges}")
        return
    rules = list(dict.fromkeys(finding.rule for finding in first.findings if finding.verdict is first.verdict))
    more = ", …" if len(rules) > _RULES else ""
    why = "" if first.verdict.safe else f" ({', '.join(rules[:_RULES])}{more})"
    yield from page.wrapped(
        f"{page(_labels(graphs), BOLD)}: {sizes}{edges}; update: {page.verdict(first.verdict)}{why}"
    )


def _change_of_number(old: int, new: int, noun: str) -> str:
    return counted(new, noun) if old == new else f"{old} → {counted(new, noun)}"


def _labels(graphs: Sequence[GraphDiff]) -> str:
    shown = ", ".join(map(label_of, graphs[:_LABELS]))
    return f"{shown} and {counted(len(graphs) - _LABELS, 'more graph')}" if len(graphs) > _LABELS else shown


def _plain_line(finding: Finding, page: Page) -> Iterator[str]:
    path = safe(finding.path.removeprefix("environment."))
    change = change_in(finding, width=page.room(60, 40))
    yield from page.wrapped(f"{path}  {change}  {page.verdict(finding.verdict)}  {finding.rule}", "  ")


def _limited(lines: Iterator[str], most: int, page: Page) -> Iterator[str]:
    """Yield no more lines than that; what is beyond them is not drawn, and stands among the distinct changes."""
    drawn = list(islice(lines, most + 1))
    yield from drawn if len(drawn) <= most else drawn[: most - 1]
    if len(drawn) > most:
        yield from page.wrapped(
            f"… cut after {most - 1} lines: the changes above list all nodes, --format json lists every finding", "  "
        )


def _field(change: Change) -> str:
    """Return the path below the node, as a person would say it."""
    return _ATTRIBUTE.sub(r"\1", change.difference.field).removeprefix(".")


def _notes(changes: Sequence[Change], page: Page) -> Iterator[str]:
    """Yield a line for each rule: what is not known, and of how much."""
    by_rule: dict[tuple[str, Verdict], list[Change]] = {}
    for change in changes:
        by_rule.setdefault((change.difference.rule, change.difference.verdict), []).append(change)
    for (rule, verdict), same in by_rule.items():
        extent = f"{rule}{_extent(rule, same)}"
        room = page.room(NAME, len(f"  ? {verdict}  {extent} ()"))
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


def _reasons(findings: Sequence[Finding], page: Page) -> Iterator[str]:
    """Yield, once for each rule that is explained, why its verdict is what it is and how that is known."""
    reasons = {
        finding.rule: finding
        for finding in findings
        if is_explained(finding.verdict, finding.rule) and finding.rule in RULES
    }
    for rule_id, finding in reasons.items():
        rule = RULES[rule_id]
        yield ""
        yield f"{page(rule_id, BOLD)}: {page.verdict(finding.verdict)}, {finding.evidence}"
        yield from wrap(rule.why, page.room(_REASON, 0), initial_indent="  ", subsequent_indent="  ")
