"""Imports run one way and through doors, CUDA stays in one room, and importing the package is light."""

import ast
import graphlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from tests.architecture.source import PACKAGE, at, imports, module_name, modules, parsed

#: From the bottom up. A room may import itself and what stands before it.
ROOMS = (
    "errors",
    "doors",
    "model",
    "wire",
    "profiles",
    "update",
    "driver",
    "registry",
    "compare",
    "golden",
    "fleet",
    "contract",
    "report",
    "testing",
    "cli",
)
#: The rooms inside of `driver`, likewise.
DRIVER_ROOMS = ("cuda", "reading", "observing", "recording", "measuring")
TOP = {"__main__": "cli", "pytest_plugin": "cli"}
ONLY_DRIVER = {"cuda", "cupti"}
#: Modules that are public themselves: whoever uses sigcontract may import from them.
PUBLIC_MODULES = {"sigcontract.registry.events", "sigcontract.registry.sglang"}


def room(name: str) -> str | None:
    """Return the room of a module of the package, None for the package itself and for others' modules."""
    parts = name.split(".")
    if parts[0] != "sigcontract" or len(parts) == 1:
        return None
    found = TOP.get(parts[1], parts[1])
    return found if found in ROOMS else None


def package_of(name: str) -> str:
    """Return the package that a module lies in, a package itself."""
    path = PACKAGE.parent.joinpath(*name.split("."))
    return name if path.is_dir() else name.rpartition(".")[0]


def doors() -> list[Path]:
    """List the stubs that say what a package lets others import."""
    return sorted(PACKAGE.rglob("__init__.pyi"))


def listed(door: Path) -> Iterator[tuple[str, str]]:
    """Yield module and name of everything that a door lists."""
    for node in parsed(door).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, alias.name) for alias in node.names)


def test_every_module_stands_in_a_room() -> None:
    homeless = [str(path.relative_to(PACKAGE)) for path in modules() if room(module_name(path)) is None]
    assert homeless == ["__init__.py"]


def test_imports_run_downwards() -> None:
    upwards = []
    for path in [*modules(), *doors()]:
        own = room(module_name(path))
        for name, line in imports(parsed(path)):
            other = room(name)
            if own is not None and other is not None and ROOMS.index(other) > ROOMS.index(own):
                upwards.append(f"{at(path, line)}: {name}")
    assert upwards == []


def test_imports_inside_the_driver_run_downwards() -> None:
    upwards = []
    for path in modules():
        own = module_name(path).split(".")[2:3]
        if room(module_name(path)) != "driver" or not set(own) & set(DRIVER_ROOMS):
            continue
        for name, line in imports(parsed(path)):
            other = name.split(".")[2:3] if room(name) == "driver" else []
            if other and other[0] in DRIVER_ROOMS and DRIVER_ROOMS.index(other[0]) > DRIVER_ROOMS.index(own[0]):
                upwards.append(f"{at(path, line)}: {name}")
    assert upwards == []


def test_a_package_is_entered_by_its_door() -> None:
    climbed = []
    for path in modules():
        own = module_name(path)
        for node in ast.walk(parsed(path)):
            if not (isinstance(node, ast.ImportFrom) and node.module and room(node.module)):
                continue
            entered = package_of(node.module)
            inside = f"{package_of(own)}.".startswith(f"{entered}.")
            if not inside and node.module != entered:
                climbed.append(f"{own}:{node.lineno} imports from {node.module}, whose door is {entered}")
            if room(own) != "driver" and room(node.module) == "driver" and node.module != "sigcontract.driver":
                climbed.append(f"{own}:{node.lineno} imports from {node.module}, whose door is sigcontract.driver")
    assert climbed == []


def test_every_name_of_a_door_is_there_and_hides_no_module() -> None:
    assert len(doors()) > len(DRIVER_ROOMS)
    for door in doors():
        package = import_module(module_name(door))
        names = [name for _, name in listed(door)]
        assert sorted(names) == sorted(set(names)) == package.__all__ == dir(package)
        assert [name for name in names if getattr(package, name, None) is None] == []
        beside = {path.stem for path in door.parent.iterdir()}
        assert beside & set(names) == set(), f"{package.__name__}: the name of a module is the name of something else"


def test_every_package_has_a_door() -> None:
    packages = {path.parent for path in PACKAGE.rglob("__init__.py")}
    assert packages == {door.parent for door in doors()}


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
    found = [
        f"{at(path, line)}: {name}"
        for path in modules()
        if room(module_name(path)) != "driver"
        for name, line in imports(parsed(path))
        if name.split(".")[0] in ONLY_DRIVER
    ]
    assert found == []


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


def test_importing_the_package_loads_nothing_but_itself() -> None:
    """What keeps it as cheap as it is; `benchmarks/bench_import.py` measures how cheap."""
    code = "import sys; before = set(sys.modules); import sigcontract; library = sys.stdlib_module_names; "
    code += "print(sorted(name for name in set(sys.modules) - before if name.partition('.')[0] not in library))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "['sigcontract', 'sigcontract.doors']\n"


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


def test_comparing_records_loads_no_driver() -> None:
    code = (
        "import sys, sigcontract as sc; sc.SignatureRegistry; sc.diff; print([n for n in sys.modules if 'driver' in n])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_a_zipped_package_finds_its_names_and_profiles(tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "zipped"), "zip", PACKAGE.parent, PACKAGE.name)
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import sigcontract as sc, sigcontract.driver
print(sys.argv[1] in sc.__file__, sc.Dim3.__name__, sigcontract.driver.shipped_profile(sys.argv[2]).id)
"""
    profile = "nvidia-h200-cuda-13.0"
    ended = subprocess.run(
        [sys.executable, "-c", code, archive, profile], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert ended.stdout == f"True Dim3 {profile}\n"
