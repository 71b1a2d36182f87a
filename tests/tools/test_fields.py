"""The page of fields has every field of every version of every document."""

import json
from typing import Any

from tests.architecture.source import ROOT
from tools.fields import pages_of

SCHEMAS = ROOT / "schemas"
INDEX: list[dict[str, Any]] = json.loads((SCHEMAS / "index.json").read_text(encoding="utf-8"))["schemas"]


def test_every_document_and_version_has_its_part_the_newest_of_each_first() -> None:
    titles = [page.partition("\n")[0].removeprefix("## ") for page in pages_of()]
    assert sorted(titles) == sorted(f"{entry['document']} {entry['version']}" for entry in INDEX)
    dumps = [title for title in titles if title.startswith("sigcontract.dump ")]
    assert dumps == sorted(dumps, reverse=True)
    assert titles[: len(dumps)] == dumps


def test_every_field_is_a_row_with_its_description() -> None:
    pages = {page.partition("\n")[0].removeprefix("## "): page for page in pages_of()}
    assert INDEX
    for entry in INDEX:
        schema = json.loads((SCHEMAS / entry["file"]).read_text(encoding="utf-8"))
        page = pages[f"{entry['document']} {entry['version']}"]
        for record in (schema, *schema.get("$defs", {}).values()):
            for name, field in record.get("properties", {}).items():
                described = field.get("description", "").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
                rows = [
                    line for line in page.splitlines() if line.startswith((f"| `{name}` |", f"| `{name} (optional)` |"))
                ]
                assert any(row.endswith(f"| {described} |") for row in rows), (entry["file"], name)
