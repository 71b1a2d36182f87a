"""Kernel names for people: demangled, short, and safe on a terminal."""

import sys

import pytest
from hypothesis import example, given, settings, strategies as st

from sigcontract.report import names
from sigcontract.report.names import NameCuts, demangle, differing, is_too_long, safe, shortened

SETTINGS = settings(max_examples=500, deadline=None, derandomize=True)

ADD = (
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIN3c108BFloat16EEESt5arrayIPcLm3EEEEviT0_T1_"
)
#: Cut off within a lambda.
FILL = (
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE"
    "ZZZNS0_15fill_kernel_rocEvENKUlvE_clEvEUlfE_EEviT0_T1_"
)
#: Each reference repeats what stands before it: fourteen levels would build 3 ** 14 nodes.
DOUBLING = "_Z1fI1a" + "IS_S_S_E" * 14 + "Evv"


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        pytest.param("_Z3fooi", "foo(int)", id="function"),
        pytest.param("_Z6kernelI6__halfEvPT_", "void kernel<__half>(__half*)", id="template"),
        pytest.param("_Z4copyILi4ELb1EEvPf", "void copy<4, true>(float*)", id="literals without casts"),
        pytest.param("triton_poi_fused_add_0", "triton_poi_fused_add_0", id="Triton"),
        pytest.param("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", id="cuBLAS"),
        pytest.param("", "", id="no name"),
        pytest.param("_Z6kernelIJiffEEvDpT_", "void kernel<int, float, float>(int, float, float)", id="parameter pack"),
        pytest.param(FILL, FILL, id="cut off"),
        pytest.param("_ZN1aIZ1fvEUlfE_EC1Ev", "a<f()::'lambda'(float)>::a()", id="lambda"),
        pytest.param("_Z", "_Z", id="nothing behind the mark"),
        pytest.param("_Z1fI" + "1aI" * 1000, "_Z1fI" + "1aI" * 1000, id="nested too deep"),
        pytest.param(DOUBLING, DOUBLING, id="grows with every reference"),
        pytest.param("_Z3fooi" + "i" * 5000, "_Z3fooi" + "i" * 5000, id="too long"),
    ],
)
def test_a_mangled_name_is_demangled_and_anything_else_comes_back_as_it_is(mangled: str, name: str) -> None:
    assert demangle(mangled) == name


@SETTINGS
@given(st.text(alphabet="_ZNKSTIEJLXDdpvifajmlPRKO0123456789abcU", max_size=60).map("_Z".__add__))
@example("_ZN1aIS_S_EE")
@example("_ZTv0_n24_N1a1bEv")
def test_no_name_makes_the_demangler_fail(name: str) -> None:
    assert isinstance(demangle(name), str)


def test_without_the_library_names_stay_mangled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycxxfilt", None)
    names._demangler.cache_clear()
    names._shown.cache_clear()
    try:
        assert demangle("_Z3fooi") == "_Z3fooi"
    finally:
        names._demangler.cache_clear()
        names._shown.cache_clear()


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        pytest.param("_Z6kernelI6__halfEvPT_", "kernel<__half>", id="no return type, no parameters"),
        pytest.param(ADD, "at::native::vectorized_elementwise_kernel<4, at::native::CU…", id="cut to width"),
        pytest.param(FILL, "at::native::vectorized_elementwise_kernel<…>", id="scopes of what is not covered"),
        pytest.param("_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run", id="anonymous namespace"),
        pytest.param("matmul", "matmul", id="plain"),
    ],
)
def test_a_short_name_is_the_part_that_people_know(mangled: str, name: str) -> None:
    assert shortened(mangled, 60) == name


def test_two_names_are_cut_so_that_their_difference_is_seen() -> None:
    other = ADD.replace("Li4E", "Li8E")
    old, new = differing(ADD, other, width=60)
    assert old != new
    assert max(len(old), len(new)) <= 60
    long = "_ZN" + "9namespace" * 12 + "1{}Ev"
    assert differing(long.format("a"), long.format("b"), width=40) == ("…a", "…b")


PREFIXES = st.text(st.sampled_from("ab_<:"), max_size=90)
ENDINGS = st.lists(st.text(st.sampled_from("abc_"), max_size=50), min_size=2, max_size=4, unique=True)


@given(PREFIXES, ENDINGS, st.integers(12, 60))
def test_names_that_differ_look_different_however_long_what_they_share(
    prefix: str, endings: list[str], width: int
) -> None:
    names = [prefix + ending for ending in endings]
    drawn = differing(*names, width=width)
    assert len(set(drawn)) == len(names)
    assert len(names) > 2 or max(map(len, drawn)) <= width


def test_names_cannot_move_the_cursor_or_end_a_line() -> None:
    assert safe("a\x1b[2J\nb\u202ec\x85") == "a\\x1b[2J\\nb\\u202ec\\x85"
    assert shortened("k\x1b[31m", 20) == "k\\x1b[31m"
    assert safe("größe") == "größe"


def nested(levels: int) -> str:
    """Return a name of a hundred bytes or two in which each level repeats the one before three times."""
    name, earlier = "_Z1fP1a", "S_"
    for number in range(levels):
        name += f"1bI{earlier * 3}E"
        earlier = f"S{'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'[number]}_"
    return name


def test_a_name_that_stands_for_a_text_without_end_is_not_given_to_the_demangler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[str] = []

    class Demangler:
        @staticmethod
        def itanium_demangle(name: str) -> str:
            given.append(name)
            return "text"

    monkeypatch.setattr(names, "_demangler", lambda: Demangler)
    names._shown.cache_clear()
    try:
        for levels in range(12, 36):
            assert demangle(nested(levels)) == nested(levels)
            assert is_too_long(nested(levels))
        packs = "_Z1fIJ" + "i" * 40 + "EEv" + "Dp" * 12 + "T_"
        assert demangle(packs) == packs
    finally:
        names._shown.cache_clear()
    assert given == []


def test_a_text_out_of_proportion_to_its_name_is_not_shown() -> None:
    name = "_Z1fIJ" + "y" * 60 + "EEvDp1AIDpT_T_E"
    assert demangle(name) == name
    assert is_too_long(name)
    assert not is_too_long(ADD)
    assert not is_too_long("triton_poi_fused_add_0")


def _types(depth: int) -> st.SearchStrategy[str]:
    leaves = st.sampled_from([*"ifyxbhjmo", "S_", "S0_", "S1_", "S2_", "S5_", "T_", "T0_", "DpT_"])
    if not depth:
        return leaves
    inner = st.lists(_types(depth - 1), min_size=1, max_size=3).map("".join)
    return st.one_of(
        leaves,
        st.tuples(st.sampled_from(["P", "R", "K", "Dp"]), _types(depth - 1)).map("".join),
        st.tuples(st.sampled_from(["1aI", "2bcI", "St4pairI", "J", "Fv"]), inner, st.just("E")).map("".join),
    )


@SETTINGS
@given(
    st.lists(_types(4), min_size=1, max_size=5).map("".join), st.lists(_types(4), min_size=1, max_size=5).map("".join)
)
def test_no_text_is_longer_than_its_bound(arguments: str, parameters: str) -> None:
    name = f"_Z1fI{arguments}Ev{parameters}"
    bound = names._text_bound(name)
    if bound <= 1 << 22:
        text = names._demangled(name)
        assert text is None or len(text) <= bound


def test_a_numbered_name_keeps_its_number_when_it_is_cut() -> None:
    assert (
        shortened("triton_poi_fused__to_copy_add_mean_mul_pow_rsqrt_12", 40)
        == "triton_poi_fused__to_copy_add…w_rsqrt_12"
    )
    assert shortened("k" * 60, 40) == "k" * 39 + "…"


LONG = "kernel_" + "x" * 12_000
MIDDLES = [f"{LONG}{middle}{'y' * 8_000}" for middle in ("AAA", "BBB", "BCC")]


@pytest.mark.parametrize("width", [24, 40, 60])
def test_names_of_one_page_that_differ_look_different(width: int) -> None:
    names = [*MIDDLES, "gemm", "gemm_2", ADD, ADD.replace("Li4E", "Li8E"), f"{ADD}i"]
    cuts = NameCuts([*names, *names])
    drawn = [cuts(name, width) for name in names]
    assert len(set(drawn)) == len(names)
    assert [("AAA" in text, "BBB" in text, "BCC" in text) for text in drawn[:3]] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
    assert drawn[3] == shortened("gemm", width)
    assert cuts("of another page", width) == shortened("of another page", width)
    assert max(map(len, drawn)) <= 2 * width


def test_names_that_differ_in_several_places_show_each() -> None:
    names = [f"{'x' * 90}{a}{'y' * 90}{b}{'z' * 90}" for a in "PQ" for b in "RS"]
    drawn = differing(*names, width=40)
    assert [[letter for letter in text if letter in "PQRS"] for text in drawn] == [
        ["P", "R"],
        ["P", "S"],
        ["Q", "R"],
        ["Q", "S"],
    ]


def test_very_many_names_that_look_alike_are_told_apart_by_a_digest() -> None:
    names = [f"{'x' * 90}{index:03}" for index in range(100)]
    drawn = differing(*names, width=40)
    assert len(set(drawn)) == len(names)
    assert all("… (sha256 " in text and len(text) < 70 for text in drawn)
