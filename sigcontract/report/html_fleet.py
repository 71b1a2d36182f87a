"""The comparison of many dumps as one HTML page: the matrix of ranks, which rank deviates in what, what is missing."""

from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree as ET

from sigcontract.model import FleetCause, FleetClass, FleetGraphs, FleetReport, Verdict
from sigcontract.report.html_comparisons import gaps_section
from sigcontract.report.html_filter import filter_bar
from sigcontract.report.html_page import badge, element, page, section, table
from sigcontract.report.names import shortened
from sigcontract.report.ranks_text import cell_texts, classes_head, fleet_head, ranks_of, what_changed, where_of, who

__all__ = ["fleet_html"]

_LABELS: Final = 12
#: Rows of the table by rank.
_ROWS: Final = 2000
_VALUE: Final = 160
#: Classes that have a colour of their own; what is beyond has a number alone.
_COLORS: Final = 8
#: Ranks of a job for which a cell stands where there is no dump.
_MOST_RANKS: Final = 20_000
_VERDICT: Final = {"agree": Verdict.IDENTICAL, "deviate": Verdict.REJECTED, "undetermined": Verdict.UNDETERMINED}


def fleet_html(report: FleetReport) -> str:
    """Return a report on many dumps as one HTML page that loads nothing."""
    head = fleet_head(report)
    changes = [
        change
        for graphs in report.graphs
        for each in graphs.classes
        for cause in each.causes
        for change in cause.changes
    ]
    answer = element("span", report.answer, class_=f"badge {_VERDICT[report.answer]}")
    body = [element("header", element("h1", "sigcontract fleet ", answer), element("p", head))]
    if changes:
        body.append(filter_bar(changes, nodes=False))
    body += gaps_section(report.gaps)
    if report.dumps and report.graphs:
        body.append(section("Ranks", *(_matrix(graphs, report) for graphs in report.graphs), name="ranks"))
    causes = [row for graphs in report.graphs for row in _cause_rows(graphs, report)]
    if causes:
        heads = ("verdict", "ranks", "graphs", "node", "change", "where")
        body.append(section("Distinct changes", table(heads, causes, name="causes"), name="changes"))
    if report.rows:
        body.append(section("Differences by rank", *_by_rank(report), name="rows"))
    return page(f"sigcontract fleet: {head}", body, {"kind": "fleet", "graphs": []})


def _matrix(graphs: FleetGraphs, report: FleetReport) -> ET.Element:
    """Return one cell per rank: which class it is in over these graphs; the one that others deviate from is 0."""
    class_of = {row: number for index, number in _numbered_classes(graphs) for row in graphs.classes[index].dumps}
    # Of ranks that are expected to differ, each group has a matrix of its own.
    rows = class_of if graphs.group is not None else range(len(report.dumps))
    ranks = {report.dumps[row].rank for row in range(len(report.dumps))}
    world = min(report.world_size or 0, _MOST_RANKS) if graphs.group is None else 0
    cells = [((report.dumps[row].rank, row), _cell(row, class_of.get(row), report)) for row in rows]
    cells += [((rank, -1), _missing(rank)) for rank in range(world) if rank not in ranks]
    cells.sort(key=lambda cell: (cell[0][0] is None, cell[0][0] or 0, cell[0][1]))
    labels = ", ".join(graphs.labels[:_LABELS])
    more = f" and {len(graphs.labels) - _LABELS} more" if len(graphs.labels) > _LABELS else ""
    title = classes_head(graphs) if len(graphs.classes) > 1 else f"{labels}{more}: one class"
    group = f"{graphs.group}: " if graphs.group is not None else ""
    matrix = element("ol", *(cell for _, cell in cells), class_="ranks")
    return element("figure", element("figcaption", f"{group}{title}"), matrix)


def _numbered_classes(graphs: FleetGraphs) -> list[tuple[int, int]]:
    """Return the index of each class and its number on the page; the expected class is 0."""
    base = graphs.expected or 0
    order = [base, *(index for index in range(len(graphs.classes)) if index != base)]
    return [(index, number) for number, index in enumerate(order)]


def _cell(row: int, number: int | None, report: FleetReport) -> ET.Element:
    dump = report.dumps[row]
    rank = "?" if dump.rank is None else str(dump.rank)
    where = f"{dump.file if dump.rank is None else f'rank {rank}'}{f' on {dump.hostname}' if dump.hostname else ''}"
    if number is None:
        return _box(rank, "-", f"{where}: does not have these graphs", "none")
    return _box(rank, str(number), f"{where}: class {number}", f"class{min(number, _COLORS)}")


def _missing(rank: int) -> ET.Element:
    return _box(str(rank), "?", f"rank {rank}: no dump", "none")


def _box(rank: str, text: str, description: str, color: str) -> ET.Element:
    return element(
        "li", element("small", rank), element("b", text), class_=color, title=description, aria_label=description
    )


def _cause_rows(graphs: FleetGraphs, report: FleetReport) -> Iterator[ET.Element]:
    for index, number in _numbered_classes(graphs):
        each = graphs.classes[index]
        if number and not each.causes:
            yield _row(each, number, report, None, len(graphs.labels))
        for cause in each.causes:
            yield _row(each, number, report, cause, len(graphs.labels))


def _row(each: FleetClass, number: int, report: FleetReport, cause: FleetCause | None, labels: int) -> ET.Element:
    ranks = f"class {number}: {who(each, report)}"
    if cause is None:
        cells = [
            element("td"),
            element("td", ranks),
            *(element("td", text) for text in ("", "", "the digests differ; the cause was not determined", "")),
        ]
        return element("tr", *cells, data_text=ranks.lower())
    verdict = Verdict.worst(change.verdict for change in cause.changes)
    name = cause.subject or "several nodes"
    texts = (
        ranks,
        ", ".join(cause.labels[:_LABELS]),
        shortened(name, 120),
        what_changed(cause),
        where_of(cause, labels),
    )
    cells = [element("td", badge(verdict)), *(element("td", text) for text in texts)]
    rules = " ".join(dict.fromkeys(change.rule for change in cause.changes))
    text = f"{ranks} {' '.join(cause.labels)} {name}".lower()
    return element("tr", *cells, data_verdict=str(verdict), data_rules=rules, data_text=text)


def _by_rank(report: FleetReport) -> Iterator[ET.Element]:
    rows = []
    for row in report.rows[:_ROWS]:
        cells = [
            element("p", element("strong", ranks_of(cell.ranks)), f": {text}")
            for cell, text in zip(row.cells, cell_texts(row, _VALUE), strict=True)
        ]
        more = f" and {row.count - 1} more" if row.count > 1 else ""
        node = element("td", element("code", row.path), more)
        searched = [
            row.label,
            *(cell.ranks for cell in row.cells),
            *(str(v) for cell in row.cells for v in cell.values),
        ]
        text = " ".join(searched).lower()
        rows.append(element("tr", element("td", row.label), node, element("td", *cells), data_text=text))
    yield table(("graph", "node", "ranks and values"), rows, name="by-rank")
    if len(report.rows) > _ROWS:
        yield element("p", f"and {len(report.rows) - _ROWS} more rows in the JSON form", class_="note")
