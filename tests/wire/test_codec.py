"""Documents as bytes and files: what goes in comes out, and nothing else does."""

import json
import math
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given

from sigcontract.errors import (
    DecodeError,
    FileError,
    InvariantError,
    LimitError,
    RecordError,
    UsageError,
    VersionError,
)
from sigcontract.model.dims import Dim3
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.findings import DumpDiff
from sigcontract.model.graph import ChildGraphNode, Dependency, GraphSignature
from sigcontract.model.profile import DriverProfile
from sigcontract.wire import codec
from sigcontract.wire.canonical import portable_digest
from tests.strategies import LAWS, records

CORPUS = Path(__file__).parents[1] / "corpus"
EVERY = CORPUS / "sigcontract.dump-2" / "valid" / "every_node.json"
KERNELS_1 = CORPUS / "sigcontract.dump-1" / "valid" / "kernels.json"
PROFILE = CORPUS / "sigcontract.profile-1" / "valid" / "one.json"

FORMATS: tuple[codec.Format, ...] = ("json", "msgpack")
Formats = pytest.mark.parametrize("format_", FORMATS)


def dump() -> SignatureDump:
    return codec.load(EVERY, expect=SignatureDump)


def with_graphs(*graphs: GraphSignature) -> SignatureDump:
    entries = tuple(LabeledGraph(label=str(index), graph=graph) for index, graph in enumerate(graphs))
    return msgspec.structs.replace(dump(), graphs=entries)


@pytest.mark.parametrize("cls", [SignatureDump, DriverProfile, DumpDiff])
def test_what_is_encoded_is_decoded_and_encoded_again_the_same_in_either_format(cls: Any) -> None:
    @LAWS
    @given(records(cls))
    def law(record: codec.Document) -> None:
        written = {format_: codec.encode(record, format=format_) for format_ in FORMATS}
        for format_, data in written.items():
            again = codec.decode(data, verify=True)
            assert again == record
            assert codec.encode(again, format=format_) == data
            assert codec.faults(data) == []
        assert msgspec.msgpack.decode(written["msgpack"]) == json.loads(written["json"])

    law()


def test_json_has_a_row_on_a_line() -> None:
    lines = codec.encode(dump()).decode().splitlines()
    nodes = lines[lines.index('"nodes":[') + 1 : lines.index('"graphs":[') - 1]
    assert len(nodes) == 17
    assert all(json.loads(line.removesuffix(","))["node"] for line in nodes)


def test_equal_nodes_and_graphs_are_stored_once() -> None:
    record = with_graphs(*[entry.graph for entry in dump().graphs] * 3)
    document = json.loads(codec.encode(record))
    assert len(document["header"]) == 9
    assert len(document["nodes"]) == len(json.loads(EVERY.read_bytes())["nodes"])
    assert [entry["graph"] for entry in document["header"]] == [1, 1, 2] * 3


def test_a_child_graph_is_a_row_before_the_row_that_holds_it() -> None:
    leaf = GraphSignature(nodes=(), dependencies=())
    holder = GraphSignature(nodes=(ChildGraphNode(graph=leaf),), dependencies=((),))
    document = json.loads(codec.encode(with_graphs(holder)))
    assert document["graphs"] == [{"nodes": [], "dependencies": []}, {"nodes": [0], "dependencies": [[]]}]
    assert document["nodes"] == [{"node": "graph", "graph": 0}]


def test_a_default_edge_is_a_number_and_any_other_a_list() -> None:
    nodes = dump().graphs[2].graph.nodes
    edges = (
        Dependency(node=0, from_port=0, to_port=0, type=0),
        Dependency(node=0, from_port=1, to_port=0, type=1),
    )
    document = json.loads(codec.encode(with_graphs(GraphSignature(nodes=nodes, dependencies=((), edges)))))
    assert document["graphs"][0]["dependencies"] == [[], [0, [0, 1, 0, 1]]]


@pytest.mark.parametrize("name", ["d.json", "d.msgpack", "d.json.gz", "d.msgpack.gz", "d.json.zst", "d.msgpack.zst"])
def test_a_file_is_written_and_read_by_its_suffix(tmp_path: Path, name: str) -> None:
    codec.save(dump(), tmp_path / name)
    assert codec.load(tmp_path / name, verify=True) == dump()
    assert codec.load(str(tmp_path / name)) == dump()
    assert codec.read_header(tmp_path / name).graphs[1].label == "again"
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["d", "d.txt", "d.zst", "json"])
def test_a_name_that_says_no_format_is_not_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"end the name in \.json or \.msgpack"):
        codec.save(dump(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_header_is_read_without_the_tables(tmp_path: Path) -> None:
    """The tables of this file are nonsense, and the header is read all the same."""
    document = json.loads(codec.encode(dump())) | {"nodes": [1, 2, 3]}
    file = tmp_path / "d.json"
    file.write_text(json.dumps(document))
    header = codec.read_header(file)
    assert [(entry.label, entry.node_count) for entry in header.graphs] == [("every", 17), ("again", 17), ("again", 2)]
    assert header.graphs[0].portable_digest == portable_digest(dump().graphs[0].graph)
    assert (header.version, header.environment, header.complete) == (2, dump().environment, True)
    assert header.profile == "nvidia-h200-cuda-13.0"
    with pytest.raises(DecodeError):
        codec.read_header(file, verify=True)


@pytest.mark.parametrize("stacks", [0, 3_000, 100_000], ids="a last line of {} characters".format)
def test_the_header_of_a_large_file_is_that_of_the_whole_and_of_no_file_that_was_cut_off(
    stacks: int, tmp_path: Path
) -> None:
    many = tuple(LabeledGraph(label=f"graph {number}", graph=dump().graphs[0].graph) for number in range(1_000))
    large = msgspec.structs.replace(dump(), graphs=many, extensions={"stacks": "s" * stacks})
    file, packed = tmp_path / "large.json", tmp_path / "large.json.gz"
    codec.save(large, file)
    codec.save(large, packed)
    assert file.stat().st_size > 100_000
    assert codec.read_header(file) == codec.read_header(packed) == codec.header_of(large)
    whole = file.read_bytes()
    for cut in (2, 3, 40, 5_000, len(whole) // 2, len(whole) - 200):  # the last line feed may be lacking
        file.write_bytes(whole[:-cut])
        with pytest.raises(DecodeError):
            codec.read_header(file)
    file.write_bytes(whole)
    with pytest.raises(LimitError):
        codec.read_header(file, max_bytes=1_000)


def test_the_header_of_version_1_is_made_from_its_graphs() -> None:
    header = codec.read_header(KERNELS_1)
    graph = codec.load(KERNELS_1, expect=SignatureDump).graphs[0].graph
    assert [(entry.node_count, entry.portable_digest) for entry in header.graphs] == [(3, portable_digest(graph))]
    assert header.version == 1


def test_a_header_is_that_of_a_dump() -> None:
    with pytest.raises(VersionError, match=r"this is a sigcontract\.profile, expected a sigcontract\.dump"):
        codec.read_header(PROFILE)


def test_a_false_digest_is_found_where_it_is_asked_for(tmp_path: Path) -> None:
    data = codec.encode(dump())
    true = portable_digest(dump().graphs[2].graph).encode()
    false = data.replace(true, b"sha256:" + b"0" * 64)
    assert codec.decode(false) == dump()  # nothing that is returned relies on the digest
    with pytest.raises(
        InvariantError, match=r"the digest of this graph is sha256:.*/header/2/portable_digest"
    ) as caught:
        codec.decode(false, verify=True)
    assert caught.value.code == "digest"
    assert [fault.path for fault in codec.faults(false)] == ["$.header[2].portable_digest"]
    file = tmp_path / "d.json"
    file.write_bytes(false)
    assert codec.read_header(file).graphs[2].portable_digest == "sha256:" + "0" * 64
    with pytest.raises(InvariantError):
        codec.read_header(file, verify=True)


def test_the_kind_of_record_can_be_demanded() -> None:
    assert isinstance(codec.load(PROFILE, expect=DriverProfile), DriverProfile)
    with pytest.raises(VersionError) as caught:
        codec.load(PROFILE, expect=SignatureDump)
    assert (caught.value.code, caught.value.document, caught.value.found) == ("document", "sigcontract.profile", 1)
    assert str(caught.value) == "this is a sigcontract.profile, expected a sigcontract.dump (at /document)"


def test_a_version_error_says_what_was_found_and_what_would_do() -> None:
    data = codec.encode(dump()).replace(b'"version":2', b'"version":9')
    with pytest.raises(VersionError) as caught:
        codec.decode(data)
    assert (caught.value.document, caught.value.found, caught.value.supported) == ("sigcontract.dump", 9, (1, 2, 3))
    assert str(caught.value) == (
        "unknown sigcontract.dump version 9; this release reads 1, 2, 3; upgrade sigcontract (at /version)"
    )


def test_an_unknown_document_is_named() -> None:
    with pytest.raises(VersionError) as caught:
        codec.decode(b'{"document":"x","version":1}')
    assert str(caught.value) == (
        "unknown document 'x'; `sigcontract schema` lists those that this release reads (at /document)"
    )


def test_a_fault_is_reported_with_its_path_and_its_cause() -> None:
    data = codec.encode(dump()).replace(b'"size_bytes":1024', b'"size_bytes":true')
    with pytest.raises(DecodeError) as caught:
        codec.decode(data)
    assert caught.value.path.startswith("$.nodes[")
    assert str(caught.value) == f"Expected `int`, got `bool` (at {caught.value.pointer})"
    assert isinstance(caught.value.__cause__, msgspec.ValidationError)


def test_every_fault_of_a_file_is_listed() -> None:
    document = json.loads(EVERY.read_bytes())
    document["nodes"][0]["grid_dim"]["x"] = True
    document["nodes"][2]["colour"] = "red"
    document["environment"]["rank"] = -1
    del document["complete"]
    document["attribute_sets"][0][1]["value"] = None
    found = codec.faults(json.dumps(document).encode())
    assert [(fault.code, fault.path) for fault in found] == [
        ("decode", "$.environment.rank"),
        ("decode", "$.complete"),
        ("invariant", "$.attribute_sets[0][1].value"),
        ("decode", "$.nodes[0].grid_dim.x"),
        ("decode", "$.nodes[2].colour"),
    ]
    assert {fault.path for fault in codec.faults(msgspec.msgpack.encode(document))} == {fault.path for fault in found}


def test_every_fault_between_parts_is_listed() -> None:
    document = json.loads(EVERY.read_bytes())
    document["header"][0]["node_count"] = 1
    document["functions"].append(document["functions"][0])
    document["nodes"].append({"node": "empty"})
    assert [fault.path for fault in codec.faults(json.dumps(document).encode())] == [
        "$.header[0].node_count",
        f"$.functions[{len(document['functions']) - 1}]",
        f"$.nodes[{len(document['nodes']) - 1}]",
    ]


def test_a_list_of_faults_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    document = json.loads(EVERY.read_bytes())
    document["graphs"][1]["nodes"] = [-1] * 1500
    found = codec.faults(json.dumps(document).encode())
    assert len(found) == 1001
    assert str(found[-1]) == "500 more faults"
    monkeypatch.setattr("sigcontract.wire.fault_list.MAX_LISTED_BYTES", 10)
    assert [fault.path for fault in codec.faults(json.dumps(document).encode())] == ["$.graphs[1].nodes[0]"]


def test_a_list_of_parts_that_do_not_fit_ends_too() -> None:
    document = json.loads(EVERY.read_bytes())
    document["graphs"][1]["nodes"] = [99] * 1500
    found = codec.faults(json.dumps(document).encode())
    assert len(found) == 1001
    assert str(found[-1]) == "more than 1000 faults"


def test_faults_of_a_large_file_cost_no_more_than_it_does() -> None:
    document = json.loads(EVERY.read_bytes())
    document["nodes"] = [1] * 1_000_000
    tracemalloc.start()
    found = codec.faults(json.dumps(document).encode())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [fault.path for fault in found] == ["$.nodes[0]"]
    assert peak < 64 * 2**20


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (math.nan, DecodeError),
        (math.inf, DecodeError),
        ((1, 2), DecodeError),
        ({1: 2}, DecodeError),
        (b"x", DecodeError),
        (datetime(2026, 12, 1, tzinfo=UTC), DecodeError),
        (object(), DecodeError),
        (2**70, InvariantError),
    ],
)
@Formats
def test_extensions_that_would_not_come_back_are_not_written(
    value: Any, error: type[RecordError], format_: codec.Format
) -> None:
    holder = msgspec.structs.replace(dump(), extensions={"x": value})
    with pytest.raises(RecordError):
        codec.encode(holder, format=format_)
    if format_ == "json":
        with pytest.raises(error):
            codec.encode(holder)


@Formats
@pytest.mark.parametrize("value", [-1, 2**32, True, 1.0, "1", None, [1]])
def test_an_invalid_record_is_not_written_and_reported_by_its_own_path(value: Any, format_: codec.Format) -> None:
    """Constructors do not look; what leaves the package is looked at."""
    node = dump().graphs[2].graph.nodes[0]
    broken = msgspec.structs.replace(node, grid_dim=Dim3(x=value, y=1, z=1))
    with pytest.raises(RecordError) as caught:
        codec.encode(with_graphs(GraphSignature(nodes=(broken,), dependencies=((),))), format=format_)
    assert caught.value.path == "$.graphs[0].graph.nodes[0].grid_dim.x"


def test_a_list_where_a_tuple_is_declared_is_not_written() -> None:
    graph = GraphSignature(nodes=list(dump().graphs[2].graph.nodes), dependencies=((), ()))  # type: ignore[arg-type]  # the fault
    with pytest.raises(RecordError, match="as a list for a tuple"):
        codec.encode(with_graphs(graph))


def test_attributes_out_of_order_are_not_written() -> None:
    node: Any = dump().graphs[2].graph.nodes[0]
    broken = msgspec.structs.replace(node, attributes=node.attributes[::-1])
    with pytest.raises(InvariantError, match="list each id once, ascending") as caught:
        codec.encode(with_graphs(GraphSignature(nodes=(broken,), dependencies=((),))))
    assert caught.value.path == "$.graphs[0].graph.nodes[0].attributes[1].id"


def test_graphs_nested_too_deep_are_not_written() -> None:
    nested = GraphSignature(nodes=(), dependencies=())
    for _ in range(34):
        nested = GraphSignature(nodes=(ChildGraphNode(graph=nested),), dependencies=((),))
    with pytest.raises(LimitError, match="nested more than 32 deep"):
        codec.encode(with_graphs(nested))


def test_there_is_no_other_format_version_or_document() -> None:
    with pytest.raises(UsageError, match="unknown format 'yaml'; use json or msgpack"):
        codec.encode(dump(), format="yaml")  # type: ignore[arg-type]  # the fault
    with pytest.raises(UsageError, match=r"sigcontract\.dump is written as version 1 or 2 or 3, not 4"):
        codec.encode(dump(), version=4)
    with pytest.raises(UsageError, match="Dim3 is not a document"):
        codec.encode(Dim3(x=1, y=1, z=1))  # type: ignore[arg-type]  # the fault


def test_text_is_no_document() -> None:
    with pytest.raises(UsageError, match="a document must be bytes, not str; encode text as UTF-8"):
        codec.decode("{}")  # type: ignore[call-overload]  # the fault


def test_validate_names_the_place_in_the_record() -> None:
    codec.validate(dump())
    codec.validate(dump().graphs[0].graph)
    with pytest.raises(DecodeError) as caught:
        codec.validate(Dim3(x=1, y="2", z=1))  # type: ignore[arg-type]  # the fault
    assert str(caught.value) == "Expected `int`, got `str` (at /y)"
    with pytest.raises(UsageError, match="int is not a sigcontract record"):
        codec.validate(3)  # type: ignore[arg-type]  # the fault


def test_a_missing_file_is_a_file_error(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        codec.load(tmp_path / "gone.json")
    assert str(caught.value) == f"cannot read {tmp_path / 'gone.json'}: No such file or directory; check the name"
    assert caught.value.file == str(tmp_path / "gone.json")
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_list_of_graphs_or_edges_is_not_written() -> None:
    record = msgspec.structs.replace(dump(), graphs=list(dump().graphs))
    with pytest.raises(RecordError, match=r"a list for a tuple\) \(at /graphs\)"):
        codec.encode(record)
    graph = dump().graphs[2].graph
    with pytest.raises(RecordError, match="as a list for a tuple"):
        codec.encode(with_graphs(msgspec.structs.replace(graph, dependencies=((), []))))


def every_node() -> SignatureDump:
    dump = codec.load(CORPUS / "sigcontract.dump-2" / "valid" / "every_node.json", expect=SignatureDump)
    return msgspec.structs.replace(dump, extensions={})


@pytest.mark.parametrize("version", [2, 3])
def test_the_header_of_messagepack_is_read_from_the_ends_of_the_file(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.msgpack"
    codec.save(every_node(), file, version=version)
    whole = codec.read_header(file, verify=True)
    monkeypatch.setattr(codec, "document_bytes", None)  # the whole file is not read
    assert codec.read_header(file) == whole


def test_a_label_does_not_end_the_header_of_messagepack(tmp_path: Path) -> None:
    file = tmp_path / "a.msgpack"
    label = b"\xc3\xa8complete\xc2\xa9".decode()  # has the bytes of the key and of false in it
    dump = every_node()
    codec.save(msgspec.structs.replace(dump, graphs=(msgspec.structs.replace(dump.graphs[0], label=label),)), file)
    assert [entry.label for entry in codec.read_header(file).graphs] == [label]
    cut = file.read_bytes()[:-1]
    file.write_bytes(cut)
    with pytest.raises(RecordError):
        codec.read_header(file)
