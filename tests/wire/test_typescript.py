"""The TypeScript types that are shipped: of each schema that can have them, and of the schema as it is now."""

import re
from hashlib import sha256
from pathlib import Path

import pytest

import sigcontract as sc
from sigcontract.errors import FileError, UsageError, VersionError
from sigcontract.wire import typescript
from sigcontract.wire.documents import FORMS
from sigcontract.wire.schemas import schema_text
from sigcontract.wire.typescript import typed_versions

TYPED = [form for form in FORMS if form[1] in typed_versions(form[0])]


def test_every_schema_without_lists_of_positions_has_types() -> None:
    assert [form for form in FORMS if '"prefixItems"' not in schema_text(*form)] == TYPED


@pytest.mark.parametrize(("document", "version"), TYPED)
def test_types_are_those_of_the_schema_as_it_is(document: str, version: int) -> None:
    text = sc.typescript_types(document, version)
    found = re.search(r"from (\S+), sha256 ([0-9a-f]{64})\.$", text.partition("\n")[0])
    assert found is not None
    assert found[1] == f"{document}-{version}.schema.json"
    assert found[2] == sha256(schema_text(document, version).encode()).hexdigest(), "run: make generated"
    assert f"export interface {FORMS[document, version].record.__name__} {{" in text
    assert not re.search(r"\bnever\[\]|: any\b|interface \w*[a-z]1 ", text)


def test_the_types_of_a_dump_are_those_of_version_3() -> None:
    assert sc.typescript_types("sigcontract.dump") == sc.typescript_types("sigcontract.dump", 3)
    with pytest.raises(
        UsageError, match=r"version 2 has no TypeScript types, .* use version 3, which `sigcontract mig"
    ):
        sc.typescript_types("sigcontract.dump", 2)
    with pytest.raises(VersionError, match=r"unknown document 'sigcontract\.contact'"):
        sc.typescript_types("sigcontract.contact")
    with pytest.raises(VersionError, match="version 9"):
        sc.typescript_types("sigcontract.dump", 9)


def test_an_installation_without_the_files_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(typescript, "_folder", lambda: tmp_path)
    with pytest.raises(FileError, match=r"sigcontract\.dump-3\.d\.ts is missing from this installation"):
        sc.typescript_types("sigcontract.dump")
