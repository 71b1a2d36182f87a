"""Put first on PYTHONPATH by ``sigcontract record``: Python imports it at the start of every process.

It adds one finder that waits for the import of a library that uses CUDA; a process that imports none never loads
sigcontract. Imports only what Python has already imported.
"""
# ruff: noqa: INP001, PTH100, PTH118, PTH120, PTH123  no package but a folder of PYTHONPATH; pathlib costs 5 ms a process

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

#: Libraries that may start CUDA. ``record --at`` names others.
USERS_OF_CUDA = (
    "cuda,cupy,cupti,jax,jaxlib,mlx,numba.cuda,onnxruntime,paddle,pycuda,taichi,tensorflow,tensorrt,tensorrt_llm,"
    "torch,triton,warp"
)
#: Third-party modules that recording imports.
DEPENDENCIES = frozenset({"elftools", "msgspec", "typing_extensions", "zstandard"})


class Waiting:
    """Starts recording at the first import of one of these modules. Finds no module itself."""

    def __init__(self, names: str) -> None:
        self.names = frozenset(names.split(","))

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Start recording if the module is listed; find nothing."""
        del path, target
        if fullname in self.names and self in sys.meta_path:
            sys.meta_path.remove(self)
            begin()


class Dependencies:
    """Finds recording's dependencies on Python's own path, not in the program's directory.

    A program may have its own msgspec.py; it keeps its module under that name, before and after.
    """

    def __init__(self) -> None:
        self.path = sys.path[:]  # before Python inserts the program's directory
        self.hidden: dict[str, ModuleType] = {}

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        """Find a dependency, and no other module."""
        del path, target
        return found(fullname, self.path) if fullname in DEPENDENCIES else None

    def clash(self) -> bool:
        """Return whether the program has, or would import, a module of its own under a dependency's name."""
        return any(self._own(name) != self._programs(name) for name in DEPENDENCIES)

    def hide(self) -> None:
        """Remove and remember modules imported under dependencies' names."""
        names = [name for name in sys.modules if name.partition(".")[0] in DEPENDENCIES]
        self.hidden = {name: sys.modules.pop(name) for name in names}

    def give_back(self) -> None:
        """Restore the program's modules."""
        before, self.hidden = self.hidden, {}
        self.hide()
        sys.modules.update(before)

    def _own(self, name: str) -> object:
        return getattr(found(name, self.path), "origin", None)

    def _programs(self, name: str) -> object:
        imported = getattr(sys.modules.get(name), "__spec__", None)
        return getattr(imported or found(name, sys.path), "origin", None)


def found(name: str, path: list[str]) -> "ModuleSpec | None":
    """Return the spec of a top-level module on a path, or None."""
    from importlib.machinery import PathFinder  # noqa: PLC0415  as above

    return PathFinder.find_spec(name, path)


def begin() -> None:
    """Start recording. A failure must not reach the program."""
    try:
        clash = dependencies.clash()
        if clash:
            dependencies.hide()
        sys.meta_path.insert(0, dependencies)
        try:
            from sigcontract.driver.recording import process  # noqa: PLC0415  only before CUDA is used

            if clash:
                process.import_all()
            process.begin()
        finally:
            sys.meta_path.remove(dependencies)
            if clash:
                dependencies.give_back()
    except Exception as error:  # noqa: BLE001  see above
        say(f"recording did not begin: {type(error).__name__}: {error} (in {sys.executable})")


def say(problem: str) -> None:
    """Write a line for the report."""
    try:
        path = os.path.join(os.environ["SIGCONTRACT_RECORD_STATUS"], f"{os.getpid()}.problem")
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(problem + "\n")
    except (KeyError, OSError):
        return  # nowhere left to report it


def leave_path() -> None:
    """Remove this directory from sys.path; child processes get it from PYTHONPATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)


def run_hidden() -> None:
    """Run the sitecustomize that this one shadows, if any, under its own name."""
    specs = (finder.find_spec("sitecustomize", None) for finder in sys.meta_path)
    spec = next((spec for spec in specs if spec is not None), None)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec  # noqa: PLC0415  takes milliseconds; only if one exists

    module = sys.modules["sitecustomize"] = module_from_spec(spec)
    spec.loader.exec_module(module)


leave_path()
dependencies = Dependencies()
if os.environ.get("SIGCONTRACT_RECORD_TO"):
    sys.meta_path.insert(0, Waiting(os.environ.get("SIGCONTRACT_RECORD_AT") or USERS_OF_CUDA))
run_hidden()
