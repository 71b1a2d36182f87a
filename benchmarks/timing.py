"""How the benchmarks of reading graphs time a walk over the nodes of a graph."""

import gc
from collections.abc import Callable
from time import perf_counter_ns

__all__ = ["microseconds"]


def microseconds(walk: Callable[[], object], nodes: int, rounds: int) -> list[float]:
    """Return microseconds per node of each round, the garbage collector at rest."""
    walk()
    times = []
    for _ in range(rounds):
        gc.collect()
        gc.disable()
        begin = perf_counter_ns()
        walk()
        times.append((perf_counter_ns() - begin) / 1000 / nodes)
        gc.enable()
    return sorted(times)
