"""How much work a call is, counted instead of timed: the same on every machine, however busy."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["grows_with_its_input", "lines_run"]

#: Twice the input may cost this many times the work: twice, and something for a logarithm. Four would be the square.
_MOST_GROWTH = 2.5


def lines_run(call: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs. What C does in one of them is not seen."""
    lines = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()  # a measurement of coverage, where there is one
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


def grows_with_its_input(prepare: Callable[[int], Callable[[], object]], size: int) -> None:
    """Assert that a call on an input twice the size is about twice the work, not the square of it.

    ``prepare`` makes the input of a size, which is not counted, and returns the call. It is called once before, so
    that caches and lazy imports are filled.
    """
    prepare(size)()
    once, twice = lines_run(prepare(size)), lines_run(prepare(2 * size))
    assert once > size, "the size is too small to show in the work"
    assert twice < _MOST_GROWTH * once
