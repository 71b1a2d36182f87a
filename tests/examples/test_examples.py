"""The recorded examples: whole, small, free of the machine they come from, and true to the origin's two checks."""

import gzip
from pathlib import Path

import pytest

import sigcontract as sc
from sigcontract.driver import shipped_profile
from sigcontract.model.cuda import UpdateResult
from sigcontract.model.dump import SignatureDump
from sigcontract.model.findings import Verdict
from sigcontract.model.function import FunctionFacts
from sigcontract.update.policies import same
from sigcontract.update.predict import predict_update
from sigcontract.wire.canonical import portable_digest
from sigcontract.wire.codec import faults, load

PROFILE = shipped_profile("nvidia-h200-cuda-13.0")
EXAMPLES = Path(__file__).parents[2] / "examples"
DUMPS = sorted(EXAMPLES.glob("*.dump.json"))
FIRST_VERSION = sorted(EXAMPLES.glob("*.v1.json*"))
NAMES = {
    "clusters",
    "compile",
    "nodes",
    "torch-block",
    "triton-scale-2",
    "triton-scale-3",
    "two-modules",
}
BATCHES = (1, 2, 4, 8, 16, 32)


def _dump(name: str) -> SignatureDump:
    dump = load(EXAMPLES / f"{name}.dump.json")
    assert isinstance(dump, SignatureDump)
    return dump


def test_every_example_is_here() -> None:
    assert {path.name.removesuffix(".dump.json") for path in DUMPS} == NAMES
    assert {path.name.partition(".v1.json")[0] for path in FIRST_VERSION} == NAMES - {"nodes"}  # it has kernels only


@pytest.mark.parametrize("path", [*DUMPS, *FIRST_VERSION], ids=lambda path: path.name)
def test_an_example_has_no_fault(path: Path) -> None:
    data = path.read_bytes()
    assert faults(gzip.decompress(data) if path.suffix == ".gz" else data) == []


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.name)
def test_an_example_says_what_recorded_it_and_not_where(path: Path) -> None:
    dump = load(path)
    assert isinstance(dump, SignatureDump)
    assert (dump.environment.hostname, dump.environment.process_id) == (None, None)
    assert [device.name for device in dump.environment.devices] == ["NVIDIA H200"]
    assert dump.complete
    assert dump.profile == PROFILE.id
    text = path.read_text()
    assert "/home" not in text
    assert "/root" not in text


@pytest.mark.parametrize("path", FIRST_VERSION, ids=lambda path: path.name)
def test_version_1_of_an_example_gives_the_same_launches(path: Path) -> None:
    old, new = load(path), _dump(path.name.partition(".v1.json")[0])
    assert isinstance(old, SignatureDump)
    assert [entry.label for entry in old.graphs] == [entry.label for entry in new.graphs]
    for before, after in zip(old.graphs, new.graphs, strict=True):
        assert len(before.graph.nodes) == len(after.graph.nodes)
        for ours, theirs in zip(before.graph.kernel_nodes, after.graph.kernel_nodes, strict=True):
            assert (ours.name, ours.grid_dim, ours.block_dim) == (theirs.name, theirs.grid_dim, theirs.block_dim)
            assert ours.dynamic_shared_mem_bytes == theirs.dynamic_shared_mem_bytes
            assert ours.cluster_dim == theirs.cluster_dim
            assert (ours.func, ours.kern, ours.function) == (0, 0, None)


def test_a_stack_of_24_blocks_takes_few_bytes_a_node(tmp_path: Path) -> None:
    dump = _dump("torch-block")
    nodes = sum(len(entry.graph.nodes) for entry in dump.graphs)
    assert [entry.label for entry in dump.graphs] == [f"decode/bs={batch}" for batch in BATCHES]
    assert nodes > 1000
    assert (EXAMPLES / "torch-block.dump.json").stat().st_size <= 48 * nodes
    sc.save(dump, tmp_path / "torch-block.json.zst")
    assert (tmp_path / "torch-block.json.zst").stat().st_size <= 10 * nodes


def test_captures_of_the_same_kernel_are_equal() -> None:
    dump = _dump("two-modules")
    first, again = dump.graph("first"), dump.graph("first again")
    assert first == again
    assert same("exact", first, again, PROFILE).same
    assert predict_update(first, again, PROFILE).verdict is Verdict.IDENTICAL


def test_one_image_in_two_modules_is_two_functions_and_one_portable_signature() -> None:
    dump = _dump("two-modules")
    first, second = dump.graph("first"), dump.graph("second")
    assert first != second
    assert not same("exact", first, second, PROFILE).same
    assert not same("share", first, second, PROFILE).same
    assert [node.name for node in first.kernel_nodes] == [node.name for node in second.kernel_nodes]
    assert portable_digest(first) == portable_digest(second)


def test_triton_kernels_of_one_name_are_distinguished_by_their_code_alone() -> None:
    (two,), (three,) = (_dump(f"triton-scale-{factor}").graphs[0].graph.kernel_nodes for factor in (2, 3))
    assert (two.name, two.grid_dim, two.block_dim) == (three.name, three.grid_dim, three.block_dim)
    assert two.attributes == three.attributes
    assert two.function is not None
    assert three.function is not None
    names = [name for name in FunctionFacts.__struct_fields__ if name != "code_sha256"]
    assert [getattr(two.function, name) for name in names] == [getattr(three.function, name) for name in names]
    assert None not in (two.function.code_sha256, three.function.code_sha256)
    assert two.function.code_sha256 != three.function.code_sha256
    assert sc.diff(_dump("triton-scale-2"), _dump("triton-scale-3")).verdict not in {
        Verdict.IDENTICAL,
        Verdict.HARMLESS,
    }


@pytest.mark.parametrize("held", ["cluster none", "cluster 2", "cluster 4"])
@pytest.mark.parametrize("candidate", ["cluster none", "cluster 2", "cluster 4"])
def test_an_update_to_another_cluster_is_accepted_and_stale(held: str, candidate: str) -> None:
    dump = _dump("clusters")
    prediction = predict_update(dump.graph(held), dump.graph(candidate), PROFILE)
    assert prediction.result is UpdateResult.SUCCESS
    assert prediction.verdict is (Verdict.IDENTICAL if held == candidate else Verdict.STALE)


def test_every_kind_of_node_is_recorded() -> None:
    kinds = {type(node).__name__ for entry in _dump("nodes").graphs for _, node in entry.graph.walk()}
    assert kinds == {
        "BatchMemOpNode",
        "ChildGraphNode",
        "ConditionalNode",
        "EmptyNode",
        "EventRecordNode",
        "EventWaitNode",
        "HostNode",
        "KernelNodeSignature",
        "MemAllocNode",
        "MemFreeNode",
        "MemcpyNode",
        "MemsetNode",
    }
    (_, edges) = _dump("nodes").graph("programmatic edge").dependencies
    assert [(edge.from_port, edge.type) for edge in edges] == [(1, 1)]
    assert [edge.node for edge in _dump("nodes").graph("fork and join").dependencies[4]] == [3, 1, 2]
