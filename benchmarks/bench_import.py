"""What starting costs: ``pytest benchmarks/bench_import.py``, beside an import of msgspec, which everything needs.

The goals are ratios, since processes start faster on one machine than on another: two imports of msgspec for
``import sigcontract``, three for ``sigcontract --version``. That nothing is loaded which need not be, tests hold
(`tests/architecture/test_imports.py`, `tests/cli/test_main.py`).
"""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

ROUNDS = 15

Benchmark = Callable[..., Any]


def start(*arguments: str) -> None:
    """Run Python to its end."""
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)  # noqa: S603  our own arguments


def seconds(*arguments: str) -> float:
    """Return the least time of a run: what else runs on a shared machine only adds."""
    taken = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        start(*arguments)
        taken.append(time.perf_counter() - begin)
    return min(taken)


@pytest.mark.parametrize(
    ("arguments", "goal"),
    [
        pytest.param(("-c", "import sigcontract"), 2, id="import"),
        pytest.param(("-m", "sigcontract", "--version"), 3, id="version"),
    ],
)
def test_starting_costs_no_more_than_a_few_imports_of_msgspec(
    benchmark: Benchmark, arguments: tuple[str, ...], goal: int
) -> None:
    """Measure, and hold the goal."""
    benchmark.pedantic(start, args=arguments, rounds=ROUNDS)  # type: ignore[attr-defined]
    assert seconds(*arguments) / seconds("-c", "import msgspec") <= goal
