"""Findings with texts of any length, in documents that repeat them."""

from hashlib import sha256

from hypothesis import given, strategies as st

from sigcontract.model.findings import Finding, Verdict
from sigcontract.model.record import MAX_TEXT_CHARACTERS
from sigcontract.update.long_texts import bounded, fitting, fitting_values
from sigcontract.update.policies import same
from sigcontract.update.predict import predict_update
from tests.update.build import H200, graph, kernel

NAMES = [f"kernel_{'x' * 12_000}{middle}{'y' * 8_000}" for middle in ("AAA", "BBB")]


def finding(old: str | int | None, new: str | int | None, subject: str | None = None) -> Finding:
    return Finding(
        rule="kernel.function",
        path="nodes[0].name",
        verdict=Verdict.UPDATABLE,
        evidence="documented",
        old=old,
        new=new,
        subject=subject,
        count=1,
        also=(),
    )


def test_what_two_long_names_differ_in_is_in_the_finding() -> None:
    (found,) = bounded([finding(NAMES[0], NAMES[1], NAMES[1])])
    assert isinstance(found.old, str)
    assert isinstance(found.new, str)
    assert "xxAAAyy" in found.old
    assert "xxBBByy" in found.new
    assert found.old.endswith(f"yy (20010 characters, sha256 {sha256(NAMES[0].encode()).hexdigest()})")
    assert found.subject == found.new


def test_predictions_and_policies_bound_the_texts_of_their_findings() -> None:
    held, candidate = (graph(kernel(name=name, func=1)) for name in NAMES)
    for findings in (predict_update(held, candidate, H200).findings, same("share", held, candidate, H200).reasons):
        (found,) = (each for each in findings if isinstance(each.old, str) and "AAA" in each.old)
        assert "BBB" in str(found.new)
        assert len(str(found.old)) < 1100


TEXTS = st.builds(
    lambda head, middle, tail: "a" * head + middle + "b" * tail,
    st.integers(0, 3000),
    st.text("cd…", max_size=3),
    st.integers(0, 3000),
)


@given(TEXTS, TEXTS)
def test_texts_that_differ_still_do_and_none_is_long(old: str, new: str) -> None:
    (found,) = bounded([finding(old, new, old)])
    assert (found.old == found.new) == (old == new)
    assert max(map(len, map(str, (found.old, found.new, found.subject)))) <= 1024
    assert found.old == old or len(old) > 1024


def test_a_field_takes_what_is_made_of_texts_that_fill_theirs() -> None:
    whole = "a" * MAX_TEXT_CHARACTERS
    assert fitting(whole) == whole
    assert fitting(f"{whole}]").startswith("a" * 384)
    assert fitting(f"{whole}]").endswith(f"] (65537 characters, sha256 {sha256(f'{whole}]'.encode()).hexdigest()})")
    assert fitting_values(whole, 7) == (whole, 7)
    old, new = fitting_values(f"{whole}, 1 {whole}", f"{whole}, 2 {whole}")
    assert ("aa, 1 aa" in str(old), "aa, 2 aa" in str(new)) == (True, True)
    assert fitting_values(None, f"{whole}]") == (None, fitting(f"{whole}]"))


def test_short_texts_and_numbers_are_kept() -> None:
    kept = [finding(1, None), finding("a", "b", "c")]
    assert list(bounded(kept)) == kept
