"""The prediction against the real driver, on random walks of updates. `lab.pairs` does thousands."""

import json

from examples.recording.calls import CallError
from lab.oracle import run_walk
from lab.pairs import Tally, random_walk
from lab.rig import Rig
from sigcontract.driver import read_graph, read_profile

WALKS = 300


def test_predictions_are_what_the_driver_answers_and_none_called_safe_runs_wrong(rig: Rig) -> None:
    profile, tally = read_profile(), Tally()
    not_built = 0
    for index in range(WALKS):
        walk = random_walk(2026, index)
        try:
            for update_index, step in enumerate(run_walk(rig, walk, read_graph, profile)):
                tally.add(step, walk, f"{index}/{update_index}")
        except CallError:
            not_built += 1
            assert rig.recover()

    assert tally.misses == [], json.dumps(tally.misses[:3], indent=1)
    assert not_built < WALKS // 20
    assert tally.counts["launch/safe, ran right"] > WALKS // 4
    assert tally.counts["launch/stale, ran wrong"] > WALKS // 50
    assert tally.counts["refused/exec unchanged"] > WALKS // 8
