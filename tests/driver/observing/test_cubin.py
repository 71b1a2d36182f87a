"""The hash of a kernel's machine code, on cubins that nvcc made (see cubins/make.sh)."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from sigcontract.driver.observing.cubin import cubin_size, kernel_hashes, kernel_names, section_table_of
from sigcontract.errors import ObserveError

CUBINS = Path(__file__).parent / "cubins"
NAMES = ("one", "two", "more", "globals-5", "globals-6", "calls-3", "calls-5", "one-sm80")


def cubin(name: str) -> bytes:
    return gzip.decompress((CUBINS / f"{name}.cubin.gz").read_bytes())


def code(name: str, kernel: str) -> str:
    return kernel_hashes(cubin(name))[kernel]


def test_a_constant_in_the_code_distinguishes_two_kernels_of_one_name() -> None:
    assert code("one", "put") != code("two", "put")


def test_a_kernel_of_the_same_module_that_did_not_change_keeps_its_hash() -> None:
    assert code("one", "other") == code("two", "other")


def test_unrelated_kernels_of_the_module_change_nothing() -> None:
    more = kernel_hashes(cubin("more"))
    assert len(more) == 5
    assert (more["put"], more["other"]) == (code("one", "put"), code("one", "other"))


def test_a_function_that_is_called_is_part_of_the_caller() -> None:
    assert code("calls-3", "caller") != code("calls-5", "caller")
    assert code("calls-3", "alone") == code("calls-5", "alone")


def test_an_initial_value_of_the_module_is_part_of_its_kernels() -> None:
    assert code("globals-5", "counts") != code("globals-6", "counts")


def test_code_for_another_device_is_other_code() -> None:
    assert code("one", "other") != code("one-sm80", "other")


@pytest.mark.parametrize("name", NAMES)
def test_the_sieve_lets_every_kernel_through(name: str) -> None:
    image = cubin(name)
    assert kernel_hashes(image).keys() <= kernel_names(image)


@pytest.mark.parametrize("name", NAMES)
def test_the_size_of_an_image_is_read_from_its_headers(name: str) -> None:
    image = cubin(name)
    table = section_table_of(image)
    assert table is not None
    assert cubin_size(image[:64], image[table[0] : table[0] + table[1]]) == len(image)


def test_hashes_do_not_depend_on_the_release_unnoticed() -> None:
    """A change of this value changes every recorded hash: raise HASH_VERSION with it."""
    assert code("one", "put") == "9703705e769d77b167d9e1bf15b6070d1bfee016e2961f6669c63350599c89ec"


@pytest.mark.parametrize("image", [b"", b"\x7fELF", b"\x7fELF" + bytes(60), b".version 8.0\n" * 9, bytes(200)])
def test_what_is_no_cubin_has_no_names_and_no_hashes(image: bytes) -> None:
    assert section_table_of(image) is None
    assert kernel_names(image) == frozenset()
    with pytest.raises(ObserveError):
        kernel_hashes(image)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.integers(0, 5455), st.integers(1, 255))
def test_a_damaged_image_is_an_error_or_an_answer_never_another_exception(index: int, change: int) -> None:
    image = bytearray(cubin("one"))
    image[index] ^= change
    kernel_names(bytes(image))
    try:
        hashes = kernel_hashes(bytes(image))
    except ObserveError:
        return
    assert all(len(value) == 64 for value in hashes.values())


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.integers(0, 5000))
def test_an_image_that_is_cut_short_is_an_error(length: int) -> None:
    image = cubin("one")[:length]
    kernel_names(image)
    with pytest.raises(ObserveError, match="stays unknown"):
        kernel_hashes(image)
