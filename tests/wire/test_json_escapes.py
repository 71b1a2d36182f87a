"""JSON as it is written: what a reader cannot see is escaped, and a parser reads the same."""

import json
import unicodedata

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from sigcontract.model.dump import SignatureDump
from sigcontract.wire import codec
from sigcontract.wire.json_escapes import printable_json
from tests.strategies import LAWS
from tests.wire.families import document, encoded

HIDDEN = [chr(number) for number in (*range(0x7F, 0xA0), 0x61C, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]


@LAWS
@given(st.text(st.sampled_from([*HIDDEN, "a", "é", "\u20ac", "\U0001f600", '"', "\\", "\u2027"])))
def test_a_parser_reads_the_same_and_a_reader_sees_it_all(text: str) -> None:
    written = printable_json(json.dumps([text], ensure_ascii=False).encode())
    assert json.loads(written) == [text]
    assert not {
        c for c in written.decode() if unicodedata.category(c) == "Cc" or unicodedata.bidirectional(c) in ("RLO", "LRI")
    }


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
def test_a_document_has_no_hidden_character_and_is_read_as_what_it_was(hidden: str) -> None:
    dump = codec.decode(encoded(document([], [], [])), expect=SignatureDump)
    dump = replace(dump, profile=f"a{hidden}b")
    data = codec.encode(dump)
    assert data.isascii()
    assert codec.decode(data) == dump
