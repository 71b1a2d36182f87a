"""Nesting: one limit for every interpreter and every thread, counted before anything recursive runs."""

import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from sigcontract.errors import InvariantError, LimitError
from sigcontract.wire import codec, nesting
from sigcontract.wire.limits import MAX_NESTING
from sigcontract.wire.nesting import check_nesting, packed_values
from tests.strategies import LAWS, json_values
from tests.wire.families import FAMILIES, document, encoded


def nested(depth: int, kind: str) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind == "array" else {'a]"\\': value}
    return value


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


def is_refused(data: bytes, *, text: bool) -> bool:
    try:
        check_nesting(data, text=text)
    except LimitError as error:
        return error.code == "nesting"
    return False


@pytest.mark.parametrize("kind", ["array", "object"])
@pytest.mark.parametrize("text", [True, False])
def test_the_limit_is_exact(kind: str, text: bool) -> None:
    assert not is_refused(encoded(nested(MAX_NESTING, kind), text=text), text=text)
    assert is_refused(encoded(nested(MAX_NESTING + 1, kind), text=text), text=text)
    many = [nested(3, kind)] * 50 + [nested(MAX_NESTING, kind)] + [nested(3, kind)] * 50
    assert is_refused(encoded(many, text=text), text=text)


@LAWS
@given(json_values(), st.integers(1, 5), st.booleans(), st.integers(1, 9))
def test_the_depth_of_any_value_is_counted(value: Any, limit: int, text: bool, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "MAX_NESTING", limit)
        patch.setattr(nesting, "_PASSES", limit)
        patch.setattr(nesting, "_CHUNK_BYTES", chunk)
        assert is_refused(encoded(value, text=text), text=text) == (depth_of(value) > limit)


@LAWS
@given(st.text(alphabet='[]{}"\\,:a\x7f', max_size=30), st.integers(1, 9))
def test_what_strings_hold_is_not_counted(text: str, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "_CHUNK_BYTES", chunk)
        assert nesting.text_structure(json.dumps([text, {text: text}]).encode()) == b"[[]]"


@LAWS
@given(st.binary(max_size=60))
def test_any_bytes_are_counted(data: bytes) -> None:
    assert not is_refused(data, text=True)
    assert not is_refused(data, text=False)


@pytest.mark.parametrize("family", FAMILIES)
def test_patterns_of_whole_rows_pass_over_what_is_walked_value_by_value(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = FAMILIES[family](40)
    data = encoded(value | {"extensions": {"x": nested(MAX_NESTING - 2, "array")}}, text=False)
    deeper = encoded(value | {"extensions": {"x": nested(MAX_NESTING - 1, "array")}}, text=False)
    for worth in (0, 2**60):
        monkeypatch.setattr(nesting, "_WORTH_PATTERNS", worth)
        assert not is_refused(data, text=False)
        assert is_refused(deeper, text=False)


def test_patterns_see_deep_values_among_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nesting, "_WORTH_PATTERNS", 0)
    value = FAMILIES["chain"](100)
    for table in ("nodes", "graphs", "attribute_sets"):
        rows = [*value[table], {"node": nested(MAX_NESTING, "array")}, *value[table]]
        assert is_refused(encoded(value | {table: rows}, text=False), text=False)


@pytest.mark.parametrize("key", [b"\x01", b"\x91\x01", b"\xc4\x01a", b"\xc0", b"\x80"])
def test_a_key_of_message_pack_is_a_string(key: bytes) -> None:
    data = encoded(document([], [], []), text=False).removesuffix(b"\x80") + b"\x81\xa1x\x81" + key + b"\x01"
    with pytest.raises(InvariantError, match="map keys must be strings") as caught:
        codec.decode(data)
    assert caught.value.path == "$.extensions"
    assert codec.faults(data)


@pytest.mark.parametrize("value", [[], [1], {"a": 1}, {"a": [1, {"b": "c"}]}, "x" * 300, 1.5])
def test_values_and_keys_are_counted(value: Any) -> None:
    def count(part: Any) -> int:
        if isinstance(part, dict):
            return 1 + sum(1 + count(inner) for inner in part.values())
        return 1 + (sum(map(count, part)) if isinstance(part, list) else 0)

    data = msgspec.msgpack.encode(value)
    assert packed_values(data, 1000) == count(value)
    assert packed_values(data, count(value) - 1) == count(value)


_SMALL_STACK = """
import sys, threading
import sigcontract as sc
from tests.wire.families import document, encoded
text = sys.argv[1] == "json"
value = encoded(document([], [], [], extensions={"x": 0}), text=text)
deep = b"[" * 900 + b"]" * 900 if text else b"\\x91" * 900 + b"\\xc0"
value = value.replace(b'"x":0', b'"x":' + deep) if text else value.replace(b"\\xa1x\\x00", b"\\xa1x" + deep)
found = []
def run():
    for call in (sc.decode, sc.faults):
        try:
            found.append(call(value))
        except sc.errors.LimitError as error:
            found.append(error)
sc.decode(encoded(document([], [], [])))
sc.faults(value)
threading.stack_size(128 * 1024)
thread = threading.Thread(target=run)
thread.start()
thread.join()
print(found[0].code, found[1][0].code)
"""


@pytest.mark.parametrize("form", ["json", "msgpack"])
def test_deep_extensions_in_a_thread_of_128_kib_are_refused(form: str) -> None:
    done = subprocess.run([sys.executable, "-c", _SMALL_STACK, form], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "nesting nesting\n"), done.stderr
