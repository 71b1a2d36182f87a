"""What a document may cost: limits that hold before anything is built, and memory in proportion."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sigcontract.errors import LimitError, RecordError, SigcontractError, UsageError
from sigcontract.model.dump import SignatureDump
from sigcontract.wire import codec, limits
from sigcontract.wire.canonical import canonical_bytes, digest
from sigcontract.wire.limits import MAX_ATTRIBUTES, MAX_EXTENSION_BYTES, MAX_EXTENSION_VALUES
from tests.wire.families import FAMILIES, document, encoded


def refused(value: Any, *, text: bool = True) -> RecordError:
    with pytest.raises(RecordError) as caught:
        codec.decode(encoded(value, text=text))
    return caught.value


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("part", [{}, [], 1, {"a": 1}], ids=str)
def test_extensions_have_as_many_values_as_their_limit(part: Any, text: bool) -> None:
    error = refused(document([], [], [], extensions={"x": [part] * MAX_EXTENSION_VALUES}), text=text)
    assert isinstance(error, LimitError)
    assert (error.code, error.path) == ("extensions", "$.extensions")
    fits = document([], [], [], extensions={"x": [part] * (MAX_EXTENSION_VALUES // 4)})
    assert codec.decode(encoded(fits, text=text), expect=SignatureDump).extensions == fits["extensions"]


@pytest.mark.parametrize("text", [True, False])
def test_extensions_have_as_many_bytes_as_their_limit(text: bool) -> None:
    error = refused(document([], [], [], extensions={"x": "," * MAX_EXTENSION_BYTES}), text=text)
    assert (error.code, error.path) == ("extensions", "$.extensions")
    fits = document([], [], [], extensions={"x": ",:[{" * (MAX_EXTENSION_BYTES // 5)})
    assert codec.decode(encoded(fits, text=text), expect=SignatureDump).extensions == fits["extensions"]


def test_what_cannot_be_read_is_not_written() -> None:
    dump = codec.decode(encoded(document([], [], [])), expect=SignatureDump)
    for extensions in ({"x": [1] * (MAX_EXTENSION_VALUES + 1)}, {"x": "y" * (MAX_EXTENSION_BYTES + 1)}):
        for form in ("json", "msgpack"):
            with pytest.raises(LimitError, match="extensions"):
                codec.encode(SignatureDump(**{**_fields(dump), "extensions": extensions}), format=form)


def _fields(dump: SignatureDump) -> dict[str, Any]:
    return {name: getattr(dump, name) for name in dump.__struct_fields__}


@pytest.mark.parametrize("text", [True, False])
def test_a_fault_of_extensions_says_where(text: bool) -> None:
    error = refused(document([], [], [], extensions={"x" * 70_000: 1}), text=text)
    assert error.path.startswith("$.extensions")
    assert refused(document([], [], [], extensions=[]), text=text).path == "$.extensions"


def test_attributes_of_one_node_have_a_limit() -> None:
    entry = {"state": "unreadable", "origin": "node", "value": None}
    value = FAMILIES["chain"](2)
    value["attribute_sets"] = [[entry | {"id": number} for number in range(MAX_ATTRIBUTES + 1)]]
    error = refused(value)
    assert (error.code, error.path) == ("attributes", "$.attribute_sets[0]")
    value["attribute_sets"][0].pop()
    codec.decode(encoded(value))


def test_edges_have_a_limit_with_every_use_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sigcontract.wire.table_problems.MAX_EXPANDED_EDGES", 100)
    monkeypatch.setattr("sigcontract.wire.table_problems.MAX_HELD_EDGES", 50)
    row: list[Any] = [{"node": "empty"}, {"node": "graph", "graph": 0}]
    edges = ([0] * 8, [[*range(index)] for index in range(8)])  # 28 edges
    assert str(refused(document([edges], row[:1], [0] * 4))) == "112 edges; the limit is 100"
    held = document([edges, ([1, 1], [[], []])], row, [1])
    assert str(refused(held)) == "graph 1 holds graphs of 56 edges; the limit is 50 (at /graphs/1)"
    held = document([edges, ([1], [[]])], row, [1, 1])
    assert str(refused(held)) == "nodes hold graphs of 56 edges in all; the limit is 50"
    assert limits.MAX_EXPANDED_EDGES >= 4 * limits.MAX_EXPANDED_NODES


@pytest.mark.parametrize("long", ["x" * 10**6, "\U0001f600" * 10**5])
def test_an_error_carries_some_hundred_characters_of_a_file(long: str) -> None:
    whole = document([], [], [])
    for value in (
        whole | {"document": long},
        whole | {long: 1},
        whole | {"profile": {long: 1}},
        whole | {"nodes": [{"node": long}]},
        whole | {"version": 10**200},
        whole | {"extensions": {"a": {long[:65000]: [float("nan")]}}},
    ):
        data = encoded(value) if "version" not in value or value["version"] == 2 else b'{"document":"' + long.encode()
        for error in (*codec.faults(data), *_raised(data)):
            assert len(str(error)) < 700
            assert isinstance(error, RecordError)
            assert len(error.reason) + len(error.path) < 700
    assert len(str(SigcontractError(long))) <= 600
    assert len(str(UsageError(long))) <= 600


def _raised(data: bytes) -> list[SigcontractError]:
    try:
        codec.decode(data)
    except SigcontractError as error:
        return [error]
    return []


_MEMORY = """
import resource, sys
import sigcontract as sc
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
call = sc.decode if sys.argv[2] == "decode" else sc.faults
call(open(sys.argv[3], "rb").read())
data = open(sys.argv[1], "rb").read()
before = peak()
call(data)
print(peak() - before + len(data))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory from /proc")
@pytest.mark.parametrize("call", ["decode", "faults"])
@pytest.mark.parametrize("family", FAMILIES)
def test_memory_is_at_most_eight_times_what_a_document_says_written_out(family: str, call: str, tmp_path: Path) -> None:
    """Written out: edges and pointers with their names. Some MiB more, which every document needs."""
    value = FAMILIES[family](1500 if family.startswith("labels") else 8000)
    small, large = tmp_path / "small.json", tmp_path / "large.json"
    small.write_bytes(encoded(FAMILIES[family](10)))
    large.write_bytes(encoded(value))
    command = [sys.executable, "-c", _MEMORY, str(large), call, str(small)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    edges = sum(map(len, (row for graph in value["graphs"] for row in graph["dependencies"])))
    pointers = sum(len(node.get("kernel", {}).get("pointers", ())) for node in value["nodes"])
    written_out = large.stat().st_size + 46 * edges + 300 * pointers
    assert int(done.stdout) < 8 * written_out + 8 * 2**20


def test_parameters_of_one_kernel_have_a_limit() -> None:
    value = FAMILIES["chain"](2)
    layout = {"offset_bytes": 0, "size_bytes": 1}
    value["functions"][0] |= {"function": value["functions"][0]["function"] | {"parameters": [layout] * 32_765}}
    error = refused(value)
    assert (error.code, error.path) == ("parameters", "$.functions[0].function.parameters")
    value["functions"][0]["function"]["parameters"].pop()
    codec.decode(encoded(value))


@pytest.mark.parametrize("text", [True, False])
def test_an_empty_array_is_a_level_in_either_format(text: bool) -> None:
    nested: Any = []
    for _ in range(limits.MAX_NESTING - 3):
        nested = [nested]
    fits = document([], [], [], extensions={"x": nested})
    dump = codec.decode(encoded(fits, text=text), expect=SignatureDump)
    for form in ("json", "msgpack"):
        assert codec.decode(codec.encode(dump, format=form)) == dump
    assert refused(document([], [], [], extensions={"x": [nested]}), text=text).code == "nesting"


def test_canonical_bytes_are_not_written_out_beyond_the_size_of_a_document() -> None:
    one = FAMILIES["chain"](1)
    functions = [one["functions"][0] | {"name": "k" * 1000}]
    graphs: list[tuple[list[int], list[Any]]] = [([0] * 1000, [[]] * 1000)]
    graphs += [([place + 1] * 7, [[]] * 7) for place in range(3)]
    rows = [one["nodes"][0], *({"node": "graph", "graph": place} for place in range(3))]
    data = encoded(document(graphs, rows, [3], functions=functions, attribute_sets=[[]]))
    dump = codec.decode(data, expect=SignatureDump)
    with pytest.raises(LimitError, match="written out") as caught:
        canonical_bytes(dump)
    assert caught.value.code == "size"
    assert digest(dump.graphs[0].graph).startswith("sha256:")
