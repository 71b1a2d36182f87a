"""``sigcontract review``: goldens accepted, rejected and skipped, by a person and by a script."""

import io
import json
import os
from pathlib import Path

import jsonschema
import pytest

import sigcontract as sc
from sigcontract.cli.main import main
from sigcontract.golden import golden_bytes, golden_of
from tests.compare.dumps import dump, kernel
from tests.update import build

OLD, NEW = (golden_bytes(golden_of(dump(build.graph(kernel(name=name, func=1), kernel())))) for name in ("a", "b"))


class Terminal(io.StringIO):
    """Standard input of a person who types these lines."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a golden that differs from its pending file, and a pending file without a golden."""
    goldens = tmp_path / "tests" / "goldens" / "test_a"
    goldens.mkdir(parents=True)
    (goldens / "first.json").write_bytes(OLD)
    (goldens / "first.json.new").write_bytes(NEW)
    (goldens / "second.json.new").write_bytes(NEW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return goldens


def state(folder: Path) -> dict[str, str]:
    """Return what each file holds: the old golden, the new one, or another."""
    names = {OLD: "old", NEW: "new"}
    return {path.name: names.get(path.read_bytes(), "other") for path in sorted(folder.iterdir())}


UNTOUCHED = {"first.json": "old", "first.json.new": "new", "second.json.new": "new"}


def test_accept_puts_every_pending_file_in_its_golden_s_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", "--accept"]) == 0
    assert state(folder) == {"first.json": "new", "second.json": "new"}
    assert capsys.readouterr().out.endswith("accepted: tests/goldens/test_a/second.json.new\n\nnothing is pending\n")
    assert main(["review"]) == 0
    assert capsys.readouterr().out == "nothing is pending\n"


def test_reject_deletes_every_pending_file(folder: Path) -> None:
    assert main(["review", "--reject", "tests"]) == 0
    assert state(folder) == {"first.json": "old"}


def test_without_a_terminal_each_is_shown_and_skipped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review"]) == 1
    assert state(folder) == UNTOUCHED
    shown = capsys.readouterr().out
    assert "1/2 tests/goldens/test_a/first.json\ngraph 'g0': differs from the golden\n" in shown
    assert "another kernel: a → b" in shown or "renamed, same code: a → b" in shown
    assert "2/2 tests/goldens/test_a/second.json\nno golden yet for graph 'g0'\n" in shown
    assert shown.endswith("2 goldens still pending\n")


@pytest.mark.parametrize(
    ("typed", "status", "after"),
    [
        ("a\nr\n", 0, {"first.json": "new"}),
        ("x\nreject\nA\n", 0, {"first.json": "old", "second.json": "new"}),
        ("s\n\n", 1, UNTOUCHED),
        ("a\nq\n", 1, {"first.json": "new", "second.json.new": "new"}),
        ("", 1, UNTOUCHED),
    ],
)
def test_a_person_is_asked_about_each(
    folder: Path, monkeypatch: pytest.MonkeyPatch, typed: str, status: int, after: dict[str, str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    assert main(["review"]) == status
    assert state(folder) == after


def test_json_lists_and_changes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, sc.schema("sigcontract.review"))
    first, second = document["pending"]
    assert first == {
        "pending": "tests/goldens/test_a/first.json.new",
        "golden": "tests/goldens/test_a/first.json",
        "state": "different",
        "verdict": "harmless" if first["verdict"] == "harmless" else "updatable",
        "error": None,
        "action": "skip",
    }
    assert (second["state"], second["verdict"]) == ("missing", None)
    assert state(folder) == UNTOUCHED


def test_a_pending_file_that_is_no_golden_is_never_accepted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = folder / "first.json.new"
    broken.write_bytes(NEW.replace(b'"name":"b"', b'"name":"c"'))
    assert main(["review", "--accept"]) == 2
    assert "the pending file is invalid [digest]" in capsys.readouterr().out
    assert state(folder) == {"first.json": "old", "first.json.new": "other", "second.json": "new"}
    assert main(["review", "--reject"]) == 0
    assert state(folder) == {"first.json": "old", "second.json": "new"}


def test_a_person_cannot_accept_what_is_no_golden(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "first.json.new").write_bytes(b"")
    monkeypatch.setattr("sys.stdin", Terminal("a\nr\na\n"))
    assert main(["review"]) == 2
    assert state(folder) == {"first.json": "old", "second.json": "new"}


def test_a_broken_golden_is_replaced_where_that_is_accepted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "first.json").write_bytes(b"{}")
    assert main(["review", "--accept", str(folder / "first.json.new")]) == 0
    assert "the golden is invalid [" in capsys.readouterr().out
    assert state(folder)["first.json"] == "new"


def test_nothing_is_accepted_in_ci(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    assert main(["review", "--accept"]) == 2
    assert state(folder) == UNTOUCHED
    assert main(["review", "--reject"]) == 0


@pytest.mark.parametrize("arguments", [["--accept", "--reject"], ["gone"], ["tests/goldens/test_a/first.json"]])
def test_wrong_usage_changes_nothing(folder: Path, arguments: list[str]) -> None:
    assert main(["review", *arguments]) == 2
    assert state(folder) == UNTOUCHED


def test_names_of_files_cannot_move_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "\x1b[2J.json.new").write_bytes(NEW)
    main(["review"])
    assert "\x1b" not in capsys.readouterr().out


def test_what_is_accepted_is_a_dump(folder: Path) -> None:
    main(["review", "--accept"])
    assert sc.load(folder / "first.json", verify=True, expect=sc.SignatureDump).graphs[0].label == "g0"


def test_a_pending_file_that_is_a_pipe_is_not_opened(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(folder / "pipe.json.new")
    assert main(["review", str(folder)]) == 2
    assert "not a regular file" in capsys.readouterr().out
