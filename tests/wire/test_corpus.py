"""The corpus: whole files of every document and version, and what each reader says of them."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from pydantic import TypeAdapter, ValidationError

from sigcontract.errors import RecordError, SigcontractError
from sigcontract.wire import codec
from sigcontract.wire.documents import FORMS, Form
from sigcontract.wire.schemas import schema

CORPUS = Path(__file__).parents[1] / "corpus"
VALID = sorted(CORPUS.glob("*/valid/*"))
INVALID = sorted(file for file in CORPUS.glob("*/invalid/*") if file.name != "expected.json")
#: Codes of what is refused before any value is looked at, and of what no look at single values can find.
BEFORE_VALUES = {"malformed", "magic", "version", "document", "nesting"}
BETWEEN_PARTS = {"invariant", "limit", "duplicate_key", "digest", "nesting"}


def form_of(file: Path) -> Form:
    document, version = file.parents[1].name.rsplit("-", 1)
    return FORMS[document, int(version)]


def plain(file: Path) -> Any:
    """Return what a file holds as plain values, however wrong they are."""
    data = file.read_bytes()
    return msgspec.msgpack.decode(data) if file.suffix == ".msgpack" else json.loads(data)


def name(file: Path) -> str:
    return f"{file.parents[1].name}/{file.name}"


def expected(file: Path) -> tuple[str, str]:
    entry = json.loads((file.parent / "expected.json").read_text())[file.name]
    return entry["code"], entry["path"]


def test_every_version_of_every_document_is_in_the_corpus() -> None:
    assert {f"{document}-{version}" for document, version in FORMS} == {file.parents[1].name for file in VALID}
    assert {file.parents[1].name for file in INVALID} == {file.parents[1].name for file in VALID}
    assert len(INVALID) > 90


def test_every_invalid_file_has_an_expectation_and_the_other_way_round() -> None:
    for index in CORPUS.glob("*/invalid/expected.json"):
        assert set(json.loads(index.read_text())) == {file.name for file in index.parent.iterdir()} - {index.name}


@pytest.mark.parametrize("file", VALID, ids=name)
def test_a_valid_file_is_read_and_written_again_the_same(file: Path) -> None:
    record = codec.load(file, verify=True)
    version = form_of(file).version
    for format_ in ("json", "msgpack"):
        again = codec.encode(record, format=format_, version=version)
        assert codec.decode(again, verify=True) == record
        assert codec.encode(codec.decode(again), format=format_, version=version) == again


@pytest.mark.parametrize("file", VALID, ids=name)
def test_a_valid_file_has_no_faults_and_fits_its_schema(file: Path) -> None:
    assert codec.faults(file.read_bytes()) == []
    jsonschema.Draft202012Validator(schema(form_of(file).document, form_of(file).version)).validate(plain(file))


@pytest.mark.parametrize("file", INVALID, ids=name)
def test_an_invalid_file_is_refused_with_its_code_and_path(file: Path) -> None:
    with pytest.raises(RecordError) as caught:
        codec.load(file, verify=True)
    assert (caught.value.code, caught.value.path) == expected(file)
    assert caught.value.__notes__ == [f"in {file}"]


@pytest.mark.parametrize("file", INVALID, ids=name)
def test_an_invalid_file_has_faults_of_which_one_is_that_of_the_decoder(file: Path) -> None:
    found = codec.faults(file.read_bytes())
    if file.name == "json_named.msgpack":  # nothing is wrong but the name
        assert found == []
        return
    code, path = expected(file)
    assert {fault.code for fault in found} == {code}
    # pydantic points at the field, where msgspec points at the record that lacks it or has it too much
    tags = {"unknown_tag.json": ".node", "attribute_type_unknown.json": ".type"}
    index = path.removesuffix(tags.get(file.name, ""))
    assert any(fault.path.startswith(index) for fault in found)


@pytest.mark.parametrize(
    "file",
    [file for file in INVALID if expected(file)[0] not in BEFORE_VALUES and "huge_int" not in file.name],
    ids=name,
)
def test_what_pydantic_refuses_msgspec_refuses_and_the_other_way_round(file: Path) -> None:
    code, _ = expected(file)
    if code in BETWEEN_PARTS and "value_" not in file.name:
        TypeAdapter(form_of(file).wire).validate_python(plain(file))
        return
    with pytest.raises(ValidationError):
        TypeAdapter(form_of(file).wire).validate_python(plain(file))


@pytest.mark.parametrize("file", INVALID, ids=name)
def test_what_the_schema_refuses_the_decoder_refuses(file: Path) -> None:
    """Never the reverse: a schema takes 1.0 for an integer, and cannot follow references."""
    try:
        value = plain(file)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return
    if not jsonschema.Draft202012Validator(schema(form_of(file).document, form_of(file).version)).is_valid(value):
        with pytest.raises(SigcontractError):
            codec.load(file)
