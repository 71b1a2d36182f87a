"""What recording wraps in modules of the program, on stand-ins for PyTorch and JAX."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sigcontract.driver.recording import frameworks as record_frameworks
from sigcontract.driver.recording.frameworks import AfterImport, distributed_rank, instantiating_graph, watch_frameworks

PROFILER = """
def _prepare_profiler(config, activities=()):
    "Prepare."
    return ("prepared", config, activities)
"""
GRAPHS = """
import torch
from sigcontract.driver.recording.frameworks import instantiating_graph
seen = []
class CUDAGraph:
    def capture_end(self):
        "End."
        seen.append(instantiating_graph())
        return "ended"
    def instantiate(self):
        seen.append(instantiating_graph())
        raise RuntimeError("no graph")
"""
CUDA = """
def current_stream():
    class Stream:
        cuda_stream = 0x77
    return Stream
"""


class Recording:
    """What a recorder is told."""

    observing = True

    def __init__(self) -> None:
        self.added: list[int] = []
        self.reasons: list[str | None] = []
        self.problems: list[str] = []

    def add(self, graph: int) -> None:
        self.added.append(graph)

    def yield_cupti(self, reason: str | None) -> None:
        self.reasons.append(reason)

    def complain(self, problem: str) -> None:
        self.problems.append(problem)


@pytest.fixture
def recording() -> Recording:
    return Recording()


@pytest.fixture
def until() -> Iterator[ExitStack]:
    with ExitStack() as until:
        yield until


@pytest.fixture(autouse=True)
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    files = {
        "torch/__init__.py": "",
        "torch/autograd/__init__.py": "",
        "torch/autograd/profiler.py": PROFILER,
        "torch/cuda/__init__.py": CUDA,
        "torch/cuda/graphs.py": GRAPHS,
        "jax/__init__.py": "",
        "jax/_src/__init__.py": "",
        "jax/_src/profiler.py": "def start_trace(folder): return folder\n",
        "cupti.py": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("early", [False, True])
def test_a_profiler_of_torch_is_given_cupti_before_it_starts(
    recording: Recording, early: bool, until: ExitStack
) -> None:
    if early:
        importlib.import_module("torch.autograd.profiler")
    watch_frameworks(recording, until)
    profiler = importlib.import_module("torch.autograd.profiler")
    assert recording.reasons == []
    assert profiler._prepare_profiler("c", activities=(1,)) == ("prepared", "c", (1,))
    assert recording.reasons == ["torch.profiler started"]
    assert profiler._prepare_profiler.__doc__ == "Prepare."


def test_a_profiler_of_jax_is_given_cupti(recording: Recording, until: ExitStack) -> None:
    watch_frameworks(recording, until)
    assert importlib.import_module("jax._src.profiler").start_trace("folder") == "folder"
    assert recording.reasons == ["jax.profiler started"]


def test_a_program_that_imports_cupti_is_given_it(recording: Recording, until: ExitStack) -> None:
    watch_frameworks(recording, until)
    importlib.import_module("cupti")
    assert recording.reasons == ["the program imported cupti"]


@pytest.mark.parametrize(("observing", "graph", "added"), [(True, 5, []), (False, 5, [5]), (False, 0, [])])
def test_captures_of_torch_are_recorded_where_cupti_does_not_tell(
    recording: Recording,
    monkeypatch: pytest.MonkeyPatch,
    observing: bool,
    graph: int,
    added: list[int],
) -> None:
    monkeypatch.setattr(recording, "observing", observing)
    streams: list[int] = []

    def captured(stream: int) -> int:
        streams.append(stream)
        return graph

    monkeypatch.setattr(record_frameworks, "_captured_graph", captured)
    watch_frameworks(recording, ExitStack())
    graphs = importlib.import_module("torch.cuda.graphs")
    assert graphs.CUDAGraph().capture_end() == "ended"
    assert recording.added == added
    assert streams == ([] if observing else [0x77])


def test_the_graph_whose_method_instantiates_is_known_while_it_runs(recording: Recording, until: ExitStack) -> None:
    watch_frameworks(recording, until)
    graphs = importlib.import_module("torch.cuda.graphs")
    one, two = graphs.CUDAGraph(), graphs.CUDAGraph()
    assert one.capture_end() == "ended"
    with pytest.raises(RuntimeError, match="no graph"):
        two.instantiate()
    assert graphs.seen == [one, two]
    assert instantiating_graph() is None
    until.close()
    one.capture_end()
    assert graphs.seen == [one, two, None]


def test_a_fault_of_recording_stays_out_of_the_program(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, until: ExitStack
) -> None:
    def fail(_reason: str | None) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(recording, "yield_cupti", fail)
    watch_frameworks(recording, until)
    assert importlib.import_module("jax._src.profiler").start_trace("folder") == "folder"
    assert recording.problems == ["ZeroDivisionError before start_trace: ours"]


def test_a_wrapped_import_leaves_the_module_as_it_would_be(recording: Recording, until: ExitStack) -> None:
    plain = importlib.import_module("torch.autograd.profiler").__spec__
    for name in ("torch.autograd.profiler", "torch.autograd", "torch"):
        del sys.modules[name]
    watch_frameworks(recording, until)
    module = importlib.import_module("torch.autograd.profiler")
    spec = module.__spec__
    assert plain is not None
    assert spec is not None
    assert type(spec.loader) is type(plain.loader)
    assert spec.origin == plain.origin
    assert "def _prepare_profiler" in spec.loader.get_source(module.__name__)  # type: ignore[union-attr]


def test_what_was_wrapped_is_as_before_when_recording_ends(recording: Recording, until: ExitStack) -> None:
    profiler, finders = importlib.import_module("torch.autograd.profiler"), list(sys.meta_path)
    original = profiler._prepare_profiler
    watch_frameworks(recording, until)
    graphs = importlib.import_module("torch.cuda.graphs")
    assert profiler._prepare_profiler is not original
    until.close()
    assert profiler._prepare_profiler is original
    assert not hasattr(graphs.CUDAGraph.capture_end, "__wrapped__")
    assert sys.meta_path == finders


def test_a_function_that_was_replaced_since_stays_so(
    recording: Recording, until: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiler = importlib.import_module("torch.autograd.profiler")
    watch_frameworks(recording, until)
    another = object()
    monkeypatch.setattr(profiler, "_prepare_profiler", another)
    until.close()
    assert profiler._prepare_profiler is another


def test_a_module_that_is_not_there_stays_missing() -> None:
    finder = AfterImport({"no_such_module": lambda _: pytest.fail("nothing was imported")})
    assert finder.find_spec("another", None) is None
    assert finder.find_spec("no_such_module", None) is None


def test_a_process_group_that_is_left_in_between_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Distributed:
        """Stands in for torch.distributed."""

        def is_initialized(self) -> bool:
            return True

        def get_rank(self) -> int:
            raise ValueError("Default process group has not been initialized")

    monkeypatch.setitem(sys.modules, "torch.distributed", Distributed())
    assert distributed_rank() is None


def test_ranks_are_known_only_in_a_process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    assert distributed_rank() is None
    half_imported = type(sys)("torch.distributed")
    monkeypatch.setitem(sys.modules, "torch.distributed", half_imported)
    assert distributed_rank() is None
