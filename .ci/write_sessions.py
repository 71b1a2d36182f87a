"""Run the commands in the console blocks of pages and write what they print into the pages.

python .ci/write_sessions.py README.md docs/*.md
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "COLUMNS"}}


def session(block: re.Match[str]) -> str:
    """Return the block with the output of its commands."""
    written = []
    for command in re.findall(r"^\$ (.*)$", block[1], flags=re.MULTILINE):
        ended = subprocess.run(  # noqa: S603  the page's own commands, as its reader would run them
            ["/bin/bash", "-c", command],
            cwd=ROOT,
            env=ENVIRONMENT
            | {"NO_COLOR": "1", "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        written.append(f"$ {command}\n{ended.stdout}")
    return f"```console\n{''.join(written)}```"


for page in map(Path, sys.argv[1:]):
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r"^```console\n(.*?)^```$", session, text, flags=re.MULTILINE | re.DOTALL), encoding="utf-8")
