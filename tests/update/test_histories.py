"""Recorded histories of executables: no launch that a prediction along its history calls safe was wrong.

Measured on an H200, driver 580.159.04, 2026-12-02: chains of updates, launches and uploads of one kernel node, with
other work on the device and with none. `lab.histories` counts over all of them.
"""

from collections import Counter

import pytest

from lab.histories import exec_state_histories, rule_histories, summary, tally
from tests.update.build import H200
from tests.update.test_exec_state import MEASURED_ELSEWHERE


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
