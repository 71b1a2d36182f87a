"""One graph in a few lines, with layers folded, for messages."""

from itertools import islice
from typing import Final

from sigcontract.model import GraphSignature
from sigcontract.report.graph_summary import kernels_of, usual_attributes
from sigcontract.report.node_rows import FunctionNumbers, rows
from sigcontract.report.node_table import folded_rows, table_lines
from sigcontract.report.phrases import programmatic_edges

__all__ = ["graph_lines"]

#: Lines of the table; a message does not hold a whole graph without layers.
_LINES: Final = 40


def graph_lines(graph: GraphSignature, *, width: int = 110, most: int = _LINES) -> list[str]:
    """Return how many nodes and edges a graph has, and a table of its nodes, cut after ``most`` lines."""
    programmatic = programmatic_edges(graph)
    head = f"{graph.summary}{f' ({programmatic} programmatic)' if programmatic else ''}"
    listed = list(rows(graph, FunctionNumbers([graph])))
    table = table_lines(listed, folded_rows(listed), width, usual=usual_attributes(kernels_of([graph])))
    drawn = list(islice(table, most + 1))
    return [head, *drawn[:most], *(["… cut; `sigcontract show` draws the whole graph"] if len(drawn) > most else [])]
