"""Recorded histories of executables: no launch that a prediction along its history calls safe was wrong.

Measured on an H200, driver 580.159.04, 2026-12-02: chains of updates, launches and uploads of one kernel node, with
other work on the device and with none. `lab.histories` counts over all of them.
"""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from lab.histories import exec_state_histories, rule_histories, summary, tally
from sigcontract.driver import read_graph
from sigcontract.model import UpdateResult, Verdict
from sigcontract.update import ExecState, predict_update
from tests.driver.test_described_graphs import FakeGround, built
from tests.update.build import H200
from tests.update.test_exec_state import MEASURED_ELSEWHERE

RESULTS = Path(__file__).parents[2] / "lab" / "results"
#: Walks of `lab.pairs` in which a launch was wrong that the history called safe until the grid was held against what an
#: update had stored: seed, number and update, and how the walk begins.
WALKS = [
    tuple(miss)
    for name in ("pairs-quiet-h200-2026-12-03.json", "pairs-h200-2026-12-03.json")
    for miss in json.loads((RESULTS / name).read_text(encoding="utf-8"))["called safe by history but wrong"]
]


@pytest.fixture(scope="module")
def chains() -> Counter[str]:
    """Count over the recorded chains, all the exceptions to the state model among them, and 1,500 more."""
    return tally(exec_state_histories(seeds={5: 1500}), H200)


def test_no_wrong_launch_of_a_chain_is_called_safe(chains: Counter[str]) -> None:
    assert chains["called safe, ran wrong"] == 0
    assert chains["not called safe, ran wrong"] > 300


def test_what_is_not_proven_is_what_depends_on_other_work(chains: Counter[str]) -> None:
    rules = {key.removeprefix("not called safe by ").partition(",")[0] for key in chains if " by " in key}
    assert {rule for combination in rules for rule in combination.split("+")} == {
        "kernel.cluster-carried",
        "kernel.cluster-dim",
        "kernel.cluster-one",
        "kernel.cooperative-function",
    }
    good = chains["called safe, ran right"] + chains["not called safe, ran right"]
    assert chains["called safe, ran right"] > 0.9 * good  # in chains that are made to ask for what is not proven


def test_the_updates_that_the_model_was_found_on_come_out_the_same() -> None:
    counts = tally(rule_histories(), H200)
    assert summary(counts) == {
        "launches after an update": 4549,
        "called safe, ran wrong": 0,
        "not called safe, ran right": 768,
        "of what ran right, not called safe (percent)": 22.06,
    }


def test_on_another_driver_nothing_wrong_is_called_safe_either() -> None:
    counts = tally(exec_state_histories(), MEASURED_ELSEWHERE)
    assert counts["called safe, ran wrong"] == 0
    assert counts["called safe, ran right"] > 50


def test_the_random_walks_hold_what_they_showed() -> None:
    assert len(WALKS) == 25


@pytest.mark.parametrize(("location", "start"), WALKS)
def test_a_kernel_that_did_not_run_is_called_stale(location: str, start: str) -> None:
    seed, number, last = map(int, location.replace("/", ":").split(":"))
    pairs = pytest.importorskip("lab.pairs", reason="needs cuda-bindings", exc_type=ImportError)
    walk = pairs.random_walk(seed, number)
    assert walk.start == start
    ground = FakeGround()
    graphs = [built(ground, replace(spec, captured=False)) for spec in walk.specs]
    first, *others = [read_graph(graph.handle, driver=ground.driver) for graph in graphs]
    state = ExecState.instantiated(first, H200, flags=walk.flags)
    if start != "nothing":
        state = state.used(launched=start == "launch")
    prediction = None
    for candidate in others[: last + 1]:
        prediction = predict_update(state.held, candidate, H200, state, flags=walk.flags)
        if prediction.result is UpdateResult.SUCCESS:
            state = state.updated(candidate, H200, flags=walk.flags)
            state = state.used() if walk.launch_between else state
    assert prediction is not None
    assert prediction.verdict is Verdict.STALE
