"""``sigcontract groups``."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.model.dump import SignatureDump
from sigcontract.wire.codec import load, save
from tests.update.build import H200

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


def test_a_dump_that_was_cut_off_or_is_empty_leaves_the_question_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = load(MODULES, expect=SignatureDump)
    cut, empty = str(tmp_path / "cut.dump.json"), str(tmp_path / "empty.dump.json")
    save(replace(whole, complete=False), cut)
    save(replace(whole, graphs=()), empty)
    assert main(["groups", MODULES, cut, empty, "--policy", "share", "--format", "json"]) == 3
    assert json.loads(capsys.readouterr().out)["gaps"] == [
        {"dump": 1, "rule": "dump.incomplete"},
        {"dump": 2, "rule": "dump.empty"},
    ]
    assert main(["groups", cut, "--policy", "share"]) == 3
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith(f"{cut}: undetermined  dump.incomplete: ")
    assert shown[2].startswith("share: 3 graphs, ")


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        pytest.param(["{twice}"], 3, "label_repeated", id="one label twice"),
        pytest.param([MODULES, "--profile", "{profile}"], 3, "profile_mismatch", id="a profile of another driver"),
        pytest.param([MODULES, "--profile", "b200"], 2, "usage", id="no such profile"),
        pytest.param(["{profile}"], 2, "document", id="another kind of document"),
        pytest.param(["{tmp}/missing.dump.json"], 2, "file", id="no such file"),
        pytest.param([], 2, "usage", id="no dump"),
    ],
)
def test_bad_input_is_an_error_and_no_groups(
    arguments: list[str], status: int, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = load(MODULES, expect=SignatureDump)
    files = {"twice": tmp_path / "twice.dump.json", "profile": tmp_path / "older.profile.json", "tmp": tmp_path}
    save(replace(given, graphs=given.graphs[:1] * 2), files["twice"])
    save(replace(H200, cuda_driver_version=12080), files["profile"])
    assert main(["groups", *(argument.format_map(files) for argument in arguments)]) == status
    shown = capsys.readouterr()
    assert (shown.out, shown.err.partition(":")[2].partition(":")[0]) == ("", f" error[{code}]")
