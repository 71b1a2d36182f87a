"""Put first on PYTHONPATH by ``sigcontract record``: Python imports it at the start of every process.

It leaves the process as it found it, but for one finder that waits for the import of a library that uses CUDA; a
process that imports none never loads sigcontract. Kept free of every import that Python has not made already.
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
#: What recording imports besides sigcontract and the standard library.
DEPENDENCIES = frozenset({"elftools", "msgspec", "typing_extensions", "zstandard"})


class Waiting:
    """Begins recording at the first import of one of these modules; finds nothing itself."""

    def __init__(self, names: str) -> None:
        self.names = frozenset(names.split(","))

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Leave finding to the others."""
        del path, target
        if fullname in self.names and self in sys.meta_path:
            sys.meta_path.remove(self)
            begin()


class Dependencies:
    """Finds what recording imports where Python itself looks, and not in the program's folder.

    A program may have a file msgspec.py. Where it has, it gets its own module under that name, before and after.
    """

    def __init__(self) -> None:
        self.path = sys.path[:]  # Python has not put the program's folder first yet
        self.hidden: dict[str, ModuleType] = {}

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        """Find a dependency; leave others to the others."""
        del path, target
        return found(fullname, self.path) if fullname in DEPENDENCIES else None

    def clash(self) -> bool:
        """Say whether the program has another module under the name of a dependency, or would find one."""
        return any(self._own(name) != self._programs(name) for name in DEPENDENCIES)

    def hide(self) -> None:
        """Take away what is imported under the names of dependencies, and remember it."""
        names = [name for name in sys.modules if name.partition(".")[0] in DEPENDENCIES]
        self.hidden = {name: sys.modules.pop(name) for name in names}

    def give_back(self) -> None:
        """Leave the names as the program had them."""
        before, self.hidden = self.hidden, {}
        self.hide()
        sys.modules.update(before)

    def _own(self, name: str) -> object:
        return getattr(found(name, self.path), "origin", None)

    def _programs(self, name: str) -> object:
        imported = getattr(sys.modules.get(name), "__spec__", None)
        return getattr(imported or found(name, sys.path), "origin", None)


def found(name: str, path: list[str]) -> "ModuleSpec | None":
    """Return the spec of a top-level module on a path, None where there is none."""
    from importlib.machinery import PathFinder  # noqa: PLC0415  as above

    return PathFinder.find_spec(name, path)


def begin() -> None:
    """Start recording; a failure must not be the program's."""
    try:
        clash = dependencies.clash()
        if clash:
            dependencies.hide()
        sys.meta_path.insert(0, dependencies)
        try:
            from sigcontract.driver.recording import process  # noqa: PLC0415  only where CUDA is about to be used

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
    """Leave a line for the report."""
    try:
        place = os.path.join(os.environ["SIGCONTRACT_RECORD_STATUS"], f"{os.getpid()}.problem")
        with open(place, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(problem + "\n")
    except (KeyError, OSError):
        return  # there is nowhere left to say it


def leave_path() -> None:
    """Take this folder off sys.path; children find it in PYTHONPATH again."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)


def run_hidden() -> None:
    """Run the sitecustomize that this one hides, if there is one, under its own name."""
    specs = (finder.find_spec("sitecustomize", None) for finder in sys.meta_path)
    spec = next((spec for spec in specs if spec is not None), None)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec  # noqa: PLC0415  milliseconds of every process, spent only for one

    module = sys.modules["sitecustomize"] = module_from_spec(spec)
    spec.loader.exec_module(module)


leave_path()
dependencies = Dependencies()
if os.environ.get("SIGCONTRACT_RECORD_TO"):
    sys.meta_path.insert(0, Waiting(os.environ.get("SIGCONTRACT_RECORD_AT") or USERS_OF_CUDA))
run_hidden()
