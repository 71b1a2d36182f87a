"""share-updatable: every walk through a group is safe, and the groups are the fewest."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from sigcontract.errors import UsageError
from sigcontract.model import (
    DriverProfile,
    FunctionFacts,
    GraphSignature,
    LabeledGraph,
    SignatureDump,
    UpdateResult,
    Verdict,
)
from sigcontract.model.cuda import AttributeId
from sigcontract.update import SHARE_UPDATABLE, ExecState, Grouping, NodeJudge, key, same, updatable
from sigcontract.update.predict import predict_update
from sigcontract.update.share_key import judged_alike_key, pairing_key
from sigcontract.update.updatable import Executables, FirstCome, fewest_executables
from sigcontract.wire import load
from tests.update.build import FACTS, H200, child, cluster, cooperative, graph, kernel, memset, value
from tests.update.test_cover import least_by_brute_force
from tests.update.test_exec_state import MEASURED_ELSEWHERE

EXAMPLES = Path(__file__).parents[2] / "examples"

#: One kernel in every way that the state of an executable tells apart: what an update stores, fixes and keeps.
KERNELS = st.builds(
    lambda blocks, func, grid, shared, on, carveout, facts: kernel(
        cluster(blocks),
        cooperative(on=on),
        value(AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT, carveout),
        name=f"probe{func:x}",
        func=func,
        grid=grid,
        shared=shared,
        function=facts,
    ),
    blocks=st.sampled_from((0, 1, 2, 4)),
    func=st.sampled_from((0xF1, 0xF2, 0xF3)),
    grid=st.sampled_from((4, 8, 8, 12)),
    shared=st.sampled_from((0, 0, 64)),
    on=st.sampled_from((False, False, False, True)),
    carveout=st.sampled_from((0, 0, 0, 50)),
    facts=st.sampled_from((FACTS, FACTS, FACTS, None)),
)
GRAPHS = st.one_of(
    KERNELS.map(graph),
    st.tuples(KERNELS, KERNELS).map(lambda two: graph(*two)),
    KERNELS.map(lambda node: graph(memset(), node)),
    KERNELS.map(lambda node: graph(child(node))),
)
FAMILIES = st.lists(GRAPHS, min_size=2, max_size=7)
PROFILES = st.sampled_from((H200, H200, MEASURED_ELSEWHERE, None))


def formed(graphs: Sequence[GraphSignature], profile: DriverProfile | None = H200) -> Grouping[LabeledGraph]:
    grouping: Grouping[LabeledGraph] = Grouping(SHARE_UPDATABLE, NodeJudge(profile, 0))
    for number, each in enumerate(graphs):
        grouping.add(LabeledGraph(label=str(number), graph=each))
    grouping.seal()
    return grouping


def groups(graphs: Sequence[GraphSignature], profile: DriverProfile | None = H200) -> list[list[int]]:
    return [[int(member.label) for member in group] for group in formed(graphs, profile).groups]


@given(graphs=FAMILIES, profile=PROFILES, choose=st.randoms(use_true_random=False))
@settings(derandomize=True, max_examples=400, deadline=None)
def test_every_walk_through_a_group_is_safe(
    graphs: list[GraphSignature], profile: DriverProfile | None, choose: Random
) -> None:
    """From any member, along any order, launched in between or not: the state of the executable proves each update."""
    for members in groups(graphs, profile):
        state = ExecState.instantiated(graphs[choose.choice(members)], profile)
        for _ in range(12 if len(members) > 1 else 0):
            if choose.random() < 0.6:
                state = state.used(launched=choose.random() < 0.9)
            candidate = graphs[choose.choice(members)]
            prediction = predict_update(state.held, candidate, profile, state)
            assert prediction.result is UpdateResult.SUCCESS
            assert prediction.verdict.safe, prediction.findings
            state = state.updated(candidate, profile)


@given(graphs=FAMILIES, profile=PROFILES, order=st.randoms(use_true_random=False))
@settings(derandomize=True, max_examples=200, deadline=None)
def test_the_groups_are_the_fewest_in_any_order_of_arrival(
    graphs: list[GraphSignature], profile: DriverProfile | None, order: Random
) -> None:
    grouping = formed(graphs, profile)
    alone = {int(group.representative.label) for group in grouping.groups if group.alone}
    others = [index for index in range(len(graphs)) if index not in alone]
    neighbours = [0] * len(others)
    for (i, a), (k, b) in combinations(enumerate(others), 2):
        if same(SHARE_UPDATABLE, graphs[a], graphs[b], profile).same:
            neighbours[i] |= 1 << k
            neighbours[k] |= 1 << i
    assert len(grouping.groups) == grouping.at_least
    assert len(grouping.groups) == len(alone) + (least_by_brute_force(neighbours) if others else 0)
    shuffled = list(graphs)
    order.shuffle(shuffled)
    assert len(groups(shuffled, profile)) == len(grouping.groups)


@given(graphs=FAMILIES, profile=PROFILES)
@settings(derandomize=True, max_examples=200, deadline=None)
def test_what_share_functions_calls_the_same_this_does(
    graphs: list[GraphSignature], profile: DriverProfile | None
) -> None:
    for a in graphs:
        for b in graphs:
            narrow, wide = (same(policy, a, b, profile) for policy in ("share-functions", SHARE_UPDATABLE))
            assert wide.same >= narrow.same
            assert wide.same == same(SHARE_UPDATABLE, b, a, profile).same
            assert wide.verdict.safe >= wide.same
            judge = NodeJudge(profile, 0)
            assert not wide.same or pairing_key(a, judge) == pairing_key(b, judge)


@given(graphs=st.lists(GRAPHS, min_size=3, max_size=3), profile=PROFILES)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_graphs_that_are_judged_alike_go_with_the_same_graphs(
    graphs: list[GraphSignature], profile: DriverProfile | None
) -> None:
    a, b, other = graphs
    judge = NodeJudge(profile, 0)
    if judged_alike_key(a, judge) == judged_alike_key(b, judge):
        assert same(SHARE_UPDATABLE, a, other, profile).same == same(SHARE_UPDATABLE, b, other, profile).same


def probe(blocks: int, func: int = 0xF1, *, grid: int = 8, facts: FunctionFacts | None = FACTS) -> GraphSignature:
    return graph(kernel(cluster(blocks), func=func, name=f"probe{func:x}", grid=grid, function=facts))


def test_another_function_with_its_own_cluster_and_grid_goes_along() -> None:
    two, four = probe(2), probe(4, 0xF2, grid=16)
    assert same(SHARE_UPDATABLE, two, four, H200) == ("share-updatable", True, Verdict.UPDATABLE, ())
    assert not same("share-functions", two, four, H200).same
    assert groups([two, four]) == [[0, 1]]


def test_graphs_that_each_go_with_a_third_only_need_two_executables() -> None:
    """The grid of the second is that of the first, the one of the third is not: what ran may stay or not."""
    two, four, eight = probe(2), probe(4, 0xF2), probe(4, 0xF3, grid=16)
    assert [same(SHARE_UPDATABLE, a, b, H200).same for a, b in ((two, four), (two, eight), (four, eight))] == [
        False,
        True,
        True,
    ]
    assert groups([two, four, eight]) == [[0], [1, 2]]
    (reason,) = same(SHARE_UPDATABLE, two, four, H200).reasons
    assert (reason.rule, reason.verdict) == ("kernel.cluster-carried", Verdict.UNDETERMINED)


def test_a_group_that_came_first_is_split_where_that_saves_one() -> None:
    first, second = probe(2, grid=8), probe(2, 0xF4, grid=16)
    with_first, with_second = probe(4, 0xF2, grid=16), probe(8, 0xF2, grid=8)
    assert same("share-functions", first, second, H200).same
    assert groups([first, second, with_first, with_second]) == [[0, 2], [1, 3]]


def test_it_has_no_key() -> None:
    with pytest.raises(UsageError) as caught:
        key(SHARE_UPDATABLE, probe(2), H200)
    assert str(caught.value) == "share-updatable has no key: it is not transitive; use same()"


def test_a_graph_with_an_unknown_goes_with_none() -> None:
    unknown = graph(kernel(func=0))
    assert groups([probe(2), unknown, unknown]) == [[0], [1], [2]]
    assert not same(SHARE_UPDATABLE, unknown, unknown, H200).same


def test_groups_of_other_load_epochs_stay_apart() -> None:
    graphs = [probe(2), probe(4, 0xF2, grid=16)]
    judge = NodeJudge(H200, 0)
    assert fewest_executables(graphs, [FirstCome((0,)), FirstCome((1,))], judge) == Executables(((0, 1),), 1)
    apart = [FirstCome((0,), separate="before"), FirstCome((1,), separate="after")]
    assert fewest_executables(graphs, apart, judge) == Executables(((0,), (1,)), 2)


def test_the_sizes_of_a_transformer_block_share_one_executable() -> None:
    """Where clusters and functions differ, so does the grid: no update depends on what else runs on the device."""
    dump = load(EXAMPLES / "torch-block.dump.json", expect=SignatureDump)
    graphs = [entry.graph for entry in dump.graphs]
    assert groups(graphs) == [list(range(len(graphs)))]
    assert len(groups(graphs, MEASURED_ELSEWHERE)) > 1


def test_of_many_graphs_whole_groups_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred sizes of three kernels, of which two have grids in common: those stay apart."""
    sizes = range(8, 808, 8)
    graphs = [probe(2, 0xF1, grid=size) for size in sizes]
    graphs += [probe(4, 0xF2, grid=size + 4) for size in sizes]
    graphs += [probe(4, 0xF3, grid=sizes[-1])]
    judged = 0

    def counted(held: ExecState, candidate: GraphSignature, judge: NodeJudge) -> bool:
        nonlocal judged
        judged += 1
        return predict_update(held.held, candidate, judge.profile, held).verdict.safe

    monkeypatch.setattr(updatable, "is_updatable", counted)
    found = formed(graphs)
    assert [len(group) for group in found.groups] == [100, 101]
    # One executable may be enough: of the first graphs of both groups an update is safe.
    assert found.at_least == 1
    assert judged < 33 * len(graphs)


def test_pairs_of_groups_are_not_gone_through_once_no_comparison_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of thousands of cooperative kernels is another function: no two go together, yet no pair costs a step."""
    joined = 0

    def counted(held: ExecState, candidate: GraphSignature, judge: NodeJudge) -> bool:
        return held.held is candidate and judge is not None

    def join(neighbours: list[int], a: int, b: int) -> None:
        nonlocal joined
        joined += 1
        neighbours[a] |= 1 << b
        neighbours[b] |= 1 << a

    monkeypatch.setattr(updatable, "is_updatable", counted)
    monkeypatch.setattr(updatable, "_join", join)
    monkeypatch.setattr(updatable, "_PER_GRAPH", 1)
    graphs = [graph(kernel(cooperative(on=True), name=f"probe{func}", func=func)) for func in range(1, 3000)]
    found = formed(graphs)
    assert len(found.groups) == len(graphs)
    assert 40 < found.at_least < 100
    assert joined < 100


def test_sizes_that_have_no_grid_in_common_are_put_together_however_many() -> None:
    graphs = [probe(2, 0xF1, grid=size) for size in range(8, 168, 8)]
    graphs += [probe(4, 0xF2, grid=size) for size in range(172, 332, 4)]
    found = formed(graphs)
    assert (len(found.groups), found.at_least) == (1, 1)
