"""Golden files as documents: a ``sigcontract.dump`` without its process, laid out for a review."""

from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from sigcontract.errors import InvariantError, NotComparableError, RecordError
from sigcontract.golden.listing import listing_of
from sigcontract.model import ChildGraphNode, GraphSignature, LabeledGraph, SignatureDump
from sigcontract.wire import MAX_DOCUMENT_BYTES, decode, document_bytes, encode, portable_form, printable_json

__all__ = ["decode_golden", "golden_bytes", "golden_of", "read_golden"]

#: The key of the listing among the extensions of a golden, and the version of the listing.
_EXTENSION: Final = "sigcontract.golden"
_LISTING: Final = 1


def golden_of(dump: SignatureDump) -> SignatureDump:
    """Return a dump in golden form: equal for two runs that captured the same graphs, apart from the environment.

    Handles are renumbered by first use over all graphs, so shared handles stay equal, and addresses are 0, as in
    `portable_form`. Host, process and rank are omitted.

    Raises
    ------
    NotComparableError
        The dump is incomplete or empty, so its golden would match graphs never recorded.
    RecordError
        A graph is invalid.
    """
    if not dump.complete:
        raise NotComparableError(
            "the dump is incomplete, so graphs may be missing; record it again and let the program finish"
        )
    if not dump.graphs:
        raise NotComparableError("the dump has no graphs; capture one first")
    whole = GraphSignature(
        nodes=tuple(ChildGraphNode(graph=entry.graph) for entry in dump.graphs), dependencies=((),) * len(dump.graphs)
    )
    graphs = tuple(
        LabeledGraph(label=entry.label, graph=node.graph)
        for entry, node in zip(dump.graphs, portable_form(whole).nodes, strict=True)
        if isinstance(node, ChildGraphNode)
    )
    environment = replace(dump.environment, hostname=None, process_id=None, rank=None, world_size=None)
    listing = {"version": _LISTING, "graphs": _listed(graphs)}
    return replace(dump, environment=environment, graphs=graphs, extensions={_EXTENSION: listing})


def golden_bytes(golden: SignatureDump) -> bytes:
    """Encode a golden: JSON with sorted keys, one node and one table row per line."""
    value = msgspec.json.decode(encode(golden))
    parts = [b'"%b":%b' % (key.encode(), _laid_out(key, part)) for key, part in sorted(value.items())]
    data = printable_json(b"{\n" + b",\n".join(parts) + b"\n}\n")
    if decode(data, expect=SignatureDump) != golden:
        raise RecordError("the golden does not survive encoding; please report this")
    return data


def read_golden(path: Path) -> SignatureDump:
    """Read a golden file.

    Raises
    ------
    FileError
        The file cannot be read.
    RecordError
        As `decode_golden`; a note names the file.
    """
    try:
        return decode_golden(document_bytes(path, MAX_DOCUMENT_BYTES))
    except RecordError as error:
        error.add_note(f"in {path}")
        raise


def decode_golden(data: bytes) -> SignatureDump:
    """Decode a golden file.

    Raises
    ------
    RecordError
        It is not a dump of a version this release reads, a digest does not match its graph (code ``digest``), or the
        listing does not match its graphs (code ``listing``).
    """
    golden = decode(data, verify=True, expect=SignatureDump)
    listing = golden.extensions.get(_EXTENSION)
    # Reviewers read the listing, so it must match the tables.
    if isinstance(listing, dict) and listing.get("version") == _LISTING:
        expected = _listed(golden.graphs)
        if listing.get("graphs") != expected:
            path = f'$.extensions["{_EXTENSION}"].graphs'
            reason = "the listing of nodes does not match the graphs in this file: it was edited by hand"
            raise InvariantError(reason, path=path, code="listing")
    return golden


def _listed(graphs: tuple[LabeledGraph, ...]) -> list[dict[str, Any]]:
    return [{"label": entry.label, "nodes": listing_of(entry.graph)} for entry in graphs]


def _laid_out(key: str, value: Any) -> bytes:
    if key == "extensions":
        return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1)
    if isinstance(value, list) and value:
        return b"[\n" + b",\n".join(msgspec.json.encode(row, order="sorted") for row in value) + b"\n]"
    return msgspec.json.encode(value, order="sorted")
