"""Documents as fields of pydantic models: what a file holds is what the field reads and writes."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

import sigcontract as sc
from sigcontract.wire.documents import FORMS

CORPUS = Path(__file__).parents[1] / "corpus"
VALID = sorted(CORPUS.glob("*/valid/*.json"))
INVALID = sorted(file for file in CORPUS.glob("*/invalid/*.json") if file.name != "expected.json")
EVERY = (CORPUS / "sigcontract.dump-2" / "valid" / "every_node.json").read_bytes()
DUMP = sc.decode(EVERY, expect=sc.SignatureDump)


class Job(BaseModel):
    """A downstream model."""

    dump: sc.SignatureDump
    others: list[sc.SignatureDump] = []
    profile: sc.DriverProfile | None = None


def record_of(file: Path) -> type[Any]:
    document, version = file.parents[1].name.rsplit("-", 1)
    return FORMS[document, int(version)].record


def faults_of(value: Any) -> list[tuple[tuple[int | str, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        Job.model_validate(value)
    return [(error["loc"], error["msg"]) for error in caught.value.errors()]


@pytest.mark.parametrize("file", VALID, ids=lambda file: f"{file.parents[1].name}-{file.name}")
def test_a_field_reads_every_document_and_writes_one(file: Path) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(record_of(file))
    record = adapter.validate_json(file.read_bytes())
    assert record == sc.decode(file.read_bytes())
    written = adapter.dump_json(record)
    assert written == msgspec.json.encode(msgspec.json.decode(sc.encode(record)))
    assert adapter.validate_json(written) == record
    assert adapter.validate_python(record) == record
    document = json.loads(written)
    for mode in ("validation", "serialization"):
        described = adapter.json_schema(mode=mode)
        # The schema of a field is that of the default version; a dump with arguments is written as a newer one.
        if document["version"] != described["properties"]["version"]["const"]:
            assert "arguments" in document
            described = sc.schema(document["document"], document["version"])
        jsonschema.Draft202012Validator(described).validate(document)


@pytest.mark.parametrize("file", INVALID, ids=lambda file: f"{file.parents[1].name}-{file.name}")
def test_a_field_refuses_what_is_no_document(file: Path) -> None:
    try:
        plain = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        return
    found = sc.faults(file.read_bytes())
    if not isinstance(plain, dict) or {fault.code for fault in found} & {"duplicate_key", "digest", "magic"}:
        return  # what a parser has lost, and what is not looked at without `verify`
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(record_of(file)).validate_python(plain)
    errors = caught.value.errors()
    assert errors
    of_its_kind = f"{plain.get('document')}-{plain.get('version')}" == file.parents[1].name
    beyond_json = "_100_bits" in file.name or "infinity" in file.name  # another fault, once Python has read it
    if of_its_kind and found[0].code != "malformed" and not beyond_json:
        assert [error["loc"] for error in errors] == [fault.location for fault in found]


def test_a_model_reads_the_text_of_a_file_and_takes_back_what_it_wrote() -> None:
    job = Job.model_validate_json(b'{"dump": %b, "others": [%b]}' % (EVERY, sc.encode(DUMP, version=3)))
    assert job == Job(dump=DUMP, others=[DUMP])
    assert Job.model_validate_json(job.model_dump_json()) == job
    assert Job.model_validate(job.model_dump()) == job


def test_the_shape_of_the_record_is_read_as_well() -> None:
    assert Job.model_validate({"dump": msgspec.to_builtins(DUMP)}) == Job(dump=DUMP)


def test_each_fault_is_one_error_where_it_lies_in_the_model() -> None:
    wrong = json.loads(sc.encode(DUMP, version=3))
    kernel = next(index for index, node in enumerate(wrong["nodes"]) if node["node"] == "kernel")
    wrong["nodes"][kernel]["kernel"]["grid_dim"]["x"] = -1
    wrong["launches"][0]["block_dim"]["y"] = True
    assert faults_of({"dump": DUMP, "others": [DUMP, wrong]}) == [
        (("others", 1, "launches", 0, "block_dim", "y"), "Input should be a valid integer"),
        (
            ("others", 1, "nodes", kernel, "kernel", "grid_dim", "x"),
            "Input should be greater than or equal to 0",
        ),
    ]


def test_a_fault_between_parts_has_its_location_and_the_value_there() -> None:
    wrong = json.loads(EVERY)
    wrong["header"][0]["graph"] = 99
    with pytest.raises(ValidationError) as caught:
        Job.model_validate({"dump": wrong})
    (error,) = caught.value.errors()
    assert (error["loc"], error["type"], error["input"]) == (("dump", "header", 0, "graph"), "invariant", 99)


@pytest.mark.parametrize(
    ("value", "location", "message"),
    [
        (5, ("dump",), "Input should be a valid dictionary"),
        ({"document": 1}, ("dump",), 'Not a sigcontract file: top-level "document" is missing'),
        (
            {"document": "sigcontract.profile", "version": 1},
            ("dump", "document"),
            "this is a sigcontract.profile, expected a sigcontract.dump",
        ),
        (
            {"document": "sigcontract.dump", "version": 9},
            ("dump", "version"),
            "unknown sigcontract.dump version 9; this release reads 1, 2, 3; upgrade sigcontract",
        ),
        ({"document": object()}, ("dump",), "Encoding objects of type object is unsupported"),
    ],
)
def test_what_is_no_dump_is_one_error(value: Any, location: tuple[str, ...], message: str) -> None:
    assert faults_of({"dump": value}) == [(location, message)]
