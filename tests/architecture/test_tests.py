"""What the tests themselves keep to."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, imports, module_name, modules, parsed, tests

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
        for path in tests()
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


@pytest.mark.parametrize("path", [path for path in tests() if path.name.startswith("test_")], ids=shown)
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


@cache
def reached_by_tests() -> frozenset[str]:
    """Return modules that tests import, and what these import of their own rooms: a room is tested through its door."""
    here = Path(__file__).parent
    names = {module_name(path): path for path in modules()}
    reached = {name for path in tests() if path.parent != here for name, _ in imports(parsed(path)) if name in names}
    waiting = list(reached)
    while waiting:
        name = waiting.pop()
        room = name.rpartition(".")[0]
        inner = {other for other, _ in imports(parsed(names[name])) if other in names and other.startswith(room)}
        waiting += inner - reached
        reached |= inner
    return frozenset(reached)


@pytest.mark.parametrize("path", [path for path in modules() if not path.name.startswith("__")], ids=module_name)
def test_a_test_reaches_every_module(path: Path) -> None:
    assert module_name(path) in reached_by_tests()
