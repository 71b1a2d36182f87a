"""Many dumps compared, as Markdown: for a pull request, the summary of a job, a chat."""

from collections.abc import Iterator

from sigcontract.model import FleetReport, RankDiffs
from sigcontract.report.markdown import code_span, diff_markdown, plain
from sigcontract.report.phrases import counted
from sigcontract.report.ranks_text import cell_texts, classes_head, fleet_head, ranks_of, what_changed, where_of, who

__all__ = ["fleet_markdown", "rank_diffs_markdown"]

_ROWS = 200
_NAME = 160


def fleet_markdown(report: FleetReport) -> str:
    """Return a report on many dumps as Markdown, with every name that comes out of a file inert."""
    return "\n".join(_lines(report)) + "\n"


def rank_diffs_markdown(found: RankDiffs) -> str:
    """Return two folders of dumps compared rank by rank as Markdown."""
    lines = []
    for each in found.diffs:
        files = f"{code_span(each.old_file)} → {code_span(each.new_file)}"
        lines += [f"# rank {plain(each.ranks)}: {files}", "", diff_markdown(each.diff)]
    lines += [f"- **{gap.kind}** {plain(gap.detail)}" for gap in found.gaps]
    return "\n".join(lines) + "\n"


def _lines(report: FleetReport) -> Iterator[str]:
    yield f"## {plain(fleet_head(report))}"
    for graphs in report.graphs:
        if len(graphs.classes) == 1:
            continue
        yield from ("", f"### {plain(classes_head(graphs))}", "", "| ranks | what | where |", "|---|---|---|")
        base = graphs.expected or 0
        yield f"| {plain(who(graphs.classes[base], report))} | {'expected' if graphs.expected is not None else ''} | |"
        for index, each in enumerate(graphs.classes):
            if index != base and not each.causes:
                yield f"| {plain(who(each, report))} | the digests differ; the cause was not determined | |"
            for cause in each.causes:
                where = where_of(cause, len(graphs.labels))
                yield f"| {plain(who(each, report))} | {plain(what_changed(cause))} | {plain(where)} |"
    if report.rows:
        yield from ("", f"### Differences by rank: {counted(len(report.rows), 'row')}", "")
        yield from ("| graph | node | ranks and values |", "|---|---|---|")
        for row in report.rows[:_ROWS]:
            cells = "<br>".join(
                f"{plain(ranks_of(cell.ranks))}: {plain(text)}"
                for cell, text in zip(row.cells, cell_texts(row, _NAME), strict=True)
            )
            nodes = f" and {row.count - 1} more" if row.count > 1 else ""
            yield f"| {plain(row.label)} | {code_span(row.path)}{nodes} | {cells} |"
        if len(report.rows) > _ROWS:
            yield f"\n{counted(len(report.rows) - _ROWS, 'more row')} in the JSON form."
    if report.gaps:
        yield from ("", f"### {counted(len(report.gaps), 'gap')}", "")
        yield from (f"- **{gap.kind}** {plain(gap.detail)}" for gap in report.gaps)
