"""What a document costs grows with its size, whoever made it: counted in steps, so that no clock is asked."""

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from math import log2
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.compare.dumps import diff
from sigcontract.errors import InvariantError
from sigcontract.model.arguments import KernelArgument
from sigcontract.model.dump import SignatureDump
from sigcontract.model.function import FunctionFacts
from sigcontract.model.graph import NodeSignature
from sigcontract.model.nodes import KernelNodeSignature
from sigcontract.update.groups import group_dumps
from sigcontract.update.policies import same
from sigcontract.update.predict import predict_update
from sigcontract.wire import codec, fault_list
from sigcontract.wire.arguments import redacted
from sigcontract.wire.canonical import digest
from tests.wire.families import FAMILIES, WITH_ARGUMENTS, encoded

_OTHER_DIGITS = str.maketrans("0123456789abcdef", "123456789abcdef0")
SIZES = (32, 64, 128, 256)
#: Detours are few and long: how they grow shows only at these sizes.
LARGER_SIZES = {"detours": (64, 128, 256, 512)}
#: Steps of Python (lines, and calls of C) per byte of a document and per doubling of it. Written in docs/limits.md.
FACTOR = 10
#: How much faster than n log n a count may grow from the first doubling to the last. Quadratic work: 4 times as fast.
SLACK = 1.5
#: Steps that some value in between costs once.
NOISE = 5000


def steps(call: Callable[[], Any]) -> int:
    """Count the lines of Python that a call runs and the calls of C that these make."""
    count = 0

    def line(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def call_of_c(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event == "c_call"

    traced, profiled = sys.gettrace(), sys.getprofile()
    sys.settrace(line)
    sys.setprofile(call_of_c)
    try:
        call()
    finally:
        sys.setprofile(profiled)
        sys.settrace(traced)
    return count


def assert_grows_alike(counts: list[int], lengths: list[float]) -> None:
    """Compare what the last doubling adds with what the first adds: constant parts, which both have, fall out."""
    wanted = (lengths[-1] - lengths[-2]) / (lengths[1] - lengths[0])
    assert counts[-1] - counts[-2] <= SLACK * wanted * (counts[1] - counts[0]) + NOISE


def other(dump: SignatureDump) -> SignatureDump:
    """Return a dump of another process that lacks half of the nodes and has other edges."""
    graphs = []
    for entry in dump.graphs[:8]:
        kept = len(entry.graph.nodes) // 2
        graph = replace(entry.graph, nodes=entry.graph.nodes[-kept:] if kept else (), dependencies=((),) * kept)
        graphs.append(replace(entry, graph=graph))
    return replace(dump, graphs=tuple(graphs), environment=replace(dump.environment, process_id=2))


def given_others(dump: SignatureDump) -> SignatureDump:
    """Return a dump of another process with other arguments: other values, null for every second address."""
    known: dict[int, KernelArgument] = {}

    def changed(argument: KernelArgument) -> KernelArgument:
        if id(argument) not in known:
            if argument.pointers:
                known[id(argument)] = replace(argument, pointers=argument.pointers[::2])
            else:
                known[id(argument)] = replace(argument, value=(argument.value or "").translate(_OTHER_DIGITS))
        return known[id(argument)]

    def node(held: NodeSignature) -> NodeSignature:
        if not isinstance(held, KernelNodeSignature) or held.arguments is None:
            return held
        return replace(held, arguments=tuple(map(changed, held.arguments)))

    return _with_nodes(dump, node)


def of_other_functions(dump: SignatureDump) -> SignatureDump:
    """Return a dump of another process in which each function has another number of registers and a last parameter."""
    known: dict[int, FunctionFacts] = {}

    def changed(facts: FunctionFacts) -> FunctionFacts:
        if id(facts) not in known:
            layout = facts.parameters
            layout = layout and (*layout[:-1], replace(layout[-1], size_bytes=layout[-1].size_bytes + 1))
            known[id(facts)] = replace(facts, parameters=layout, registers=255)
        return known[id(facts)]

    def node(held: NodeSignature) -> NodeSignature:
        if not isinstance(held, KernelNodeSignature) or held.function is None:
            return held
        return replace(held, function=changed(held.function))

    return _with_nodes(dump, node)


def refused_by_version_2(dump: SignatureDump) -> None:
    """Encode a dump at version 2, which has no arguments."""
    try:
        codec.encode(dump, version=2)
    except InvariantError as error:
        assert error.code == "arguments"  # noqa: PT017  a dump of no arguments is written


def _show(*more: str) -> Callable[[bytes, SignatureDump, Path], Any]:
    def shown(data: bytes, _: SignatureDump, folder: Path) -> int:
        file = folder / "dump.json"
        file.write_bytes(data)
        with redirect_stdout(io.StringIO()):
            return main(["show", str(file), *more])

    return shown


def _with_nodes(dump: SignatureDump, changed: Callable[[NodeSignature], NodeSignature]) -> SignatureDump:
    """Return a dump of another process with other nodes in its outermost graphs."""
    graphs = {id(entry.graph): entry.graph for entry in dump.graphs}
    made = {number: replace(graph, nodes=tuple(map(changed, graph.nodes))) for number, graph in graphs.items()}
    entries = tuple(replace(entry, graph=made[id(entry.graph)]) for entry in dump.graphs)
    return replace(dump, graphs=entries, environment=replace(dump.environment, process_id=2))


def _same_as_other(policy: str) -> Callable[[bytes, SignatureDump, Path], Any]:
    def answered(_: bytes, dump: SignatureDump, __: Path) -> Any:
        pairs = zip(dump.graphs[:1], of_other_functions(dump).graphs[:1], strict=True)
        return [same(policy, entry.graph, other.graph) for entry, other in pairs]

    return answered


def _predicted(_: bytes, dump: SignatureDump, __: Path) -> Any:
    return [predict_update(entry.graph, entry.graph) for entry in dump.graphs[:1]]


def _predicted_others(dump: SignatureDump) -> Any:
    others = given_others(dump)
    pairs = zip(dump.graphs[:1], others.graphs[:1], strict=True)
    return [predict_update(old.graph, new.graph) for old, new in pairs]


def _verified(data: bytes, _: SignatureDump, __: Path) -> Any:
    """Compute every digest, and list those that the header has wrong, which are all."""
    return codec.faults(data)


ENTRY_POINTS: dict[str, Callable[[bytes, SignatureDump, Path], Any]] = {
    "decode": lambda data, *_: codec.decode(data),
    "decode msgpack": lambda data, *_: codec.decode(msgspec.msgpack.encode(msgspec.json.decode(data))),
    "verify": _verified,
    "validate": lambda _, dump, __: codec.validate(dump),
    "encode": lambda _, dump, __: codec.encode(dump),
    "encode version 2": lambda _, dump, __: refused_by_version_2(dump),
    "encode redacted": lambda _, dump, __: codec.encode(redacted(dump)),
    "encode msgpack": lambda _, dump, __: codec.encode(dump, format="msgpack"),
    "digest": lambda _, dump, __: [digest(entry.graph) for entry in dump.graphs[:1]],
    "diff": lambda _, dump, __: diff(dump, other(dump)),
    "diff exact": lambda _, dump, __: diff(other(dump), dump, policy="exact"),
    "diff arguments": lambda _, dump, __: diff(dump, given_others(dump)),
    "diff arguments exact": lambda _, dump, __: diff(given_others(dump), dump, policy="exact"),
    "diff functions": lambda _, dump, __: diff(dump, of_other_functions(dump)),
    "same exact": _same_as_other("exact"),
    "same share-updatable": _same_as_other("share-updatable"),
    "predict arguments": lambda _, dump, __: _predicted_others(dump),
    "predict": _predicted,
    "groups": lambda _, dump, __: group_dumps([dump]),
    "show": _show(),
    "show arguments": _show("--arguments"),
    "show attributes": _show("--attributes"),
    "show html": _show("--format", "html"),
    "show json": _show("--format", "json"),
    "show json arguments": _show("--format", "json", "--arguments"),
}


#: Each family at each entry point; where arguments are compared or shown, those that have some.
CASES = [
    (family, entry_point)
    for family in FAMILIES
    for entry_point in ENTRY_POINTS
    if "arguments" not in entry_point.split() or family in WITH_ARGUMENTS
]


@pytest.mark.parametrize(("family", "entry_point"), CASES)
def test_work_grows_with_the_size_of_a_document(
    family: str, entry_point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fault_list, "MAX_LISTED_VALUES", 16)  # so that every size is searched in parts
    call = ENTRY_POINTS[entry_point]
    counts, lengths = [], []
    for size in LARGER_SIZES.get(family, SIZES):
        data = encoded(FAMILIES[family](size))
        dump = codec.decode(data, expect=SignatureDump)
        call(data, dump, tmp_path)  # what is made once per process is made now
        counts.append(steps(partial(call, data, dump, tmp_path)))
        lengths.append(len(data) * log2(len(data)))
    assert counts[-1] <= FACTOR * lengths[-1]
    assert_grows_alike(counts, lengths)


@pytest.mark.parametrize("row", [{}, 1, {"node": "kernel"}, {"node": "memcpy", "source": {}}], ids=str)
def test_work_on_faulty_documents_grows_with_their_size(row: Any) -> None:
    counts, lengths = [], []
    for size in SIZES:
        value = FAMILIES["chain"](2) | {"nodes": [row] * (8 * size)}
        data = encoded(value)
        assert len(codec.faults(data)) > 1
        counts.append(steps(partial(codec.faults, data)))
        lengths.append(len(data) * log2(len(data)))
    assert_grows_alike(counts, lengths)
