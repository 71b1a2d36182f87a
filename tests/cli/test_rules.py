"""``sigcontract rules``."""

import json

import jsonschema
import pytest

from sigcontract.cli.main import main
from sigcontract.update.rules import RULES
from sigcontract.wire.schemas import schema


def test_every_rule_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(RULES)


def test_a_rule_is_explained_with_what_it_depends_on_and_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "kernel.cluster-dim"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("kernel.cluster-dim: stale, reported\n  The effective cluster")
    assert "\n  depends on: the profile's cluster_fixed_at" in shown
    assert "https://github.com/ml-explore/mlx/pull/2813" in shown


def test_an_explanation_keeps_to_the_width_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    longest = {}
    for columns in ("60", "300"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["rules", "kernel.cluster-dim"]) == 0
        longest[columns] = max(map(len, capsys.readouterr().out.splitlines()))
    assert longest["60"] <= 60
    assert 60 < longest["300"] <= 100


def test_json_is_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    jsonschema.validate(shown, schema("sigcontract.rules"))
    assert [rule["id"] for rule in shown["rules"]] == list(RULES)
    assert main(["rules", "node.added", "--format", "json"]) == 0
    (rule,) = json.loads(capsys.readouterr().out)["rules"]
    assert rule["verdict"] == "rejected"


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        pytest.param("kernel.cluster", "; similar: kernel.cluster-", id="alike"),
        pytest.param("split", "; similar: function.split", id="part of one"),
        pytest.param("qqq", "; `sigcontract rules` lists them", id="like none"),
    ],
)
def test_an_unknown_rule_is_refused_with_the_nearest(rule: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", rule]) == 2
    assert capsys.readouterr().err.startswith(f"sigcontract: error[usage]: no rule '{rule}'{hint}")
