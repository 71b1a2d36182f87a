"""Version 3 of the dump, a draft: what version 2 says, in a form that generators of types take."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given

import sigcontract as sc
from sigcontract.wire import codec
from sigcontract.wire.arguments import without_arguments
from sigcontract.wire.schemas import schema
from tests.strategies import LAWS, records

ROOT = Path(__file__).parents[2]
EVERY = ROOT / "tests" / "corpus" / "sigcontract.dump-2" / "valid" / "every_node.json"
EXAMPLES = sorted((ROOT / "examples").rglob("*.dump.json*"))
WITH_ARGUMENTS = sorted((ROOT / "examples" / "arguments").iterdir())
SCHEMA = schema("sigcontract.dump", 3)


def parts(value: Any) -> list[dict[str, Any]]:
    """Return every object in a schema."""
    if isinstance(value, list):
        return [part for item in value for part in parts(item)]
    if not isinstance(value, dict):
        return []
    return [value, *(part for item in value.values() for part in parts(item))]


def numbers(value: Any) -> list[tuple[Any, Any]]:
    """Return each integer in a document as the object or list that it is in, and its key."""
    if not isinstance(value, dict | list):
        return []
    items = list(value.items() if isinstance(value, dict) else enumerate(value))
    return [(value, key) for key, part in items if type(part) is int] + [
        found for _, part in items for found in numbers(part)
    ]


@pytest.mark.parametrize("format_", ["json", "msgpack"])
def test_version_3_says_what_version_2_says(format_: codec.Format) -> None:
    @LAWS
    @given(records(sc.SignatureDump))
    def law(dump: sc.SignatureDump) -> None:
        bare = without_arguments(dump)
        second = codec.encode(bare, format=format_, version=2)
        third = codec.encode(dump, format=format_, version=3)
        assert codec.decode(third, verify=True) == dump
        again = codec.decode(third, expect=sc.SignatureDump)
        assert codec.encode(without_arguments(again), format=format_, version=2) == second
        assert codec.encode(codec.decode(third), format=format_, version=3) == third
        plain = (msgspec.json if format_ == "json" else msgspec.msgpack).decode(third)
        assert jsonschema.Draft202012Validator(SCHEMA).is_valid(plain)

    law()


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_an_example_comes_back_byte_for_byte_and_its_digests_stay(file: Path) -> None:
    dump = sc.load(file, expect=sc.SignatureDump)
    bare = without_arguments(dump)
    second, third = codec.encode(bare, version=2), codec.encode(bare, version=3)
    assert codec.encode(codec.decode(third), version=2) == second
    assert codec.decode(codec.encode(dump, version=3), verify=True) == dump
    old, new = json.loads(second), json.loads(third)
    assert new["header"] == old["header"]
    tables = len('"allocations":[],"blocks":[],"pointers":[],"arguments":[],')
    names_of_columns = len('"dependencies":') * len(dump.graphs)
    assert len(third) < 1.02 * len(second) + tables + names_of_columns


@pytest.mark.parametrize("file", WITH_ARGUMENTS, ids=lambda file: file.name)
def test_arguments_of_a_recording_are_recorded_and_version_2_refuses_them(file: Path) -> None:
    dump = sc.load(file, expect=sc.SignatureDump)
    nodes = [node for entry in dump.graphs for node in entry.graph.nodes if isinstance(node, sc.KernelNodeSignature)]
    assert nodes
    assert all(node.arguments for node in nodes)
    assert codec.encode(dump) == codec.encode(dump, version=3)
    with pytest.raises(sc.InvariantError, match="version 2 has no field for arguments"):
        codec.encode(dump, version=2)


def test_version_2_is_what_is_written_unless_version_3_is_asked_for(tmp_path: Path) -> None:
    dump = sc.load(EVERY, expect=sc.SignatureDump)
    assert codec.encode(dump) == codec.encode(dump, version=2)
    sc.save(dump, tmp_path / "new.json", version=3)
    assert json.loads((tmp_path / "new.json").read_bytes())["version"] == 3
    assert sc.read_header(tmp_path / "new.json").version == 3
    assert sc.load(tmp_path / "new.json") == dump
    index = json.loads((ROOT / "schemas" / "index.json").read_text())["schemas"]
    (entry,) = [entry for entry in index if (entry["document"], entry["version"]) == ("sigcontract.dump", 3)]
    assert entry["status"] == "draft"


def test_the_schema_has_nothing_that_generators_do_not_take() -> None:
    for part in parts(SCHEMA):
        assert not {"anyOf", "prefixItems"} & part.keys()
        assert len(part.get("allOf", [{}])) == 1
        assert part.keys() <= {"$ref"} or "$ref" not in part
        assert isinstance(part.get("type", ""), str | list | dict)
    unions = {name: found for name, found in SCHEMA["$defs"].items() if "oneOf" in found}
    assert {name: found["discriminator"]["propertyName"] for name, found in unions.items()} == {
        "Node": "node",
        "LaunchAttribute": "type",
    }
    for found in unions.values():
        field = found["discriminator"]["propertyName"]
        assert found["required"] == [field]
        branches = [SCHEMA["$defs"][branch["$ref"].removeprefix("#/$defs/")] for branch in found["oneOf"]]
        assert len({branch["properties"][field]["const"] for branch in branches}) == len(branches)
        for branch in branches:
            # What a tag selects is under its name, or there is nothing to select but what all branches have.
            tag = branch["properties"][field]["const"]
            assert branch["properties"].keys() <= {field, tag, "id", "origin"}


def test_a_wrong_number_is_one_fault_wherever_it_is() -> None:
    document = json.loads(codec.encode(sc.load(EVERY), version=3)) | {"extensions": {}}
    places = [(holder, key) for holder, key in numbers(document) if key != "version"]
    assert len(places) > 100
    for holder, key in places:
        kept, holder[key] = holder[key], -(2**60)
        faults = codec.faults(json.dumps(document).encode())
        holder[key] = kept
        assert len(faults) == 1
        assert faults[0].path.endswith(f"[{key}]" if isinstance(key, int) else f".{key}")
