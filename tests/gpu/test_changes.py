"""The prediction against the real driver, one change at a time."""

import pytest

from lab.changes import CHANGES, Change, step_of
from lab.rig import Rig
from sigcontract.driver import read_profile


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.words)
def test_a_change_is_answered_as_predicted_and_never_called_safe_where_it_is_not(rig: Rig, change: Change) -> None:
    step = step_of(rig, change, read_profile())
    predicted = step.prediction
    if predicted.result is None:
        assert not predicted.verdict.safe
    else:
        assert step.answer.is_predicted(predicted)
    assert step.honest or not predicted.verdict.safe, step.difference
