"""What commands print as JSON: records, each with its document and its schema."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from sigcontract.model.record import Record
from sigcontract.model.results import (
    DumpView,
    Migration,
    RecordingReport,
    ReviewReport,
    RuleList,
    SchemaList,
    ValidationReport,
)
from sigcontract.wire.codec import decode, encode
from sigcontract.wire.documents import document_name
from sigcontract.wire.schemas import schema
from tests.strategies import LAWS, records


@pytest.mark.parametrize(
    "cls", [DumpView, Migration, RecordingReport, ReviewReport, RuleList, SchemaList, ValidationReport]
)
def test_a_result_is_a_document_that_fits_its_schema_and_is_read_again(cls: type[Record]) -> None:
    validator = jsonschema.Draft202012Validator(schema(document_name(cls)))

    @LAWS
    @given(records(cls))
    def law(record: Any) -> None:
        data = encode(record)
        assert not list(validator.iter_errors(json.loads(data)))
        assert decode(data) == record

    law()
