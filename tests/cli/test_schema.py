"""``sigcontract schema``."""

import json
from pathlib import Path

import pytest

from sigcontract.cli.main import main
from sigcontract.wire.documents import FORMS
from sigcontract.wire.schemas import schema_sha256
from tests.architecture.source import ROOT


def test_the_list_names_every_document_version_and_sum(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [(document, version) for document, version, _ in lines] == [
        ("sigcontract.dump", "1"),
        ("sigcontract.dump", "2"),
        ("sigcontract.dump", "3"),
        ("sigcontract.profile", "1"),
        ("sigcontract.diff", "1"),
        ("sigcontract.diff", "2"),
        ("sigcontract.groups", "1"),
        ("sigcontract.prediction", "1"),
        ("sigcontract.fleet", "1"),
        ("sigcontract.fleet-diff", "1"),
        ("sigcontract.fleet-query", "1"),
        ("sigcontract.show", "1"),
        ("sigcontract.validation", "1"),
        ("sigcontract.migration", "1"),
        ("sigcontract.rules", "1"),
        ("sigcontract.review", "1"),
        ("sigcontract.contract", "1"),
        ("sigcontract.check", "1"),
    ]
    assert main(["schema", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)["schemas"]
    assert [entry["sha256"] for entry in listed] == [found for _, _, found in lines]


def test_a_schema_is_printed_and_its_sum_is_that_of_the_index(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--format", "json"]) == 0
    newest = json.loads(capsys.readouterr().out)["schemas"][1]
    assert main(["schema", "sigcontract.dump"]) == 0
    text = capsys.readouterr().out
    assert schema_sha256(json.loads(text)) == newest["sha256"]
    assert json.loads((ROOT / "schemas" / "index.json").read_text())["schemas"][1]["sha256"] == newest["sha256"]
    assert json.loads(text)["properties"]["version"]["const"] == 2


def test_an_older_version_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "sigcontract.dump", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["properties"]["version"]["const"] == 1


def test_a_version_that_never_was_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "sigcontract.dump", "9"]) == 2
    assert capsys.readouterr().err.startswith("sigcontract: error[version]: unknown sigcontract.dump version ")


def test_typescript_types_are_printed_and_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "sigcontract.dump", "3", "--lang", "typescript"]) == 0
    assert capsys.readouterr().out == (ROOT / "schemas" / "sigcontract.dump-3.d.ts").read_text(encoding="utf-8")
    assert main(["schema", "--lang", "typescript"]) == 0
    listed = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    files = [path.name.removesuffix(".d.ts") for path in (ROOT / "schemas").glob("*.d.ts")]
    assert sorted("-".join(entry) for entry in listed) == sorted(files)
    assert main(["schema", "sigcontract.dump", "2", "--lang", "typescript"]) == 2
    assert "error[usage]: sigcontract.dump version 2 has no TypeScript types" in capsys.readouterr().err


def test_the_schemas_of_the_project_are_in_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--check", str(ROOT / "schemas")]) == 0
    assert capsys.readouterr().out == f"{len(FORMS)} schemas up to date\n"


def test_what_was_written_is_in_step_until_it_is_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--write", str(tmp_path)]) == 0
    file = tmp_path / "sigcontract.dump-2.schema.json"
    file.write_text(file.read_text(encoding="utf-8").replace("integer", "number", 1), encoding="utf-8")
    capsys.readouterr()
    assert main(["schema", "--check", str(tmp_path)]) == 1
    assert capsys.readouterr().out == (
        "sigcontract.dump-2.schema.json does not match the records; write the files again\n"
    )
    assert main(["schema", "--check", str(tmp_path), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["in_step"] is False


def test_an_empty_folder_is_out_of_step(tmp_path: Path) -> None:
    assert main(["schema", "--check", str(tmp_path)]) == 1


@pytest.mark.parametrize("index", ["{", "[]", "{}"])
def test_an_index_that_is_none_is_an_error_and_not_out_of_step(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "index.json").write_text(index, encoding="utf-8")
    assert main(["schema", "--check", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("sigcontract: error[malformed]: the index.json in ")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--check", "{}/none"], "error[file]: {}/none is not a directory; name the one with the schemas"),
        (
            ["--write", "/proc/none"],
            "error[file]: /proc/none cannot be created: No such file or directory; name another",
        ),
        (
            ["sigcontract.dump", "--check", "{}"],
            "error[usage]: --check and --write cover every document; drop DOCUMENT or the option",
        ),
        (
            ["--lang", "typescript", "--check", "{}"],
            "error[usage]: --check and --write apply to JSON Schemas only; name a DOCUMENT for its TypeScript types",
        ),
    ],
)
def test_a_folder_that_is_none_and_a_document_with_a_folder_are_errors(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", *(word.format(tmp_path) for word in arguments)]) == 2
    assert complaint.format(tmp_path) in capsys.readouterr().err
