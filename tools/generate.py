"""Write the files that are generated, or check them: ``python -m tools.generate [--check]``.

Exit status 0: written, or in step. 1: ``--check`` found files that are not, and printed how they differ. 2: a generator
refused, as when a released schema would change.
"""

import argparse
import difflib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from sigcontract.errors import SigcontractError
from sigcontract.wire.schemas import write_files
from tools import rules_page, sessions

__all__ = ["GENERATORS", "main", "out_of_step"]

ROOT = Path(__file__).resolve().parents[1]

#: What a generator gives: paths relative to the root, with their text; None: no such file may be there.
Files = dict[Path, str | None]


def _schemas(root: Path) -> Files:
    """Return the JSON Schemas and their index. A schema that the index calls released stays so."""
    folder = Path("schemas")
    there: Files = {folder / path.name: None for path in (root / folder).glob("*.json")}
    with TemporaryDirectory() as made:
        if (root / folder / "index.json").exists():
            shutil.copy(root / folder / "index.json", made)
        write_files(Path(made))
        return there | {folder / path.name: path.read_text(encoding="utf-8") for path in Path(made).iterdir()}


def _rules(_root: Path) -> Files:
    """Return the page of rules."""
    return {Path("docs/rules.md"): rules_page.page()}


def _sessions(root: Path) -> Files:
    """Return the pages, with what their commands print."""
    return {page: sessions.with_output((root / page).read_text(encoding="utf-8")) for page in sessions.PAGES}


#: In the order in which they run: commands on pages print schemas and rules.
GENERATORS: dict[str, Callable[[Path], Files]] = {"schemas": _schemas, "rules": _rules, "sessions": _sessions}


def out_of_step(root: Path, files: Files) -> list[str]:
    """Return a unified diff for each file of ``root`` that is not what was generated."""
    diffs = []
    for path, text in files.items():
        file = root / path
        found = file.read_text(encoding="utf-8") if file.exists() else None
        if found != text:
            diff = difflib.unified_diff(
                (found or "").splitlines(), (text or "").splitlines(), str(path), f"{path}, generated", lineterm=""
            )
            # A file that is empty or ends in another way differs, and a diff of lines does not show it.
            diffs.append("\n".join(diff) or f"{path}: differs in the end of a line, or is missing")
    return diffs


def _stale_types(root: Path) -> list[str]:
    """List the TypeScript types under ``schemas`` that are not those of their schemas: their first line has the sum."""
    stale = []
    for schema in sorted((root / "schemas").glob("*.schema.json")):
        data = schema.read_bytes()
        types = schema.with_name(schema.name.replace(".schema.json", ".d.ts"))
        line = types.read_text(encoding="utf-8").partition("\n")[0] if types.exists() else ""
        if b'"prefixItems"' not in data and f"sha256 {sha256(data).hexdigest()}." not in line:
            stale.append(types.name)
    return stale


def _generate_types(root: Path) -> None:
    """Generate the TypeScript types, with node and npm: only where one is stale, so that most changes need neither."""
    tool = root / "tools" / "typescript"
    for command in (["npm", "ci", "--silent"], ["node", "generate.mjs", str(root / "schemas")]):
        subprocess.run(command, cwd=tool, check=True)  # noqa: S603  the project's own tool


def _write(root: Path, files: Files) -> None:
    for path, text in files.items():
        if text is None:
            (root / path).unlink(missing_ok=True)
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run every generator."""
    parser = argparse.ArgumentParser(prog="python -m tools.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file is out of step")
    check = parser.parse_args(arguments).check
    status = 0
    for name, generate in GENERATORS.items():
        try:
            files = generate(root)
        except SigcontractError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
        wrong = out_of_step(root, files)
        if not check:
            _write(root, files)
            print(f"{name}: {len(wrong)} of {len(files)} files changed")
        elif wrong:
            print("\n".join(wrong))
            print(f"{name}: out of step; run: make generated", file=sys.stderr)
            status = 1
        else:
            print(f"{name}: {len(files)} files in step")
    stale = _stale_types(root)
    if stale and not check:
        _generate_types(root)
    elif stale:
        print("\n".join(stale))
        print("types: out of step; run: make generated", file=sys.stderr)
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
