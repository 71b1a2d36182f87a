"""``sigcontract groups``."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.model.dump import SignatureDump
from sigcontract.model.groups import GroupsReport
from sigcontract.wire.codec import decode, load, save
from tests.update.build import H200

EXAMPLES = Path(__file__).parents[2] / "examples"
TORCH = str(EXAMPLES / "torch-block.dump.json")
MODULES = str(EXAMPLES / "two-modules.dump.json")


@pytest.fixture(autouse=True)
def _one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines as they are: how they are broken is tested where they are drawn."""
    monkeypatch.setenv("COLUMNS", "1000")


def test_the_widest_safe_policy_is_shown_and_the_others_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", MODULES]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("share-functions: 3 graphs, ")
    (others,) = (line for line in shown if line.startswith("other policies"))
    assert others.startswith("other policies (--policy): exact: 2 executables (1 fewer, ")
    assert others.endswith("equal across processes")


def test_without_a_profile_functions_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unmeasured = str(tmp_path / "unmeasured.dump.json")
    save(replace(load(MODULES, expect=SignatureDump), profile=None), unmeasured)
    assert main(["groups", unmeasured]) == 0
    assert capsys.readouterr().out.startswith("share: 3 graphs, ")


def test_json_is_a_document_with_groups_and_what_keeps_them_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", MODULES, "--policy", "share", "--format", "json", "--flags", "use_node_priority,1"]) == 0
    report = decode(capsys.readouterr().out.encode(), expect=GroupsReport)
    (policy,) = report.policies
    assert (report.dumps, report.flags, report.profile) == ((MODULES,), 9, "nvidia-h200-cuda-13.0")
    assert [[name.label for name in group.members] for group in policy.groups] == [["first", "first again"], ["second"]]
    nearest = policy.groups[1].nearest
    assert nearest is not None
    assert nearest.graph.label == "first"
    assert [reason.rule for reason in nearest.findings] == ["kernel.function"]
    assert policy.executables_saved == 1
    assert "measured on an H200" in report.memory_source


def test_the_fewest_executables_are_those_of_updates_that_are_proven(capsys: pytest.CaptureFixture[str]) -> None:
    """Six batch sizes of a transformer block, of which three pairs have clusters of their own."""
    arguments = ["groups", TORCH, "--policy", "share-functions", "--policy", "share-updatable", "--format", "json"]
    assert main(arguments) == 0
    functions, updatable = decode(capsys.readouterr().out.encode(), expect=GroupsReport).policies
    assert (functions.executables, updatable.executables, updatable.executables_saved) == (3, 1, 5)
    assert updatable.memory_saved_bytes_high == 5 * 264 * 10_240
    assert [len(group.members) for group in updatable.groups] == [6]


def test_a_flag_that_does_not_exist_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", MODULES, "--flags", "PRIORITY"]) == 2
    assert "'PRIORITY' is not a flag; flags: AUTO_FREE_ON_LAUNCH, " in capsys.readouterr().err


def test_an_unknown_policy_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", TORCH, "--policy", "strict"]) == 2
    assert capsys.readouterr().err.startswith("sigcontract: error[usage]: no policy 'strict'")


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
