"""Keys that are there twice, in every spelling."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from sigcontract.errors import DecodeError
from sigcontract.wire.decoder_errors import step
from sigcontract.wire.duplicates import refuse_duplicate_keys
from tests.strategies import LAWS, json_values


def twice(data: bytes, *, text: bool, again: bytes = b"") -> str | None:
    """Return the path of a key that is there twice. No document is equal to an empty one, so tokens are walked."""
    try:
        refuse_duplicate_keys(data, again, text=text)
    except DecodeError as error:
        return error.path
    return None


@LAWS
@given(st.dictionaries(st.text(max_size=3), json_values()))
def test_a_value_without_a_key_twice_is_let_through(value: dict[str, Any]) -> None:
    assert twice(json.dumps(value).encode(), text=True) is None
    assert twice(msgspec.msgpack.encode(value), text=False) is None


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**64 - 1,
        -(2**63),
        1.5,
        "x" * 31,
        "x" * 32,
        "x" * 256,
        "x" * 70_000,
        b"x",
        b"x" * 300,
        b"x" * 70_000,
        [1] * 15,
        [1] * 16,
        [1] * 70_000,
        {str(number): number for number in range(16)},
        {str(number): number for number in range(70_000)},
        msgspec.msgpack.Ext(1, b"x"),
        msgspec.msgpack.Ext(1, b"x" * 3),
        msgspec.msgpack.Ext(1, b"x" * 16),
        msgspec.msgpack.Ext(1, b"x" * 300),
        msgspec.msgpack.Ext(1, b"x" * 70_000),
        {1: 2, 3.5: [4]},
    ],
    ids=lambda value: f"{type(value).__name__}-{len(msgspec.msgpack.encode(value))}",
)
def test_every_form_of_message_pack_is_walked_over(value: Any) -> None:
    key = msgspec.msgpack.encode("key")
    data = b"\x82" + key + msgspec.msgpack.encode(value) + key + b"\xc0"
    assert twice(data, text=False) == "$.key"


@pytest.mark.parametrize(
    "small", [b"\xca\x00\x00\x00\x00", b"\xd0\x01", b"\xd9\x01x", b"\xdc\x00\x01\xc0", b"\xde\x00\x00"]
)
def test_forms_longer_than_needed_are_walked_over_too(small: bytes) -> None:
    assert twice(b"\x81\xa1a" + small, text=False) is None
    assert twice(b"\x82\xa1a" + small + b"\xa1a" + small, text=False) == "$.a"


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b'{"a":1,"a":1}', "$.a"),
        (b'{"a":1,"\\u0061":1}', "$.a"),
        (b'{"x":[{"b":{"a":1,"c":2,"a":3}}]}', "$.x[0].b.a"),
        (b'{"a" : 1, "a"\t:1}', "$.a"),
    ],
)
def test_a_key_twice_is_reported_with_its_path(data: bytes, path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        refuse_duplicate_keys(data, b"", text=True)
    assert str(caught.value) == f"duplicate key; the value is ambiguous (at {caught.value.pointer})"
    assert caught.value.path == path
    assert caught.value.code == "duplicate_key"


@pytest.mark.parametrize("spelled", [b"x\\u0022:", b'x\\"\\u003a', b'x\\"\\u003A'])
def test_a_string_cannot_hide_a_key_twice_by_how_it_is_spelled(spelled: bytes) -> None:
    """Encoded again, the string has what a key ends with once more than it had, and the key twice once less."""
    again = msgspec.json.encode({"a": 1, "b": 'x":'})
    assert twice(b'{"a":1,"b":"' + spelled + b'"}', again=again, text=True) is None
    assert twice(b'{"a":0,"a":1,"b":"' + spelled + b'"}', again=again, text=True) == "$.a"


@LAWS
@given(st.dictionaries(st.text(max_size=3), json_values(), min_size=1), st.data())
def test_one_key_more_is_found_however_the_text_is_laid_out(value: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(value)))
    indent = data.draw(st.sampled_from([None, 0, 2]))
    colon = data.draw(st.sampled_from([":", ": ", " :", "\n:"]))
    text = json.dumps(value, indent=indent, separators=(",", colon))
    longer = "{" + json.dumps(key) + colon + "0," + text.removeprefix("{")
    again = msgspec.json.encode(value)
    assert twice(text.encode(), again=again, text=True) is None
    assert twice(longer.encode(), again=again, text=True) == f"${step(key)}"
