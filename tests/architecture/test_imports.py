"""Imports run one way, CUDA stays in one room, and importing the package is light."""

import ast
import graphlib
import subprocess
import sys

from tests.architecture.source import PACKAGE, at, imports, module_name, modules, parsed

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


def test_imports_run_downwards() -> None:
    upwards = [
        f"{at(path, line)}: {name}"
        for path in modules()
        if (own := room(module_name(path))) is not None  # the package itself gathers the public names of all rooms
        for name, line in imports(parsed(path))
        if (other := room(name)) is not None and ROOMS.index(other) > ROOMS.index(own)
    ]
    assert not upwards, "\n".join(["these rooms stand below what they import", *upwards])


def test_no_module_imports_the_gathering_package() -> None:
    gathered = [
        at(path, node.lineno)
        for path in modules()
        for node in ast.walk(parsed(path))
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "sigcontract"
            and [alias.name for alias in node.names] != ["__version__"]
        )
        or (isinstance(node, ast.Import) and any(alias.name == "sigcontract" for alias in node.names))
    ]
    assert not gathered, "\n".join(["import a name from where it is declared", *gathered])


def test_only_the_driver_room_imports_cuda() -> None:
    importing = [
        f"{at(path, line)}: {name}"
        for path in modules()
        if room(module_name(path)) != "driver"
        for name, line in imports(parsed(path))
        if name.split(".")[0] in ONLY_DRIVER
    ]
    assert not importing, "\n".join(importing)


def test_modules_do_not_import_each_other_in_a_circle() -> None:
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


def test_importing_the_package_loads_nothing_but_itself() -> None:
    """What keeps it as cheap as it is; `benchmarks/bench_import.py` measures how cheap."""
    code = "import importlib, typing, sys; before = set(sys.modules); import sigcontract; "
    code += "print(sorted(set(sys.modules) - before))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "['sigcontract']\n"


def test_importing_the_driver_room_imports_no_bindings() -> None:
    code = "import sys, sigcontract.driver; print(sorted({'cuda', 'cupti', 'torch'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"
