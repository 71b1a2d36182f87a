"""Contradictions in the tables of a version 3 dump."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from msgspec import UNSET

from sigcontract.errors import InvariantError, RecordError
from sigcontract.model import VALUE_TYPES, KernelNodeSignature, RawValue
from sigcontract.wire import table_problems, v2
from sigcontract.wire.argument_problems import argument_problems
from sigcontract.wire.reading3 import VALUES, attribute_of, holders
from sigcontract.wire.rows3 import NODE_ROWS

__all__ = ["problems"]

_KERNEL = NODE_ROWS[KernelNodeSignature]


def problems(document: Any) -> Iterator[RecordError]:
    """Yield contradictions in a decoded document, except digests."""
    missing = False
    for problem in v2.header_problems(document):
        missing = missing or problem.path.endswith(".graph")
        yield problem
    if missing:
        return
    yield from _function_problems(document)
    yield from _attribute_problems(document)
    functions = [row.function for row in document.launches]
    for index, row in enumerate(functions):
        if row >= len(document.functions):
            yield table_problems.dangling(f"$.launches[{index}].function", row, "functions", len(document.functions))
    yield from table_problems.unused("functions", functions, len(document.functions))
    launches = [row.kernel.launch for row in document.nodes if type(row) is _KERNEL]
    if max(launches, default=-1) >= len(document.launches):
        for index, row in enumerate(document.nodes):
            if type(row) is _KERNEL and row.kernel.launch >= len(document.launches):
                path = f"$.nodes[{index}].kernel.launch"
                yield table_problems.dangling(path, row.kernel.launch, "launches", len(document.launches))
    yield from table_problems.unused("launches", launches, len(document.launches))
    yield from argument_problems(document)
    yield from table_problems.dangling_nodes(document.graphs, len(document.nodes))
    used_nodes = chain.from_iterable(graph.nodes for graph in document.graphs)
    yield from table_problems.unused("nodes", used_nodes, len(document.nodes))
    entry_graphs = [entry.graph for entry in document.header]
    held = {index: table_problems.held_graphs(row) for index, row in holders(document).items()}
    yield from table_problems.unused("graphs", chain(entry_graphs, *held.values()), len(document.graphs))
    yield from _edge_problems(document)
    yield from table_problems.nesting(document.graphs, held, entry_graphs)


def _function_problems(document: Any) -> Iterator[RecordError]:
    for index, row in enumerate(document.functions):
        columns = UNSET if row.function is UNSET else row.function.parameters
        if columns is UNSET:
            continue
        path = f"$.functions[{index}].function.parameters"
        offsets, sizes = len(columns.offset_bytes), len(columns.size_bytes)
        yield from table_problems.check_parameter_count(max(offsets, sizes), path)
        if offsets != sizes:
            msg = f"{offsets} offsets and {sizes} sizes; columns are of equal length"
            yield InvariantError(msg, path=path)


def _attribute_problems(document: Any) -> Iterator[RecordError]:
    for index, row in enumerate(document.attributes):
        kind = VALUES.get(type(row))
        if kind is not None and kind is not VALUE_TYPES.get(row.id, RawValue):
            try:
                attribute_of(row)
            except InvariantError as error:
                yield InvariantError(error.reason, path=f"$.attributes[{index}]")
    ids = [row.id for row in document.attributes]
    for number, launch in enumerate(document.launches):
        path = f"$.launches[{number}].attributes"
        if max(launch.attributes, default=-1) < len(ids):
            yield from table_problems.check_attribute_set([ids[row] for row in launch.attributes], path)
            continue
        for at, row in enumerate(launch.attributes):
            if row >= len(ids):
                yield table_problems.dangling(f"{path}[{at}]", row, "attributes", len(ids))
    used = chain.from_iterable(launch.attributes for launch in document.launches)
    yield from table_problems.unused("attributes", used, len(ids))


def _edge_problems(document: Any) -> Iterator[RecordError]:
    for row, graph in enumerate(document.graphs):
        if graph.edge_data is UNSET:
            continue
        count = sum(map(len, graph.dependencies))
        named = bytearray(count)
        for at, data in enumerate(graph.edge_data):
            previous = -1
            for entry, number in enumerate(data.edges):
                if number >= count or number <= previous or named[number]:
                    fault = (
                        f"does not exist; the graph has {count}" if number >= count else "is repeated or out of order"
                    )
                    path = f"$.graphs[{row}].edge_data[{at}].edges[{entry}]"
                    yield InvariantError(f"edge {number} {fault}", path=path)
                previous = number
            for number in data.edges:
                if number < count:
                    named[number] = 1
