"""A dump as one HTML page: where it comes from, every graph with its layers folded, every node in full."""

from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree as ET

from sigcontract.model import Environment, GraphSignature, SignatureDump
from sigcontract.report.argument_rows import GraphArguments, gone_lines, recorded_line
from sigcontract.report.graph_summary import kernels_of, summary_lines
from sigcontract.report.html_filter import name_bar
from sigcontract.report.html_nodes import NodeTables
from sigcontract.report.html_page import badge, element, page, section, table
from sigcontract.report.phrases import counted, programmatic_edges

__all__ = ["show_html"]

_LABELS: Final = 12


def show_html(dump: SignatureDump) -> str:
    """Return a dump as one HTML page that loads nothing. A graph of several labels is drawn once."""
    labels_of: dict[int, list[str]] = {}
    graph_of: dict[int, GraphSignature] = {}
    for entry in dump.graphs:
        labels_of.setdefault(id(entry.graph), []).append(entry.label)
        graph_of[id(entry.graph)] = entry.graph
    graphs = list(graph_of.values())
    titles = [_labels(labels_of[id(graph)]) for graph in graphs]
    tables = NodeTables(graphs)
    drawn = [tables.one(title, graph).data for title, graph in zip(titles, graphs, strict=True)]
    state = "" if dump.complete else ": INCOMPLETE, graphs after the last write are missing"
    title = f"{counted(len(dump.graphs), 'graph')}{state}"
    known = list(summary_lines(kernels_of(graphs)))
    arguments = [GraphArguments(graph) for graph in graphs]
    recorded, kernels = (sum(getattr(each, name) for each in arguments) for name in ("recorded", "kernels"))
    if recorded:
        known.append(recorded_line(recorded, kernels))
    gone = list(gone_lines(zip(titles, (each.gone for each in arguments), strict=True)))
    body = [
        element(
            "header",
            element("h1", "sigcontract dump ", *([] if dump.complete else [badge("undetermined")])),
            element("p", title),
        ),
        name_bar(),
        section("Environment", _environment(dump), name="environment"),
        section("Memory that is gone", element("ul", *(element("li", line) for line in gone)), name="gone")
        if gone
        else None,
        section("Kernel nodes", *(element("p", line) for line in known), name="known") if known else None,
        section("Graphs", *map(_graph, range(len(graphs)), titles, graphs), name="graphs"),
    ]
    return page(
        f"sigcontract: {title}",
        [part for part in body if part is not None],
        {"kind": "show", "graphs": [{**data, "verdict": "identical"} for data in drawn], **tables.data()},
    )


def _labels(labels: list[str]) -> str:
    more = f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else ""
    return ", ".join(labels[:_LABELS]) + more


def _graph(number: int, title: str, graph: GraphSignature) -> ET.Element:
    programmatic = programmatic_edges(graph)
    size = f"{graph.summary}{f' ({programmatic} programmatic)' if programmatic else ''}"
    summary = element("summary", f"{title} ", element("small", size))
    return element("details", summary, element("div", class_="drawing"), class_="graph", data_graph=number)


def _environment(dump: SignatureDump) -> ET.Element:
    rows = [element("tr", element("th", name, scope="row"), element("td", value)) for name, value in _facts(dump)]
    return table(("what", "value"), rows)


def _facts(dump: SignatureDump) -> Iterator[tuple[str, str]]:
    where: Environment = dump.environment
    yield "written by", f"sigcontract {where.sigcontract_version}, {where.created_at}"
    if where.hostname is not None or where.process_id is not None:
        yield "process", f"{where.process_id or 'unknown'} on {where.hostname or 'unknown'}"
    if where.rank is not None:
        yield "rank", f"{where.rank} of {where.world_size}"
    version = where.cuda_driver_version
    yield "CUDA", "unknown" if version is None else f"{version // 1000}.{version % 1000 // 10}"
    yield "display driver", where.display_driver_version or "unknown"
    for device in where.devices:
        capability = f"{device.compute_capability_major}.{device.compute_capability_minor}"
        yield f"device {device.ordinal}", f"{device.name} ({capability})"
    for library in where.libraries:
        yield library.name, library.version
    yield "driver profile", dump.profile or "none"
