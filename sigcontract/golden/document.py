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
    """Return a dump as a golden holds it: equal for two runs that captured the same, apart from its environment.

    Handles are renumbered by first use over all graphs, addresses are 0, as in `portable_form`; a handle that two
    graphs share stays one number. Host, process and rank are left out.

    Raises
    ------
    NotComparableError
        The dump is incomplete, or has no graph: a golden of it would agree with what was never recorded.
    RecordError
        A graph is not valid.
    """
    if not dump.complete:
        raise NotComparableError("the dump is incomplete, so graphs may be missing; record it to its end")
    if not dump.graphs:
        raise NotComparableError("the dump has no graphs; there is nothing to agree to")
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
    """Return a golden as the bytes of its file: JSON with sorted keys, one node and one row of a table per line."""
    value = msgspec.json.decode(encode(golden))
    parts = [b'"%b":%b' % (key.encode(), _laid_out(key, part)) for key, part in sorted(value.items())]
    data = printable_json(b"{\n" + b",\n".join(parts) + b"\n}\n")
    if decode(data, expect=SignatureDump) != golden:
        raise RecordError("the golden would be read back as another; report this as a fault of sigcontract")
    return data


def read_golden(path: Path) -> SignatureDump:
    """Return a golden from its file.

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
    """Return a golden from the bytes of its file.

    Raises
    ------
    RecordError
        It is no dump of a version that this release reads, a digest is not that of its graph (code ``digest``), or
        the listing is not that of its graphs (code ``listing``).
    """
    golden = decode(data, verify=True, expect=SignatureDump)
    listing = golden.extensions.get(_EXTENSION)
    # Whoever reviews a golden reads the listing: it must not say anything else than the tables.
    if isinstance(listing, dict) and listing.get("version") == _LISTING:
        expected = _listed(golden.graphs)
        if listing.get("graphs") != expected:
            path = f"$.extensions['{_EXTENSION}'].graphs"
            reason = "the listing of nodes is not that of the graphs in this file: it was edited by hand"
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
