"""Recordings of real programs on an H200: what the commands print of them, word by word, and in how many lines.

``python -m tests.report.test_real_recordings`` writes the texts anew; read each before committing it.
"""

import os
from pathlib import Path

import pytest

from sigcontract.cli.main import main

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
REAL = "examples/real"
A, B, EAGER = (f"{REAL}/llama-{name}.dump.json.zst" for name in ("a", "b", "eager"))
RANKS = f"{REAL}/rank0.dump.json.zst", f"{REAL}/rank2.dump.json.zst"
TEXTS = {
    "show-llama-a": ["show", A],
    "show-llama-eager": ["show", EAGER],
    "diff-llama-a-b": ["diff", A, B],
    "diff-llama-a-b-verdicts": ["diff", A, B, "--verdicts"],
    "diff-llama-a-eager": ["diff", A, EAGER],
    "diff-ranks": ["diff", *RANKS],
}


@pytest.fixture(autouse=True)
def in_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_is_as_it_was_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(TEXTS[name])
    assert capsys.readouterr().out == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "most"), [("diff-llama-a-b", 12), ("diff-llama-a-eager", 45)])
def test_two_runs_of_one_model_are_read_at_a_glance(name: str, most: int) -> None:
    lines = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= most
    assert max(map(len, lines)) <= 120


def test_the_four_layers_of_the_model_are_shown_once() -> None:
    assert "4 times these 17 nodes, up to node 71" in (GOLDEN / "show-llama-a.txt").read_text(encoding="utf-8")


def write() -> None:
    """Write the texts anew."""
    from contextlib import redirect_stdout  # noqa: PLC0415  not for the tests

    os.chdir(ROOT)
    os.environ["COLUMNS"] = "120"
    for name, arguments in TEXTS.items():
        with (GOLDEN / f"{name}.txt").open("w", encoding="utf-8") as file, redirect_stdout(file):
            main(arguments)


if __name__ == "__main__":
    write()
