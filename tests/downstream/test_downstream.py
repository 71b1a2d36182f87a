"""Tools that are not part of the package use its records and schemas, as its users do."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sigcontract.wire.codec import save
from tests.architecture.source import ROOT
from tests.cli.dumps import DUMP

TOOLS = ROOT / "examples" / "downstream"


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "server.dump.json"
    save(DUMP, path)
    return str(path)


def run(tool: str, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(TOOLS / tool), *arguments], input=given, capture_output=True, text=True, check=False
    )


def test_the_msgspec_tool_counts_kernels_by_name(dump: str) -> None:
    ended = run("msgspec_tool.py", dump, "2")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "    48         8x1x1  _Z4gemmIfLi4EEvPKT_PS0_\n    48         1x1x1  norm\n"


def test_the_pydantic_tool_takes_back_what_it_wrote(dump: str) -> None:
    made = run("pydantic_tool.py", "make", dump)
    assert (made.returncode, made.stderr) == (0, "")
    checked = run("pydantic_tool.py", "check", given=made.stdout)
    assert (checked.returncode, checked.stdout) == (0, "kept _Z4gemmIfLi4EEvPKT_PS0_\n")


def test_the_pydantic_tool_names_the_path_of_every_fault(dump: str) -> None:
    budget: dict[str, Any] = json.loads(run("pydantic_tool.py", "make", dump).stdout)
    budget["kernel"]["grid_dim"]["x"] = True
    budget["kernel"]["dynamic_shared_mem_bytes"] = -1
    del budget["kernel"]["name"]
    ended = run("pydantic_tool.py", "check", given=json.dumps(budget))
    assert ended.returncode == 1
    places = {line.partition(": ")[0] for line in ended.stdout.splitlines()}
    assert places == {"kernel.grid_dim.x", "kernel.dynamic_shared_mem_bytes", "kernel.name"}


def test_the_json_schema_of_the_pydantic_tool_keeps_the_bounds() -> None:
    ended = run("pydantic_tool.py", "schema")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert '"maximum": 4294967295' in ended.stdout
