"""The contract of the docs, the action, the hooks and the example workflow: they name what there is, and run."""

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from sigcontract.cli.commands import COMMANDS
from sigcontract.contract import load_contract

ROOT = Path(__file__).parents[2]
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")


def test_the_contract_of_the_page_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    path = tmp_path / "contract.toml"
    path.write_text(text, encoding="utf-8")
    contract = load_contract(str(path)).contract
    assert contract.graph[0].kernel[1].bounds == (0, 0)
    assert contract.suppress[0].stale


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "contract").glob("*.toml")), ids=lambda path: path.name)
def test_every_shipped_contract_is_one_and_its_golden_dump_is_there(path: Path) -> None:
    file = load_contract(str(path))
    assert file.contract.golden is not None
    assert file.beside(file.contract.golden).is_file()


def script() -> str:
    """Return what the action runs to check."""
    (body,) = re.findall(r"- id: check\n.*?run: \|\n(.*)\Z", ACTION, flags=re.DOTALL)
    return dedent(body)


@pytest.mark.parametrize(
    ("dump", "contract", "status"),
    [
        ("triton-scale-3.dump.json", "triton-scale.toml", 1),
        ("torch-block.dump.json", "torch-block.toml", 0),
        ("nodes.dump.json", "none.toml", 2),
        ("-none.dump.json", "torch-block.toml", 2),
    ],
)
def test_the_action_writes_a_summary_and_its_status_and_ends_with_it(
    tmp_path: Path, dump: str, contract: str, status: int
) -> None:
    command = tmp_path / "runner" / "sigcontract" / "bin" / "sigcontract"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sigcontract "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {
        "RUNNER_TEMP": str(tmp_path / "runner"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_ACTIONS": "true",
        "DUMP": f"examples/{dump}" if not dump.startswith("-") else dump,
        "CONTRACT": f"examples/contract/{contract}",
        "SARIF": str(tmp_path / "a b.sarif"),
        "JUNIT": "",
    }
    ended = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script()],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == status, ended.stderr
    assert (tmp_path / "output").read_text() == f"status={status}\n"
    written = status != 2
    assert (tmp_path / "summary.md").exists() == written
    assert (tmp_path / "a b.sarif").exists() == written
    assert ended.stdout.startswith("::") == written


def test_no_input_of_the_action_is_code_in_its_script() -> None:
    assert "${{" not in script()
    inputs = set(re.findall(r"^  ([a-z-]+):$", ACTION.partition("inputs:")[2].partition("outputs:")[0], re.MULTILINE))
    assert inputs == set(re.findall(r"\$\{\{ inputs\.([a-z-]+) \}\}", ACTION))


def test_the_hooks_and_the_workflow_name_commands_and_inputs_that_there_are() -> None:
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    commands = re.findall(r"^  entry: sigcontract (\w+)$", hooks, flags=re.MULTILINE)
    assert commands == ["validate", "check"]
    assert set(commands) <= set(COMMANDS)
    workflow = (ROOT / "examples" / "contract" / "workflow.yml").read_text(encoding="utf-8")
    given = re.findall(r"^          ([a-z]+): ", workflow.partition("OWNER/sigcontract@REVISION\n")[2], re.MULTILINE)
    known = set(re.findall(r"^  ([a-z-]+):$", ACTION, flags=re.MULTILINE))
    assert set(given[:4]) == {"dump", "contract", "sarif", "junit"} <= known


def test_action_hooks_and_workflows_are_yaml_of_the_form_that_their_readers_ask() -> None:
    yaml: Any = pytest.importorskip("yaml", reason="needs the extra docs")
    action = yaml.safe_load(ACTION)
    assert action["runs"]["using"] == "composite"
    assert all("uses" in step or step["shell"] == "bash" for step in action["runs"]["steps"])
    assert all(
        given["description"] and (given.get("required") or "default" in given) for given in action["inputs"].values()
    )
    assert action["outputs"]["status"]["value"] == "${{ steps.check.outputs.status }}"
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")):
        assert {"id", "name", "entry", "language"} <= hook.keys()
        assert re.search(hook["files"], "dumps/server.dump.json.zst")
    workflow = yaml.safe_load((ROOT / "examples" / "contract" / "workflow.yml").read_text(encoding="utf-8"))
    (ours,) = [step for step in workflow["jobs"]["check"]["steps"] if step.get("uses") == "OWNER/sigcontract@REVISION"]
    assert ours["with"].keys() <= action["inputs"].keys()
    assert {name for name, given in action["inputs"].items() if given.get("required")} <= ours["with"].keys()
