"""Imports run one way, CUDA stays in one room, and importing the package is light."""

import ast
import graphlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, imports, module_name, modules, parsed

#: From the bottom up. A room may import itself and what stands before it.
ROOMS = ("errors", "model", "wire", "driver", "compare", "registry", "report", "cli")
TOP = {"__main__": "cli", "pytest_plugin": "cli"}
ONLY_DRIVER = {"cuda", "cupti"}


def room(name: str) -> str | None:
    """Return the room of a module of the package, None for the package itself and for others' modules."""
    parts = name.split(".")
    if parts[0] != "sigcontract" or len(parts) == 1:
        return None
    found = TOP.get(parts[1], parts[1])
    return found if found in ROOMS else None


def test_every_module_stands_in_a_room() -> None:
    homeless = [str(path.relative_to(PACKAGE)) for path in modules() if room(module_name(path)) is None]
    assert homeless == ["__init__.py"]


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_imports_run_downwards(path: Path) -> None:
    own = room(module_name(path))
    if own is None:  # the package itself gathers the public names of all rooms
        return
    upwards = [
        f"line {line}: {name}"
        for name, line in imports(parsed(path))
        if (other := room(name)) is not None and ROOMS.index(other) > ROOMS.index(own)
    ]
    assert upwards == [], f"{own} stands below what it imports"


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_no_module_imports_the_gathering_package(path: Path) -> None:
    gathered = [
        f"line {node.lineno}"
        for node in ast.walk(parsed(path))
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "sigcontract"
            and [alias.name for alias in node.names] != ["__version__"]
        )
        or (isinstance(node, ast.Import) and any(alias.name == "sigcontract" for alias in node.names))
    ]
    assert gathered == [], "import a name from where it is declared"


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_only_the_driver_room_imports_cuda(path: Path) -> None:
    if room(module_name(path)) == "driver":
        return
    assert [name for name, _ in imports(parsed(path)) if name.split(".")[0] in ONLY_DRIVER] == []


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """Not for types alone either: two modules that name each other's types are one module in two files."""
    names = {module_name(path) for path in modules()}
    needs: dict[str, set[str]] = {}
    for path in modules():
        own = module_name(path)
        found = {name for name, _ in imports(parsed(path), lazy=False)}
        # A package that a module lies in is imported before the module, whatever the module says.
        needs[own] = {name for name in found & names if not f"{own}.".startswith(f"{name}.")}
    order = list(graphlib.TopologicalSorter(needs).static_order())
    assert set(order) == names


def test_importing_the_package_imports_no_heavy_library() -> None:
    code = "import sys, sigcontract; print(sorted({'cuda', 'cupti', 'pydantic', 'rich', 'torch'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_importing_the_package_costs_at_most_two_imports_of_msgspec() -> None:
    def seconds(imported: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {imported}"], check=True, capture_output=True)
        return time.perf_counter() - started

    def ratio() -> float:
        rounds = [(seconds("sigcontract"), seconds("msgspec")) for _ in range(5)]
        return min(ours for ours, _ in rounds) / min(theirs for _, theirs in rounds)

    # Other work on the machine only makes it slower: one quiet try of three shows what it costs.
    assert min(ratio() for _ in range(3)) <= 2


def test_grouping_records_loads_no_driver() -> None:
    code = (
        "import sys, sigcontract as sc; from sigcontract.registry import SignatureRegistry, GroupReport; "
        "sc.SignatureRegistry('share').report(); "
        "print([name for name in sys.modules if name.startswith(('sigcontract.driver', 'cuda'))])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_importing_the_driver_room_imports_no_bindings() -> None:
    code = "import sys, sigcontract.driver; print(sorted({'cuda', 'cupti', 'torch'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"
