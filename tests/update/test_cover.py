"""The fewest groups in which every two go together: valid, exact where the search ends, never more than at first."""

from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from sigcontract.update.cover import Cover, bits, fewest_groups


@st.composite
def relations(draw: st.DrawFn, most: int = 8) -> list[int]:
    """Return symmetric neighbours of some vertices."""
    count = draw(st.integers(1, most))
    neighbours = [0] * count
    for a, b in combinations(range(count), 2):
        if draw(st.booleans()):
            neighbours[a] |= 1 << b
            neighbours[b] |= 1 << a
    return neighbours


def from_pairs(count: int, *pairs: tuple[int, int]) -> list[int]:
    neighbours = [0] * count
    for a, b in pairs:
        neighbours[a] |= 1 << b
        neighbours[b] |= 1 << a
    return neighbours


def cover_of(neighbours: list[int], steps: int = 20_000) -> Cover:
    return fewest_groups(neighbours, [[vertex] for vertex in range(len(neighbours))], steps=steps)


def least_by_brute_force(neighbours: list[int]) -> int:
    """Return the least number of groups over all ways to put one vertex after another into a group."""

    def place(vertex: int, groups: tuple[int, ...]) -> int:
        if vertex == len(neighbours):
            return len(groups)
        ways = [
            (*groups[:at], group | 1 << vertex, *groups[at + 1 :])
            for at, group in enumerate(groups)
            if group & neighbours[vertex] == group
        ]
        return min(place(vertex + 1, way) for way in [*ways, (*groups, 1 << vertex)])

    return place(0, ())


def is_valid(cover: Cover, neighbours: list[int]) -> bool:
    every_one = sorted(vertex for group in cover.groups for vertex in group) == list(range(len(neighbours)))
    return every_one and all(neighbours[a] >> b & 1 for group in cover.groups for a, b in combinations(group, 2))


@given(neighbours=relations())
@settings(derandomize=True, max_examples=300, deadline=None)
def test_the_cover_of_a_small_set_is_the_least_of_all(neighbours: list[int]) -> None:
    cover = cover_of(neighbours)
    assert is_valid(cover, neighbours)
    assert len(cover.groups) == cover.at_least == least_by_brute_force(neighbours)


@given(neighbours=relations(most=40), steps=st.sampled_from((0, 1, 7, 20_000)))
@settings(derandomize=True, max_examples=150, deadline=None)
def test_a_search_that_is_cut_off_is_valid_all_the_same(neighbours: list[int], steps: int) -> None:
    cover = cover_of(neighbours, steps)
    assert is_valid(cover, neighbours)
    assert cover.at_least <= len(cover.groups)
    assert cover.at_least <= cover_of(neighbours).at_least <= len(cover_of(neighbours).groups) <= len(cover.groups)


@given(neighbours=relations(), order=st.randoms(use_true_random=False))
@settings(derandomize=True, max_examples=100, deadline=None)
def test_the_order_of_the_vertices_does_not_change_the_number(neighbours: list[int], order: Random) -> None:
    renamed = list(range(len(neighbours)))
    order.shuffle(renamed)
    others = [0] * len(neighbours)
    for vertex, near in enumerate(neighbours):
        others[renamed[vertex]] = sum(1 << renamed[other] for other in bits(near))
    assert len(cover_of(neighbours).groups) == len(cover_of(others).groups)


def test_a_first_cover_that_none_has_fewer_groups_than_is_kept() -> None:
    square = from_pairs(4, (0, 1), (1, 2), (2, 3), (0, 3))
    assert fewest_groups(square, [[0, 3], [1, 2]]).groups == ((0, 3), (1, 2))
    assert fewest_groups(square, [[0, 1], [2, 3]]).groups == ((0, 1), (2, 3))


def test_groups_that_came_first_are_split_where_fewer_need_it() -> None:
    """0 and 1 came first; each goes with another one only."""
    neighbours = from_pairs(4, (0, 1), (0, 2), (1, 3))
    assert fewest_groups(neighbours, [[0, 1], [2], [3]]) == Cover(((0, 2), (1, 3)), 2)


def test_the_odd_ring_needs_one_more_than_its_vertices_apart() -> None:
    """Two of five may be apart at once, so the bound is 2 until the search has shown that 3 are needed."""
    ring = from_pairs(5, (0, 1), (1, 2), (2, 3), (3, 4), (0, 4))
    assert cover_of(ring).at_least == len(cover_of(ring).groups) == 3
    assert (cover_of(ring, 0).at_least, len(cover_of(ring, 0).groups)) == (2, 3)


@pytest.mark.parametrize("count", [0, 1, 2000])
def test_vertices_that_go_with_none_or_all_take_no_search(count: int) -> None:
    nobody = cover_of([0] * count, 0)
    assert (len(nobody.groups), nobody.at_least) == (count, count)
    everybody = cover_of([((1 << count) - 1) & ~(1 << vertex) for vertex in range(count)], 0)
    assert len(everybody.groups) == everybody.at_least == min(count, 1)
