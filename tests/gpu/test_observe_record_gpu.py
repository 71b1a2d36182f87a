"""Real programs under ``sigcontract record``: what is recorded, and that nothing of them changes."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import sigcontract as sc
from sigcontract.model.dump import SignatureDump

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
START = """
import os, sys, threading, torch
x = torch.ones(64, device="cuda")
def capture(times=1):
    x.add_(1); torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            x.add_(1)
    return graph
"""


def record(tmp_path: Path, program: str, *options: str) -> list[str]:
    file = tmp_path / "program.py"
    file.write_text(START + program, encoding="utf-8")
    folder = str(tmp_path / "dumps")
    return [sys.executable, "-m", "sigcontract", "record", "-o", folder, *options, "--", sys.executable, str(file)]


def run(tmp_path: Path, program: str, *options: str) -> "subprocess.CompletedProcess[str]":
    command = record(tmp_path, program, *options)
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def dumps(tmp_path: Path) -> list[SignatureDump]:
    loaded = [sc.load(path) for path in sorted((tmp_path / "dumps").glob("*.dump.json"))]
    assert all(isinstance(dump, SignatureDump) for dump in loaded)
    return [dump for dump in loaded if isinstance(dump, SignatureDump)]


def test_a_program_keeps_its_output_and_exit_status_and_every_graph_is_recorded(tmp_path: Path) -> None:
    ended = run(
        tmp_path, "a, b = capture(), capture(3)\na.replay(); print('out')\nsys.exit(7)", "--stacks", "--code", "all"
    )
    assert (ended.returncode, ended.stdout) == (7, "out\n"), ended.stderr
    (dump,) = dumps(tmp_path)
    assert dump.complete
    assert [(entry.label, len(entry.graph.nodes)) for entry in dump.graphs] == [("graph/0", 1), ("graph/1", 3)]
    remarks = dump.extensions["sigcontract.record"]
    assert remarks["problems"] == []
    assert any("program.py" in frame and "capture" in frame for frame in remarks["stacks"]["graph/1"])
    (node,) = dump.graphs[0].graph.kernel_nodes
    preferred = node.attribute(11)
    assert preferred is not None
    assert (preferred.state, preferred.origin) == ("value", "launch")
    assert node.function is not None
    assert node.function.code_sha256 is not None


def test_os_exit_loses_nothing(tmp_path: Path) -> None:
    ended = run(tmp_path, "capture(); os._exit(9)")
    assert ended.returncode == 9
    (dump,) = dumps(tmp_path)
    assert (dump.complete, len(dump.graphs)) == (True, 1)


def test_a_killed_program_loses_only_what_came_after_the_last_write(tmp_path: Path) -> None:
    program = """
import sigcontract.driver.recording.recorder as record
written, save = threading.Event(), record.save
def and_say_so(*given):
    save(*given); written.set()
record.save = and_say_so
import sigcontract.driver.recording.writer as writer
capture(); written.wait(60)
writer.BackgroundWriter.wake = lambda self: None
capture(); os.kill(os.getpid(), 9)
"""
    ended = run(tmp_path, program)
    assert ended.returncode == -signal.SIGKILL
    (dump,) = dumps(tmp_path)
    assert (dump.complete, len(dump.graphs)) == (False, 1)
    assert "did not exit cleanly: graphs after its last write are missing" in ended.stderr


def test_a_full_disk_costs_the_program_nothing(tmp_path: Path) -> None:
    program = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))  # as a full disk: writing more fails
graph = capture(); x.zero_(); graph.replay(); torch.cuda.synchronize()
print(int(x.sum()))
"""
    ended = run(tmp_path, program)
    assert (ended.returncode, ended.stdout) == (0, "64\n"), ended.stderr
    assert "the dump could not be written" in ended.stderr
    assert dumps(tmp_path) == []


def test_sigterm_ends_a_program_whose_main_thread_hangs_in_the_driver(tmp_path: Path) -> None:
    hang = """
capture()
main = threading.main_thread().ident
def tell():
    while sys._current_frames()[main].f_code.co_name != "synchronize": pass
    print("ready", flush=True)
torch.cuda._sleep(10**12)
threading.Thread(target=tell, daemon=True).start()
torch.cuda.synchronize()
"""
    program = record(tmp_path, hang)
    with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)  # the device is busy for minutes more
        assert process.returncode == -signal.SIGTERM
    (dump,) = dumps(tmp_path)
    assert (dump.complete, len(dump.graphs)) == (True, 1)


def test_a_profiler_of_the_program_gets_cupti(tmp_path: Path) -> None:
    program = """
capture()
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CUDA]) as seen:
    x.mul_(2); torch.cuda.synchronize()
print(sum(str(event.device_type).endswith("CUDA") for event in seen.events()))
capture(2)
"""
    ended = run(tmp_path, program)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) >= 1
    assert "torch.profiler started: launches are no longer observed (after 1 graphs)" in ended.stderr
    (dump,) = dumps(tmp_path)
    assert [len(entry.graph.nodes) for entry in dump.graphs] == [1, 2]
    states = [entry.graph.kernel_nodes[0].attribute(11) for entry in dump.graphs]
    assert [state.state for state in states if state is not None] == ["value", "unreadable"]


def test_a_fork_after_cuda_began_and_threads_that_capture_at_once(tmp_path: Path) -> None:
    program = """
first = capture()
child = os.fork()
if child == 0:
    os._exit(4)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
def work(times, streams):
    with torch.cuda.stream(streams[times]):
        y = torch.ones(64, device="cuda"); y.add_(1); streams[times].synchronize()
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin(pool=torch.cuda.graph_pool_handle(), capture_error_mode="thread_local")
        for _ in range(times): y.add_(1)
        graph.capture_end()
        graphs.append(graph)
graphs, streams = [], {n: torch.cuda.Stream() for n in (5, 6)}
threads = [threading.Thread(target=work, args=(n, streams)) for n in streams]
[t.start() for t in threads]; [t.join() for t in threads]
print(status, len(graphs))
"""
    ended = run(tmp_path, program)
    assert (ended.returncode, ended.stdout) == (0, "4 2\n"), ended.stderr
    (dump,) = dumps(tmp_path)
    assert sorted(len(entry.graph.nodes) for entry in dump.graphs) == [1, 5, 6]
    assert dump.extensions["sigcontract.record"]["problems"] == []
