"""``sigcontract completion``."""

import subprocess
import sys

import pytest

from sigcontract.cli.commands import COMMANDS
from sigcontract.cli.main import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_the_script_knows_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(command in script for command in COMMANDS)


def test_a_shell_reads_the_script_and_completes_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    asked = f'{script}\nCOMP_WORDS=(sigcontract pre); COMP_CWORD=1; _shtab_sigcontract; echo "${{COMPREPLY[@]}}"'
    ended = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["predict"]


def test_without_the_extra_the_error_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert capsys.readouterr().err == (
        "sigcontract: error[missing_extra]: shell completion needs an optional dependency: pip install "
        "'sigcontract[completion]'\n"
    )
