"""JSON Schemas: in step with the records, frozen once released."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given

from sigcontract.errors import UsageError, VersionError
from sigcontract.model.dump import SignatureDump
from sigcontract.model.findings import DumpDiff
from sigcontract.model.profile import AttributeProfile, DriverProfile
from sigcontract.model.record import Record
from sigcontract.wire import codec, schemas as schema_module
from sigcontract.wire.documents import FORMS
from sigcontract.wire.schemas import check_files, schema, schema_sha256, schema_text, write_files
from tests.strategies import LAWS, records

SCHEMAS = Path(__file__).parents[2] / "schemas"


def test_the_files_say_what_the_records_say() -> None:
    assert check_files(SCHEMAS) == []
    assert len(list(SCHEMAS.glob("*.json"))) == len(FORMS) + 1


@pytest.mark.parametrize(("document", "version"), FORMS)
def test_a_schema_is_one_of_2020_12_with_its_own_name(document: str, version: int) -> None:
    found = schema(document, version)
    jsonschema.Draft202012Validator.check_schema(found)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["$id"] == f"urn:sigcontract:schema:{document}:{version}"
    assert json.loads(schema_text(document, version)) == found
    assert schema_text(document, version) == json.dumps(found, indent=2, sort_keys=True) + "\n"


def test_the_version_that_is_written_is_the_default() -> None:
    assert schema("sigcontract.dump")["$id"].endswith(":2")
    with pytest.raises(VersionError, match=r"unknown document 'sigcontract\.contact'"):
        schema("sigcontract.contact")
    with pytest.raises(VersionError, match="version 4; this release reads 1, 2, 3"):
        schema("sigcontract.dump", 4)


@pytest.mark.parametrize("cls", [SignatureDump, DriverProfile, DumpDiff])
def test_what_the_decoder_accepts_the_schema_accepts(cls: type[Record]) -> None:
    name = next(document for (document, _), form in FORMS.items() if form.record is cls)
    # A dump with arguments is written as another version than one without.
    validators = {
        form.version: jsonschema.Draft202012Validator(schema(name, form.version))
        for form in FORMS.values()
        if form.record is cls
    }

    @LAWS
    @given(records(cls))
    def law(record: Any) -> None:
        document = json.loads(codec.encode(record))
        assert not list(validators[document["version"]].iter_errors(document))

    law()


def test_every_sentence_of_a_field_is_in_the_schema() -> None:
    definitions = schema("sigcontract.dump")["$defs"]
    fields = definitions["KernelRow"]["properties"]
    assert fields["grid_dim"]["description"] == "Blocks in the grid, not clusters (gridDimX, gridDimY, gridDimZ)."
    assert fields["grid_dim"]["$ref"] == "#/$defs/Dim3"
    assert definitions["EdgeRow"] == {
        "title": "EdgeRow",
        "description": "A non-default edge into a node, as a list of its fields.",
        "type": "array",
        "prefixItems": [
            {
                "title": "node",
                "type": "integer",
                "minimum": 0,
                "maximum": 4294967295,
                "description": "Index in nodes of the dependency.",
            },
            {
                "title": "from_port",
                "type": "integer",
                "minimum": 0,
                "maximum": 255,
                "description": "0 default, 1 programmatic, 2 launch order (from_port).",
            },
            {"title": "to_port", "type": "integer", "minimum": 0, "maximum": 255, "description": "0 (to_port)."},
            {
                "title": "type",
                "type": "integer",
                "minimum": 0,
                "maximum": 255,
                "description": "CUgraphDependencyType: 0 default, 1 programmatic (type).",
            },
        ],
        "items": False,
        "minItems": 4,
    }
    described = [
        field
        for record in definitions.values()
        for field in record.get("properties", {}).values()
        if "const" not in field
    ]
    assert described
    assert all(field["description"] for field in described)


@pytest.mark.parametrize(("document", "version"), FORMS)
def test_every_field_without_a_default_is_required_and_no_other_is_taken(document: str, version: int) -> None:
    found = schema(document, version)
    for record in [found, *found["$defs"].values()]:
        if record["type"] == "object" and "oneOf" not in record:
            fields = record["properties"]
            # What people write by hand says what stands for a key that is left out; what a program writes is whole.
            left_out = [name for name in fields if "default" in fields[name]]
            assert not left_out or document == "sigcontract.contract"
            # Version 3 of the dump leaves out a record that is not known.
            if (document, version) == ("sigcontract.dump", 3):
                left_out += [name for name in fields if "eft out" in fields[name].get("description", "")]
            assert record["required"] == [name for name in fields if name not in left_out]
            assert record["additionalProperties"] is False


def test_a_draft_follows_the_records_and_a_release_never_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path)
    assert check_files(tmp_path) == []
    assert {entry["status"] for entry in _entries(tmp_path)} == {"draft"}
    with monkeypatch.context() as patched:
        patched.setattr(schema_module, "_DIALECT", "another")
        assert check_files(tmp_path)[:2] == [
            "sigcontract.dump-1.schema.json does not match the records; write the files again",
            "sigcontract.dump-1.schema.json has another sha256 than in index.json; write the files again",
        ]
        write_files(tmp_path)
        assert check_files(tmp_path) == []
    write_files(tmp_path, release=True)
    assert {entry["status"] for entry in _entries(tmp_path)} == {"released"}
    with monkeypatch.context() as patched:
        patched.setattr(schema_module, "_DIALECT", "another")
        assert (
            "sigcontract.dump-1.schema.json has another sha256 than in index.json; "
            "it is released and cannot change: add a new version"
        ) in check_files(tmp_path)
        before = sorted((file.name, file.read_bytes()) for file in tmp_path.iterdir())
        with pytest.raises(UsageError, match=r"add a new version of sigcontract\.dump"):
            write_files(tmp_path)
        assert sorted((file.name, file.read_bytes()) for file in tmp_path.iterdir()) == before
    write_files(tmp_path)
    assert {entry["status"] for entry in _entries(tmp_path)} == {"released"}


def test_the_sum_covers_what_a_schema_means_and_not_how_it_is_worded() -> None:
    def sum_of(description: str, **changed: Any) -> str:
        found: dict[str, Any] = {
            "title": description,
            "description": description,
            "properties": {"title": {"type": "string", "description": description}, "b": {"const": "title"}},
            "$defs": {"description": {"anyOf": [{"type": "null", "title": description}]}},
            "prefixItems": [{"title": "x", "description": description}, {"title": "y"}],
            "required": ["title"],
        }
        return schema_sha256(found | changed)

    frozen = sum_of("a fill")
    assert sum_of("a memset") == frozen
    changes: list[dict[str, Any]] = [
        {"properties": {"b": {"const": "title"}}},  # a property that is called as a keyword is
        {"properties": {"title": {"type": "integer"}, "b": {"const": "title"}}},
        {"properties": {"title": {"type": "string"}, "b": {"const": "description"}}},
        {"$defs": {}},
        {"$defs": {"description": {"anyOf": []}}},
        {"prefixItems": [{"title": "y"}, {"title": "x"}]},  # two fields of a list change places
        {"required": ["description"]},
    ]
    sums = [sum_of("a fill", **change) for change in changes]
    assert len({frozen, *sums}) == len(changes) + 1


def test_only_the_wording_of_a_released_schema_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, release=True)
    before = (tmp_path / "index.json").read_bytes()
    monkeypatch.setattr(AttributeProfile, "__doc__", "Better words.")
    assert check_files(tmp_path) == [
        "sigcontract.profile-1.schema.json does not match the records; write the files again",
        "sigcontract.profile-2.schema.json does not match the records; write the files again",
    ]
    write_files(tmp_path)
    assert check_files(tmp_path) == []
    assert (tmp_path / "index.json").read_bytes() == before


def test_a_missing_or_a_foreign_file_is_out_of_step(tmp_path: Path) -> None:
    assert len(check_files(tmp_path)) == 2 * len(FORMS)
    write_files(tmp_path)
    (tmp_path / "sigcontract.diff-1.schema.json").unlink()
    index = {"schemas": [*_entries(tmp_path), _entries(tmp_path)[0] | {"file": "old-0.schema.json"}]}
    (tmp_path / "index.json").write_text(json.dumps(index))
    assert check_files(tmp_path) == [
        "sigcontract.diff-1.schema.json does not match the records; write the files again",
        "old-0.schema.json is in index.json, but no such document exists",
    ]


def test_the_files_are_written_from_a_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sigcontract.wire.schemas", str(tmp_path), "--release"]
    subprocess.run(command, check=True, capture_output=True)
    assert {entry["status"] for entry in _entries(tmp_path)} == {"released"}
    index = json.loads((tmp_path / "index.json").read_text())
    index["schemas"][0]["sha256"] = "0"
    (tmp_path / "index.json").write_text(json.dumps(index))
    failed = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == (
        "sigcontract.dump-1.schema.json is released and cannot change; add a new version of sigcontract.dump\n"
    )


def _entries(directory: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((directory / "index.json").read_text())["schemas"]
    return entries


def test_the_decoder_is_the_stricter_of_the_two() -> None:
    """JSON Schema's integer takes 1.0; the decoder does not."""
    data = b'{"document":"sigcontract.dump","version":2.0}'
    assert jsonschema.Draft202012Validator({"properties": {"version": {"const": 2}}}).is_valid(json.loads(data))
    with pytest.raises(msgspec.ValidationError):
        FORMS["sigcontract.dump", 2].json.decode(data)
