"""``sigcontract check``: statuses, messages, first contracts, baselines, several outputs."""

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.cli.outputs import FORMATS
from sigcontract.model import CheckReport, DeviceInfo, SignatureDump
from sigcontract.wire import load, save
from tests.compare.dumps import again, dump, kernel
from tests.contract.contracts import HEAD
from tests.update.build import cluster, graph

OLD, WIDER, STALE = graph(kernel()), graph(kernel(grid=9)), graph(kernel(cluster(2)))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in a folder of dumps, with a contract on the first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    for name, found in {"old": dump(OLD), "same": again(OLD), "wider": again(WIDER), "stale": again(STALE)}.items():
        save(replace(found, profile="nvidia-h200-cuda-13.0"), f"{name}.dump.json")
    save(replace(again(OLD), complete=False), "cut.dump.json")
    Path("contract.toml").write_text(HEAD + 'golden = "old.dump.json"\n', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["same.dump.json"], 0),
        (["wider.dump.json"], 1),
        (["cut.dump.json"], 3),
        (["none.dump.json"], 2),
        (["old.dump.json"], 2),
        (["same.dump.json", "--contract", "none.toml"], 2),
        (["same.dump.json", "--contract", "old.dump.json"], 2),
        (["same.dump.json", "--force"], 2),
        (["same.dump.json", "--init", "--update"], 2),
        (["same.dump.json", "--update", "--output", "json=x"], 2),
        (["same.dump.json", "--output", "pdf=x"], 2),
        (["same.dump.json", "--output", "json=x", "--output", "sarif=./x"], 2),
    ],
)
def test_the_status_says_whether_the_contract_is_kept(arguments: list[str], status: int) -> None:
    assert main(["check", *arguments]) == status


def test_the_text_names_graph_line_difference_and_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "108")
    assert main(["check", "stale.dump.json"]) == 1
    assert capsys.readouterr().out == (
        "failed: 3 checks, 1 failed, 2 passed\n"
        "stale.dump.json against contract.toml\n"
        "\n"
        "failed  contract.golden  g0  (contract.toml:3 golden)\n"
        "  agreed: same as the graph of this label in old.dump.json; worst verdict allowed: identical\n"
        "  found: 1 difference: 1 not allowed, worst verdict stale\n"
        "    stale  kernel.cluster-dim  nodes[0].attributes[cluster_dimension] (probe): none → 2x1x1\n"
        "  golden: old.dump.json:4\n"
        "  if this is intended, run the same command with --update\n"
        "\n"
        "kernel.cluster-dim: stale, measured\n"
        "  The effective cluster (the attribute, or what __cluster_dims__ compiled in) is fixed at the exec's first\n"
        "  upload or launch. The update reports SUCCESS, but the exec keeps launching the old cluster; even the\n"
        "  profiler's record names the new one. If the grid is not a multiple of the stored cluster, the kernel does\n"
        "  not run at all. Instantiate a new exec.\n"
    )


def test_every_fault_of_a_contract_is_reported_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("contract.toml").write_text(HEAD + 'golden = "old.dump.json"\ncolour = 1\nworst = "bad"\n', encoding="utf-8")
    assert main(["check", "same.dump.json"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    first, second, last = shown.err.splitlines()
    assert first == "contract.toml:4: error[decode]: Extra inputs are not permitted (at /colour)"
    assert second.startswith("contract.toml:5: error[decode]: Input should be 'harmless', ")
    assert last.startswith("sigcontract: error[contract]: contract.toml is not a valid contract: ")


def test_the_golden_dump_itself_is_not_checked_against_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "old.dump.json"]) == 2
    assert "old.dump.json is the golden dump of contract.toml" in capsys.readouterr().err


def test_a_first_contract_is_written_once_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--init", "same.dump.json", "--contract", "first.toml"]) == 0
    assert capsys.readouterr().out == (
        "first.toml: created; 1 graph of same.dump.json in first.golden.dump.json. Review it and commit both.\n"
    )
    assert main(["check", "old.dump.json", "--contract", "first.toml"]) == 0
    assert main(["check", "wider.dump.json", "--contract", "first.toml"]) == 1
    assert main(["check", "--init", "wider.dump.json", "--contract", "first.toml"]) == 2
    assert main(["check", "--init", "wider.dump.json", "--contract", "first.toml", "--force"]) == 0
    assert main(["check", "--init", "cut.dump.json", "--contract", "other.toml"]) == 2
    assert not Path("other.toml").exists()


@pytest.mark.parametrize("name", ["", "x" * 65_536], ids=["no name", "a name longer than a pattern"])
def test_a_first_contract_is_valid_whatever_the_device_is_called(name: str) -> None:
    device = DeviceInfo(ordinal=0, name=name, compute_capability_major=9, compute_capability_minor=0)
    found = dump(graph(kernel()), devices=(device,))
    save(found, "named.dump.json")
    assert main(["check", "--init", "named.dump.json", "--contract", "first.toml"]) == 0
    save(replace(found, environment=replace(found.environment, process_id=2)), "again.dump.json")
    assert main(["check", "again.dump.json", "--contract", "first.toml"]) == 0


def test_baselines_are_written_again_by_a_person_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    assert main(["check", "wider.dump.json", "--update"]) == 2
    assert "golden dumps are not rewritten in CI" in capsys.readouterr().err
    assert load("old.dump.json", expect=SignatureDump).graphs[0].graph == OLD
    monkeypatch.setenv("CI", "false")
    assert main(["check", "wider.dump.json", "--update"]) == 0
    assert capsys.readouterr().out.startswith("old.dump.json: 1 graph, written\n")
    assert load("old.dump.json", expect=SignatureDump).graphs[0].graph == WIDER
    assert main(["check", "wider.dump.json", "--update"]) == 0
    assert capsys.readouterr().out.startswith("old.dump.json: 1 graph, unchanged\n")


def test_an_expired_suppression_fails_by_the_clock_of_the_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    text = HEAD + 'golden = "old.dump.json"\n[[suppress]]\nrule = "kernel.grid-dim"\nreason = "r"\nexpires = {}\n'
    Path("contract.toml").write_text(text.format("2999-12-31"), encoding="utf-8")
    assert main(["check", "wider.dump.json"]) == 0
    assert "kernel.grid-dim until 2999-12-31: used, lets 1 finding pass (r)" in capsys.readouterr().out
    Path("contract.toml").write_text(text.format("2020-01-01"), encoding="utf-8")
    assert main(["check", "same.dump.json"]) == 1
    assert "contract.suppression-expired" in capsys.readouterr().out


def test_one_run_writes_every_form_and_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    forms = {"json": "c.json", "sarif": "c.sarif", "junit": "c.xml", "markdown": "c.md", "github": "c.txt"}
    arguments = [part for form, file in forms.items() for part in ("--output", f"{form}={file}")]
    assert main(["check", "wider.dump.json", *arguments]) == 1
    assert capsys.readouterr().out.startswith("failed: 3 checks")
    assert load("c.json", expect=CheckReport).answer == "failed"
    assert json.loads(Path("c.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "kernel.grid-dim"
    assert "<failure " in Path("c.xml").read_text()
    assert Path("c.md").read_text().startswith("## sigcontract check: failed")
    assert Path("c.txt").read_text().startswith("::error file=old.dump.json,line=4,title=contract.golden g0 (golden)::")


def test_names_of_files_that_are_no_text_are_escaped_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    folder = os.fsdecode(b"d\xff")
    Path(folder).mkdir()
    for name in ("contract.toml", "old.dump.json", "wider.dump.json"):
        Path(name).rename(f"{folder}/{name}")
    arguments = [f"{folder}/wider.dump.json", "--contract", f"{folder}/contract.toml"]
    outputs = [part for form in FORMATS for part in ("--output", f"{form}=out.{form}")]
    assert main(["check", *arguments, *outputs]) == 1
    assert "d\\udcff/wider.dump.json against d\\udcff/contract.toml" in capsys.readouterr().out
    for form in FORMATS:
        assert Path(f"out.{form}").read_text(encoding="utf-8"), form
    assert main(["diff", f"{folder}/old.dump.json", f"{folder}/wider.dump.json", *outputs]) == 1
