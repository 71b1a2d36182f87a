"""sigcontract.dump version 2: a header that is readable alone, then tables."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sigcontract.errors import InvariantError, LimitError, RecordError
from sigcontract.model import (
    GraphSignature,
    LabeledGraph,
    Record,
    SignatureDump,
    Text,
    UInt32,
)
from sigcontract.wire import tables
from sigcontract.wire.canonical import portable_digest_of_valid
from sigcontract.wire.decoder_errors import below, translated
from sigcontract.wire.envelope import document_type, fields_of
from sigcontract.wire.limits import MAX_EXTENSION_BYTES, MAX_EXTENSION_VALUES
from sigcontract.wire.nesting import packed_values, text_structure
from sigcontract.wire.tables import Folder, Tables
from sigcontract.wire.validation import INVALID_RECORD

__all__ = [
    "DumpDocument",
    "GraphHeader",
    "UnreadDumpDocument",
    "dump_of",
    "dump_with",
    "false_digests",
    "header_problems",
    "problems",
    "wire_of",
    "with_extensions_read",
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
    **fields_of(Tables),
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
    """Return a dump as a document. Invalid dumps pass or raise: the codec checks and explains."""
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
    folded = folder.tables()
    return DumpDocument(
        document="sigcontract.dump",
        version=2,
        header=tuple(header),
        environment=dump.environment,
        profile=dump.profile,
        complete=dump.complete,
        functions=folded.functions,
        attribute_sets=folded.attribute_sets,
        nodes=folded.nodes,
        graphs=folded.graphs,
        extensions=dump.extensions,
    )


def problems(document: Any) -> Iterator[RecordError]:
    """Yield contradictions in a decoded document, except digests."""
    dangling = False
    for problem in header_problems(document):
        dangling = dangling or problem.path.endswith(".graph")
        yield problem
    if not dangling:
        yield from tables.problems(document, [entry.graph for entry in document.header])


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


def dump_of(document: Any) -> SignatureDump:
    """Return the dump of a document without `problems`.

    Raises
    ------
    InvariantError
        Edges of a graph lead to a missing node or form a cycle.
    """
    return dump_with(document, tables.expanded(document))


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
