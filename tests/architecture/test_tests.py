"""What the tests themselves keep to."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, ROOT, files_of_tests, imports, is_script, module_name, modules, parsed

#: Calls that fail a test when what they state does not hold.
STATEMENTS = {"raises", "warns", "fail"}


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def asserting_itself(function: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and called(node) in STATEMENTS)
        for node in ast.walk(function)
    )


def called(call: ast.Call) -> str:
    return ast.unparse(call.func).rsplit(".", 1)[-1]


@cache
def asserting_functions() -> frozenset[str]:
    """Names of functions under tests that assert, themselves or through another such function."""
    functions = {
        node.name: node
        for path in files_of_tests()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    asserting = {name for name, node in functions.items() if asserting_itself(node)}
    while True:
        more = {
            name
            for name, node in functions.items()
            if name not in asserting
            and any(isinstance(inner, ast.Call) and called(inner) in asserting for inner in ast.walk(node))
        }
        if not more:
            return frozenset(asserting)
        asserting |= more


@pytest.mark.parametrize("path", [path for path in files_of_tests() if path.name.startswith("test_")], ids=shown)
def test_every_test_asserts_something(path: Path) -> None:
    idle = [
        f"line {node.lineno}: {node.name}"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not asserting_itself(node)
        and not any(isinstance(inner, ast.Call) and called(inner) in asserting_functions() for inner in ast.walk(node))
    ]
    assert idle == []


def _folder(module: Path) -> Path:
    """Return where the tests of a module's room lie."""
    return (ROOT / "tests" / module.relative_to(PACKAGE)).parent


@cache
def reached_by_tests() -> frozenset[str]:
    """Return modules that tests import or are named for, and what these import of their own rooms.

    A room is tested through its doors: what is behind one is reached through it.
    """
    here = Path(__file__).parent
    names = {module_name(path): path for path in modules()}
    reached = {
        name for path in files_of_tests() if path.parent != here for name, _ in imports(parsed(path)) if name in names
    }
    reached |= {name for name in names if list(_folder(names[name]).glob(f"test_{names[name].stem}*.py"))}
    waiting = list(reached)
    while waiting:
        name = waiting.pop()
        room = name.rpartition(".")[0]
        inner = {other for other, _ in imports(parsed(names[name])) if other in names and other.startswith(room)}
        waiting += inner - reached
        reached |= inner
    return frozenset(reached)


@pytest.mark.parametrize(
    "path", [path for path in modules() if not path.name.startswith("__") and not is_script(path)], ids=module_name
)
def test_a_test_reaches_every_module(path: Path) -> None:
    assert module_name(path) in reached_by_tests()
