"""The console sessions of pages: the commands in their ``console`` blocks, and what these print."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

__all__ = ["PAGES", "Session", "output", "sessions", "with_output"]

ROOT = Path(__file__).resolve().parents[1]

#: Pages whose sessions are run, relative to the root of the project.
PAGES = (
    Path("README.md"),
    Path("docs/documents.md"),
    Path("docs/schema.md"),
    Path("docs/cli.md"),
    Path("docs/fleet.md"),
    Path("docs/contract.md"),
    Path("docs/tour.md"),
    Path("docs/profiles.md"),
    *sorted(path.relative_to(ROOT) for path in (ROOT / "docs" / "tasks").glob("*.md")),
)

_BLOCK = re.compile(r"^```console\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_SESSION = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", flags=re.MULTILINE)

#: Variables that change how commands draw.
_DRAWING = {"FORCE_COLOR", "COLUMNS"}


class Session(NamedTuple):
    """One command of a page, and the output that the page shows."""

    command: str
    shown: str


def sessions(text: str) -> list[Session]:
    """List the commands of a page, in its order."""
    return [Session(*found) for block in _BLOCK.findall(text) for found in _SESSION.findall(block)]


def output(command: str) -> str:
    """Run a command of a page from the root of the project, as its reader would, and return what it prints."""
    kept = {name: value for name, value in os.environ.items() if name not in _DRAWING}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(  # noqa: S603  the project's own pages
        ["/bin/bash", "-c", command],
        cwd=ROOT,
        env=kept | {"PATH": path, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout


def with_output(text: str) -> str:
    """Return a page with the output of its commands as they print it now."""

    def block(found: re.Match[str]) -> str:
        written = [f"$ {command}\n{output(command)}" for command, _shown in sessions(found[0])]
        return f"```console\n{''.join(written)}```"

    return _BLOCK.sub(block, text)
