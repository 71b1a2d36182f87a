"""What every module of the package keeps to."""

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.source import is_script, module_name, modules, parsed

BROAD = {"Exception", "BaseException"}
NAMES_THAT_SAY_NOTHING = {"util", "utils", "helper", "helpers", "manager", "common", "misc", "base"}
#: Others' code calls these, C or a recorded program, and nothing of ours may reach it.
BOUNDARIES = {
    "sigcontract.driver.observe_watch",
    "sigcontract.driver.record",
    "sigcontract.driver.record_frameworks",
    "sigcontract.driver.record_site.sitecustomize",
    "sigcontract.registry.callbacks",
}
MOST_LINES = 500
#: One table each, which is read by looking up.
TABLES = {"sigcontract.compare.rules"}


def names_in(expression: ast.expr | None) -> set[str]:
    if expression is None:
        return set(BROAD)
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def raises_again(handler: ast.ExceptHandler) -> bool:
    """Say whether a handler only puts things in order and lets the exception go on."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def broad_catches(tree: ast.Module) -> list[int]:
    """Lines that catch or suppress everything."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and names_in(node.type) & BROAD and not raises_again(node):
            lines.append(node.lineno)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            lines.extend(node.lineno for argument in node.args if names_in(argument) & BROAD)
    return lines


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("try: pass\nexcept: pass", [2]),
        ("try: pass\nexcept (OSError, Exception): pass", [2]),
        ("with contextlib.suppress(BaseException): pass", [1]),
        ("try: pass\nexcept (OSError, ValueError): pass", []),
        ("try: pass\nexcept BaseException: print(); raise", []),
    ],
)
def test_the_check_for_broad_catches_finds_them(code: str, lines: list[int]) -> None:
    assert broad_catches(ast.parse(code)) == lines


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_nothing_catches_everything_but_where_others_call(path: Path) -> None:
    assert bool(broad_catches(parsed(path))) == (module_name(path) in BOUNDARIES)


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_module_names_say_what_is_inside(path: Path) -> None:
    assert not set(re.split(r"[._]", module_name(path))) & NAMES_THAT_SAY_NOTHING


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_modules_stay_small_enough_to_read(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES or module_name(path) in TABLES


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_every_module_says_what_is_public(path: Path) -> None:
    tree = parsed(path)
    assert ast.get_docstring(tree)
    if not is_script(path) and any(
        isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign) for node in tree.body
    ):
        assigned = {
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        assert "__all__" in assigned


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_nothing_is_left_for_later(path: Path) -> None:
    words = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|raise NotImplementedError)\b")
    assert words.findall(path.read_text(encoding="utf-8")) == []
