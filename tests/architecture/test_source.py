"""What every module of the package keeps to."""

import ast
import re

import pytest

from tests.architecture.source import at, is_script, module_name, modules, parsed

BROAD = {"Exception", "BaseException"}
NAMES_THAT_SAY_NOTHING = {"util", "utils", "helper", "helpers", "manager", "common", "misc", "base"}
#: Others' code calls these, C or a recorded program, and nothing of ours may reach it.
BOUNDARIES = {
    "sigcontract.driver.observing.observations",
    "sigcontract.driver.recording.frameworks",
    "sigcontract.driver.recording.recorder",
    "sigcontract.driver.recording.site.sitecustomize",
    "sigcontract.registry.callbacks",
}
MOST_LINES = 500
#: One table each, which is read by looking up.
TABLES = {"sigcontract.update.rules"}


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
        if isinstance(node, ast.Call) and "suppress" in {getattr(node.func, "id", ""), getattr(node.func, "attr", "")}:
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


def test_nothing_catches_everything_but_where_others_call() -> None:
    found = {module_name(path): [at(path, line) for line in broad_catches(parsed(path))] for path in modules()}
    broad = [index for name, places in found.items() if name not in BOUNDARIES for index in places]
    assert not broad, "\n".join(broad)
    idle = [name for name in sorted(BOUNDARIES) if not found.get(name)]
    assert not idle, "\n".join(["no boundary any more, or no module:", *idle])


def test_module_names_say_what_is_inside() -> None:
    empty = [at(path) for path in modules() if set(re.split(r"[._]", module_name(path))) & NAMES_THAT_SAY_NOTHING]
    assert not empty, "\n".join(empty)


def test_modules_stay_small_enough_to_read() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    long = [at(path, count) for path, count in lines.items() if count > MOST_LINES and module_name(path) not in TABLES]
    assert not long, "\n".join(long)


def test_every_module_says_what_it_is_for() -> None:
    silent = [at(path) for path in modules() if not ast.get_docstring(parsed(path))]
    assert not silent, "\n".join(silent)


def test_every_module_says_what_is_public() -> None:
    silent = [
        at(path)
        for path in modules()
        if not is_script(path) and declares(parsed(path)) and "__all__" not in assigned(parsed(path))
    ]
    assert not silent, "\n".join(silent)


def declares(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign) for node in tree.body)


def assigned(tree: ast.Module) -> set[str]:
    return {
        name.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in (target.elts if isinstance(target, ast.Tuple) else [target])
        if isinstance(name, ast.Name)
    }


def test_nothing_is_left_for_later() -> None:
    words = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|raise NotImplementedError)\b")
    left = [
        f"{at(path, number)}: {line.strip()}"
        for path in modules()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if words.search(line)
    ]
    assert not left, "\n".join(left)
