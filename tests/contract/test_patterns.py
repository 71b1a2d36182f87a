"""Patterns of labels, names and paths."""

import pytest
from hypothesis import given, strategies as st

from sigcontract.contract import kernel_matches, matches
from sigcontract.report import demangle

GEMM = "_Z4gemmIfLi4EEvPKT_PS0_"
SCALE = "_ZN3abc5scaleEPf"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("decode/*", "decode/bs=1", True),
        ("decode/bs=?", "decode/bs=16", False),
        ("nodes[3].*", "nodes[3].grid_dim", True),
        ("nodes[3].*", "nodes3.grid_dim", False),
        ("*", "", True),
        ("a", "A", False),
        ("a*b", "a\nb", True),
        ("[!a]", "b", False),
    ],
)
def test_stars_and_question_marks_alone_are_special(pattern: str, text: str, *, found: bool) -> None:
    assert matches(pattern, text) is found


@given(st.text(max_size=20))
def test_a_text_without_either_matches_itself_alone(text: str) -> None:
    plain = text.replace("*", "").replace("?", "")
    assert matches(plain, plain)
    assert not matches(plain, plain + "x")


def test_many_stars_over_a_long_name_take_no_time_to_speak_of() -> None:
    assert not matches("*a" * 60 + "b", "a" * 20_000)


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("gemm<*", GEMM, True),
        ("*gemm*", GEMM, True),
        ("gemm", GEMM, False),
        ("abc::scale", SCALE, True),
        ("abc::scale(float*)", SCALE, True),
        ("scale", SCALE, False),
        ("_Z4gemm*", GEMM, True),
        ("_Z5scale*", GEMM, False),
        ("triton_*", "triton_poi_0", True),
        ("norm", "triton_poi_0", False),
    ],
)
def test_a_kernel_is_named_mangled_or_as_people_read_it(pattern: str, name: str, *, found: bool) -> None:
    assert kernel_matches(pattern, name, demangle) is found


def test_without_a_demangler_it_is_undetermined_which_kernel_is_meant() -> None:
    assert kernel_matches("*norm*", GEMM, lambda name: name) is None
    assert kernel_matches("*gemm*", GEMM, lambda name: name) is True
    assert kernel_matches("_Z4norm*", GEMM, lambda name: name) is False
    assert kernel_matches("*norm*", "triton_poi_0", lambda name: name) is False
