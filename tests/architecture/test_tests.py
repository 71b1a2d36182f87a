"""What the tests themselves keep to."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from tests.architecture.source import (
    PACKAGE,
    ROOT,
    at,
    files_of_tests,
    imports,
    is_script,
    module_name,
    modules,
    parsed,
)

#: Calls that fail a test when what they state does not hold; the last two are of runs of pytest inside of a test.
STATEMENTS = {"raises", "warns", "fail", "assert_outcomes", "fnmatch_lines"}


def asserting_itself(function: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and called(node) in STATEMENTS)
        for node in ast.walk(function)
    )


def called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def all_called(function: ast.AST) -> set[str]:
    return {called(node) for node in ast.walk(function) if isinstance(node, ast.Call)}


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
    calls = {name: all_called(node) for name, node in functions.items() if name not in asserting}
    while True:
        more = {name for name, names in calls.items() if name not in asserting and names & asserting}
        if not more:
            return frozenset(asserting)
        asserting |= more


def every_test_in(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        node
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


def asserts(function: ast.AST) -> bool:
    return asserting_itself(function) or bool(all_called(function) & asserting_functions())


def test_every_test_asserts_something() -> None:
    idle = [
        f"{at(path, test.lineno)}: {test.name}"
        for path in files_of_tests()
        if path.name.startswith("test_")
        for test in every_test_in(path)
        if not asserts(test)
    ]
    assert not idle, "\n".join(idle)


#: What reads a clock, by the name of the module's function or of the function alone.
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "thread_time", "time_ns"}


def reads_a_clock(node: ast.AST) -> bool:
    """Say whether a node reads a clock, or waits for a time instead of an event."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):  # a program that a test runs
        return re.search(rf"\btime\.(sleep|time|{'|'.join(sorted(CLOCKS))})\(", node.value) is not None
    if isinstance(node, ast.Attribute):
        return node.attr in CLOCKS or (node.attr in {"time", "sleep"} and ast.unparse(node.value) == "time")
    return isinstance(node, ast.ImportFrom) and node.module == "time"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import time\nbegin = time.perf_counter()", True),
        ("time.sleep(0.1)", True),
        ("program = 'import time; time.sleep(0.1)'", True),
        ("from time import sleep", True),
        ("ready.wait(timeout=30)", False),
        ("datetime(2026, 12, 1, tzinfo=UTC)", False),
    ],
)
def test_the_check_for_clocks_finds_them(code: str, *, found: bool) -> None:
    assert any(reads_a_clock(node) for node in ast.walk(ast.parse(code))) == found


def test_no_test_depends_on_a_clock() -> None:
    timed = [
        at(path, getattr(node, "lineno", 0))
        for path in files_of_tests()
        if path != Path(__file__)  # the examples above
        if path.parent.name != "fuzz" or path.name not in {"__main__.py", "worker.py"}  # a command that may be timed
        for node in ast.walk(parsed(path))
        if reads_a_clock(node)
    ]
    assert not timed, "\n".join(timed)


def names_no_exception(call: ast.AST) -> bool:
    """Say whether a call of ``raises`` accepts whatever goes wrong."""
    return (
        isinstance(call, ast.Call)
        and called(call) == "raises"
        and bool(call.args)
        and bool({"Exception", "BaseException"} & {ast.unparse(node) for node in ast.walk(call.args[0])})
    )


def test_every_expected_exception_is_named() -> None:
    unnamed = [
        at(path, getattr(node, "lineno", 0))
        for path in files_of_tests()
        for node in ast.walk(parsed(path))
        if names_no_exception(node)
    ]
    assert not unnamed, "\n".join(unnamed)


def _folder(module: Path) -> Path:
    """Return where the tests of a module's room lie."""
    return (ROOT / "tests" / module.relative_to(PACKAGE)).parent


def _through_doors(path: Path) -> Iterator[str]:
    """Yield the modules behind the names that a file imports from packages."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sigcontract"):
            stub = ROOT.joinpath(*node.module.split("."), "__init__.pyi")
            homes = dict(_listed(stub)) if stub.exists() else {}
            yield from (homes[alias.name] for alias in node.names if alias.name in homes)


def _listed(stub: Path) -> Iterator[tuple[str, str]]:
    for node in parsed(stub).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((alias.name, node.module) for alias in node.names)


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
    reached |= set(chain.from_iterable(map(_through_doors, files_of_tests())))
    reached |= {name for name in names if list(_folder(names[name]).glob(f"test_{names[name].stem}*.py"))}
    waiting = list(reached)
    while waiting:
        name = waiting.pop()
        room = name.rpartition(".")[0]
        inner = {other for other, _ in imports(parsed(names[name])) if other in names and other.startswith(room)}
        waiting += inner - reached
        reached |= inner
    return frozenset(reached)


def test_a_test_reaches_every_module() -> None:
    named = [path for path in modules() if not path.name.startswith("__") and not is_script(path)]
    unreached = [at(path) for path in named if module_name(path) not in reached_by_tests()]
    assert not unreached, "\n".join(unreached)
