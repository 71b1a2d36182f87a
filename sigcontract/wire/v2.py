"""sigcontract.dump version 2: a header that can be read without the rest, then tables."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sigcontract.errors import InvariantError, LimitError, RecordError
from sigcontract.model import (
    GraphSignature,
    KernelNodeSignature,
    LabeledGraph,
    Record,
    SignatureDump,
    Text,
    UInt32,
)
from sigcontract.wire.arguments import refuse_arguments
from sigcontract.wire.canonical import portable_digest_of_valid
from sigcontract.wire.decoder_errors import below, translated
from sigcontract.wire.envelope import document_type, fields_of
from sigcontract.wire.joining import joined
from sigcontract.wire.limits import MAX_EXTENSION_BYTES, MAX_EXTENSION_VALUES
from sigcontract.wire.nesting import packed_values, text_structure
from sigcontract.wire.rows import ChildGraphRow, ConditionalRow
from sigcontract.wire.rows2 import KernelRow2, Tables2, frozen, node_of
from sigcontract.wire.table_problems import (
    check_attribute_set,
    check_parameter_count,
    dangling,
    dangling_nodes,
    held_graphs,
    nesting,
    unused,
)
from sigcontract.wire.tables import Folder, Tables
from sigcontract.wire.validation import INVALID_RECORD

__all__ = [
    "DumpDocument",
    "GraphHeader",
    "UnreadDumpDocument",
    "dump_of",
    "dump_with",
    "expanded",
    "false_digests",
    "header_problems",
    "problems",
    "problems_of_tables",
    "wire_of",
    "with_extensions_read",
    "with_header",
]


class GraphHeader(Record, frozen=True, kw_only=True):
    """The header entry of a graph. The digest is a claim until verified."""

    label: Annotated[Text, Meta(description="Label, such as decode/bs=4; unique in a dump to be compared.")]
    graph: Annotated[UInt32, Meta(description="Row of graphs; the same for labels of equal graphs.")]
    node_count: Annotated[UInt32, Meta(description="Nodes of the graph, without those of children.")]
    portable_digest: Annotated[
        str,
        Meta(pattern=r"^sha256:[0-9a-f]{64}(?![\s\S])", description="Equal for equal graphs of any process."),
    ]


_FIELDS = fields_of(SignatureDump)
_DOC = "A file of graph signatures from one process, with its environment."
_ALL_BUT_EXTENSIONS = {
    "header": Annotated[tuple[GraphHeader, ...], Meta(description="The graphs, in the order read.")],
    **{name: kind for name, kind in _FIELDS.items() if name not in ("graphs", "extensions")},
    **fields_of(Tables2),
}
DumpDocument = document_type(
    "DumpDocument", "sigcontract.dump", 2, _DOC, _ALL_BUT_EXTENSIONS | {"extensions": _FIELDS["extensions"]}
)
#: As decoded: extensions stay raw, since they have their own limits.
UnreadDumpDocument = document_type(
    "DumpDocument", "sigcontract.dump", 2, _DOC, _ALL_BUT_EXTENSIONS | {"extensions": msgspec.Raw}
)
_EXTENSIONS_JSON = msgspec.json.Decoder(dict[Text, Any])
_EXTENSIONS_MSGPACK = msgspec.msgpack.Decoder(dict[Text, Any])


def with_extensions_read(document: Any, text: bool, finished: Any = DumpDocument) -> Any:  # noqa: FBT001  how `Form` calls it
    """Return a decoded document with its extensions, as one of type ``finished``.

    Raises
    ------
    LimitError
        The extensions exceed a limit.
    DecodeError
        The extensions are invalid.
    """
    raw = bytes(document.extensions)
    fields = {name: getattr(document, name) for name in document.__struct_fields__}
    return finished(**fields | {"extensions": {} if raw in _NO_EXTENSIONS else _extensions(raw, text=text)})


_NO_EXTENSIONS = (b"{}", b"\x80")


def _extensions(raw: bytes, *, text: bool) -> dict[str, Any]:
    if len(raw) > MAX_EXTENSION_BYTES:
        msg = f"extensions of {len(raw)} bytes; the limit is {MAX_EXTENSION_BYTES}"
        raise LimitError(msg, path="$.extensions", code="extensions")
    if text:
        structure = text_structure(raw, b",:")
        count = sum(structure.count(mark) for mark in (b",", b":", b"["))
    else:
        try:
            count = packed_values(raw, MAX_EXTENSION_VALUES)
        except RecordError as error:
            raise below("$.extensions", error) from error
    if count > MAX_EXTENSION_VALUES:
        msg = f"more than {MAX_EXTENSION_VALUES} values and keys in the extensions; keep large data in a separate file"
        raise LimitError(msg, path="$.extensions", code="extensions")
    try:
        found: dict[str, Any] = (_EXTENSIONS_JSON if text else _EXTENSIONS_MSGPACK).decode(raw)
    except INVALID_RECORD as error:
        problem = translated(error)
        raise below("$.extensions", problem) from error
    return found


def wire_of(dump: SignatureDump) -> Any:
    """Return a dump as a document. Invalid dumps pass or raise: the codec checks and explains.

    Raises
    ------
    InvariantError
        The dump has arguments (code ``arguments``).
    """
    refuse_arguments(dump, 2)
    header, folded = with_header(dump)
    tables = frozen(folded)
    return DumpDocument(
        document="sigcontract.dump",
        version=2,
        header=header,
        environment=dump.environment,
        profile=dump.profile,
        complete=dump.complete,
        functions=tables.functions,
        attribute_sets=tables.attribute_sets,
        nodes=tables.nodes,
        graphs=tables.graphs,
        extensions=dump.extensions,
    )


def with_header(dump: SignatureDump) -> tuple[tuple[GraphHeader, ...], Tables]:
    """Return the header of a dump, and the tables that it refers to."""
    folder = Folder()
    digests: dict[int, str] = {}
    header = []
    for entry in dump.graphs:
        row = folder.fold(entry.graph)
        if row not in digests:
            digests[row] = portable_digest_of_valid(entry.graph)
        header.append(
            GraphHeader(label=entry.label, graph=row, node_count=len(entry.graph.nodes), portable_digest=digests[row])
        )
    return tuple(header), folder.tables()


def problems(document: Any) -> Iterator[RecordError]:
    """Yield contradictions in a decoded document, except digests."""
    dangling = False
    for problem in header_problems(document):
        dangling = dangling or problem.path.endswith(".graph")
        yield problem
    if not dangling:
        yield from problems_of_tables(document, [entry.graph for entry in document.header])


def header_problems(document: Any) -> Iterator[RecordError]:
    """Yield what is wrong with the extensions and with the header; a path of ``.graph`` is that of a missing row."""
    if document.extensions and not _representable(document.extensions):
        msg = "extensions hold a value that JSON or MessagePack cannot represent (NaN, bytes, a 65-bit number)"
        yield InvariantError(msg, path="$.extensions")
    graphs = document.graphs
    for index, entry in enumerate(document.header):
        if entry.graph >= len(graphs):
            msg = f"row {entry.graph} of graphs is missing; the table has {len(graphs)}"
            yield InvariantError(msg, path=f"$.header[{index}].graph")
        elif entry.node_count != len(graphs[entry.graph].nodes):
            msg = f"graph {entry.graph} has {len(graphs[entry.graph].nodes)} nodes, not {entry.node_count}"
            yield InvariantError(msg, path=f"$.header[{index}].node_count")


def _representable(value: Any) -> bool:
    """Return whether JSON and MessagePack both represent a value exactly."""
    try:
        return all(form.decode(form.encode(value)) == value for form in (msgspec.json, msgspec.msgpack))
    except (OverflowError, TypeError):
        return False


#: Row types of nodes with nested graphs.
_HOLDERS = (ChildGraphRow, ConditionalRow)


def problems_of_tables(tables: Any, entry_graphs: Sequence[int]) -> Iterator[RecordError]:
    """Yield contradictions in decoded tables.

    ``entry_graphs`` are the existing graph rows used from outside the tables. References must lead to existing rows,
    and nested graphs to earlier rows, so no graph can hold itself. Every row must be used: an unused row means a lost
    reference.
    """
    for number, attributes in enumerate(tables.attribute_sets):
        yield from check_attribute_set([entry.id for entry in attributes], f"$.attribute_sets[{number}]")
    for number, function in enumerate(tables.functions):
        facts = function.function
        if facts is not None and facts.parameters is not None:
            yield from check_parameter_count(len(facts.parameters), f"$.functions[{number}].function.parameters")
    kernels = [row for row in tables.nodes if type(row) is KernelRow2]
    used_functions = [row.function for row in kernels]
    used_attribute_sets = [row.attributes for row in kernels]
    if max(used_functions, default=-1) >= len(tables.functions):
        yield from _dangling_kernels(tables.nodes, "function", "functions", len(tables.functions))
    if max(used_attribute_sets, default=-1) >= len(tables.attribute_sets):
        yield from _dangling_kernels(tables.nodes, "attributes", "attribute_sets", len(tables.attribute_sets))
    held = {index: held_graphs(row) for index, row in enumerate(tables.nodes) if type(row) in _HOLDERS}
    yield from unused("functions", used_functions, len(tables.functions))
    yield from unused("attribute_sets", used_attribute_sets, len(tables.attribute_sets))
    yield from dangling_nodes(tables.graphs, len(tables.nodes))
    yield from unused("nodes", chain.from_iterable(graph.nodes for graph in tables.graphs), len(tables.nodes))
    yield from unused("graphs", chain(entry_graphs, *held.values()), len(tables.graphs))
    yield from nesting(tables.graphs, held, entry_graphs)


def _dangling_kernels(nodes: tuple[Any, ...], field: str, table: str, length: int) -> Iterator[RecordError]:
    for index, row in enumerate(nodes):
        if type(row) is KernelRow2 and getattr(row, field) >= length:
            yield dangling(f"$.nodes[{index}].{field}", getattr(row, field), table, length)


def dump_of(document: Any) -> SignatureDump:
    """Return the dump of a document without `problems`.

    Raises
    ------
    InvariantError
        Edges of a graph lead to a missing node or form a cycle.
    """
    return dump_with(document, expanded(document))


def expanded(tables: Any) -> list[GraphSignature]:
    """Return the graph of each row of tables without `problems`.

    Raises
    ------
    InvariantError
        Edges of a graph lead to a missing node or form a cycle.
    """
    holders = {index: row for index, row in enumerate(tables.nodes) if type(row) in _HOLDERS}
    return joined(_expanded_nodes(tables), holders, ((row.nodes, row.dependencies) for row in tables.graphs))


def _expanded_nodes(tables: Any) -> list[Any]:
    """Return one node per row; None for one with nested graphs."""
    functions, attribute_sets = tables.functions, tables.attribute_sets
    nodes: list[Any] = []
    for row in tables.nodes:
        kind = type(row)
        if kind is KernelRow2:
            function = functions[row.function]
            nodes.append(
                KernelNodeSignature(
                    name=function.name,
                    kern=function.kern,
                    func=function.func,
                    context=function.context,
                    grid_dim=row.grid_dim,
                    block_dim=row.block_dim,
                    dynamic_shared_mem_bytes=row.dynamic_shared_mem_bytes,
                    attributes=attribute_sets[row.attributes],
                    function=function.function,
                )
            )
        else:
            nodes.append(None if kind in _HOLDERS else node_of(row))
    return nodes


def dump_with(document: Any, graphs: list[GraphSignature]) -> SignatureDump:
    """Return the dump of a document and of the graph of each of its rows."""
    return SignatureDump(
        environment=document.environment,
        profile=document.profile,
        complete=document.complete,
        graphs=tuple(LabeledGraph(label=entry.label, graph=graphs[entry.graph]) for entry in document.header),
        extensions=document.extensions,
    )


def false_digests(document: Any, dump: SignatureDump) -> Iterator[RecordError]:
    """Yield the header entries with a false digest."""
    digests: dict[int, str] = {}
    for index, (entry, labeled) in enumerate(zip(document.header, dump.graphs, strict=True)):
        if entry.graph not in digests:
            digests[entry.graph] = portable_digest_of_valid(labeled.graph)
        if entry.portable_digest != digests[entry.graph]:
            msg = f"the digest of this graph is {digests[entry.graph]}; the header or the graph was modified"
            yield InvariantError(msg, path=f"$.header[{index}].portable_digest", code="digest")
