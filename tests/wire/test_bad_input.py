"""Hostile documents that are too large for the corpus: refused in bounded memory and work. Then chance."""

import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from sigcontract.errors import RecordError
from sigcontract.model.dump import SignatureDump
from sigcontract.wire import codec
from tests.strategies import LAWS, json_values
from tests.work import grows_with_its_input

CORPUS = Path(__file__).parents[1] / "corpus"
DUMP = (CORPUS / "sigcontract.dump-2" / "valid" / "every_node.json").read_bytes()
MIB = 2**20


@contextmanager
def bounded(memory_bytes: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < memory_bytes


def outcome(data: bytes) -> codec.Document | RecordError:
    """Return what a document says, or why it is refused. Anything else that is raised fails the test."""
    try:
        return codec.decode(data, verify=True)
    except RecordError as error:
        return error


def refused(data: bytes) -> RecordError:
    with pytest.raises(RecordError) as caught:
        codec.decode(data)
    return caught.value


@pytest.mark.parametrize("opened", [b"[", b'{"a":'], ids=["arrays", "objects"])
@pytest.mark.parametrize("at_the_top", [True, False])
def test_a_million_nested_brackets(opened: bytes, at_the_top: bool) -> None:
    before, after = DUMP.split(b'"extensions":{"tool":', 1)
    data = b'{"x":' + opened * 10**6 if at_the_top else before + b'"extensions":{"tool":' + opened * 10**6 + after
    with bounded(8 * MIB):
        error = refused(data)
        found = codec.faults(data)
    assert (error.code, error.path) == ("nesting", "$")
    assert [fault.code for fault in found] == ["nesting"]


def test_a_million_nested_arrays_in_message_pack() -> None:
    data = msgspec.msgpack.encode(msgspec.json.decode(DUMP) | {"extensions": {"tool": None}})
    with bounded(8 * MIB):
        error = refused(data.removesuffix(b"\xc0") + b"\x91" * 10**6 + b"\xc0")
    assert (error.code, error.path) == ("nesting", "$")


@pytest.mark.parametrize("twice", [b'"a":1,"a":1', b'"a":1'])
def test_nesting_that_decodes_but_is_deep_for_python(twice: bytes) -> None:
    """Deep enough for the slow search for keys to meet Python's limit, at any limit."""
    before, after = DUMP.split(b'"extensions":{', 1)
    depth = 900
    data = before + b'"extensions" :{"x":' + b"[" * depth + b"{" + twice + b"}" + b"]" * depth + b"," + after
    found = outcome(data)
    if isinstance(found, RecordError):
        assert found.code in ("nesting", "duplicate_key")  # which, is for the interpreter's limit to say
    else:
        assert twice == b'"a":1'


def test_a_name_of_ten_megabytes() -> None:
    name = b"x" * (10 * MIB)
    with bounded(64 * MIB):
        error = refused(DUMP.replace(b'"name":"_Z1kv"', b'"name":"' + name + b'"'))
    assert (error.code, error.path) == ("decode", "$.functions[0].name")
    assert len(str(error)) < 200


def test_a_document_larger_than_the_limit() -> None:
    with bounded(MIB), pytest.raises(RecordError, match="300 bytes, more than 200; pass a larger max_bytes") as caught:
        codec.decode(b" " * 300, max_bytes=200)
    assert (caught.value.code, caught.value.path) == ("size", "$")
    assert [fault.code for fault in codec.faults(b" " * 300, max_bytes=200)] == ["size"]


def test_a_megabyte_of_spaces() -> None:
    with bounded(8 * MIB):
        assert refused(b" " * MIB).code == "malformed"


def test_very_many_faults() -> None:
    with bounded(160 * MIB):
        assert len(codec.faults(faults_after_faults(20_000))) == 1001


def test_very_many_rows_that_hold_graphs() -> None:
    """Each of 5,000 graphs is held by a node of its own."""
    with bounded(256 * MIB):
        dump = codec.decode(rows_that_hold_graphs(5_000), expect=SignatureDump)
    assert [len(entry.graph.nodes) for entry in dump.graphs] == [5_000]


def rows_that_hold_graphs(count: int) -> bytes:
    document = json.loads(DUMP)
    rows: list[dict[str, Any]] = [{"nodes": [], "dependencies": []}]
    rows += [{"nodes": [index], "dependencies": [[]]} for index in range(count)]
    held: list[dict[str, Any]] = [{"node": "graph", "graph": 0} for _ in range(count)]
    top = {"nodes": list(range(count, 2 * count)), "dependencies": [[]] * count}
    held += [{"node": "conditional", "kind": 0, "handle": None, "bodies": [1 + index]} for index in range(count)]
    digest = "sha256:" + "0" * 64
    document |= {
        "header": [{"label": "", "graph": count + 1, "node_count": count, "portable_digest": digest}],
        "functions": [],
        "attribute_sets": [],
        "nodes": held,
        "graphs": [*rows, top],
    }
    return json.dumps(document).encode()


def test_one_node_of_very_many_bodies_that_very_many_graphs_hold() -> None:
    with bounded(64 * MIB):
        error = refused(bodies_that_graphs_hold(5_000))
    assert (error.code, error.path) == ("limit", "$")


def bodies_that_graphs_hold(count: int) -> bytes:
    document = json.loads(DUMP)
    entry = {"label": "", "node_count": 1, "portable_digest": "sha256:" + "0" * 64}
    document |= {
        "header": [entry | {"graph": index + 1} for index in range(count)],
        "functions": [],
        "attribute_sets": [],
        "nodes": [{"node": "conditional", "kind": 0, "handle": None, "bodies": [0] * count}],
        "graphs": [{"nodes": [], "dependencies": []}] + [{"nodes": [0], "dependencies": [[]]} for _ in range(count)],
    }
    return json.dumps(document).encode()


def test_one_key_twice_among_very_many() -> None:
    with bounded(64 * MIB):
        error = refused(one_key_twice(25_000))
    assert (error.code, error.path) == ("duplicate_key", '$.extensions.x[24999]["24999"]')


def one_key_twice(count: int) -> bytes:
    document = json.loads(DUMP)
    document["extensions"] = {"x": [{str(index): index} for index in range(count)]}
    last = str(count - 1).encode()
    return json.dumps(document).encode().replace(b'{"%s": %s}' % (last, last), b'{"%s": 1, "%s": 2}' % (last, last))


def faults_after_faults(count: int) -> bytes:
    return DUMP.replace(b'"nodes":[', b'"nodes":[' + b"1," * count, 1)


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (rows_that_hold_graphs, 400),
        (bodies_that_graphs_hold, 4_000),  # as many as are refused; fewer are read, and are a square
        (one_key_twice, 400),
        (faults_after_faults, 400),
    ],
)
def test_the_work_grows_with_the_document_not_with_its_square(data: Callable[[int], bytes], count: int) -> None:
    """Also where each graph holds the bodies of one node: looked at once for each, they would be the square."""

    def prepare(size: int) -> Callable[[], object]:
        document = data(size)
        return lambda: (outcome(document), codec.faults(document))

    grows_with_its_input(prepare, count)


@pytest.mark.parametrize("file", sorted((CORPUS / "fuzzed").iterdir()), ids=lambda file: file.name)
def test_what_a_coverage_guided_run_found_is_refused_or_read_and_both_readers_agree(file: Path) -> None:
    """The shortest input for each fault that atheris met in two runs of ten minutes, 1.9 million inputs."""
    data = file.read_bytes()
    found = outcome(data)
    if isinstance(found, RecordError):
        assert found.code in {fault.code for fault in codec.faults(data)}
    else:
        assert codec.faults(data) == []
        assert codec.decode(codec.encode(found)) == found


@settings(LAWS, max_examples=150)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    for document in (data, b'{"document":"sigcontract.dump",\n"version":2,' + data):
        error = refused(document)
        assert error.code
        assert error.path.startswith("$")


@settings(LAWS, max_examples=150)
@given(st.data())
def test_a_document_with_one_value_changed_is_refused_or_read_and_both_readers_agree(data: st.DataObject) -> None:
    document = json.loads(DUMP)
    holder, key = data.draw(st.sampled_from(list(_places(document))))
    if data.draw(st.booleans()):
        holder[key] = data.draw(json_values() | st.sampled_from([-1, 2**32, 2**53, 2**64, True, [], {}]))
    else:
        del holder[key]
    changed = json.dumps(document).encode()
    found = outcome(changed)
    if isinstance(found, RecordError):
        assert found.path.startswith("$")
        assert codec.faults(changed)
    else:
        assert codec.faults(changed) == []
        assert codec.decode(codec.encode(found)) == found


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


@settings(LAWS, max_examples=150)
@given(st.integers(0, len(DUMP)), st.integers(0, len(DUMP)), st.binary(max_size=4))
def test_a_document_with_bytes_cut_out_or_put_in_is_refused_or_read(start: int, end: int, put: bytes) -> None:
    data = DUMP[: min(start, end)] + put + DUMP[max(start, end) :]
    found = outcome(data)
    if isinstance(found, RecordError):
        assert found.path.startswith("$")
    else:
        assert codec.decode(codec.encode(found)) == found
