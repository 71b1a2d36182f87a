"""Ranks in range notation."""

from hypothesis import given, strategies as st

from sigcontract.fleet.ranks import missing_ranks, ranges

RANKS = st.sets(st.integers(0, 60))


def listed(text: str) -> set[int]:
    """Return the numbers that ranges stand for."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


@given(RANKS)
def test_ranges_say_each_rank_once_and_no_other(ranks: set[int]) -> None:
    assert listed(ranges(ranks)) == ranks


@given(RANKS, st.integers(0, 70))
def test_missing_ranks_are_those_below_the_world_size_that_are_not_there(ranks: set[int], size: int) -> None:
    assert listed(missing_ranks(ranks, size)) == set(range(size)) - ranks


def test_neighbours_are_one_range() -> None:
    assert ranges([63, *range(12), *range(13, 63)]) == "0-11,13-63"
    assert ranges([7]) == "7"
    assert ranges([]) == ""


def test_a_world_size_out_of_a_hostile_file_costs_nothing() -> None:
    assert missing_ranks([0, 5], 2**32 - 1) == "1-4,6-4294967294"
