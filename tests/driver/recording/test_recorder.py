"""Recording from inside of a process: what is in the dump, and what a failure leaves of it."""

import importlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from msgspec import structs

import sigcontract as sc
from sigcontract.driver.observing.observations import Observations
from sigcontract.driver.observing.session import observe
from sigcontract.driver.recording import recorder as record
from sigcontract.driver.recording.labels import DEFAULT_LABEL, check_label
from sigcontract.driver.recording.recorder import EXTENSION, Recorder, RecordOptions, record_to
from sigcontract.errors import DriverError, FileError, GraphReadError, MissingExtraError, ObserveError, UsageError
from sigcontract.model.arguments import KernelArgument
from sigcontract.model.dump import SignatureDump
from sigcontract.model.graph import GraphSignature
from sigcontract.model.nodes import KernelNodeSignature
from tests.driver.fake_cupti import FakeCupti, FakeProgram
from tests.update.build import graph, kernel

#: The module; its name in the package is that of its function.
OBSERVE = importlib.import_module("sigcontract.driver.observing.session")
#: How long a thread is waited for before its test fails.
WAIT_SECONDS = 60
GRAPHS = {1: graph(kernel()), 2: graph(kernel(), kernel(grid=9)), 3: graph(kernel())}


@pytest.fixture(autouse=True)
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, object]]:
    """Make graphs readable; return whether arguments were asked for, and with which blocks, by read."""
    reads: list[tuple[bool, object]] = []

    def read(handle: int, *, observations: Observations | None, arguments: bool, blocks: object) -> GraphSignature:
        del observations
        reads.append((arguments, blocks))
        if handle not in GRAPHS:
            raise GraphReadError("it is none")
        return GRAPHS[handle]

    monkeypatch.setattr(record, "read_graph", read)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    return reads


@pytest.fixture
def cupti(monkeypatch: pytest.MonkeyPatch) -> FakeCupti:
    fake = FakeCupti()
    monkeypatch.setattr(OBSERVE, "Cupti", lambda: fake)
    return fake


@pytest.fixture
def program(cupti: FakeCupti) -> FakeProgram:
    program = FakeProgram(cupti)
    program.nodes = {handle: [] for handle in (*GRAPHS, 4)}
    return program


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.dump.json"


@pytest.fixture
def recorder(path: Path, cupti: FakeCupti) -> Iterator[Recorder]:
    assert cupti.callback is None
    with record_to(path) as recorder:
        yield recorder


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> "SimpleQueue[Path]":
    """Return a queue of the files that were written, each once it is there; writing waits for nothing."""
    files: SimpleQueue[Path] = SimpleQueue()
    save = record.save  # type: ignore[attr-defined]  # what it writes by

    def saved(dump: SignatureDump, path: Path) -> None:
        save(dump, path)
        files.put(path)

    monkeypatch.setattr(record, "save", saved)
    monkeypatch.setattr("sigcontract.driver.recording.writer._DELAY_SECONDS", 0.0)
    return files


def dump_at(path: Path) -> SignatureDump:
    dump = sc.load(path)
    assert isinstance(dump, SignatureDump)
    return dump


def test_every_instantiation_is_a_graph_of_the_dump(recorder: Recorder, program: FakeProgram, path: Path) -> None:
    for handle in (1, 2, 1):
        program.instantiate(handle)
    program.instantiate(3, result=2)
    recorder.close()
    dump = dump_at(path)
    assert [(entry.label, entry.graph) for entry in dump.graphs] == [
        ("graph/0", GRAPHS[1]),
        ("graph/1", GRAPHS[2]),
        ("graph/2", GRAPHS[1]),
    ]
    assert dump.complete
    assert dump.extensions == {EXTENSION: {"problems": []}}
    assert dump.environment.process_id == os.getpid()
    assert (recorder.graph_count, recorder.path, recorder.saved) == (3, path, True)


def test_closing_gives_cupti_back_and_ends_recording(recorder: Recorder, program: FakeProgram, path: Path) -> None:
    program.instantiate(1)
    recorder.close()
    assert program.cupti.callback is None
    program.instantiate(2)
    recorder.add(2)  # as another thread may, inside of PyTorch's wrapped capture_end
    recorder.close()
    assert len(dump_at(path).graphs) == recorder.graph_count == 1


def test_a_process_without_graphs_leaves_no_file(recorder: Recorder, path: Path) -> None:
    recorder.close()
    assert not path.exists()


def test_what_was_recorded_is_on_disk_while_the_process_runs(
    recorder: Recorder, program: FakeProgram, path: Path, written: "SimpleQueue[Path]"
) -> None:
    for count in (1, 2):
        program.instantiate(count)
        assert written.get(timeout=WAIT_SECONDS) == path
        dump = dump_at(path)
        assert (len(dump.graphs), dump.complete) == (count, False)
    assert recorder.saved


@pytest.mark.parametrize(
    ("template", "labels"),
    [
        ("{nodes} nodes", ["1 nodes", "2 nodes", "1 nodes#2"]),
        ("{caller}", ["capture_model", "capture_model#2", "capture_model#3"]),
        ("{{{order}}}", ["{0}", "{1}", "{2}"]),
        ("graph {graph_id}", ["graph 1001", "graph 1002", "graph 1003"]),
        ("r{rank}", ["r3", "r3#2", "r3#3"]),
    ],
)
def test_labels_follow_their_template(
    path: Path, program: FakeProgram, monkeypatch: pytest.MonkeyPatch, template: str, labels: list[str]
) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")

    def capture_model(handle: int) -> None:
        program.instantiate(handle)

    capture_model.__code__ = capture_model.__code__.replace(co_qualname="capture_model")
    monkeypatch.setattr(FakeProgram.instantiate, "__code__", hidden(FakeProgram.instantiate))
    monkeypatch.setattr(FakeCupti.api, "__code__", hidden(FakeCupti.api))
    monkeypatch.setattr(FakeCupti.fire, "__code__", hidden(FakeCupti.fire))
    with record_to(path, label=template):
        for handle in (1, 2, 3):
            capture_model(handle)
    assert [entry.label for entry in dump_at(path).graphs] == labels


def hidden(function: Callable[..., Any]) -> Any:
    """Return a function's code as if it were of a library."""
    return function.__code__.replace(co_filename=os.__file__)


@pytest.mark.parametrize("template", ["{", "{size}", "{0}", "{}", "{order.x.y}", "{order!z}"])
def test_a_label_that_is_no_template_is_refused_before_anything_starts(
    path: Path, cupti: FakeCupti, template: str
) -> None:
    with pytest.raises(UsageError):
        record_to(path, label=template)
    assert cupti.callback is None
    check_label(DEFAULT_LABEL)


def test_stacks_lead_to_the_line_that_instantiated(path: Path, program: FakeProgram) -> None:
    with record_to(path, stacks=True):
        program.instantiate(1)
    (stack,) = dump_at(path).extensions[EXTENSION]["stacks"].values()
    assert any(__file__ in line and "test_stacks_lead_to_the_line" in line for line in stack)
    assert not any("sigcontract/driver" in line for line in stack)


def test_a_dump_may_leave_host_and_process_out(path: Path, program: FakeProgram) -> None:
    with record_to(path, host=False):
        program.instantiate(1)
    where = dump_at(path).environment
    assert (where.hostname, where.process_id) == (None, None)


def test_arguments_are_read_where_asked_for_with_the_blocks_of_the_allocator(
    path: Path, program: FakeProgram, monkeypatch: pytest.MonkeyPatch, reads: list[tuple[bool, object]]
) -> None:
    blocks, graphs = object(), []

    def torch_blocks(graph: object) -> object:
        graphs.append(graph)
        return blocks

    monkeypatch.setattr(record, "torch_blocks", torch_blocks)
    monkeypatch.setattr(record, "instantiating_graph", lambda: "a graph of torch")
    for wanted in (False, True):
        with record_to(path, arguments=wanted):
            program.instantiate(1)
    assert reads == [(False, None), (True, blocks)]
    assert graphs == ["a graph of torch"]


def test_an_allocator_without_a_snapshot_is_a_problem_and_arguments_are_read(
    path: Path, program: FakeProgram, monkeypatch: pytest.MonkeyPatch, reads: list[tuple[bool, object]]
) -> None:
    def torch_blocks(_graph: object) -> object:
        raise DriverError("no snapshot")

    monkeypatch.setattr(record, "torch_blocks", torch_blocks)
    with record_to(path, arguments=True) as recorder:
        for _ in range(2):
            program.instantiate(1)
    assert reads == [(True, None)] * 2
    assert recorder.problems == ["no snapshot"]


@pytest.mark.parametrize(("redact", "values"), [(False, {"2a000000"}), (True, {None})])
def test_redacted_values_are_not_in_the_file(
    path: Path, program: FakeProgram, monkeypatch: pytest.MonkeyPatch, redact: bool, values: set[str | None]
) -> None:
    argument = KernelArgument(offset_bytes=0, size_bytes=4, value="2a000000", pointers=())
    monkeypatch.setitem(GRAPHS, 1, graph(structs.replace(kernel(), arguments=(argument,))))
    with record_to(path, arguments=True, redact=redact):
        program.instantiate(1)
    (entry,) = dump_at(path).graphs
    (node,) = entry.graph.kernel_nodes
    assert node.arguments is not None
    assert {one.value for one in node.arguments} == values
    assert [(one.offset_bytes, one.size_bytes) for one in node.arguments] == [(0, 4)]
    assert (b"2a000000" in path.read_bytes()) is not redact


def test_nothing_to_redact_is_refused_before_anything_starts(path: Path, cupti: FakeCupti) -> None:
    with pytest.raises(
        UsageError, match="redact applies to arguments, and none are recorded; record arguments as well"
    ):
        record_to(path, redact=True)
    assert cupti.callback is None


def test_a_graph_that_cannot_be_read_is_a_problem_of_its_own(
    recorder: Recorder, program: FakeProgram, path: Path
) -> None:
    for handle in (1, 4, 2):
        program.instantiate(handle)
    recorder.close()
    dump = dump_at(path)
    assert [entry.label for entry in dump.graphs] == ["graph/0", "graph/2"]
    assert dump.extensions[EXTENSION]["problems"] == ["graph 1 could not be read: it is none"]


def test_without_cupti_the_dump_says_what_is_missing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken() -> FakeCupti:
        raise ObserveError("a profiler has it", code="cupti_taken")

    monkeypatch.setattr(OBSERVE, "Cupti", taken)
    with record_to(path, label="graph {graph_id}") as recorder:
        assert not recorder.observing
        recorder.add(1)
    assert [entry.label for entry in dump_at(path).graphs] == ["graph -"]
    assert dump_at(path).extensions[EXTENSION]["problems"] == [
        "launches are not observed, so attributes that nodes do not return are missing: a profiler has it"
    ]


def test_without_pyelftools_only_machine_code_is_missing(
    path: Path, program: FakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*, sees_loads: bool) -> None:
        assert not sees_loads
        raise MissingExtraError("identifying machine code", extra="observe")

    monkeypatch.setattr(OBSERVE, "_module_ledger", missing)
    with record_to(path) as recorder:
        assert recorder.observing
        program.instantiate(1)
    assert dump_at(path).extensions[EXTENSION]["problems"] == [
        "identifying machine code needs an optional dependency: pip install 'sigcontract[observe]'"
    ]


def test_cupti_is_given_to_a_profiler_and_the_dump_says_so(
    recorder: Recorder, program: FakeProgram, path: Path
) -> None:
    program.instantiate(1)
    recorder.yield_cupti("torch.profiler started")
    assert program.cupti.callback is None
    recorder.add(2)
    recorder.close()
    dump = dump_at(path)
    assert len(dump.graphs) == 2
    assert dump.extensions[EXTENSION]["problems"] == [
        "torch.profiler started: launches are no longer observed (after 1 graphs)"
    ]


def test_recording_shares_cupti_with_a_program_that_observes(recorder: Recorder, program: FakeProgram) -> None:
    with observe():
        assert recorder.observing
    assert program.cupti.callback is not None


def test_a_full_disk_is_a_problem_and_the_next_write_makes_good(
    recorder: Recorder, program: FakeProgram, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_dump: SignatureDump, target: Path) -> None:
        raise FileError("no space left on device", file=str(target))

    with monkeypatch.context() as patch:
        patch.setattr(record, "save", full)
        program.instantiate(1)
        assert not recorder.write()
        assert not recorder.write()
        assert not recorder.saved
    assert recorder.problems == ["the dump could not be written: no space left on device"]
    program.instantiate(2)
    recorder.close()
    assert len(dump_at(path).graphs) == 2


def test_a_path_that_cannot_be_read_is_a_problem(program: FakeProgram) -> None:
    def denied(_process_id: int) -> Path:
        raise PermissionError(13, "Permission denied")

    with Recorder(denied, RecordOptions()).start() as recorder:
        program.instantiate(1)
    assert recorder.problems == ["the dump could not be written: [Errno 13] Permission denied"]
    assert (recorder.saved, recorder.path) == (False, None)


def test_graphs_may_come_while_a_report_is_made(
    recorder: Recorder, program: FakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def known(_node: KernelNodeSignature) -> bool:
        program.instantiate(2)  # as another thread may, in between
        return False

    program.instantiate(1)
    monkeypatch.setattr(record, "_has_code", known)
    assert recorder.unknown_code_count == 1
    assert recorder.graph_count == 2


def test_a_write_that_hangs_does_not_keep_the_process_from_ending(
    recorder: Recorder, program: FakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sigcontract.driver.recording.writer._END_SECONDS", 0.05)
    monkeypatch.setattr("sigcontract.driver.recording.writer._DELAY_SECONDS", 0.0)
    started, released = threading.Event(), threading.Event()

    def hang(_dump: SignatureDump, _target: Path) -> None:
        started.set()
        released.wait(WAIT_SECONDS)

    with monkeypatch.context() as patch:
        patch.setattr(record, "save", hang)
        program.instantiate(1)
        (writing,) = (thread for thread in threading.enumerate() if thread.name == "sigcontract-record")
        assert started.wait(WAIT_SECONDS)
        recorder.close()
        assert any("did not finish in time" in problem for problem in recorder.problems)
        released.set()
        writing.join(WAIT_SECONDS)
        assert not writing.is_alive()


def test_graphs_of_one_model_share_their_nodes(recorder: Recorder, program: FakeProgram) -> None:
    program.instantiate(1)
    program.instantiate(3)
    first, second = (entry.graph.nodes[0] for entry in recorder._graphs)
    assert first is second


def test_a_rank_that_the_program_gave_itself_is_kept(
    recorder: Recorder, program: FakeProgram, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Distributed:
        """Stands in for torch.distributed."""

        alive = True

        def is_initialized(self) -> bool:
            return self.alive

        def get_rank(self) -> int:
            return 5

        def get_world_size(self) -> int:
            return 8

    distributed = Distributed()
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    program.instantiate(1)
    recorder.write()
    distributed.alive = False
    recorder.close()
    where = dump_at(path).environment
    assert (where.rank, where.world_size) == (5, 8)


FORK = """
import os, sys, threading
from importlib import import_module
from sigcontract.driver.recording import recorder as record
from tests.update.build import graph, kernel
from tests.driver.fake_cupti import FakeCupti, FakeProgram
fake = FakeCupti()
import_module("sigcontract.driver.observing.session").Cupti = lambda: fake
record.read_graph = lambda handle, **_options: graph(*[kernel()] * handle)
saved, save = threading.Event(), record.save
def and_say_so(*given):
    save(*given)
    saved.set()
record.save = and_say_so
program = FakeProgram(fake)
program.nodes = {1: [], 2: [], 3: []}
recorder = record.record_to(sys.argv[1])
program.instantiate(1)
child = os.fork()
if child == 0:
    if sys.argv[2] == "records":
        program.instantiate(2); program.instantiate(3)
        sys.exit(3)
    os._exit(4)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
program.instantiate(2)
print(child)
sys.exit(status)
"""


@pytest.mark.parametrize(("child", "status"), [("records", 3), ("ends", 4)])
def test_a_forked_child_has_a_dump_of_its_own_if_any(path: Path, child: str, status: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, str(path), child],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == status, ended.stderr
    assert [len(entry.graph.nodes) for entry in dump_at(path).graphs] == [1, 2]
    childs = path.with_name(f"run.pid{ended.stdout.strip()}.dump.json")
    assert childs.exists() == (child == "records")
    if childs.exists():
        assert [len(entry.graph.nodes) for entry in dump_at(childs).graphs] == [2, 3]


@pytest.mark.parametrize("ending", ["os.kill(os.getpid(), signal.SIGTERM)", "os._exit(5)"])
def test_signals_and_os_exit_are_followed_where_that_is_asked_for(path: Path, ending: str) -> None:
    begun = textwrap.dedent(FORK).partition("child = os.fork()")[0]
    begun = begun.replace("record_to(sys.argv[1])", "record_to(sys.argv[1], signals=True)")
    demand = """
import signal, sigcontract.driver.recording.writer as writer
writer._DELAY_SECONDS = 60
program.instantiate(2)
os.kill(os.getpid(), signal.SIGUSR2)
print(len(sc.load(sys.argv[1]).graphs), flush=True)
program.instantiate(3)
"""
    program = begun.replace("import os, sys", "import sigcontract as sc, os, sys") + demand + ending
    ended = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stdout) in ((-signal.SIGTERM, "2\n"), (5, "2\n")), ended.stderr
    dump = dump_at(path)
    assert (len(dump.graphs), dump.complete) == (3, True)


def test_a_signal_after_the_end_writes_nothing(path: Path, program: FakeProgram) -> None:
    with record_to(path) as recorder:
        program.instantiate(1)
    recorder._on_signal(ends=False)
    recorder._on_signal(ends=True)
    assert dump_at(path).complete


def test_a_killed_process_leaves_a_whole_dump_that_says_it_is_not_complete(path: Path) -> None:
    program = textwrap.dedent(FORK).partition("child = os.fork()")[0] + (
        "import signal\nassert saved.wait(60)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(path)], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    dump = dump_at(path)
    assert (len(dump.graphs), dump.complete) == (1, False)
