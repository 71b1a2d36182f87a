"""The API reference has every public name, described from the records themselves."""

import pytest

pytest.importorskip("sphinx", reason="needs the extra docs")

import sigcontract as sc
from tools import reference


def test_a_public_name_that_no_page_documents_is_found() -> None:
    documented = {f"sigcontract.{name}" for name in sc.__all__}
    assert reference.undocumented(documented - {"sigcontract.Dim3"})[0] == "sigcontract.Dim3"
    missing = reference.undocumented(documented)
    assert "sigcontract.driver.read_graph" in missing
    assert [name for name in missing if name.startswith(("sigcontract.errors.", "sigcontract.Dim3"))] == []


def test_a_name_counts_under_every_module_that_has_it() -> None:
    assert "sigcontract.FileError" not in reference.undocumented({"sigcontract.errors.FileError"})
    assert "sigcontract.FileError" in reference.undocumented({"sigcontract.errors.no_such_name"})


def test_a_field_has_the_description_and_the_type_that_it_is_declared_with() -> None:
    lines = list(reference._field_lines(sc.MemSyncDomainMap))
    assert lines[:2] == [
        r":ivar default: Domain of the default domain \(default\_\).",
        ":vartype default: int",
    ]
