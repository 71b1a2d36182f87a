"""What ``show`` shows as a value."""

import json
from pathlib import Path

import pytest

from sigcontract.cli.main import main
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.wire.codec import save
from tests.cli.dumps import DUMP, chain, kernel


def test_json_has_each_graph_and_each_function_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "labels.dump.json"
    graph = chain(*(kernel(f"k{index % 2}" * 1000, index % 2 + 1) for index in range(9)))
    entries = tuple(LabeledGraph(label=f"bs={index}", graph=graph) for index in range(50))
    save(SignatureDump(environment=DUMP.environment, profile=None, complete=True, graphs=entries, extensions={}), path)
    assert main(["show", str(path), "--nodes", "--format", "json"]) == 0
    out = capsys.readouterr().out
    shown = json.loads(out)
    assert [graph["labels"] for graph in shown["graphs"]] == [[f"bs={index}" for index in range(50)]]
    assert [len(function["name"]) for function in shown["functions"]] == [2000, 2000]
    assert [row["function"] for row in shown["graphs"][0]["blocks"][0]["rows"]] == [0, 1] * 4 + [0]
    assert len(out) < 8000
