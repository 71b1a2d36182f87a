"""Documents that are nearly right: valid ones with some values changed, then bytes, in either format."""

import json
import marshal
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from sigcontract.wire import codec
from tests.wire.families import FAMILIES

__all__ = ["Sample", "mutated", "seeds", "spelled"]

_CORPUS = Path(__file__).parents[1] / "corpus"
_ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, -2, 2**31, 2**32 - 1, 2**32, 2**53 - 1, 2**53, 2**63, 2**64 - 1, -(2**63), 1.0, 0.5),
    *("", "a", "\x00", "\x7f", "\x9b", "\u202e", "\ud7ff", "0x0000000000000001", "::error::", "##[error]", "a" * 300),
    *([], {}, [[]], [{}], {"a": {}}, [0], [[0, 1, 0, 1]]),
    *("sigcontract.dump", "kernel", "graph", "conditional", "value", "unreadable", "launch", "_Z1fPS_S0_"),
]
_BYTES = [b"\x00", b"\xc0", b"\xc1", b"\xd4", b"\x91", b"\x81", b"\xdf", b"\xff", b"[", b"{", b"}", b'"', b"\\", b","]
_NAMES = ["x", "extensions", "node", "value", "type"]
#: The form of `marshal` in which a value that is there twice is written twice.
_WITHOUT_REFERENCES = 2


class Sample:
    """A document that others are made from, as a plain value."""

    def __init__(self, value: Any) -> None:
        self._packed = marshal.dumps(value, _WITHOUT_REFERENCES)
        self._values: list[Any] = []
        #: Each value's key or index, after the number of the value that holds it; -1 is the document.
        self._paths: list[tuple[int, Any]] = []
        waiting = [(-1, value)]
        while waiting:
            number, holder = waiting.pop()
            for key in holder if isinstance(holder, dict) else range(len(holder)):
                part = holder[key]
                if isinstance(part, dict | list):
                    waiting.append((len(self._paths), part))
                self._paths.append((number, key))
                self._values.append(part)

    def copy(self) -> Any:
        """Return the document, for a caller that changes it."""
        return marshal.loads(self._packed)  # noqa: S302  written above

    def a_path(self, random: Random) -> list[Any] | None:
        """Return the keys and indices that lead to one of the values, the last first; None where there is none."""
        if not self._paths:
            return None
        number = random.randrange(len(self._paths))
        path = []
        while number >= 0:
            number, key = self._paths[number]
            path.append(key)
        return path

    def a_value(self, random: Random) -> Any:
        """Return one of the values."""
        return random.choice(self._values) if self._values else None

    def of_key(self, key: Any) -> list[Any]:
        """Return the values of a field's name, or at an index."""
        return self._by_key.get(key, [])

    @cached_property
    def _by_key(self) -> dict[Any, list[Any]]:
        found: dict[Any, list[Any]] = {}
        for (_, key), value in zip(self._paths, self._values, strict=True):
            found.setdefault(key, []).append(value)
        return found


def seeds() -> list[Sample]:
    """Return the documents to begin with: the valid ones of the corpus, and small adversarial ones."""
    found = []
    for file in sorted(_CORPUS.glob("*/valid/*")):
        data = codec.document_bytes(file, 2**20)
        found.append(msgspec.json.decode(data) if data[:1] == b"{" else msgspec.msgpack.decode(data))
    return [Sample(value) for value in found + [make(size) for make in FAMILIES.values() for size in (1, 3)]]


def mutated(pool: list[Sample], random: Random) -> Any:
    """Return a document of the pool with one to four of its values changed, some for parts of other documents."""
    sample = random.choice(pool)
    changed = sample.copy()
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        path = sample.a_path(random)
        if path:
            _change(changed, path, pool, random)
    if random.random() < 0.7:
        _mend(changed)
    return changed


def _mend(value: Any) -> None:
    """Make the parts of a dump of version 2 fit together again, where they are of the right types."""
    graphs = value.get("graphs") if isinstance(value, dict) else None
    header = value.get("header") if isinstance(value, dict) else None
    if not isinstance(graphs, list) or not isinstance(header, list):
        return
    counts = []
    for graph in graphs:
        nodes, edges = (graph.get(name) for name in ("nodes", "dependencies")) if isinstance(graph, dict) else (0, 0)
        if isinstance(nodes, list) and isinstance(edges, list):
            edges[len(nodes) :] = []
            edges += [[] for _ in range(len(nodes) - len(edges))]
        counts.append(len(nodes) if isinstance(nodes, list) else 0)
    for entry in header:
        row = entry.get("graph") if isinstance(entry, dict) else None
        if isinstance(row, int) and 0 <= row < len(counts):
            entry["node_count"] = counts[row]


def _change(holder: Any, path: list[Any], pool: list[Sample], random: Random) -> None:
    """Change one value: mostly for one that the same field may have, sometimes for any."""
    try:
        for step in reversed(path[1:]):
            holder = holder[step]
        key = path[0]
        value = holder[key]
    except (KeyError, IndexError, TypeError):
        return  # an earlier change took it away
    if not isinstance(holder, dict | list):
        return
    chance = random.random()
    if chance < 0.1:
        _break(holder, key, pool, random)
    elif isinstance(value, list) and value and chance < 0.7:
        _rearrange(value, random)
    elif isinstance(value, int) and not isinstance(value, bool) and chance < 0.5:
        holder[key] = max(0, value + random.choice((-1, 1, 1, 2)))
    else:
        alike = random.choice(pool).of_key(key)
        alike = [other for other in alike if isinstance(other, type(value)) and other != value] or alike
        if alike:
            holder[key] = _copy(random.choice(alike))


def _rearrange(value: list[Any], random: Random) -> None:
    way = random.randrange(5)
    if way == 0:
        random.shuffle(value)
    elif way == 1:
        value *= random.choice((2, 3, 8))
    elif way == 2:
        del value[random.randrange(len(value))]
    else:
        value.insert(random.randrange(len(value) + 1), _copy(random.choice(value)))


def _break(holder: Any, key: Any, pool: list[Sample], random: Random) -> None:
    value = holder[key]
    way = random.randrange(5)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, dict):
        holder[random.choice([*_NAMES, f"{key}x"])] = value
    elif way == 2:
        holder[key] = _copy(random.choice(pool).a_value(random))
    elif way == 3:
        for _ in range(random.choice((1, 5, 60, 70))):
            value = [value] if random.random() < 0.5 else {"a": value}
        holder[key] = value
    else:
        holder[key] = _copy(random.choice(_ODD))


def _copy(value: Any) -> Any:
    if isinstance(value, dict | list):
        return marshal.loads(marshal.dumps(value, _WITHOUT_REFERENCES))  # noqa: S302  written here
    return value


def spelled(value: Any, random: Random) -> bytes:
    """Return a document as bytes, in one of the spellings that its value has; one in eight is then damaged."""
    try:
        data = _spelled(value, random.randrange(6))
    except OverflowError:  # MessagePack has no integer of 65 bits
        data = msgspec.json.encode(value)
    if random.random() < 0.125 and data:
        start = random.randrange(len(data))
        end = start if random.random() < 0.5 else random.randrange(start, len(data) + 1)
        data = data[:start] + random.choice(_BYTES) * random.choice((0, 1, 1, 3, 100, 2000)) + data[end:]
    return data


def _spelled(value: Any, way: int) -> bytes:
    if way <= 1:
        return msgspec.msgpack.encode(value)
    if way == 2:
        return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1)
    if way == 3:
        return json.dumps(value, separators=(" ,", " :")).encode()
    if way == 4:
        text = json.dumps(value)
        return text.replace('{"', '{"label":0,"', 1).encode()
    return msgspec.json.encode(value)
