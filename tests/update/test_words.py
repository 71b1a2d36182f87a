"""Words of scalar arguments: what they read as, and which differ."""

import struct
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sigcontract.update.words import ChangedWord, Word, argument_words, changed_words
from tests.strategies import LAWS


def texts(layout: str, old: tuple[Any, ...], new: tuple[Any, ...]) -> list[tuple[int, int, str, str]]:
    """Return the changed words of two structs of one layout."""
    return [tuple(word) for word in changed_words(struct.pack(layout, *old), struct.pack(layout, *new))]  # type: ignore[misc]  # a named tuple as a plain one


@pytest.mark.parametrize(
    ("layout", "old", "new", "expected"),
    [
        ("<i", 16, 32, (0, 4, "16", "32")),
        ("<i", -1, 0, (0, 4, "-1", "0")),
        ("<f", 1e-5, 1e-6, (0, 4, "1e-05", "1e-06")),
        ("<f", 0.0, 1.5, (0, 4, "0.0", "1.5")),
        ("<f", float("-inf"), 0.0, (0, 4, "-inf", "0.0")),
        ("<f", 128**-0.5, 0.125, (0, 4, "0.088388346 (1035273459)", "0.125")),
        ("<d", 1e-5, 1e-6, (0, 8, "1e-05", "1e-06")),
        ("<d", 1.0, 2.0, (0, 8, "1.0", "2.0")),
        ("<q", 16, 32, (0, 8, "16", "32")),
        ("<q", -1, 16, (0, 8, "-1", "16")),
        ("<q", 10**10, 2 * 10**10, (0, 8, "10000000000", "20000000000")),
        ("<?", False, True, (0, 1, "0", "1")),
        ("<h", 3, -3, (0, 2, "3", "-3")),
    ],
)
def test_a_word_reads_as_a_program_may_have_written_it(
    layout: str, old: Any, new: Any, expected: tuple[int, int, str, str]
) -> None:
    assert texts(layout, (old,), (new,)) == [expected]


def test_two_words_of_8_bytes_are_distinguished_from_one() -> None:
    assert texts("<ii", (16, 1), (32, 1)) == [(0, 4, "16", "32")]
    assert texts("<iiff", (16, 1, 1.0, 0.5), (32, 1, 2.0, 0.25)) == [
        (0, 4, "16", "32"),
        (8, 4, "1.0", "2.0"),
        (12, 4, "0.5", "0.25"),
    ]
    assert texts("<qd", (16, 1e-5), (-1, 1e-6)) == [(0, 8, "16", "-1"), (8, 8, "1e-05", "1e-06")]


def test_a_float_after_other_numbers_is_not_read_with_them_as_a_double() -> None:
    """A double ends in the digits of a round float by chance alone."""
    assert texts("<if", (16, 2.0), (16, 3.0)) == [(4, 4, "2.0", "3.0")]
    assert texts("<??2xf", (True, True, 2.0), (True, True, 3.0)) == [(4, 4, "2.0", "3.0")]
    assert texts("<ff", (1.0, 2.0), (1.0, 4.0)) == [(4, 4, "2.0", "4.0")]
    assert [(word.offset, word.text) for word in argument_words(struct.pack("<ff", 1.0, 1.0))] == [
        (0, "1.0"),
        (4, "1.0"),
    ]


def test_addresses_are_left_out() -> None:
    value = struct.pack("<qqi", 0, 7, 9)
    assert [(word.offset, word.text) for word in argument_words(value, frozenset({0}))] == [(8, "7"), (16, "9")]
    assert list(changed_words(b"\1" * 8 + value[8:], value, frozenset({0}))) == []


@LAWS
@given(st.binary(min_size=1, max_size=48), st.data())
def test_law_one_changed_byte_is_one_changed_word(value: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(value) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != value[at]))
    changed = value[:at] + bytes([other]) + value[at + 1 :]
    (word,) = changed_words(value, changed)
    assert word.offset <= at < word.offset + word.size
    assert word.old != word.new


@LAWS
@given(st.data())
def test_law_what_differs_is_in_a_changed_word_or_an_address(data: st.DataObject) -> None:
    size = data.draw(st.integers(8, 64))
    old, new = (data.draw(st.binary(min_size=size, max_size=size)) for _ in range(2))
    steps = data.draw(st.lists(st.integers(8, 20), max_size=4))
    first = data.draw(st.integers(0, 8))
    covered = {at for at in accumulate(steps, initial=first) if at + 8 <= size}
    changed = [at for word in changed_words(old, new, frozenset(covered)) for at in range(*_span(word))]
    addresses = {at for start in covered for at in range(start, start + 8)}
    assert len(set(changed)) == len(changed)
    assert not addresses.intersection(changed)
    assert {at for at in range(size) if old[at] != new[at]} <= addresses.union(changed)
    read = [at for word in argument_words(old, frozenset(covered)) for at in range(*_span(word))]
    assert sorted([*read, *addresses]) == [*range(size)]


def _span(word: Word | ChangedWord) -> tuple[int, int]:
    return word.offset, word.offset + word.size


@LAWS
@given(st.binary(min_size=1, max_size=48))
def test_law_words_cover_a_value_once(value: bytes) -> None:
    assert list(changed_words(value, value)) == []
    covered = [at for word in argument_words(value) for at in range(word.offset, word.offset + word.size)]
    assert covered == list(range(len(value)))


@LAWS
@given(st.floats(2**-39, 2**39, width=32))
def test_law_4_bytes_of_a_float_are_shown_as_it(value: float) -> None:
    (word,) = argument_words(struct.pack("<f", value))
    assert struct.pack("<f", float(word.text.partition(" ")[0])) == struct.pack("<f", value)


@LAWS
@given(
    st.one_of(st.binary(min_size=1, max_size=48), st.floats(2**-39, 2**39).map(lambda value: struct.pack("<d", value)))
)
def test_law_a_word_is_shown_by_digits_that_read_back_as_it(value: bytes) -> None:
    for word in argument_words(value):
        first, _, second = word.text.partition(" ")
        for text in filter(None, (first, second.strip("()"))):
            assert _bytes_of(text, word.size) == value[word.offset : word.offset + word.size]


def _bytes_of(text: str, size: int) -> bytes:
    if text.lstrip("-").isdigit():
        return int(text).to_bytes(size, "little", signed=True)
    return struct.pack({4: "<f", 8: "<d"}[size], float(text))


def test_a_changed_word_has_both_sides() -> None:
    assert ChangedWord(0, 4, "1", "2") == next(changed_words(b"\1\0\0\0", b"\2\0\0\0"))
