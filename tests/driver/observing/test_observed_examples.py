"""What the dumps of programs that were recorded unchanged hold, and what the policies make of it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import sigcontract as sc
from sigcontract.model.attributes import ClusterDim
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dump import SignatureDump
from sigcontract.model.findings import DumpDiff
from sigcontract.model.graph import GraphSignature
from sigcontract.model.nodes import KernelNodeSignature
from sigcontract.model.profile import DriverProfile
from sigcontract.profiles import shipped_profile
from sigcontract.update.policies import same

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "observed"
NAMES = sorted(path.name.removesuffix(".dump.json") for path in FOLDER.glob("*.dump.json"))
H200 = shipped_profile("nvidia-h200-cuda-13.0")


def load(name: str) -> SignatureDump:
    dump = sc.load(FOLDER / f"{name}.dump.json")
    assert isinstance(dump, SignatureDump)
    return dump


def graphs(name: str) -> list[GraphSignature]:
    return [entry.graph for entry in load(name).graphs]


def diff(old: str, new: str) -> DumpDiff:
    return sc.diff(load(old), load(new), H200)


@pytest.mark.parametrize("name", NAMES)
def test_every_recording_is_whole_and_knows_every_attribute_and_all_code(name: str) -> None:
    dump = load(name)
    assert dump.complete
    assert dump.extensions["sigcontract.record"]["problems"] == []
    assert (dump.environment.hostname, dump.environment.process_id) == (None, None)
    for graph in graphs(name):
        for node in graph.kernel_nodes:
            unknown = {entry.id for entry in node.attributes if entry.state == "unreadable"}
            assert unknown == {AttributeId.SYNCHRONIZATION_POLICY}
            assert node.function is not None
            assert node.function.code_sha256 is not None


def test_a_preferred_cluster_is_known_and_known_not_to_be_there() -> None:
    without, preferred = (graph.kernel_nodes[0] for graph in graphs("preferred-cluster"))
    assert without.preferred_cluster_dim is None
    assert preferred.attribute_value(AttributeId.PREFERRED_CLUSTER_DIMENSION) == ClusterDim(x=4, y=1, z=1)


def test_two_triton_kernels_of_one_name_differ_in_nothing_but_their_code() -> None:
    (graph,) = diff("triton-scale-2", "triton-scale-3").graphs
    assert [finding.rule for finding in graph.findings] == ["function.code"]


def test_two_ranks_that_did_the_same_are_the_same() -> None:
    first, second = load("two-ranks"), load("two-ranks-1")
    assert {first.environment.rank, second.environment.rank} == {0, 1}
    assert [graph.findings for graph in diff("two-ranks", "two-ranks-1").graphs] in ([], [()])
    assert same("portable", first.graphs[0].graph, second.graphs[0].graph, H200).same


def executables(policy: str, captured: list[GraphSignature], profile: DriverProfile | None) -> int:
    """Return how many executables serve the graphs."""
    leaders: list[GraphSignature] = []
    for graph in captured:
        if not any(same(policy, leader, graph, profile).same for leader in leaders):
            leaders.append(graph)
    return len(leaders)


def as_on_blackwell(graph: GraphSignature) -> GraphSignature:
    """Return the graph as if its code were for compute capability 10.0, where preferred clusters have an effect."""
    nodes = []
    for node in graph.nodes:
        assert isinstance(node, KernelNodeSignature)
        assert node.function is not None
        nodes.append(replace(node, function=replace(node.function, binary_version=100)))
    return replace(graph, nodes=tuple(nodes))


def test_where_preferred_clusters_have_an_effect_observation_lets_functions_share() -> None:
    observed = [as_on_blackwell(graph) for graph in graphs("torch-block")]
    unseen = sc.load(FOLDER.parent / "torch-block.dump.json")
    assert isinstance(unseen, SignatureDump)
    assert executables("share-functions", [as_on_blackwell(entry.graph) for entry in unseen.graphs], None) == 6
    assert executables("share-functions", observed, None) == 3


def test_on_the_measured_driver_clusters_alone_part_the_batches() -> None:
    assert executables("share", graphs("torch-block"), H200) == 6
    assert executables("share-functions", graphs("torch-block"), H200) == 3
