"""groups: which graphs could share an executable, what parts the others, and what it saves."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from sigcontract.errors import NotComparableError, UsageError
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.graph import GraphSignature
from sigcontract.update.groups import GraphName, PolicyGroups, gaps, group_dumps
from tests.compare.dumps import dump, kernel, without_code
from tests.update.build import H200, cluster, graph, memset


def labelled(**graphs: GraphSignature) -> SignatureDump:
    entries = tuple(LabeledGraph(label=label, graph=each) for label, each in graphs.items())
    return replace(dump(), graphs=entries)


def one(found: Sequence[PolicyGroups]) -> PolicyGroups:
    (policy,) = found
    return policy


def names(group: Sequence[GraphName]) -> list[str]:
    return [name.label for name in group]


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
    assert [names(group) for group in found.groups] == groups
    assert (found.graphs, found.executables, found.executables_saved) == (5, executables, 5 - executables)
    assert sorted(names([lone.graph for lone in found.singletons])) == sorted(
        {"bs1", "bs2", "other", "clustered", "fill"} - {label for group in groups for label in group}
    )


def test_a_lone_graph_names_the_one_it_comes_nearest_to_and_the_fields_that_part_them() -> None:
    found = one(group_dumps([SERVER], ["share"], H200))
    missed = {
        lone.graph.label: (lone.nearest and lone.nearest.label, [reason.rule for reason in lone.reasons])
        for lone in found.singletons
    }
    assert missed["clustered"] == ("bs1", ["kernel.cluster-dim"])
    assert missed["other"] == ("bs1", ["kernel.function"])


def test_a_graph_on_its_own_has_no_nearest() -> None:
    found = one(group_dumps([labelled(only=graph(kernel()))], ["share"], H200))
    assert found.singletons[0].nearest is None


def test_an_executable_is_shared_inside_of_one_process_only() -> None:
    """Equal handles of two processes are two functions; the policy portable compares processes."""
    found = {groups.policy: groups for groups in group_dumps([SERVER, SERVER], ["share", "portable"], H200)}
    assert all(len({name.dump for name in group}) == 1 for group in found["share"].groups)
    assert [[name.dump for name in group] for group in found["portable"].groups] == [[0, 1]] * 5
    assert found["portable"].executables_saved == found["portable"].memory_saved_bytes_high == 0


def test_what_is_unknown_is_grouped_with_nothing() -> None:
    twins = labelled(a=graph(without_code(kernel())), b=graph(without_code(kernel())))
    found = one(group_dumps([twins], ["portable"], H200))
    assert found.groups == ()
    assert {reason.rule for reason in found.singletons[0].reasons} == {"function.code-unknown"}


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
    assert str(caught.value) == "dump 2 of 2 has 2 graphs labelled 'bs1'; give each graph a label of its own"
    assert caught.value.code == "label_repeated"


def test_dumps_that_cannot_speak_for_their_process_are_named() -> None:
    cut, empty = replace(SERVER, complete=False), replace(SERVER, graphs=())
    found = [(gap.dump, gap.rule) for gap in gaps([SERVER, cut, empty])]
    assert found == [(1, "dump.incomplete"), (2, "dump.empty")]


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(UsageError, match="no policy is called 'strict'"):
        group_dumps([SERVER], ["strict"])
