"""Goldens of the plugin are golden dumps of a contract, and a golden dump of a contract is a golden of the plugin."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import sigcontract as sc
from sigcontract.cli.main import main
from sigcontract.golden import compare_with_golden, golden_bytes, golden_of
from tests.architecture.source import ROOT
from tests.compare.dumps import again, dump, kernel
from tests.contract.contracts import checked, clauses, only
from tests.update import build

EXAMPLES = sorted((ROOT / "examples").glob("*.dump.json"))
GEMM, NORM = kernel(name="gemm", func=1), kernel(name="norm", func=2)
BASE = build.graph(GEMM, NORM)
WIDER = build.graph(replace(GEMM, grid_dim=sc.Dim3(x=9, y=1, z=1)), NORM)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_a_contract_agrees_with_the_plugin_s_golden_of_the_same_recording(path: Path, tmp_path: Path) -> None:
    """Unknown code and unreadable attributes are undetermined between two runs, here as with the dump itself."""
    recorded = sc.load(path, expect=sc.SignatureDump)
    (tmp_path / "decode.json").write_bytes(golden_bytes(golden_of(recorded)))
    later = replace(recorded, environment=replace(recorded.environment, process_id=1, created_at="later"))
    report = checked(tmp_path, later, 'golden = "decode.json"\n')
    against_itself = checked(tmp_path, later, 'golden = "itself.dump.json"\n', itself=recorded)
    assert clauses(report) == clauses(against_itself)
    assert report.answer != "failed"


def test_a_contract_finds_in_the_plugin_s_golden_what_changed_and_its_line(tmp_path: Path) -> None:
    (tmp_path / "decode.json").write_bytes(golden_bytes(golden_of(dump(BASE))))
    report = checked(tmp_path, again(WIDER), 'golden = "decode.json"\n')
    check = only(report, "contract.golden", "g0")
    assert [each.finding.rule for each in check.findings] == ["kernel.grid-dim"]
    line = (tmp_path / "decode.json").read_text(encoding="utf-8").splitlines()[(check.golden_line or 0) - 1]
    assert '"label"' in line
    assert '"g0"' in line


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_plugin_agrees_with_a_contract_s_golden_dump_of_the_same_recording(path: Path) -> None:
    assert compare_with_golden(golden_of(sc.load(path, expect=sc.SignatureDump)), path).state == "same"


def test_the_plugin_finds_what_changed_in_a_contract_s_golden_dump(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sc.save(dump(BASE), "server.dump.json")
    assert main(["check", "--init", "server.dump.json"]) == 0
    found = compare_with_golden(golden_of(again(WIDER)), Path("contract.golden.dump.json"))
    assert found.state == "different"
    assert found.comparison is not None
    assert [finding.rule for finding in found.comparison.diff.graphs[0].findings] == ["kernel.grid-dim"]
