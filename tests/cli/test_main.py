"""The command line as a whole: what is imported, how errors read, what the exit status says."""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import IO

import pytest

from sigcontract import errors
from sigcontract.cli.main import COMMANDS, main
from sigcontract.cli.parser import Exit, Subparsers, add_command
from tests.architecture.source import ROOT

FULL = Path("/dev/full")
COMMAND = [sys.executable, "-m", "sigcontract"]


def play(monkeypatch: pytest.MonkeyPatch, deed: Callable[[argparse.Namespace], int]) -> None:
    """Let the command ``show`` do the deed."""
    module = ModuleType("sigcontract.cli.show")

    def register(subparsers: Subparsers) -> None:
        add_command(subparsers, "show", summary="play a part", example="sigcontract show")

    module.__dict__.update(register=register, run=deed)
    monkeypatch.setitem(sys.modules, "sigcontract.cli.show", module)


def failing(error: BaseException) -> Callable[[argparse.Namespace], int]:
    def fail(_: argparse.Namespace) -> int:
        raise error

    return fail


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_documents_its_format_and_shows_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == Exit.OK
    text = capsys.readouterr().out
    formats = re.findall(r"--format \{([\w,]+)\}", text)[-1].split(",")
    # A script for a shell has no other form.
    assert formats == ["text"] if command == "completion" else "json" in formats
    assert f"example:\n  sigcontract {command} " in text


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_what_a_command_does_in_lines_of_the_terminals_width(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prose = []
    for width in ("80", "200"):
        monkeypatch.setenv("COLUMNS", width)
        assert main([command, "--help"]) == Exit.OK
        prose.append(re.split(r"\n\n(?=\w+ ?\w*:\n)", capsys.readouterr().out)[0].split("\n\n", 1)[1])
    narrow, wide = prose
    assert max(map(len, narrow.splitlines())) <= 78
    assert narrow.split() == wide.split()


def test_help_lists_every_command_and_the_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == Exit.OK
    text = capsys.readouterr().out
    assert re.findall(r"^    (\w+)(?:  |$)", text, flags=re.MULTILINE) == list(COMMANDS)
    assert "3  undetermined: incomplete or not comparable" in text


def test_an_error_is_one_line_that_names_its_code_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shwo"]) == Exit.ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "sigcontract: error[usage]: no command 'shwo' (did you mean 'show'?); `sigcontract --help` lists the commands\n"
    )


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "no command given; `sigcontract --help` lists the commands"),
        (["--nonsense"], "unrecognized arguments: --nonsense; `sigcontract --help` shows the usage"),
        (["xyzzy"], "no command 'xyzzy'; `sigcontract --help` lists the commands"),
        (
            ["schema", "--format", "yaml"],
            (
                "argument --format: invalid choice: 'yaml' (choose from 'text', 'json'); "
                "`sigcontract schema --help` shows the usage"
            ),
        ),
    ],
)
def test_wrong_usage_is_reported_like_every_error(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == Exit.ERROR
    assert capsys.readouterr().err.replace("(choose from text, json)", "(choose from 'text', 'json')") == (
        f"sigcontract: error[usage]: {message}\n"
    )


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.NotComparableError("one is a profile; give two dumps"), Exit.UNDETERMINED),
        (errors.UsageError("no such graph"), Exit.ERROR),
        (errors.DecodeError("not JSON", path="$"), Exit.ERROR),
        (errors.FileError("no such file", file="x"), Exit.ERROR),
    ],
)
def test_each_kind_of_error_has_its_status(
    error: errors.SigcontractError,
    status: Exit,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    play(monkeypatch, failing(error))
    assert main(["show"]) == status
    assert capsys.readouterr().err == f"sigcontract: error[{error.code}]: {error}\n"


def test_control_characters_of_an_input_cannot_split_or_colour_the_error_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play(monkeypatch, failing(errors.UsageError("no graph 'a\n\x1b[31mb'; give another")))
    assert main(["show"]) == Exit.ERROR
    assert capsys.readouterr().err == "sigcontract: error[usage]: no graph 'a\\n\\x1b[31mb'; give another\n"


def test_the_notes_of_an_error_name_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = errors.DecodeError("not an integer", path="$.version")
    error.add_note("in server.dump.json")
    play(monkeypatch, failing(error))
    assert main(["show"]) == Exit.ERROR
    assert capsys.readouterr().err == (
        "sigcontract: error[decode]: not an integer (at /version), in server.dump.json\n"
    )


def test_an_interrupt_ends_quietly_with_the_status_of_sigint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play(monkeypatch, failing(KeyboardInterrupt()))
    assert main(["show"]) == 130
    assert capsys.readouterr().err.startswith("sigcontract: error[interrupted]: ")


#: Short and long outputs, and those that argparse writes.
OUTPUTS = [["schema"], ["rules"], ["--version"], ["--help"], *([command, "--help"] for command in COMMANDS)]
OUTPUTS.append(["show", str(ROOT / "examples" / "two-modules.dump.json")])
#: Runs every command in one process, each with a standard output of its own: unbuffered, or written at its end.
EACH = """
import contextlib, io, json, os, sys
from sigcontract.cli.main import main
output = os.dup(1)
found = []
for arguments in json.loads(sys.argv[1]):
    os.dup2(output, 1)  # main points it to the null device
    raw = io.FileIO(1, "w", closefd=False)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw) if sys.argv[2] == "buffered" else raw, write_through=True)
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        status = main(arguments)
    sys.stdout = None  # what is left in it goes to the null device
    found.append([status, errors.getvalue()])
sys.stderr.write(json.dumps(found))
"""


def statuses(output: IO[bytes], when: str) -> list[tuple[int, str]]:
    """Return the status of every command and what it wrote to standard error."""
    arguments = [sys.executable, "-c", EACH, json.dumps(OUTPUTS), when]
    ended = subprocess.run(arguments, stdout=output, stderr=subprocess.PIPE, text=True, check=True)
    return [(status, text) for status, text in json.loads(ended.stderr)]


@pytest.mark.parametrize("when", ["unbuffered", "buffered"])
def test_a_reader_that_goes_away_ends_each_command_with_the_status_of_sigpipe_and_no_traceback(when: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        assert statuses(pipe, when) == [(141, "")] * len(OUTPUTS)


@pytest.mark.skipif(not FULL.exists(), reason="/dev/full is a device of Linux")
@pytest.mark.parametrize("when", ["unbuffered", "buffered"])
def test_a_full_disk_is_an_error_of_each_command_and_never_a_pass(when: str) -> None:
    said = "sigcontract: error[file]: cannot write the result: No space left on device; free space or write elsewhere\n"
    with FULL.open("wb") as full:
        assert statuses(full, when) == [(Exit.ERROR, said)] * len(OUTPUTS)


@pytest.mark.skipif(not FULL.exists(), reason="/dev/full is a device of Linux")
@pytest.mark.parametrize("arguments", [["--version"], ["schema"]], ids=" ".join)
def test_a_process_whose_output_is_full_ends_with_the_status_of_an_error(arguments: list[str]) -> None:
    with FULL.open("wb") as full:
        ended = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == Exit.ERROR
    assert ended.stderr == (
        "sigcontract: error[file]: cannot write the result: No space left on device; free space or write elsewhere\n"
    )


def test_a_fault_of_the_program_itself_is_not_taken_for_a_failed_gate() -> None:
    code = "import sys, types\nfrom sigcontract.cli import main\nmain._run = lambda _: 1 // 0\nmain.console()\n"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == Exit.ERROR
    assert "ZeroDivisionError" in ended.stderr
    assert ended.stderr.endswith(
        "sigcontract: error[internal]: internal error in sigcontract; report it with the lines above\n"
    )


def test_a_name_that_the_encoding_lacks_does_not_end_the_report() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ended = subprocess.run([*COMMAND, "größe"], capture_output=True, text=True, check=False, env=environment)
    assert ended.returncode == Exit.ERROR
    assert "no command 'gr\\xf6\\xdfe'" in ended.stderr


def test_the_version_loads_these_modules_alone() -> None:
    """What keeps it quick: no command, no library. `benchmarks/bench_import.py` measures how quick."""
    code = (
        "import sys\n"
        f"sys.path[:0] = {sys.path}\n"
        "from sigcontract.cli.main import main\n"
        "status = main(['--version'])\n"
        "library = sys.stdlib_module_names\n"
        "print(status, *sorted(name for name in sys.modules if name.partition('.')[0] not in library))\n"
    )
    # Without site: what an environment installs there is loaded at every start of Python.
    ended = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    loaded = "cli cli.commands cli.main cli.parser cli.terminal cli.workflow doors errors report report.names"
    assert ended.stdout.splitlines()[1].split() == [
        "0",
        "__main__",
        "sigcontract",
        *(f"sigcontract.{name}" for name in loaded.split()),
    ]


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_leave_the_exit_status_to_the_answer(closed: str, tmp_path: Path) -> None:
    def status(*arguments: object) -> int:
        command = shlex.join([*COMMAND, *map(str, arguments)])
        return subprocess.run(["/bin/sh", "-c", f"{command} {closed}"], capture_output=True, check=False).returncode

    examples = ROOT / "examples"
    assert status("validate", examples / "nodes.dump.json") == Exit.OK
    assert status("validate", tmp_path / "none.json") == Exit.ERROR
    assert status("diff", examples / "nodes.dump.json", examples / "clusters.dump.json") == Exit.GATE
    assert status("--help") == Exit.OK
