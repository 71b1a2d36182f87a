"""``sigcontract groups``."""

import json
from pathlib import Path

import pytest

from sigcontract.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"
TORCH = str(EXAMPLES / "torch-block.dump.json")
MODULES = str(EXAMPLES / "two-modules.dump.json")


def test_every_policy_is_shown_where_none_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", MODULES]) == 0
    heads = [line.split(":")[0] for line in capsys.readouterr().out.splitlines() if line and line[0] != " "]
    assert heads[:4] == ["exact", "share", "share-functions", "portable"]


def test_json_gives_groups_near_misses_and_savings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", MODULES, "--policy", "share", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (policy,) = found["policies"]
    assert found["dumps"] == [MODULES]
    assert [[name["label"] for name in group] for group in policy["groups"]] == [["first", "first again"]]
    (lone,) = policy["singletons"]
    assert (lone["graph"]["label"], lone["nearest"]["label"]) == ("second", "first")
    assert [reason["rule"] for reason in lone["reasons"]] == ["kernel.function"]
    assert policy["executables_saved"] == 1
    assert "measured on an H200" in found["memory_source"]


def test_an_unknown_policy_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", TORCH, "--policy", "strict"]) == 2
    assert capsys.readouterr().err.startswith("sigcontract: error[usage]: no policy is called 'strict'")


def test_a_profile_may_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["groups", MODULES, "--policy", "share-functions", "--profile", "nvidia-h200-cuda-13.0"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("share-functions: 3 graphs, ")
