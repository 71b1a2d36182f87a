"""Groups of recorded graphs."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sigcontract.errors import RecordError, RegistryError, UsageError
from sigcontract.model.attributes import ClusterDim
from sigcontract.model.cuda import AttributeId
from sigcontract.model.graph import GraphSignature
from sigcontract.model.nodes import EmptyNode, KernelNodeSignature, OpaqueNode
from sigcontract.registry import GroupStats, SignatureRegistry
from sigcontract.update import grouping
from sigcontract.update.policies import PolicyAnswer, judged_same
from tests.update.arguments import given as given_arguments, scalar
from tests.update.build import BLACKWELL, H200, cluster, edge, graph, kernel, value

#: What the measured driver gives for a plain launch, and the rest known too: no profile is needed to compare these.
KNOWN = (
    value(AttributeId.PREFERRED_CLUSTER_DIMENSION, ClusterDim(x=0, y=0, z=0)),
    value(AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING, 0),
    value(AttributeId.PORTABLE_CLUSTER_SIZE_MODE, 0),
    value(AttributeId.SHARED_MEMORY_MODE, 0),
)


def known(**fields: Any) -> KernelNodeSignature:
    """Return a kernel node of which everything is known."""
    return kernel(*KNOWN, **fields)


def test_equal_graphs_fall_into_one_group_and_the_same_object_comes_back() -> None:
    registry = SignatureRegistry()
    first = registry.register(graph(known()), "a")
    second = registry.register(graph(known()), "b")
    assert first is second
    assert [member.label for member in first] == ["a", "b"]
    assert first.representative.label == "a"
    assert registry.why_not(first, second) == ()


def test_a_namesake_with_another_handle_is_another_group_and_the_reason_names_the_node() -> None:
    """The repair of the origin: name, dims, shared memory and readable attributes are no identity."""
    registry = SignatureRegistry()
    first, second = registry.register(graph(known())), registry.register(graph(known(func=0x80)))
    assert first is not second
    (reason,) = registry.why_not(first, second)
    assert reason.path.startswith("nodes[0]")


def test_groups_keep_the_order_of_first_arrival() -> None:
    registry = SignatureRegistry()
    for width in (3, 1, 2, 1, 3):
        registry.register(graph(known(grid=width)))
    nodes = [group.representative.graph.nodes[0] for group in registry.groups]
    assert [node.grid_dim.x for node in nodes if isinstance(node, KernelNodeSignature)] == [3, 1, 2]
    assert [group.index for group in registry.groups] == [0, 1, 2]
    assert [len(group) for group in registry.groups] == [2, 2, 1]
    assert len(registry) == 3


def test_a_graph_without_a_label_is_called_by_its_number() -> None:
    registry = SignatureRegistry()
    registry.register(graph(known()))
    assert registry.register(graph(EmptyNode())).representative.label == "#1"


def test_a_graph_with_an_opaque_node_is_its_own_group_each_time_with_the_reason() -> None:
    registry = SignatureRegistry()
    opaque = graph(OpaqueNode(type=99))
    found = [registry.register(opaque), registry.register(opaque), registry.register(graph(OpaqueNode(type=99)))]
    assert [group.index for group in found] == [0, 1, 2]
    assert all(group.alone for group in found)
    assert registry.stats().singletons == 3


def test_an_attribute_that_nobody_can_read_keeps_a_graph_alone_under_share() -> None:
    """The preferred cluster cannot be read. Code for compute capability 9.0 proves that there it has no effect."""
    registry = SignatureRegistry("share")
    newer = kernel(function=BLACKWELL)
    first = registry.register(graph(newer))
    assert "nodes[0].attributes[preferred_cluster_dimension]" in {finding.path for finding in first.alone}
    assert registry.register(graph(newer)) is not first
    assert registry.register(graph(kernel())) is registry.register(graph(kernel()))


def test_counts_are_of_graphs_groups_singletons_and_the_largest_group() -> None:
    registry = SignatureRegistry()
    assert registry.stats() == GroupStats(graphs=0, groups=0, singletons=0, largest=0)
    for width in (1, 1, 1, 2):
        registry.register(graph(known(grid=width)))
    assert registry.stats() == GroupStats(graphs=4, groups=2, singletons=1, largest=3)


def test_the_report_names_singletons_and_what_they_missed_by() -> None:
    registry = SignatureRegistry()
    registry.register(graph(known(), EmptyNode()), "pair")
    registry.register(graph(known(), EmptyNode()), "pair again")
    registry.register(graph(known(grid=9), EmptyNode()), "wider")
    report = registry.report()
    assert [(group.label, group.size, group.nodes) for group in report.groups] == [("pair", 2, 2), ("wider", 1, 2)]
    assert report.singletons == (1,)
    (miss,) = report.nearest
    assert (miss.group, miss.other) == (1, 0)
    assert [finding.path for finding in miss.findings] == ["nodes[0].grid_dim"]


def test_the_nearest_miss_is_the_group_with_the_fewest_differences() -> None:
    registry = SignatureRegistry()
    registry.register(graph(known(grid=1), known(grid=2)), "two away")
    registry.register(graph(known(grid=5), known(grid=9)), "one away")
    registry.register(graph(known(grid=5), known(grid=6)), "subject")
    assert registry.report().nearest[-1].other == 1


def test_the_graph_with_the_most_nodes_in_common_is_the_closest_match() -> None:
    registry = SignatureRegistry()
    for length in (1, 4, 5):
        registry.register(graph(*(known() for _ in range(length))))
    (_, _, last) = registry.report().nearest
    assert last.other == 1


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with every comparison that a registry asks the policy for."""
    asked: list[str] = []

    def counted(policy: str, *arguments: Any) -> PolicyAnswer:
        asked.append(policy)
        return judged_same(policy, *arguments)

    monkeypatch.setattr(grouping, "judged_same", counted)
    return asked


def test_the_search_for_misses_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = SignatureRegistry()
    for width in range(200):
        registry.register(graph(known(grid=width + 1)))
    asked = _counted(monkeypatch)
    report = registry.report(nearest=5)
    assert len(report.nearest) == 5
    assert len(asked) <= 5 * grouping.NEAREST_CANDIDATES


def test_a_registration_asks_for_as_many_comparisons_with_many_groups_as_with_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = SignatureRegistry()
    asked = _counted(monkeypatch)
    costs = []
    for width in range(300):
        before = len(asked)
        registry.register(graph(known(grid=width + 1)))
        costs.append(len(asked) - before)
    assert len(set(costs)) == 1


@pytest.mark.parametrize(
    ("invalid", "path"),
    [
        (graph(known(func=-1)), "$.nodes[0].func"),
        (graph(known(), known(shared="1")), "$.nodes[1].dynamic_shared_mem_bytes"),
        (
            GraphSignature(
                nodes=(EmptyNode(), EmptyNode()),
                dependencies=((), (edge(0, 256),)),
            ),
            "$.dependencies[1][0].from_port",
        ),
    ],
)
def test_an_invalid_record_is_refused_with_its_path_and_the_registry_goes_on(
    invalid: GraphSignature, path: str
) -> None:
    registry = SignatureRegistry()
    registry.register(graph(known(), EmptyNode()))
    for _ in range(2):
        with pytest.raises(RecordError) as caught:
            registry.register(invalid)
        assert caught.value.path == path
    assert registry.stats().graphs == 1
    assert registry.register(graph(known(), EmptyNode())).index == 0


def test_what_is_no_signature_is_refused() -> None:
    with pytest.raises(UsageError, match="register takes a GraphSignature, not int; read_graph makes one"):
        SignatureRegistry().register(7)  # type: ignore[arg-type]  # the mistake that is tested


def test_an_unknown_policy_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(
        UsageError, match="no policy 'same'; policies: exact, share, share-functions, share-updatable, portable"
    ):
        SignatureRegistry("same")


def test_a_profile_or_policy_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match=r"profile must be a DriverProfile, not str; .*shipped_profile\(id\) or"):
        SignatureRegistry("share", "nvidia-h200-cuda-13.0")  # type: ignore[arg-type]  # the mistake that is tested
    with pytest.raises(UsageError, match="policy must be a str, not DriverProfile"):
        SignatureRegistry(H200, "share")  # type: ignore[arg-type]  # likewise


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 2)), max_size=12))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_two_graphs_are_in_one_group_exactly_where_they_are_equal(shapes: list[tuple[int, int]]) -> None:
    registry = SignatureRegistry()
    graphs = [graph(*(known(grid=width) for _ in range(length))) for width, length in shapes]
    found = [registry.register(graph) for graph in graphs]
    for i, a in enumerate(graphs):
        for j, b in enumerate(graphs):
            assert (found[i] is found[j]) == (a == b)


def test_sealing_puts_groups_together_that_are_proven_updatable() -> None:
    registry = SignatureRegistry("share-updatable", H200)
    two = graph(kernel(cluster(2), func=0xF1, name="two", grid=8))
    other_grid = graph(kernel(cluster(2), func=0xF1, name="two", grid=16))
    four = graph(kernel(cluster(4), func=0xF2, name="four", grid=32))
    for label, each in (("two", two), ("four", four), ("two again", other_grid), ("unknown", graph(kernel(func=0)))):
        registry.register(each, label)
    assert [[member.label for member in group] for group in registry.groups] == [
        ["two", "two again"],
        ["four"],
        ["unknown"],
    ]
    registry.seal()
    registry.seal()
    assert [[member.label for member in group] for group in registry.groups] == [
        ["two", "four", "two again"],
        ["unknown"],
    ]
    assert (registry.stats().groups, len(registry), registry.report().singletons) == (2, 2, (1,))
    assert registry.groups[1].alone
    with pytest.raises(RegistryError, match="the registry is sealed") as caught:
        registry.register(two)
    assert caught.value.code == "sealed"
    with pytest.raises(RegistryError, match="the registry is sealed"):
        registry.register_alone(two, "alone", ())


@pytest.mark.parametrize("policy", ["exact", "share", "share-functions", "portable"])
def test_sealing_changes_no_group_of_an_equivalence(policy: str) -> None:
    registry = SignatureRegistry(policy, H200)
    found = [registry.register(graph(kernel(grid=grid)), str(grid)) for grid in (8, 16, 8)]
    before = registry.groups
    registry.seal()
    assert registry.groups == before
    assert {id(group) for group in found} == {id(group) for group in registry.groups}


@pytest.mark.parametrize(("policy", "groups"), [("exact", 3), ("share", 1), ("share-functions", 1), ("portable", 3)])
def test_graphs_that_differ_in_arguments_alone_share(policy: str, groups: int) -> None:
    registry = SignatureRegistry(policy, H200)
    node = kernel(value(AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING, 0, observed=True))
    for each in (node, given_arguments(node, scalar(16)), given_arguments(node, scalar(32))):
        registry.register(graph(each))
    assert len(registry) == groups
