"""Ranks in range notation."""

from collections.abc import Iterable, Iterator, Sequence

__all__ = ["missing_ranks", "ranges", "with_noun"]


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers as ascending ranges: ``0-11,13-63``."""
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in _stretches(sorted(set(numbers)))
    )


def with_noun(ranks: str) -> str:
    """Return ranges with their noun: ``rank 3``, ``ranks 0-2,5``."""
    return f"{'rank' if ranks.isdecimal() else 'ranks'} {ranks}"


def missing_ranks(present: Iterable[int], world_size: int) -> str:
    """Return the ranks below the world size that are absent, as ranges.

    The world size comes from a file, so the cost depends on the ranks present alone.
    """
    ascending = sorted(set(present) | {world_size})
    holes = []
    begin = 0
    for rank in ascending:
        if begin < rank <= world_size:
            holes.append((begin, rank - 1))
        begin = rank + 1
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in holes)


def _stretches(ascending: Sequence[int]) -> Iterator[tuple[int, int]]:
    begin = 0
    for end in range(1, len(ascending) + 1):
        if end == len(ascending) or ascending[end] != ascending[end - 1] + 1:
            yield ascending[begin], ascending[end - 1]
            begin = end
