"""The project's own files, parsed: what the tests beside this file look at."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = [
    "PACKAGE",
    "ROOT",
    "at",
    "files_of_tests",
    "imports",
    "is_script",
    "module_name",
    "modules",
    "parsed",
    "text_files",
]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sigcontract"

#: Folders that tools make, none of which is part of the project.
_MADE = {"node_modules", "build", "dist", "__pycache__"}


def modules() -> list[Path]:
    """List every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def files_of_tests() -> list[Path]:
    """List every Python file under tests."""
    return sorted((ROOT / "tests").rglob("*.py"))


def text_files() -> list[Path]:
    """List every file of the project that can be read as text, whether tracked yet or not."""
    return sorted(path for path in _walk(ROOT) if path.suffix not in {".gz", ".zst", ".msgpack", ".png"})


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in _MADE or (path.name.startswith(".") and path.name != ".ci"):
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path


def at(path: Path, line: int = 0) -> str:
    """Return the location for a failure message: the file from the root, and the line where one is to blame."""
    shown = str(path.relative_to(ROOT))
    return f"{shown}:{line}" if line else shown


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def is_script(path: Path) -> bool:
    """Say whether a file lies in a folder that is no package: it is run, never imported by name."""
    return not path.with_name("__init__.py").exists()


def module_name(path: Path) -> str:
    """Return the dotted name of a file of the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.AST, *, lazy: bool = True) -> Iterator[tuple[str, int]]:
    """Yield every module that is imported, with the line.

    Without ``lazy`` nothing that is imported inside of functions. What is imported for types alone counts as well.
    """
    if not lazy and isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    if isinstance(tree, ast.Import):
        for alias in tree.names:
            yield alias.name, tree.lineno
    elif isinstance(tree, ast.ImportFrom) and tree.module is not None:
        yield tree.module, tree.lineno
        for alias in tree.names:
            # `from sigcontract import driver` imports a module too; a name that is none does no harm here.
            yield f"{tree.module}.{alias.name}", tree.lineno
    for child in ast.iter_child_nodes(tree):
        yield from imports(child, lazy=lazy)
