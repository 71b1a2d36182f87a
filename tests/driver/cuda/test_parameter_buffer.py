"""Parameter buffers copied from memory as a driver keeps it: packed, apart, or listed in ``extra``."""

from ctypes import addressof, c_uint64, create_string_buffer
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sigcontract.driver.cuda.parameter_buffer import ParameterBuffer

LAYOUT = ((0, 4), (8, 8), (16, 3), (20, 8))
PACKED = bytes(range(1, 29))


def parts(data: bytes) -> list[bytes]:
    return [data[offset : offset + size] for offset, size in LAYOUT]


def array(*addresses: int) -> Any:
    return (c_uint64 * len(addresses))(*addresses)


def test_pointers_into_one_copy_are_read_at_once() -> None:
    memory = create_string_buffer(PACKED, 28)
    pointers = array(*(addressof(memory) + offset for offset, _size in LAYOUT))
    assert ParameterBuffer(LAYOUT).read(addressof(pointers), 0) == PACKED


def test_pointers_to_copies_apart_are_put_at_their_offsets() -> None:
    copies = [create_string_buffer(part, len(part)) for part in parts(PACKED)]
    pointers = array(*map(addressof, copies))
    read = ParameterBuffer(LAYOUT).read(addressof(pointers), 0)
    assert read is not None
    assert parts(read) == parts(PACKED)


def test_a_first_parameter_that_is_not_at_the_start_is_read_at_its_offset() -> None:
    memory = create_string_buffer(PACKED, 28)
    pointers = array(addressof(memory), addressof(memory) + 8)
    read = ParameterBuffer([(8, 8), (16, 4)]).read(addressof(pointers), 0)
    assert read is not None
    assert read[8:] == PACKED[:12]


def test_parameters_far_apart_are_read_one_by_one() -> None:
    """What lies between two of them may be a page that is not mapped."""
    memory = create_string_buffer(PACKED, 4104)
    pointers = array(addressof(memory), addressof(memory) + 4096)
    read = ParameterBuffer([(0, 8), (4096, 8)]).read(addressof(pointers), 0)
    assert read == PACKED[:8] + bytes(4096)


@pytest.mark.parametrize("missing", range(4))
def test_a_null_pointer_is_no_buffer(missing: int) -> None:
    memory = create_string_buffer(PACKED, 28)
    pointers = array(*(addressof(memory) + offset for offset, _size in LAYOUT))
    pointers[missing] = 0
    assert ParameterBuffer(LAYOUT).read(addressof(pointers), 0) is None


def test_neither_list_is_no_buffer_and_no_parameters_are_an_empty_one() -> None:
    assert ParameterBuffer(LAYOUT).read(0, 0) is None
    assert ParameterBuffer([]).read(0, 0) == b""


@pytest.mark.parametrize(("size", "found"), [(28, True), (100, True), (27, False)])
def test_a_packed_buffer_must_hold_the_layout(size: int, found: bool) -> None:
    memory, length = create_string_buffer(PACKED, 100), c_uint64(size)
    for extra in (
        array(1, addressof(memory), 2, addressof(length), 0),
        array(2, addressof(length), 1, addressof(memory), 0),
    ):
        assert ParameterBuffer(LAYOUT).read(0, addressof(extra)) == (PACKED if found else None)


@pytest.mark.parametrize("words", [(0,), (3, 0, 0), (1, 0, 2, 0, 0), (1, 0) * 9], ids=["end", "key", "null", "no end"])
def test_a_list_that_names_no_buffer_is_not_followed(words: tuple[int, ...]) -> None:
    extra = array(*words)
    assert ParameterBuffer(LAYOUT).read(0, addressof(extra)) is None


@pytest.mark.parametrize(
    "layout",
    [[(0, 8), (4, 8)], [(8, 8), (0, 8)], [(0, 32_765)], [(32_760, 8)], [(0, 0), (0, 8)]],
    ids=["overlap", "descending", "too large", "too far", "empty"],
)
def test_a_layout_that_cannot_be_one_is_not_read(layout: list[tuple[int, int]]) -> None:
    assert ParameterBuffer(layout).read(1, 1) is None  # would crash if it were followed


@given(st.lists(st.tuples(st.integers(0, 300), st.binary(min_size=1, max_size=40)), min_size=1, max_size=12))
def test_copies_in_one_piece_and_apart_are_read_alike(given_parts: list[tuple[int, bytes]]) -> None:
    layout, end = [], 0
    for gap, data in given_parts:
        layout.append((end + gap, len(data)))
        end += gap + len(data)
    memory = create_string_buffer(b"".join(bytes(gap) + data for gap, data in given_parts), end)
    copies = [create_string_buffer(data, len(data)) for _gap, data in given_parts]
    together = array(*(addressof(memory) + offset for offset, _size in layout))
    apart = array(*map(addressof, copies))
    buffer = ParameterBuffer(layout)
    one, two = buffer.read(addressof(together), 0), buffer.read(addressof(apart), 0)
    assert one is not None
    assert two is not None
    for (offset, size), (_gap, data) in zip(layout, given_parts, strict=True):
        assert one[offset : offset + size] == two[offset : offset + size] == data
