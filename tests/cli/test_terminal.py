"""Colour, width and progress."""

import io

import pytest

from sigcontract.cli import terminal
from sigcontract.cli.terminal import columns, progress, use_color


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "stream", "colored"),
    [
        ({}, Screen(), True),
        ({}, io.StringIO(), False),
        ({"TERM": "dumb"}, Screen(), False),
        ({"FORCE_COLOR": "1"}, io.StringIO(), True),
        ({"FORCE_COLOR": ""}, io.StringIO(), False),
        ({"NO_COLOR": "1"}, Screen(), False),
        ({"NO_COLOR": ""}, Screen(), True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, Screen(), False),
    ],
)
def test_colour_follows_the_environment_and_then_the_stream(
    environment: dict[str, str], stream: io.StringIO, colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert use_color(stream) is colored


@pytest.mark.parametrize(("variable", "expected"), [("80", 80), ("300", 300), ("7", 40)])
def test_lines_keep_to_columns_but_not_to_a_handful(
    variable: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", variable)
    assert columns() == expected


def test_what_is_no_terminal_has_120_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.__stdout__", io.StringIO())
    assert columns() == 120


def test_progress_is_silent_where_nobody_watches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "_QUIET_SECONDS", 0)
    assert list(progress(["a", "b"], str)) == ["a", "b"]
    assert capsys.readouterr().err == ""


def test_progress_names_the_item_in_work_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(terminal, "_QUIET_SECONDS", 0)
    assert list(progress(["a", "b\x1b"], str)) == ["a", "b\x1b"]
    assert screen.getvalue() == "\r\x1b[K1/2 a\r\x1b[K2/2 b\\x1b\r\x1b[K"


def test_short_work_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    assert list(progress(["a"], str)) == ["a"]
    assert screen.getvalue() == ""
