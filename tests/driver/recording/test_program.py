"""Running a program as it would run without this; `tests/cli/test_record.py` has its signals."""

import os
import signal
from pathlib import Path

import pytest

from sigcontract.driver.recording.program import run_program
from sigcontract.errors import FileError


@pytest.mark.parametrize(
    ("ending", "status"), [("exit 7", 7), ("kill -KILL $$", -signal.SIGKILL), ("kill -TERM $$", -signal.SIGTERM)]
)
def test_the_status_is_the_programs(tmp_path: Path, ending: str, status: int) -> None:
    assert run_program(["/bin/sh", "-c", ending], os.environ, tmp_path, None) == status


def test_a_program_has_the_signal_mask_that_it_would_have(tmp_path: Path) -> None:
    blocked = "import signal, sys; sys.exit(len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    before = len(signal.pthread_sigmask(signal.SIG_BLOCK, []))
    assert run_program(["python3", "-c", blocked], os.environ, tmp_path, None) == before
    assert len(signal.pthread_sigmask(signal.SIG_BLOCK, [])) == before


def test_what_is_no_program_is_an_error_of_ours(tmp_path: Path) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with pytest.raises(FileError) as caught:
        run_program(["no-such-program"], os.environ, tmp_path, None)
    assert str(caught.value) == (
        "no-such-program cannot be run: No such file or directory; check its name and permissions"
    )
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
