"""Labels, names and file names of a hostile dump in every command and format: shown, never obeyed."""

import io
import json
import os
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.wire import save
from tests.compare.dumps import again, dump, environment, kernel
from tests.contract.contracts import HEAD
from tests.update.build import graph

NASTY = (
    "::error::x\n::set-output name=a::b\r##[error]z\x00\ufffe\uffff\x0b\x1b[31m\x9b\u202e\u2028</script>"
    "<script>alert(1)</script>]]>&lt;\"'`|<!----> [a](javascript:b)\x85\ue000\U0001f600"
)
#: A file name with a line feed and a byte that is not UTF-8.
PREFIX = os.fsdecode(b"\xff\n::error::")
OLD, NEW = f"{PREFIX}a.dump.json", f"{PREFIX}b.dump.json"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
RUNNER = re.compile(r"^\s*::|##\[", re.MULTILINE)
GITHUB_LINE = re.compile(r"::(?:error|warning|notice) [^\n]*")
FORMATS = ("text", "json", "markdown", "github", "sarif", "junit", "html")
COMMANDS = {
    "show": (["show", OLD, "--attributes"], ("text", "json", "html")),
    "diff": (["diff", OLD, NEW], FORMATS),
    "groups": (["groups", OLD, NEW], ("text", "json")),
    "predict": (["predict", OLD, "--held=" + NASTY, "--candidate=" + NASTY], ("text", "json")),
    "validate": (["validate", OLD, NEW], ("text", "json")),
    "fleet": (["fleet", "."], FORMATS),
    "check": (["check", NEW], FORMATS[:-1]),
    "missing file": (["show", PREFIX], ("text", "json")),
    "missing label": (["diff", OLD, NEW, "--graph", NASTY + "x"], FORMATS),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder of two such dumps, and a contract on the first."""
    monkeypatch.chdir(tmp_path)
    for name, found in (
        (OLD, dump(graph(kernel(name=NASTY)))),
        (NEW, again(graph(kernel(name=NASTY + "y", grid=9)))),
    ):
        (entry,) = found.graphs
        where = environment(hostname=NASTY, created_at=NASTY, process_id=found.environment.process_id)
        save(replace(found, graphs=(replace(entry, label=NASTY),), environment=where), name)
    text = 'graphs = 2\n[[graph]]\nlabel = "*"\n[[graph.kernel]]\nname = "::error::\\u0000##[x"\ncount = 3\n'
    Path("contract.toml").write_text(HEAD + text, encoding="utf-8")


def printed(arguments: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(arguments)
    return status, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("runner", ["", "true"])
@pytest.mark.parametrize(("command", "form"), [(name, form) for name, (_, forms) in COMMANDS.items() for form in forms])
def test_text_of_a_file_is_shown_and_never_obeyed(
    command: str, form: str, runner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", runner)
    status, out, err = printed([*COMMANDS[command][0], "--format", form])
    assert status in ({2} if command.startswith("missing") else {0, 1, 3}), err
    for text in (out, err):
        text.encode()
        assert not CONTROLS.search(text)
        if runner and form != "github":
            assert not RUNNER.search(text)
    if runner and form == "github":
        assert all(GITHUB_LINE.fullmatch(line) and "##[" not in line for line in out.splitlines())
    if form in ("json", "sarif") and out:
        json.loads(out)
    if form == "junit" and out:
        ET.fromstring(out)  # noqa: S314  written here
    if form == "html":
        assert "<script>alert" not in out
