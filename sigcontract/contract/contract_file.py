"""Read a contract (TOML): every fault is listed with its path and line; unknown keys and names are faults."""

import re
import tomllib
from collections.abc import Collection, Iterator
from datetime import date, datetime, time
from itertools import accumulate, islice
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sigcontract.contract.lines import TomlLines
from sigcontract.errors import ContractError, DecodeError, InvariantError, LimitError, RecordError
from sigcontract.model import NODE_RECORDS, AttributeId, Contract, GraphClause
from sigcontract.update import POLICIES, RULES
from sigcontract.wire import MAX_FAULTS, MAX_NESTING, decode, document_bytes, escaped_name, faults

__all__ = ["CLAUSE_RULES", "NEVER_PASS", "ContractFile", "contract_faults", "load_contract"]

#: Largest contract file, in bytes: people write them.
_MAX_BYTES = 1 << 20
#: Strings and comments of TOML, in which brackets and dots are text.
_TEXT = re.compile(
    r'''"""(?>[^"\\]|\\.|"(?!""))*"{3,5}|'{3}(?>[^']|'(?!''))*'{3,5}|"(?>[^"\\\n]|\\.)*"|'[^'\n]*'|\#[^\n]*''',
    re.DOTALL,
)
_LONG_KEY = re.compile(rf"(?<![\w-])(?>[\w-]+[ \t]*\.[ \t]*){{{MAX_NESTING}}}")
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
#: Unknown names that get a suggestion: each search takes milliseconds.
_NAMES_LOOKED_UP = 20
_LONGEST_LOOKED_UP = 100

#: Rule ids of the clauses themselves, with what each checks.
CLAUSE_RULES = {
    "contract.complete": "whether the dump is complete",
    "contract.driver": "whether the contract covers the dump's driver and devices",
    "contract.executables": "how many executables the graphs need under a policy",
    "contract.golden": "whether a graph agrees with its golden graph",
    "contract.golden-missing": "whether the golden dump exists",
    "contract.graph-count": "how many graphs match a label",
    "contract.graph-uncovered": "whether every graph is covered by a clause",
    "contract.graphs": "how many graphs the dump has",
    "contract.kernel": "how often a kernel appears",
    "contract.programmatic-edges": "whether a graph has programmatic edges",
    "contract.suppression-expired": "whether a suppression has expired",
}
#: Rules that cannot be allowed or suppressed: they mean missing or undetermined.
NEVER_PASS = frozenset(
    {
        "contract.complete",
        "contract.driver",
        "contract.golden",
        "contract.golden-missing",
        "contract.suppression-expired",
        "dump.empty",
        "dump.incomplete",
        "graph.not-recorded",
    }
)
_FIELDS = frozenset(field for record in NODE_RECORDS.values() for field in record.__struct_fields__) | {"dependencies"}
_ATTRIBUTES = frozenset(member.name.lower() for member in AttributeId)


class ContractFile(NamedTuple):
    """A contract and its file.

    Attributes
    ----------
    contract
        The parsed contract.
    path
        The file as given; goldens and profiles are relative to its directory.
    lines
        The line of each key.
    """

    contract: Contract
    path: str
    lines: TomlLines

    @property
    def name(self) -> str:
        r"""The file name as valid UTF-8: other bytes are escaped, as ``\udcff``."""
        return escaped_name(self.path)

    def beside(self, name: str) -> Path:
        """Return the path of a file named in the contract."""
        return Path(self.path).parent / name


def load_contract(path: str) -> ContractFile:
    """Read a contract file.

    Raises
    ------
    FileError
        The file cannot be read.
    ContractError
        The contract is invalid; ``faults`` lists every fault.
    """
    contract, lines, found = _read(path)
    if contract is None or found:
        found.sort(key=lambda fault: lines.line_of(fault.path))
        raise ContractError(path, tuple(found), tuple(lines.line_of(fault.path) for fault in found))
    return ContractFile(contract, path, lines)


def contract_faults(contract: Contract) -> list[RecordError]:
    """Return references to unknown rules, policies, fields and dates."""
    return list(_faults(contract))


def _faults(contract: Contract) -> Iterator[RecordError]:
    names = _Names()
    yield from _policy_faults(contract.policy, "$.policy")
    yield from _field_faults(contract.vary, "$.vary")
    yield from _rule_faults(contract.rules, "$.rules", names)
    for index, clause in enumerate(contract.graph):
        yield from _clause_faults(clause, contract, f"$.graph[{index}]", names)
    for index, executables in enumerate(contract.executables):
        yield from _policy_faults(executables.policy, f"$.executables[{index}].policy")
    known = CLAUSE_RULES.keys() | RULES.keys()
    for index, suppression in enumerate(contract.suppress):
        path = f"$.suppress[{index}]"
        yield from names.faults(suppression.rule, f"{path}.rule", known)
        if not suppression.reason.strip():
            yield InvariantError("a suppression needs a reason", path=f"{path}.reason")
        try:
            date.fromisoformat(suppression.expires)
        except ValueError:
            yield InvariantError(f"no such date: {suppression.expires}", path=f"{path}.expires")


def _read(path: str) -> tuple[Contract | None, TomlLines, list[RecordError]]:
    try:
        text, data = _text_and_json(document_bytes(path, _MAX_BYTES))
    except RecordError as error:
        return None, TomlLines(""), [error]
    lines = TomlLines(text)
    found = faults(data)
    if found:
        return None, lines, found
    contract = decode(data, expect=Contract)
    return contract, lines, list(islice(_faults(contract), MAX_FAULTS))


def _text_and_json(data: bytes) -> tuple[str, bytes]:
    """Return a TOML file as text and as JSON. Raises RecordError if it is not TOML."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(f"not UTF-8: {error.reason}", code="malformed") from error
    _check_nesting(text)
    try:
        return text, msgspec.json.encode(_with_dates_as_text(tomllib.loads(text)))
    except (ValueError, OverflowError) as error:  # TOMLDecodeError; int() and msgspec on many digits
        raise DecodeError(f"not TOML: {error}", code="malformed") from error


def _check_nesting(text: str) -> None:
    """Raise LimitError for deep brackets and keys of many parts: tomllib recurses on them, or takes quadratic time."""
    bare = _TEXT.sub("x", text)
    depth = max(accumulate(_STEPS.get(character, 0) for character in re.findall(r"[\[\]{}]", bare)), default=0)
    if depth > MAX_NESTING or _LONG_KEY.search(bare):
        raise LimitError(f"tables are nested more than {MAX_NESTING} deep; a contract is flat", code="nesting")


def _with_dates_as_text(value: Any) -> Any:
    """Return a TOML value as JSON: a date as text, so its fault is one of type, at its path."""
    if isinstance(value, dict):
        return {key: _with_dates_as_text(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_dates_as_text(part) for part in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # JSON has no inf or nan; msgspec would write null
    return value.isoformat() if isinstance(value, date | datetime | time) else value


def _clause_faults(clause: GraphClause, contract: Contract, path: str, names: "_Names") -> Iterator[RecordError]:
    if clause.policy is not None:
        yield from _policy_faults(clause.policy, f"{path}.policy")
    yield from _field_faults(clause.vary, f"{path}.vary")
    yield from _rule_faults(clause.rules, f"{path}.rules", names)
    if clause.golden is None and contract.golden is None:
        for key in ("golden_graph", "policy", "worst", "vary", "rules"):
            if getattr(clause, key):
                yield InvariantError(f"{key} applies to a golden dump, and none is named", path=f"{path}.{key}")


def _policy_faults(policy: str, path: str) -> Iterator[RecordError]:
    if policy not in POLICIES:
        yield InvariantError(f"no policy {policy!r}; policies: {', '.join(POLICIES)}", path=path)


def _rule_faults(rules: dict[str, Any], path: str, names: "_Names") -> Iterator[RecordError]:
    for rule in rules:
        yield from names.faults(rule, f"{path}.{rule}", RULES.keys())


class _Names:
    """Look up rules; suggest the nearest known rule for the first unknown ones."""

    def __init__(self) -> None:
        self._looked_up = 0

    def faults(self, rule: str, path: str, known: Collection[str]) -> Iterator[RecordError]:
        if rule in NEVER_PASS:
            yield InvariantError(f"{rule} cannot be allowed or suppressed", path=path)
        elif rule not in known:
            hint = self._hint(rule, known)
            yield InvariantError(f"no rule {rule!r}{hint}; `sigcontract rules` lists them", path=path)

    def _hint(self, rule: str, known: Collection[str]) -> str:
        if self._looked_up == _NAMES_LOOKED_UP or len(rule) > _LONGEST_LOOKED_UP:
            return ""
        from difflib import get_close_matches  # noqa: PLC0415  only for an unknown rule

        self._looked_up += 1
        near = get_close_matches(rule, known, n=1)
        return f" (did you mean {near[0]!r}?)" if near else ""


def _field_faults(fields: tuple[str, ...], path: str) -> Iterator[RecordError]:
    for index, field in enumerate(fields):
        first, bracket, rest = field.partition(".")[0].partition("[")
        attribute = rest.removesuffix("]")
        if first not in _FIELDS:
            yield InvariantError(f"no node has a field {first!r}", path=f"{path}[{index}]")
        elif first == "attributes" and bracket and attribute not in _ATTRIBUTES and not attribute.isdecimal():
            yield InvariantError(f"no launch attribute {attribute!r}", path=f"{path}[{index}]")
