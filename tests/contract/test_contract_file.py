"""Reading contracts: every fault with its path and line, and nothing that is not known is taken."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from sigcontract.contract import load_contract
from sigcontract.contract.contract_file import NEVER_PASS
from sigcontract.errors import ContractError, FileError
from sigcontract.model import AttributeId, Contract, KernelClause
from sigcontract.update import RULES
from sigcontract.wire import decode, schema
from tests.contract.contracts import HEAD, written

WHOLE = """
golden = "golden.dump.json"
profile = "nvidia-h200-cuda-13.0"
policy = "portable"
worst = "harmless"
vary = ["grid_dim", "attributes[priority]", "function.registers", "dependencies"]
graphs = 2
rules = { "kernel.grid-dim" = "allow", "kernel.cluster-dim" = "allow-stale" }

[[driver]]
cuda_driver_version = 13000
compute_capability = "9.0"

[[graph]]
label = "decode/*"
at_most = 4
programmatic_edges = "required"

  [[graph.kernel]]
  name = "*gemm*"
  at_least = 2

  [[graph.kernel]]
  code_sha256 = "abababababababababababababababababababababababababababababababab"
  count = 0

[graph.rules]
"kernel.block-dim" = "fail"

[[executables]]
policy = "share"
at_most = 2

[[suppress]]
rule = "contract.kernel"
reason = "until the next release"
expires = 2027-03-31
"""


def faults(folder: Path, text: str) -> list[tuple[int, str, str]]:
    with pytest.raises(ContractError) as caught:
        load_contract(written(folder, text))
    assert caught.value.code == "contract"
    return [
        (line, fault.path, fault.reason) for line, fault in zip(caught.value.lines, caught.value.faults, strict=True)
    ]


def test_a_contract_with_every_key_is_read(tmp_path: Path) -> None:
    contract = load_contract(written(tmp_path, WHOLE)).contract
    assert contract.graph[0].bounds == (0, 4)
    assert contract.graph[0].kernel[0] == KernelClause(name="*gemm*", at_least=2)
    assert contract.graph[0].rules == {"kernel.block-dim": "fail"}
    assert contract.suppress[0].expires == "2027-03-31"
    assert contract.graph[0].worst is None


def test_what_is_read_fits_the_schema_and_is_the_document_that_it_says(tmp_path: Path) -> None:
    plain = json.loads(json.dumps(tomllib.loads(HEAD + WHOLE), default=str))
    jsonschema.Draft202012Validator(schema("sigcontract.contract")).validate(plain)
    contract = load_contract(written(tmp_path, WHOLE)).contract
    assert decode(json.dumps(plain).encode(), expect=Contract) == contract


def test_every_fault_is_listed_with_its_path_and_line(tmp_path: Path) -> None:
    text = """
golden = 3
colour = "red"
graphs = -1

[[graph]]
lable = "x"

[[graph]]
worst = "fine"

[[suppress]]
rule = "kernel.grid-dim"
expires = 2027-03-31
"""
    found = faults(tmp_path, text)
    assert [(line, path) for line, path, _ in found] == [
        (4, "$.golden"),
        (5, "$.colour"),
        (6, "$.graphs"),
        (9, "$.graph[0].lable"),
        (12, "$.graph[1].worst"),
        (14, "$.suppress[0].reason"),
    ]
    assert "Extra inputs are not permitted" in {reason for _, _, reason in found}


def test_names_that_do_not_exist_are_listed_too(tmp_path: Path) -> None:
    text = """
golden = "g.dump.json"
policy = "strict"
vary = ["gird_dim", "attributes[prio]"]
[rules]
"kernel.grid-dimm" = "allow"
"dump.incomplete" = "allow"
[[executables]]
policy = "shared"
at_most = 1
[[suppress]]
rule = "contract.golden-missing"
reason = " "
expires = 2027-02-31
"""
    # TOML itself has no 31st of February.
    assert faults(tmp_path, text)[0][2].startswith("not TOML: ")
    found = faults(tmp_path, text.replace("2027-02-31", '"2027-02-31"'))
    assert found == [
        (5, "$.policy", "no policy 'strict'; policies: exact, share, share-functions, portable"),
        (6, "$.vary[0]", "no node has a field 'gird_dim'"),
        (6, "$.vary[1]", "no launch attribute 'prio'"),
        (
            8,
            "$.rules.kernel.grid-dimm",
            "no rule 'kernel.grid-dimm' (did you mean 'kernel.grid-dim'?); `sigcontract rules` lists them",
        ),
        (
            9,
            "$.rules.dump.incomplete",
            "dump.incomplete cannot be allowed or suppressed",
        ),
        (
            11,
            "$.executables[0].policy",
            "no policy 'shared'; policies: exact, share, share-functions, portable",
        ),
        (
            14,
            "$.suppress[0].rule",
            "contract.golden-missing cannot be allowed or suppressed",
        ),
        (15, "$.suppress[0].reason", "a suppression needs a reason"),
        (16, "$.suppress[0].expires", "no such date: 2027-02-31"),
    ]


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ("", "$", "the contract requires nothing"),
        ("graphs = 1\n[[graph]]\ncount = 1\nat_least = 1\n", "$.graph[0]", "count is exact"),
        ("[[graph]]\nat_least = 2\nat_most = 1\n", "$.graph[0]", "contradict each other"),
        ("[[graph]]\n[[graph.kernel]]\ncount = 1\n", "$.graph[0].kernel[0]", "needs name, code_sha256, or both"),
        ("graphs = 1\n[[driver]]\n", "$.driver[0]", "at least one key of driver"),
        ('[[graph]]\nworst = "stale"\n', "$.graph[0].worst", "applies to a golden dump, and none is named"),
        ("graphs = 99999999999999999999999\n", "$.graphs", "less than or equal to 4294967295"),
        ("graphs = nan\n", "$.graphs", "Input should be one of: integer, null"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path: Path, text: str, path: str, reason: str) -> None:
    ((_, where, why),) = faults(tmp_path, text)
    assert where == path
    assert reason in why


def test_another_document_or_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "contract.toml"
    for text, code in (
        ('document = "sigcontract.contract"\nversion = 2\ngraphs = 1\n', "version"),
        ('document = "sigcontract.dump"\nversion = 2\n', "decode"),
        ("graphs = 1\n", "magic"),
        ("graphs = \n", "malformed"),
        ("graphs = " + "9" * 5000, "malformed"),
        ("a = " + "[" * 5000, "nesting"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ContractError) as caught:
            load_contract(str(path))
        assert caught.value.faults[0].code == code, text
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ContractError, match="not UTF-8"):
        load_contract(str(path))
    with pytest.raises(FileError):
        load_contract(str(tmp_path / "none.toml"))


def test_what_never_passes_is_a_rule_that_there_is() -> None:
    known = RULES.keys()
    assert {rule for rule in NEVER_PASS if not rule.startswith("contract.")} <= known
    assert AttributeId.PRIORITY.name.lower() == "priority"
