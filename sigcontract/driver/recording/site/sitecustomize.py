"""Put first on PYTHONPATH by ``sigcontract record``: Python imports it at the start of every process.

It leaves the process as it found it, but for one finder that waits for the import of a library that uses CUDA; a
process that imports none never loads sigcontract. Kept free of every import that Python has not made already.
"""
# ruff: noqa: INP001, PTH100, PTH118, PTH120, PTH123  no package but a folder of PYTHONPATH; pathlib costs 5 ms a process

import os
import sys

#: Libraries that may start CUDA. ``record --at`` names others.
USERS_OF_CUDA = (
    "cuda,cupy,cupti,jax,jaxlib,mlx,numba.cuda,onnxruntime,paddle,pycuda,taichi,tensorflow,tensorrt,tensorrt_llm,"
    "torch,triton,warp"
)


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


def begin() -> None:
    """Start recording; a failure must not be the program's."""
    try:
        from sigcontract.driver.recording import process  # noqa: PLC0415  only where CUDA is about to be used

        process.begin()
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
if os.environ.get("SIGCONTRACT_RECORD_TO"):
    sys.meta_path.insert(0, Waiting(os.environ.get("SIGCONTRACT_RECORD_AT") or USERS_OF_CUDA))
run_hidden()
