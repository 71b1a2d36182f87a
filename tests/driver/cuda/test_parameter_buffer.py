"""Parameter buffers copied from memory as a driver keeps it: packed, apart, or listed in ``extra``."""

from ctypes import CDLL, addressof, c_char, c_size_t, c_uint64, c_void_p, create_string_buffer
from mmap import PAGESIZE, mmap
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


def test_a_null_pointer_to_the_only_parameter_is_no_buffer() -> None:
    pointers = array(0)
    assert ParameterBuffer(LAYOUT[:1]).read(addressof(pointers), 0) is None


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


def test_a_key_behind_both_entries_must_be_known() -> None:
    memory, length = create_string_buffer(PACKED, 28), c_uint64(28)
    entries = (1, addressof(memory), 2, addressof(length))
    for behind, found in (((0,), True), ((3, 0, 0), False), ((*entries, 0), True)):
        extra = array(*entries, *behind)
        assert ParameterBuffer(LAYOUT).read(0, addressof(extra)) == (PACKED if found else None)


@pytest.mark.parametrize("words", [(0,), (3,), (1, 0, 2, 0, 0)], ids=["end", "key", "null"])
def test_nothing_is_read_behind_a_list_at_the_end_of_a_page(words: tuple[int, ...]) -> None:
    pages = mmap(-1, 2 * PAGESIZE)
    memory = (c_char * (2 * PAGESIZE)).from_buffer(pages)
    behind = addressof(memory) + PAGESIZE
    extra = array(*words)
    (c_uint64 * len(words)).from_address(behind - 8 * len(words))[:] = extra[:]
    protect = CDLL(None).mprotect
    assert protect(c_void_p(behind), c_size_t(PAGESIZE), 0) == 0  # whoever reads it is killed
    assert ParameterBuffer(LAYOUT).read(0, behind - 8 * len(words)) is None


def test_a_list_on_two_pages_is_read() -> None:
    memory, length = create_string_buffer(PACKED, 28), c_uint64(28)
    pages = mmap(-1, 2 * PAGESIZE)
    start = addressof((c_char * (2 * PAGESIZE)).from_buffer(pages)) + PAGESIZE - 16
    (c_uint64 * 5).from_address(start)[:] = [1, addressof(memory), 2, addressof(length), 0]
    assert ParameterBuffer(LAYOUT).read(0, start) == PACKED


@given(st.lists(st.sampled_from(["together", "apart", "null", "extra", "short", "neither"]), max_size=6))
def test_many_nodes_are_read_as_one_by_one(kinds: list[str]) -> None:
    memory = create_string_buffer(PACKED, 28)
    copies = [create_string_buffer(part, len(part)) for part in parts(PACKED)]
    sizes = {"extra": c_uint64(28), "short": c_uint64(27)}
    together = [addressof(memory) + offset for offset, _size in LAYOUT]
    lists = {
        "together": array(*together),
        "apart": array(*map(addressof, copies)),
        "null": array(*together[:-1], 0),
        **{kind: array(1, addressof(memory), 2, addressof(size), 0) for kind, size in sizes.items()},
    }
    kernel_params = [0 if kind in sizes or kind == "neither" else addressof(lists[kind]) for kind in kinds]
    extra = [addressof(lists[kind]) if kind in sizes else 0 for kind in kinds]
    buffer = ParameterBuffer(LAYOUT)
    assert buffer.read_all(kernel_params, extra) == list(map(buffer.read, kernel_params, extra))
    assert [data is not None for data in buffer.read_all(kernel_params, extra)] == [
        kind in {"together", "apart", "extra"} for kind in kinds
    ]


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
