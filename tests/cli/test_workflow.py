"""Nothing that comes out of a file is a command to GitHub's runner, in any form."""

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.cli.workflow import commands, without_commands
from sigcontract.model.dump import LabeledGraph
from sigcontract.wire.codec import save
from tests.compare.dumps import dump, kernel
from tests.update.build import graph

LABELS = ("::error title=gate::from a label", "a label of ::error::words", "##[error]label")
NAME = "##[error]from a ::error:: kernel"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("COLUMNS", "40")
    paths = []
    for grid in (1, 2):
        node = kernel(name=NAME, grid=grid)
        graphs = tuple(LabeledGraph(label=label, graph=graph(node)) for label in LABELS)
        path = tmp_path / f"{grid}.dump.json"
        save(replace(dump(process_id=grid), graphs=graphs), path)
        paths.append(str(path))
    return paths


def is_command(line: str) -> bool:
    return re.match(r"\s*::", line) is not None or "##[" in line


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_no_line_of_a_diff_is_a_command(form: str, files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *files, "--format", form]) == 1
    assert not list(filter(is_command, capsys.readouterr().out.splitlines()))


@pytest.mark.parametrize("command", [["show"], ["show", "--format", "json"], ["show", "--nodes"], ["groups"]])
def test_no_line_of_another_command_is_one(
    command: list[str], files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], files[0], *command[1:]]) == 0
    assert not list(filter(is_command, capsys.readouterr().out.splitlines()))


def test_a_parser_reads_what_was_meant(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", files[0], "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [label for entry in shown["graphs"] for label in entry["labels"]] == list(LABELS)
    assert shown["functions"][0]["name"] == NAME


def test_the_annotations_are_our_own(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *files, "--format", "github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("::notice ") for line in lines)
    assert not any("##[" in line for line in lines)


def test_a_command_in_pieces_is_one_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    import sys  # noqa: PLC0415  the stream of this moment

    with without_commands():
        for piece in ("a #", "#", "[error]\n  ", ":", ":error::\n", "b ::c\n", "  "):
            sys.stdout.write(piece)
        sys.stdout.flush()
        sys.stdout.write("::d\n")
        commands(sys.stdout).write("::notice::ours\n")
    assert capsys.readouterr().out == "a #\\u0023[error]\n  \\x3a:error::\nb ::c\n  \\x3a:d\n::notice::ours\n"


def test_elsewhere_text_is_as_it_is(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert main(["show", files[0]]) == 0
    assert "\n::error title=gate::from a label" in capsys.readouterr().out


def test_json_has_no_character_that_moves_a_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    label = "\x9b31m\x7f\u202e\u2066\u2028"
    path = tmp_path / "a.dump.json"
    save(replace(dump(), graphs=(LabeledGraph(label=label, graph=graph(kernel(name=label))),)), path)
    assert main(["show", str(path), "--format", "json"]) == 0
    out = capsys.readouterr().out
    assert not set(label[1:2] + label[4:] + label[0]).difference("31m").intersection(out)
    assert json.loads(out)["graphs"][0]["labels"] == [label]
