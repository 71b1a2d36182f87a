"""``sigcontract show``."""

import json
from pathlib import Path

import msgspec
import pytest

from sigcontract.cli.main import main
from sigcontract.cli.node_rows import FunctionNumbers, rows
from sigcontract.cli.node_table import table_lines
from sigcontract.compare.alignment import Block
from sigcontract.model.dump import LabeledGraph
from sigcontract.wire.codec import save
from tests.cli.dumps import DUMP, chain, kernel


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    path = tmp_path / "server.dump.json"
    save(DUMP, path)
    return str(path)


EXPECTED = """\
"""


def test_a_dump_is_shown_with_its_environment_and_its_layers_folded(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", dump]) == 0
    assert capsys.readouterr().out == EXPECTED
