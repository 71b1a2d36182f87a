"""The state of an executable, and predictions along its history."""

import msgspec
import pytest

from sigcontract.errors import UsageError
from sigcontract.model import DriverProfile, Finding, GraphSignature, UpdateResult, Verdict
from sigcontract.model.cuda import AttributeId
from sigcontract.update.exec_state import ExecState
from sigcontract.update.predict import predict_update
from tests.update.build import FACTS, H200, child, cluster, cooperative, graph, kernel, memset, without_value

#: The same facts under another id: what was measured of a driver that nobody ran the chains on.
MEASURED_ELSEWHERE = msgspec.structs.replace(H200, id="mine", exec_state="unknown")
CLUSTERS = msgspec.structs.replace(FACTS, cluster_size_must_be_set=1)


def state_after(*steps: GraphSignature | str, profile: DriverProfile | None = H200) -> ExecState:
    """Return the state after an instantiation and then updates, launches, uploads and ``other work``."""
    first, *others = steps
    assert isinstance(first, GraphSignature)
    state = ExecState.instantiated(first, profile)
    for step in others:
        if step == "other work":
            state = state.after_other_work()
        else:
            state = state.used(launched=step == "launch") if isinstance(step, str) else state.updated(step, profile)
    return state


def verdict(state: ExecState, candidate: GraphSignature, profile: DriverProfile | None = H200) -> Verdict:
    return predict_update(state.held, candidate, profile, state).verdict


def unsafe(state: ExecState, candidate: GraphSignature, profile: DriverProfile | None = H200) -> list[Finding]:
    found = predict_update(state.held, candidate, profile, state).findings
    return [finding for finding in found if not finding.verdict.safe]


def probe(blocks: int, *, func: int = 0xF1, grid: int = 8, on: bool = False) -> GraphSignature:
    """Return a graph of one kernel with that cluster, 0 for none."""
    return graph(kernel(cluster(blocks), cooperative(on=on), func=func, name=f"probe{func:x}", grid=grid))


TWO, FOUR = probe(2), probe(4)


def test_an_executable_that_never_ran_takes_another_cluster_but_not_none() -> None:
    assert verdict(state_after(TWO), FOUR) is Verdict.UPDATABLE
    assert verdict(state_after(TWO), probe(0)) is Verdict.STALE
    assert predict_update(TWO, FOUR, H200).verdict is Verdict.STALE  # without its history it may have run


@pytest.mark.parametrize("use", ["launch", "upload"])
def test_a_launch_or_an_upload_fixes_the_cluster_of_a_function(use: str) -> None:
    (found,) = unsafe(state_after(TWO, use), FOUR)
    assert (found.rule, found.verdict, found.old, found.new) == ("kernel.cluster-dim", Verdict.STALE, "2x1x1", "4x1x1")
    assert verdict(state_after(TWO, use, FOUR), TWO) is Verdict.UPDATABLE  # back to what it launches


def test_another_function_with_another_grid_launches_its_own_cluster() -> None:
    assert verdict(state_after(TWO, "launch"), probe(4, func=0xF2, grid=16)) is Verdict.UPDATABLE


def test_another_function_of_the_same_launch_dimensions_may_keep_the_old_cluster() -> None:
    state = state_after(TWO, "launch")
    (found,) = unsafe(state, probe(4, func=0xF2))
    assert (found.rule, found.verdict) == ("kernel.cluster-carried", Verdict.UNDETERMINED)
    # What it launched then is one of the two, and stays unknown as long as the function does not change again.
    after = state.updated(probe(4, func=0xF2), H200).used()
    assert {finding.rule for finding in unsafe(after, probe(4, func=0xF2, grid=16))} == {"kernel.cluster-carried"}
    assert verdict(after, probe(4, func=0xF3, grid=16)) is Verdict.UPDATABLE


def test_a_function_without_a_cluster_runs_with_the_last_one_that_was_stored() -> None:
    after = state_after(TWO, "launch", FOUR)  # launches 2, and stores 4
    (found,) = unsafe(after, probe(0, func=0xF2, grid=16))
    assert (found.verdict, found.old, found.new) == (Verdict.STALE, "4x1x1", "none")


def test_a_cluster_that_an_update_in_between_stored_is_not_what_ran() -> None:
    """An update that was not launched leaves nothing to keep; one that was uploaded may."""
    passed = probe(2, func=0xF2, grid=16)
    assert verdict(state_after(probe(4, grid=32), "launch", passed), probe(8, func=0xF3, grid=64)) is Verdict.UPDATABLE
    uploaded = state_after(probe(4, grid=32), "launch", passed, "upload")
    assert verdict(uploaded, probe(8, func=0xF3, grid=64)) is Verdict.UPDATABLE
    assert verdict(uploaded, probe(8, func=0xF3, grid=16)) is Verdict.UNDETERMINED
    assert verdict(uploaded, probe(8, func=0xF3, grid=32)) is Verdict.UNDETERMINED  # the launch before the upload


def test_a_kernel_does_not_run_where_the_grid_is_no_multiple_of_what_an_update_stored() -> None:
    """The driver answers SUCCESS to update and launch; seen in random walks on an H200, 2026-12-03."""
    state = state_after(probe(0, grid=8), "launch", probe(8, grid=8), "launch")  # launches without, and stores 8
    (found,) = unsafe(state, probe(0, grid=12))
    assert (found.rule, found.verdict, found.old, found.new) == ("kernel.cluster-dim", Verdict.STALE, "8x1x1", "none")
    assert verdict(state, probe(0, grid=16)) is Verdict.UPDATABLE
    assert verdict(state.updated(probe(0, grid=12), H200), probe(0, grid=12)) is Verdict.STALE


def test_the_function_of_a_cooperative_node_is_taken_with_another_grid() -> None:
    first = probe(0, on=True)
    assert verdict(state_after(first), probe(0, func=0xF2, on=True)) is Verdict.UPDATABLE
    launched = state_after(first, "launch")
    assert verdict(launched, probe(0, func=0xF2, grid=16, on=True)) is Verdict.UPDATABLE
    (found,) = unsafe(launched, probe(0, func=0xF2, on=True))
    assert (found.rule, found.verdict) == ("kernel.cooperative-function", Verdict.STALE)
    after = launched.updated(probe(0, func=0xF2, on=True), H200).used()
    (found,) = unsafe(after, probe(0, func=0xF2, grid=16, on=True))
    assert (found.rule, found.verdict) == ("kernel.cooperative-function", Verdict.UNDETERMINED)


OTHER, OTHER_COOPERATIVE = probe(4, func=0xF2), probe(0, func=0xF2, on=True)


@pytest.mark.parametrize("use", ["launch", "upload"])
def test_after_other_work_another_function_runs_with_its_own_cluster(use: str) -> None:
    assert verdict(state_after(TWO, use, "other work"), OTHER) is Verdict.UPDATABLE
    assert verdict(state_after(probe(0, on=True), use, "other work"), OTHER_COOPERATIVE) is Verdict.UPDATABLE
    # Work that runs after the update hides as much: what the next launch fixes is known.
    assert verdict(state_after(TWO, use, OTHER, "other work", "launch"), probe(4, func=0xF2, grid=16)).safe
    after = state_after(probe(0, on=True), use, OTHER_COOPERATIVE, "other work", "launch")
    assert verdict(after, probe(0, func=0xF2, grid=16, on=True)).safe


def test_other_work_changes_neither_what_a_function_fixed_nor_what_a_launch_may_have_run() -> None:
    assert verdict(state_after(TWO, "launch", "other work"), FOUR) is Verdict.STALE
    uncertain = state_after(TWO, "launch", OTHER, "launch", "other work")
    assert {finding.rule for finding in unsafe(uncertain, probe(4, func=0xF2, grid=16))} == {"kernel.cluster-carried"}
    cooperative_one = state_after(probe(0, on=True), "launch", OTHER_COOPERATIVE, "launch", "other work")
    assert {finding.rule for finding in unsafe(cooperative_one, OTHER_COOPERATIVE)} == {"kernel.cooperative-function"}


def test_no_cluster_is_one_block_but_for_a_function_that_needs_a_size() -> None:
    one = probe(1, grid=16, func=0xF2)
    found = predict_update(one, probe(0), H200, state_after(one, "launch")).findings
    assert [(f.rule, f.verdict) for f in found if "cluster" in f.rule] == [("kernel.cluster-one", Verdict.HARMLESS)]
    needs = graph(kernel(cluster(0), func=0xF3, name="probef3", function=CLUSTERS))
    assert [finding.rule for finding in unsafe(state_after(one, "launch"), needs)] == ["kernel.cluster-one"]


@pytest.mark.parametrize("profile", [None, MEASURED_ELSEWHERE])
def test_on_another_driver_a_history_proves_no_more_than_the_first_graph(profile: DriverProfile | None) -> None:
    """The model was measured under the shipped profile; elsewhere it fails closed, before the first launch too."""
    other = probe(4, func=0xF2, grid=16)
    for state in (state_after(TWO, profile=profile), state_after(TWO, "launch", profile=profile)):
        assert verdict(state, other, profile) is Verdict.STALE
        after = state.updated(other, profile)
        assert "exec.history" in {finding.rule for finding in unsafe(after, other, profile)}


def test_an_executable_of_unknown_history_proves_nothing() -> None:
    state = ExecState.unknown(TWO)
    prediction = predict_update(TWO, TWO, H200, state)
    assert (prediction.verdict, prediction.result) == (Verdict.UNDETERMINED, UpdateResult.SUCCESS)
    assert [finding.rule for finding in prediction.findings] == ["exec.history"]
    assert verdict(state.used().updated(TWO, H200), TWO) is Verdict.UNDETERMINED
    assert verdict(state_after(TWO), TWO) is Verdict.IDENTICAL


def test_an_update_that_is_not_followed_leaves_a_history_that_proves_nothing() -> None:
    hidden = graph(kernel(without_value(AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE)))
    state = state_after(graph(kernel()), "launch", hidden)
    assert state.unproven is not None
    assert state.unproven.what == "kernel.attribute-unknown"
    (found,) = unsafe(state, graph(kernel()))[:1]
    assert (found.rule, found.path, found.old) == ("exec.history", "nodes[0]", "kernel.attribute-unknown")


def test_an_update_that_should_have_been_refused_leaves_a_history_that_proves_nothing() -> None:
    state = state_after(TWO, "launch", graph(kernel(), kernel()))
    assert state.unproven is not None
    assert (state.unproven.what, state.held) == ("topology.node-count", graph(kernel(), kernel()))
    assert verdict(state, state.held) is Verdict.UNDETERMINED


def test_a_refused_update_is_reported_as_such_whatever_the_history() -> None:
    prediction = predict_update(TWO, graph(memset()), H200, ExecState.unknown(TWO))
    assert (prediction.verdict, prediction.result) == (Verdict.REJECTED, UpdateResult.ERROR_NODE_TYPE_CHANGED)


def test_nodes_are_followed_through_the_pairing_and_into_children() -> None:
    wide, narrow = kernel(cluster(4)), kernel(cluster(2), grid=16)
    held = graph(wide, narrow, memset(), edges=[[], [], [0, 1]])
    swapped = graph(narrow, wide, memset(), edges=[[], [], [1, 0]])
    assert verdict(state_after(held, "launch", swapped), held) is Verdict.IDENTICAL
    assert verdict(state_after(held, "launch"), graph(narrow, wide, memset(), edges=[[], [], [0, 1]])) is Verdict.STALE
    inside = unsafe(state_after(graph(child(*TWO.nodes)), "launch"), graph(child(*FOUR.nodes)))
    assert [finding.path for finding in inside] == ["nodes[0].graph.nodes[0].attributes[cluster_dimension]"]


def test_the_state_of_another_executable_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="another graph") as caught:
        predict_update(FOUR, TWO, H200, state_after(TWO))
    assert str(caught.value) == ("the exec of fixed holds another graph than held; pass held=fixed.held")
