"""groups: which graphs could share an executable, what parts the others, and what it saves."""

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from sigcontract.errors import NotComparableError, UsageError
from sigcontract.model.attributes import DeviceUpdatableNode
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.graph import ChildGraphNode, ConditionalNode, GraphSignature
from sigcontract.model.groups import GraphGroup, PolicyGroups
from sigcontract.model.nodes import MemAllocNode, MemFreeNode
from sigcontract.registry import SignatureRegistry
from sigcontract.registry.reasons import single_exec
from sigcontract.update import groups as engine
from sigcontract.update.groups import distinct_nodes, gaps, group_dumps
from tests.compare.dumps import dump, kernel, without_code
from tests.update.build import H200, cluster, graph, memset, value


def labelled(**graphs: GraphSignature) -> SignatureDump:
    entries = tuple(LabeledGraph(label=label, graph=each) for label, each in graphs.items())
    return replace(dump(), graphs=entries)


def one(found: Sequence[PolicyGroups]) -> PolicyGroups:
    (policy,) = found
    return policy


def names(group: GraphGroup) -> list[str]:
    return [name.label for name in group.members]


def shared(found: PolicyGroups) -> list[list[str]]:
    return [names(group) for group in found.groups if len(group.members) > 1]


def by_first(found: PolicyGroups) -> dict[str, GraphGroup]:
    return {names(group)[0]: group for group in found.groups}


SERVER = labelled(
    bs1=graph(kernel(grid=1)),
    bs2=graph(kernel(grid=2)),
    other=graph(kernel(name="other", func=0xF1)),
    clustered=graph(kernel(cluster(2))),
    fill=graph(memset()),
)


@pytest.mark.parametrize(
    ("policy", "groups", "executables"),
    [
        pytest.param("exact", [], 5, id="exact"),
        pytest.param("share", [["bs1", "bs2"]], 4, id="share"),
        pytest.param("share-functions", [["bs1", "bs2", "other"]], 3, id="share-functions"),
    ],
)
def test_each_policy_groups_what_it_calls_the_same(policy: str, groups: list[list[str]], executables: int) -> None:
    found = one(group_dumps([SERVER], [policy], H200))
    assert shared(found) == groups
    assert (found.graphs, found.executables, found.executables_saved) == (5, executables, 5 - executables)
    assert sorted(name for group in found.groups for name in names(group)) == sorted(
        ["bs1", "bs2", "other", "clustered", "fill"]
    )


def test_a_group_names_the_graph_it_comes_nearest_to_and_the_fields_that_keep_them_apart() -> None:
    missed = {
        label: (group.nearest.graph.label, [finding.rule for finding in group.nearest.findings])
        for label, group in by_first(one(group_dumps([SERVER], ["share"], H200))).items()
        if group.nearest is not None
    }
    assert missed["clustered"] == ("bs1", ["kernel.cluster-dim"])
    assert missed["other"] == ("bs1", ["kernel.function"])
    assert missed["bs1"] == ("clustered", ["kernel.cluster-dim"]), "of a group with several members too"


def test_a_graph_on_its_own_has_no_nearest() -> None:
    found = one(group_dumps([labelled(only=graph(kernel()))], ["share"], H200))
    assert found.groups[0].nearest is None


def alloc() -> GraphSignature:
    return graph(
        MemAllocNode(
            size_bytes=1024,
            address=0x7000,
            allocation_type=1,
            handle_types=0,
            location_type=1,
            location_id=0,
            accesses=(),
        ),
        kernel(cluster(0)),
    )


SINGLE: dict[str, Callable[[], GraphSignature]] = {
    "allocation": alloc,
    "free": lambda: graph(MemFreeNode(address=0x7000)),
    "in a child graph": lambda: child_of(alloc()),
    "updated by the device": lambda: graph(
        kernel(value(AttributeId.DEVICE_UPDATABLE_KERNEL_NODE, DeviceUpdatableNode(device_updatable=1, device_node=0)))
    ),
}


def child_of(inner: GraphSignature) -> GraphSignature:
    return graph(ChildGraphNode(graph=inner))


@pytest.mark.parametrize("policy", ["exact", "share", "share-functions"])
@pytest.mark.parametrize("case", SINGLE)
def test_a_graph_of_which_cuda_allows_one_executable_shares_none(policy: str, case: str) -> None:
    """As `GraphExecRegistry` and `SignatureRegistry` do."""
    twins = SINGLE[case](), SINGLE[case]()
    found = one(group_dumps([labelled(a=twins[0], b=twins[1])], [policy], H200))
    assert [[reason.rule for reason in group.alone] for group in found.groups] == [["graph.single-exec"]] * 2
    registry = SignatureRegistry(policy, H200)
    groups = [registry.register(twin) for twin in twins]
    assert groups[0] is not groups[1]
    assert [reason.rule for reason in registry.why_not(*groups)] == ["graph.single-exec"]
    assert single_exec(twins[0], distinct_nodes(twins[0])) is not None


@pytest.mark.parametrize("policy", ["share", "share-functions"])
def test_graphs_with_a_conditional_node_share_where_its_bodies_can_be_read(policy: str) -> None:
    """One executable at a time is allowed of each, and one is enough: updates carry everything out (measured)."""
    loops = [graph(ConditionalNode(kind=1, handle=None, bodies=(graph(kernel(grid=size)),))) for size in (1, 2)]
    assert shared(one(group_dumps([labelled(a=loops[0], b=loops[1])], [policy], H200))) == [["a", "b"]]
    unread = graph(ConditionalNode(kind=None, handle=None, bodies=None))
    found = one(group_dumps([labelled(a=unread, b=unread)], [policy], H200))
    assert [{reason.rule for reason in group.alone} for group in found.groups] == [{"conditional.unreadable"}] * 2


def test_two_processes_have_an_executable_each_whatever_the_nodes() -> None:
    twice = labelled(a=alloc())
    assert shared(one(group_dumps([twice, twice], ["portable"], H200))) == [["a", "a"]]


def test_the_flags_of_the_executables_decide() -> None:
    server = labelled(a=graph(kernel()), b=graph(kernel(value(AttributeId.PRIORITY, -1))))
    assert [one(group_dumps([server], ["share"], H200, flags=flags)).executables for flags in (0, 8)] == [1, 2]


@pytest.mark.parametrize("count", [150, 600])
def test_the_search_for_the_nearest_is_bounded_however_many_graphs_share_with_none(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compared in full: a few for each of the first groups. Looked at: every graph, for each of those."""
    calls = {"judged_same": 0, "_distance": 0}

    def counting(name: str) -> None:
        asked = getattr(engine, name)

        def call(*arguments: object) -> object:
            calls[name] += 1
            return asked(*arguments)

        monkeypatch.setattr(engine, name, call)

    lone = labelled(**{f"p{i}": graph(*(kernel(name=f"k{j}_{i}") for j in range(3))) for i in range(count)})
    counting("judged_same")
    counting("_distance")
    found = one(group_dumps([lone], ["exact"], H200))
    assert found.executables == count
    assert sum(group.nearest is not None for group in found.groups) == engine.NEAREST_GROUPS
    assert calls["judged_same"] == count + engine.NEAREST_GROUPS * engine.NEAREST_CANDIDATES
    assert calls["_distance"] == engine.NEAREST_GROUPS * count


def test_an_executable_is_shared_inside_of_one_process_only() -> None:
    """Equal handles of two processes are two functions; the policy portable compares processes."""
    found = {groups.policy: groups for groups in group_dumps([SERVER, SERVER], ["share", "portable"], H200)}
    assert all(len({name.dump for name in group.members}) == 1 for group in found["share"].groups)
    assert [[name.dump for name in group.members] for group in found["portable"].groups] == [[0, 1]] * 5
    assert found["portable"].executables_saved == found["portable"].memory_saved_bytes_high == 0


def test_what_is_unknown_is_grouped_with_nothing() -> None:
    twins = labelled(a=graph(without_code(kernel())), b=graph(without_code(kernel())))
    found = one(group_dumps([twins], ["portable"], H200))
    assert shared(found) == []
    assert {reason.rule for reason in found.groups[0].alone} == {"function.code-unknown"}


def test_memory_saved_is_reckoned_from_the_nodes_of_the_executables_that_go() -> None:
    stack = labelled(**{f"bs{size}": graph(*[kernel(grid=size)] * 264) for size in (1, 2, 3)})
    found = one(group_dumps([stack], ["share"], H200))
    assert found.memory_saved_bytes_low == 2 * 350_000
    assert found.memory_saved_bytes_high == 2 * 264 * 10_240


def test_a_profile_of_another_driver_is_refused() -> None:
    with pytest.raises(NotComparableError, match="is for CUDA driver 13000"):
        group_dumps([dump(cuda_driver_version=12080)], ["share"], H200)


def test_a_label_that_stands_for_two_graphs_is_refused() -> None:
    twice = replace(SERVER, graphs=SERVER.graphs * 2)
    with pytest.raises(NotComparableError) as caught:
        group_dumps([SERVER, twice], ["share"], H200)
    assert str(caught.value) == "dump 2 of 2 has 2 graphs labelled 'bs1'; give each graph its own label"
    assert caught.value.code == "label_repeated"


def test_dumps_that_cannot_speak_for_their_process_are_named() -> None:
    cut, empty = replace(SERVER, complete=False), replace(SERVER, graphs=())
    found = [(gap.dump, gap.rule) for gap in gaps([SERVER, cut, empty])]
    assert found == [(1, "dump.incomplete"), (2, "dump.empty")]


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(UsageError, match="no policy 'strict'"):
        group_dumps([SERVER], ["strict"])
