"""Alignment and folding: what they return is true, minimal while few elements differ, and no more work than that."""

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from sigcontract.compare import alignment as alignment_module
from sigcontract.compare.alignment import Alignment, Match, align, align_by_levels
from sigcontract.compare.folding import Block, fold
from tests.work import grows_with_its_input

SETTINGS = settings(max_examples=300, deadline=None, derandomize=True)
KEYS = st.lists(st.integers(min_value=0, max_value=4), max_size=24)
LONG = 40_000


def longest_common(old: Sequence[int], new: Sequence[int]) -> int:
    """Return the length of a longest common subsequence, by the textbook table."""
    row = [0] * (len(new) + 1)
    for a in old:
        above = row[:]
        for j, b in enumerate(new):
            row[j + 1] = above[j] + 1 if a == b else max(above[j + 1], row[j])
    return row[-1]


def matched(alignment: Alignment) -> int:
    return sum(match.length for match in alignment.matches)


def unfold(keys: Sequence[object], blocks: Sequence[Block]) -> list[object]:
    return [key for block in blocks for _ in range(block.count) for key in keys[block.start :][: block.length]]


@SETTINGS
@given(KEYS, KEYS)
def test_matches_are_equal_ascending_and_as_many_as_can_be(old: list[int], new: list[int]) -> None:
    alignment = align(old, new)
    old_end = new_end = 0
    for match in alignment.matches:
        assert match.length > 0
        assert match.old >= old_end
        assert match.new >= new_end
        old_end, new_end = match.old + match.length, match.new + match.length
        assert old[match.old : old_end] == new[match.new : new_end]
    assert alignment.exact
    assert matched(alignment) == longest_common(old, new)


@SETTINGS
@given(KEYS, KEYS)
def test_gaps_and_matches_cover_both_sequences_once(old: list[int], new: list[int]) -> None:
    alignment = align(old, new)
    gaps = list(alignment.gaps(len(old), len(new)))
    assert matched(alignment) + sum(i_end - i for i, i_end, _, _ in gaps) == len(old)
    assert matched(alignment) + sum(j_end - j for _, _, j, j_end in gaps) == len(new)
    assert all(i_end > i or j_end > j for i, i_end, j, j_end in gaps)


@SETTINGS
@given(KEYS)
def test_a_sequence_aligns_with_itself_whole(keys: list[int]) -> None:
    assert align(keys, list(keys)).matches == ((Match(0, 0, len(keys)),) if keys else ())


@SETTINGS
@given(KEYS, st.data())
def test_one_inserted_element_is_one_gap_of_one(keys: list[int], data: st.DataObject) -> None:
    index = data.draw(st.integers(min_value=0, max_value=len(keys)))
    new = [*keys[:index], data.draw(st.integers(min_value=0, max_value=5)), *keys[index:]]
    ((old_start, old_end, new_start, new_end),) = align(keys, new).gaps(len(keys), len(new))
    assert (old_end - old_start, new_end - new_start) == (0, 1)


@SETTINGS
@given(KEYS, KEYS)
def test_the_number_of_matches_does_not_depend_on_direction(old: list[int], new: list[int]) -> None:
    assert matched(align(old, new)) == matched(align(new, old))


def test_a_coarser_key_pairs_what_the_finer_left_over() -> None:
    """A changed element pairs with its counterpart, not with a loss and a gain."""
    fine = (["a1", "b1", "c1"], ["a1", "x9", "b2", "c1"])
    coarse = ([key[0] for key in fine[0]], [key[0] for key in fine[1]])
    assert align_by_levels([fine, coarse]).matches == (Match(0, 0, 1), Match(1, 2, 2))


def test_an_element_that_changed_altogether_pairs_by_its_position() -> None:
    assert align_by_levels([("abc", "axc"), ("abc", "axc")]).matches == (Match(0, 0, 3),)


def test_gaps_of_unequal_length_are_not_guessed() -> None:
    alignment = align_by_levels([("abc", "axyc"), ("abc", "axyc")])
    assert list(alignment.gaps(3, 4)) == [(1, 2, 1, 3)]


LAYERS = [index % 10 for index in range(LONG)]
SHUFFLED = Random(1).sample(LAYERS, k=LONG)  # noqa: S311  a repeatable shuffle, not a secret


@pytest.mark.parametrize(
    ("new", "fewest", "exact"),
    [
        pytest.param([*LAYERS[:20_000], 99, *LAYERS[20_000:]], LONG, True, id="one inserted"),
        pytest.param(
            [key for i, key in enumerate(LAYERS) for key in ([key, 3] if i % 20 == 5 else [key])],
            LONG,
            False,
            id="2,000 inserted",
        ),
        pytest.param([key + 10 for key in LAYERS], 0, True, id="all differ"),
        pytest.param(SHUFFLED, LONG // 4, False, id="shuffled"),
    ],
)
def test_long_sequences_are_aligned_and_a_search_cut_short_says_so(new: list[int], fewest: int, exact: bool) -> None:
    alignment = align(LAYERS, new)
    assert matched(alignment) >= fewest
    assert alignment.exact is exact


@pytest.mark.parametrize("changed", ["one in twenty inserted", "shuffled"])
def test_the_work_grows_with_the_length_however_sequences_differ(monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    """An unbounded search is the square of the differences; here the bounds are as far below the lengths as there."""
    monkeypatch.setattr(alignment_module, "_EDITS_EXACT", 10)
    monkeypatch.setattr(alignment_module, "_EDITS_BOUNDED", 4)

    def prepare(length: int) -> Callable[[], object]:
        old = LAYERS[:length]
        if changed == "shuffled":
            new = Random(1).sample(old, k=length)  # noqa: S311  as above
        else:
            new = [key for i, key in enumerate(old) for key in ([key, 3] if i % 20 == 5 else [key])]
        return lambda: align(old, new)

    grows_with_its_input(prepare, 1000)


@SETTINGS
@given(KEYS)
def test_blocks_spell_out_the_keys_exactly(keys: list[int]) -> None:
    blocks = fold(keys)
    assert unfold(keys, blocks) == keys
    assert all(block.length > 0 and block.count > 0 for block in blocks)


@SETTINGS
@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(2, 30))
def test_a_repeated_stretch_folds_into_no_more_than_itself(period: list[int], times: int) -> None:
    (block,) = fold(period * times)
    assert block.start == 0
    assert block.length <= len(period)
    assert block.length * block.count == len(period) * times


def test_layers_fold_between_what_stands_before_and_after() -> None:
    keys = ["embed", "norm", *("abcdefghij" * 24), "head"]
    assert fold(keys) == [Block(0, 2, 1), Block(2, 10, 24), Block(242, 1, 1)]


def test_a_small_repetition_does_not_hide_a_large_one() -> None:
    assert fold("xxyzxyzxyzw") == [Block(0, 1, 1), Block(1, 3, 3), Block(10, 1, 1)]


def test_an_element_that_a_layer_holds_several_times_does_not_hide_the_layer() -> None:
    assert fold("abcabd" * 3) == [Block(0, 6, 3)]


def test_nothing_folds_into_nothing() -> None:
    assert fold([]) == []
