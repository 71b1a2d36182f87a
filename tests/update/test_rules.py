"""The table of rules: complete, well formed, and printed as it is."""

import re
from pathlib import Path

import msgspec
import pytest

from sigcontract.model.cuda import AttributeId
from sigcontract.model.dims import Dim3
from sigcontract.model.dump import SignatureDump
from sigcontract.update.rules import ATTRIBUTE_RULES, RULE_OF_FIELD, RULES, Rule
from tools.rules_page import page

EVIDENCE = {"documented", "measured", "reported", "assumed"}


def records_of_a_dump() -> set[type[msgspec.Struct]]:
    """Return every record type that a dump can hold, Dim3 left out: it is a value, judged where it stands."""
    found: set[type[msgspec.Struct]] = set()
    waiting: list[msgspec.inspect.Type] = [msgspec.inspect.type_info(SignatureDump)]
    while waiting:
        match waiting.pop():
            case msgspec.inspect.StructType(cls=cls, fields=fields) if cls not in found:
                found.add(cls)
                waiting.extend(field.type for field in fields)
            case msgspec.inspect.UnionType(types=types):
                waiting.extend(types)
            case msgspec.inspect.VarTupleType(item_type=item):
                waiting.append(item)
            case msgspec.inspect.Metadata(type=inner):
                waiting.append(inner)
            case _:
                pass  # a value
    return found - {Dim3}


FIELDS = sorted(f"{cls.__name__}.{name}" for cls in records_of_a_dump() for name in cls.__struct_fields__)


def test_the_walk_over_the_records_finds_them() -> None:
    assert {"KernelNodeSignature.grid_dim", "MemOp.flags", "ConditionalNode.bodies", "ParameterLayout.size_bytes"} <= {
        *FIELDS
    }


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_every_record_has_a_rule(field: str) -> None:
    assert isinstance(RULE_OF_FIELD[field], Rule)


def test_no_rule_judges_a_field_that_is_not_there() -> None:
    assert set(RULE_OF_FIELD) == set(FIELDS)


def test_every_launch_attribute_has_a_rule_and_ids_without_a_name_share_one() -> None:
    assert set(ATTRIBUTE_RULES) == set(AttributeId)
    assert len({entry.id for entry in ATTRIBUTE_RULES.values()}) == len(AttributeId)
    assert RULES["kernel.attribute-other"].verdict == "undetermined"


@pytest.mark.parametrize("entry", RULES.values(), ids=list(RULES))
def test_a_rule_is_well_formed(entry: Rule) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*\.[a-z0-9]+(-[a-z0-9]+)*", entry.id)
    assert entry.evidence in EVIDENCE
    assert entry.why.endswith(".")
    assert entry.source


def test_documented_rules_cite_nvidia_and_measured_ones_a_measurement() -> None:
    """A rule that is measured only by a profile says so in its index."""
    for entry in RULES.values():
        if entry.evidence == "documented":
            assert entry.documented, entry.id
        if entry.evidence == "measured":
            assert "measured" in entry.source or entry.source == "the profile", entry.id
        if entry.evidence == "reported":
            assert "https://" in entry.source, entry.id


def test_the_page_is_the_table() -> None:
    assert (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8") == page()
