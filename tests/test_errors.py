"""Errors locate what they are about."""

import pytest
from hypothesis import given, strategies as st

from sigcontract.errors import RecordError
from sigcontract.wire.decoder_errors import step
from tests.strategies import LAWS


@LAWS
@given(st.lists(st.text(max_size=4) | st.integers(0, 2**31), max_size=6))
def test_a_location_is_the_steps_that_a_path_was_made_of(steps: list[str | int]) -> None:
    path = "$" + "".join(map(step, steps))
    assert RecordError("wrong", path=path).location == tuple(steps)


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("$", ""),
        ("$.graphs[3].nodes[0]", "/graphs/3/nodes/0"),
        ('$.extensions["a/b~c"].x', "/extensions/a~1b~0c/x"),
        ("$.extensions[...].x", "/extensions"),  # msgspec leaves a key out: an enclosing value
        ("$.extensions." + "x" * 300, "/extensions"),  # a path that is cut
        ("$.extensions.a." + "y." * 150 + "z", "/extensions/a" + "/y" * 59),
    ],
)
def test_a_pointer_leads_to_the_value_or_to_one_around_it(path: str, pointer: str) -> None:
    assert RecordError("wrong", path=path).pointer == pointer
