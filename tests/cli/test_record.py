"""``sigcontract record``: the program runs as without it, and every process of it is recorded.

There is no GPU here: ``torch`` is a stand-in whose import makes CUPTI a fake one, on which a graph is instantiated.
"""

import os
import re
import resource
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

import sigcontract as sc
from sigcontract.cli.main import main
from sigcontract.model.dump import SignatureDump
from sigcontract.model.results import RecordingReport

ROOT = Path(__file__).resolve().parents[2]

#: Run at the start of every process, behind record's own: CUPTI is a fake one where recording is about to begin.
SITECUSTOMIZE = """
import sys
cupti = None
class Faking:
    def find_spec(self, name, path=None, target=None):
        global cupti
        if name in ("torch", "engine") and cupti is None:
            from importlib import import_module
            from tests.driver.fake_cupti import FakeCupti
            cupti = FakeCupti()
            import_module("sigcontract.driver.observing.session").Cupti = lambda: cupti
sys.meta_path.insert(0, Faking())
"""
TORCH = """
import threading
from importlib import import_module
import sitecustomize
from msgspec.structs import replace
from sigcontract.model.arguments import KernelArgument
from tests.update.build import graph, kernel
from tests.driver.fake_cupti import FakeProgram
program = FakeProgram(sitecustomize.cupti)
program.nodes = {n: [] for n in range(1, 9)}
def read(handle, observations, arguments, blocks):
    node = kernel(function=None) if handle == 7 else kernel()
    if arguments:
        node = replace(node, arguments=(KernelArgument(offset_bytes=0, size_bytes=4, value="2a000000", pointers=()),))
    return graph(*[node] * handle)
record = import_module("sigcontract.driver.recording.recorder")
record.read_graph = read
saved, save = threading.Event(), record.save
def and_say_so(*given):
    save(*given)
    saved.set()
record.save = and_say_so
instantiate = program.instantiate
"""


class Setting:
    """A folder with a program, and the command that records it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dumps = folder / "dumps"
        library = folder / "library"
        library.mkdir()
        (library / "torch.py").write_text(TORCH, encoding="utf-8")
        (library / "sitecustomize.py").write_text(SITECUSTOMIZE, encoding="utf-8")
        self.environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(library), str(ROOT)])}

    def command(self, program: str, *options: str) -> list[str]:
        file = self.folder / "program.py"
        file.write_text(textwrap.dedent(program), encoding="utf-8")
        return [*self.record(*options), "--", sys.executable, str(file), "argument", "--option"]

    def record(self, *options: str) -> list[str]:
        return [sys.executable, "-m", "sigcontract", "record", "-o", str(self.dumps), *options]

    def run(self, command: list[str], **settings: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **settings,
        )

    @contextmanager
    def started(self, command: list[str], **settings: Any) -> Iterator[tuple["subprocess.Popen[str]", IO[str]]]:
        """Start a command, wait until its program writes ``ready``, and return the process and its output."""
        with subprocess.Popen(
            command,
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            **settings,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process, process.stdout

    def graphs(self) -> dict[str, int]:
        """Return how many nodes each graph has, by file and label."""
        found: dict[str, int] = {}
        for path in sorted(self.dumps.glob("[!.]*.dump.*")):
            dump = sc.load(path)
            assert isinstance(dump, SignatureDump)
            found |= {f"{path.name} {entry.label}": len(entry.graph.nodes) for entry in dump.graphs}
        return found


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


PLAIN = """
import sys
data = sys.stdin.read()
print("out", sys.argv[1:], data)
print("err", file=sys.stderr)
sys.exit(7)
"""


def test_a_program_without_cuda_runs_as_it_would(setting: Setting) -> None:
    ended = setting.run(setting.command(PLAIN), input="in")
    assert (ended.returncode, ended.stdout) == (7, "out ['argument', '--option'] in\n")
    assert ended.stderr == (
        "err\nsigcontract: record: nothing was recorded: no Python process imported a module known to use "
        "CUDA (--at names others)\n"
    )
    assert list(setting.dumps.iterdir()) == []


def test_a_process_that_uses_no_cuda_never_loads_sigcontract(setting: Setting) -> None:
    (setting.folder / "library" / "sitecustomize.py").write_text("import sys; sys.hidden_ran = __name__\n")
    ended = setting.run(
        setting.command(
            """
            import os, sys
            print(sys.hidden_ran, [name for name in sys.modules if name.startswith(("sigcontract", "msgspec"))])
            site = "recording/site"
            print([entry for entry in sys.path if site in entry], site in os.environ["PYTHONPATH"])
            """
        )
    )
    assert ended.stdout == "sitecustomize []\n[] True\n", ended.stderr


def test_every_graph_is_in_the_dump_and_the_report_says_so(setting: Setting) -> None:
    ended = setting.run(setting.command("import torch; torch.instantiate(2); torch.instantiate(3); print('out')"))
    assert (ended.returncode, ended.stdout) == (0, "out\n")
    (name,) = {file.split()[0] for file in setting.graphs()}
    assert setting.graphs() == {f"{name} graph/0": 2, f"{name} graph/1": 3}
    assert ended.stderr == (
        f"sigcontract: record: 2 graphs, 1 dump in {setting.dumps}\nsigcontract: record: {name}: 2 graphs\n"
    )


def test_functions_of_unknown_code_are_counted(setting: Setting) -> None:
    ended = setting.run(setting.command("import torch; torch.instantiate(7)"))
    assert (
        ": the machine code of 1 function is unknown, so no other run can be proven equal; "
        "--code all observes more, at a risk described in docs/observe.md\n"
    ) in ended.stderr


def test_options_reach_the_process(setting: Setting) -> None:
    setting.environment |= {"RANK": "3", "WORLD_SIZE": "8"}
    options = ["--label", "r{rank}/{nodes}", "--format", "msgpack", "--stacks", "--no-host", "--code", "none"]
    setting.run(setting.command("import torch; torch.instantiate(2)", *options))
    (path,) = setting.dumps.iterdir()
    assert path.name.startswith("program-rank3-pid")
    assert path.suffix == ".msgpack"
    dump = sc.load(path)
    assert isinstance(dump, SignatureDump)
    assert [entry.label for entry in dump.graphs] == ["r3/2"]
    assert (dump.environment.hostname, dump.environment.rank, dump.environment.world_size) == (None, 3, 8)
    assert "program.py:1 <module>" in str(dump.extensions["sigcontract.record"]["stacks"])


@pytest.mark.parametrize(
    ("options", "values"), [([], None), (["--arguments"], ["2a000000"]), (["--arguments", "--redact"], [None])]
)
def test_arguments_are_in_the_dump_where_asked_for(
    setting: Setting, options: list[str], values: list[str | None] | None
) -> None:
    ended = setting.run(setting.command("import torch; torch.instantiate(1)", *options))
    assert ended.returncode == 0, ended.stderr
    (path,) = setting.dumps.iterdir()
    dump = sc.load(path)
    assert isinstance(dump, SignatureDump)
    (node,) = dump.graphs[0].graph.kernel_nodes
    assert (None if node.arguments is None else [one.value for one in node.arguments]) == values
    assert (b"2a000000" in path.read_bytes()) is (values == ["2a000000"])


@pytest.mark.parametrize(
    ("template", "rank", "name"),
    [
        ("{program}-{rank}-pid{pid}", None, r"program-pid\d+\.dump\.json"),
        ("decode-{rank}", "7", r"decode-rank7\.dump\.json"),
        ("decode-{rank}", None, r"decode-pid\d+\.dump\.json"),
        ("{pid}.{program}", "7", r"\d+\.program\.dump\.json"),
    ],
)
def test_dumps_are_named_by_the_template(template: str, rank: str | None, name: str, setting: Setting) -> None:
    if rank is not None:
        setting.environment |= {"RANK": rank, "WORLD_SIZE": "8"}
    setting.run(setting.command("import torch; torch.instantiate(2)", "--name", template))
    (path,) = setting.dumps.iterdir()
    assert re.fullmatch(name, path.name)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("dump", "the name 'dump' is the same in every process; add {rank} or {pid}"),
        ("../{pid}", "the name '../{pid}' names a directory; set it with -o"),
        ("{host}-{pid}", "a name has no field 'host'; fields: pid, program, rank"),
        ("{pid", "is not a template"),
    ],
)
def test_a_name_that_cannot_be_given_is_wrong_usage(template: str, message: str, setting: Setting) -> None:
    ended = setting.run(setting.command("print('ran')", "--name", template))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr


@pytest.mark.parametrize(("required", "status"), [("2", 0), ("3", 1)])
def test_too_few_graphs_are_a_failure_where_so_many_are_required(required: str, status: int, setting: Setting) -> None:
    program = "import torch; torch.instantiate(2); torch.instantiate(3)"
    ended = setting.run(setting.command(program, "--require-graphs", required))
    assert ended.returncode == status
    assert ("sigcontract: record: 3 graphs required, 2 recorded\n" in ended.stderr) == (status == 1)


def test_a_program_that_failed_keeps_its_status_whatever_is_required(setting: Setting) -> None:
    assert setting.run(setting.command("import sys; sys.exit(7)", "--require-graphs", "3")).returncode == 7


def test_a_module_is_run_as_python_would(setting: Setting) -> None:
    (setting.folder / "library" / "served.py").write_text(
        "import sys, torch; torch.instantiate(1); print(sys.argv[1:])"
    )
    ended = setting.run([*setting.record(), "-m", "served", "--port", "80", "--", "x"])
    assert ended.stdout == "['--port', '80', '--', 'x']\n", ended.stderr
    assert list(setting.graphs().values()) == [1]


CHILDREN = """
import multiprocessing, os, subprocess, sys, warnings

def work(number):
    import torch
    torch.instantiate(number)

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for number, method in enumerate(("fork", "spawn", "forkserver"), start=2):
        process = multiprocessing.get_context(method).Process(target=work, args=(number,))
        process.start()
        process.join()
        assert process.exitcode == 0
    subprocess.run([sys.executable, "-c", "import torch; torch.instantiate(5)"], check=True)
    subprocess.run([sys.executable, "-I", "-c", "print('isolated')"], check=True)
"""


def test_children_of_every_kind_are_recorded(setting: Setting) -> None:
    ended = setting.run(setting.command(CHILDREN))
    assert (ended.returncode, ended.stdout) == (0, "isolated\n"), ended.stderr
    assert sorted(setting.graphs().values()) == [2, 3, 4, 5]
    assert "4 graphs, 4 dumps in" in ended.stderr
    assert "did not end in order" not in ended.stderr


def test_the_words_of_the_program_stay_its_own(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (setting.folder / "library" / "served.py").write_text("import sys; print(sys.argv[1:])")
    monkeypatch.setenv("PYTHONPATH", setting.environment["PYTHONPATH"])
    for command in (["--", sys.executable, "-m", "served"], [sys.executable, "-m", "served"], ["-m", "served"]):
        for words in (["-m", "--", "--"], ["--format", "x"], ["--help"]):
            assert main(["record", "-o", str(setting.dumps), *command, *words]) == 0
            assert capfd.readouterr().out == f"{words}\n"


@pytest.mark.parametrize(
    ("ending", "status", "complete"),
    [
        ("os._exit(9)", 9, True),
        ("sys.exit('why')", 1, True),
        ("raise ValueError", 1, True),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, True),
        ("wait(); os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, False),
        ("wait(); os.abort()", -signal.SIGABRT, False),
        ("wait(); os.execv('/bin/sh', ['sh', '-c', 'exit 6'])", 6, False),
    ],
)
def test_a_program_ends_its_own_way(setting: Setting, ending: str, status: int, complete: bool) -> None:
    program = """
import os, resource, signal, sys, torch
import sigcontract.driver.recording.writer as writer
writer._DELAY_SECONDS = 0
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
def wait():
    assert torch.saved.wait(60)
torch.instantiate(4)
"""
    ended = setting.run(setting.command(program + ending))
    assert ended.returncode == status, ended.stderr
    (path,) = setting.dumps.iterdir()
    dump = sc.load(path)
    assert isinstance(dump, SignatureDump)
    assert (len(dump.graphs), dump.complete) == (1, complete)
    assert ("did not exit cleanly: graphs after its last write are missing" in ended.stderr) is not complete


def test_signals_to_the_command_are_the_programs(setting: Setting) -> None:
    program = """
        import os, signal, sys, torch
        woken, wake = os.pipe(); os.set_blocking(wake, False); signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
        signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
        torch.instantiate(2)
        print("ready", flush=True)
        while True: os.read(woken, 1)  # unlike signal.pause(), misses no signal that comes just before
        """
    command = setting.command(program)
    with setting.started(command, start_new_session=True) as (process, output):
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it: to both
        assert output.readline() == "interrupted\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 5
    assert list(setting.graphs().values()) == [2]


def test_a_signal_asks_for_a_dump_at_once(setting: Setting) -> None:
    program = """
        import glob, os, sigcontract.driver.recording.writer as writer, signal, torch
        writer._DELAY_SECONDS = 600
        torch.instantiate(2)
        os.kill(os.getpid(), signal.SIGUSR1)
        print(torch.saved.wait(30), len(glob.glob("dumps/*.dump.json")))
        """
    ended = setting.run(setting.command(program, "--signal", "SIGUSR1"))
    assert ended.stdout == "True 1\n", ended.stderr


def test_a_folder_that_becomes_read_only_costs_the_program_nothing(setting: Setting) -> None:
    program = """
        import shutil, torch
        shutil.rmtree("dumps")
        open("dumps", "w").close()
        torch.instantiate(2)
        print("out")
        """
    ended = setting.run(setting.command(program))
    assert (ended.returncode, ended.stdout) == (0, "out\n")
    assert "the dump could not be written" in ended.stderr


def test_a_full_disk_costs_the_program_nothing(setting: Setting) -> None:
    def no_space() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))  # as a full disk: writing more fails

    program = "import signal, torch; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); torch.instantiate(8); print('out')"
    ended = setting.run(setting.command(program), preexec_fn=no_space)
    assert (ended.returncode, ended.stdout) == (0, "out\n")
    assert "the dump could not be written" in ended.stderr
    assert "nothing was recorded" in ended.stderr
    assert list(setting.dumps.iterdir()) == []


def test_where_nothing_can_be_written_at_all_the_missing_end_is_reported(setting: Setting) -> None:
    program = """
        import resource, signal, torch
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        torch.instantiate(8)
        """
    ended = setting.run(setting.command(program))
    assert ended.returncode == 0
    assert "did not exit cleanly and wrote nothing" in ended.stderr


def test_the_report_may_be_read_by_programs(setting: Setting) -> None:
    setting.run(setting.command("import torch; torch.instantiate(2)", "--report", "report.json"))
    (report,) = sc.load(setting.folder / "report.json", expect=RecordingReport).processes
    (dump,) = setting.dumps.iterdir()
    assert (report.dump, report.graphs, report.complete, report.problems) == (str(dump), 1, True, ())
    assert report.unknown_code == 0


def test_recording_may_begin_at_another_module(setting: Setting) -> None:
    (setting.folder / "library" / "engine.py").write_text("import torch\n")
    program = "import sys, engine; engine.torch.instantiate(1)"
    setting.run(setting.command(program, "--at", "engine"))
    assert list(setting.graphs().values()) == [1]


def test_an_interpreter_without_sigcontract_says_so(setting: Setting) -> None:
    (setting.folder / "library" / "sitecustomize.py").unlink()
    (setting.folder / "library" / "torch.py").write_text("print('imported')\n")
    setting.environment["PYTHONPATH"] = str(setting.folder / "library")
    hide = "import sys; sys.modules['sigcontract'] = None; import torch"
    ended = setting.run(setting.command(hide))
    assert (ended.returncode, ended.stdout) == (0, "imported\n"), ended.stderr
    assert "recording did not begin: ModuleNotFoundError" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["-o", "/proc/nowhere", "--", "true"],
            "cannot write to /proc/nowhere: No such file or directory; name another directory with -o",
        ),
        (
            ["-o", "{}", "--", "/no/such/program"],
            "/no/such/program cannot be run: No such file or directory; check its name and permissions",
        ),
        (["-o", "{}"], "no program given; put it after --, as in: sigcontract record -o dumps -- python x.py"),
        (["-o", "{}", "-m"], "-m needs a module name; `sigcontract record --help` shows the usage"),
        (["-o", "{}", "--label", "{size}", "--", "true"], "a label has no field 'size'"),
        (["-o", "{}", "--redact", "--", "true"], "redact applies to arguments, and none are recorded"),
        (
            ["-o", "{}", "--signal", "SIGNONE", "--", "true"],
            "no signal 'SIGNONE'; use one such as SIGUSR2, or none",
        ),
    ],
)
def test_what_cannot_be_recorded_is_not_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    given = [str(tmp_path) if argument == "{}" else argument for argument in arguments]
    assert main(["record", *given]) == 2
    assert message in capsys.readouterr().err


def test_signals_are_as_before_when_the_program_has_ended(tmp_path: Path) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)}
    assert main(["record", "-o", str(tmp_path), "--", "true"]) == 0
    assert {number: signal.getsignal(number) for number in before} == before


def test_a_process_that_uses_no_cuda_imports_nothing_more(setting: Setting) -> None:
    (setting.folder / "library" / "sitecustomize.py").unlink()
    site = str(Path(sc.__file__).parent / "driver" / "recording" / "site")
    recorded = setting.environment | {"PYTHONPATH": site, "SIGCONTRACT_RECORD_TO": str(setting.folder)}

    def imported(environment: dict[str, str]) -> set[str]:
        command = [sys.executable, "-c", "import sys; print(*sys.modules)"]
        return set(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split())

    assert imported(recorded) - imported(setting.environment) == {"sitecustomize"}


def ran_alike(setting: Setting, program: str) -> "subprocess.CompletedProcess[str]":
    """Run a program recorded and as it is; hold both to the same result; return the recorded one."""
    recorded = setting.run(setting.command(program))
    plain = setting.run([sys.executable, str(setting.folder / "program.py")])
    own_stderr = "".join(
        line for line in recorded.stderr.splitlines(keepends=True) if not line.startswith("sigcontract: record: ")
    )
    assert (recorded.returncode, recorded.stdout, own_stderr) == (plain.returncode, plain.stdout, plain.stderr)
    return recorded


def test_a_program_that_closes_every_file_keeps_those_that_it_opens_afterwards(setting: Setting) -> None:
    """As a daemon does at its start; the numbers of the files that record had are the program's from then on."""
    ran_alike(
        setting,
        """
        import os, torch
        os.closerange(3, 256)
        files = [open(f"file{n}", "w") for n in range(12)]
        if os.fork() == 0:
            for file in files:
                print("x", file=file, flush=True)
            torch.instantiate(2)
            os._exit(0)
        os.wait()
        print([os.path.getsize(f"file{n}") for n in range(12)])
        """,
    )
    assert list(setting.graphs().values()) == [2]


@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), signal.SIGTERM)", "os._exit(3)"])
def test_a_process_that_can_have_no_more_threads_writes_at_its_end(setting: Setting, end: str) -> None:
    ran_alike(
        setting,
        f"""
        import os, signal, threading, torch
        def start(self):
            raise RuntimeError("can't start new thread")
        threading.Thread.start = start
        torch.instantiate(1)
        {end}
        """,
    )
    assert list(setting.graphs().values()) == [1]


@pytest.mark.parametrize("end", ["", "os._exit(3)"])
def test_what_a_hook_of_the_program_raises_while_a_dump_is_written_is_a_line_of_the_report(
    setting: Setting, end: str
) -> None:
    ended = ran_alike(
        setting,
        f"""
        import os, sys, torch
        def forbid(event, arguments):
            if event == "open" and ".dump." in str(arguments[0]):
                raise RuntimeError("not here")
        sys.addaudithook(forbid)
        torch.instantiate(1)
        {end}
        """,
    )
    assert "the dump could not be written: RuntimeError: not here\n" in ended.stderr
    assert "no graph was instantiated" not in ended.stderr


def test_a_forked_child_that_is_killed_before_it_writes_is_reported(setting: Setting) -> None:
    ended = ran_alike(
        setting,
        """
        import multiprocessing, torch
        def capture(nodes):
            torch.instantiate(nodes)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            pool.map(capture, [1])
        """,
    )
    assert "sigcontract: record: nothing was recorded\n" in ended.stderr
    assert "did not exit cleanly and wrote nothing\n" in ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux")
def test_names_that_are_not_utf8_are_escaped_and_such_a_folder_is_refused(setting: Setting) -> None:
    name = os.fsdecode(b"\xff.py")
    (setting.folder / name).write_text("import torch, sys\ntorch.instantiate(1)\n", encoding="utf-8")
    ended = setting.run([*setting.record(), "--", sys.executable, name])
    assert (ended.returncode, list(setting.graphs().values())) == (0, [1])
    setting.dumps = setting.folder / name
    ended = setting.run([*setting.record(), "--", sys.executable, "-c", "print('started')"])
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "\\udcff.py is not UTF-8, so no report can name it; name another directory with -o\n" in ended.stderr


@pytest.mark.parametrize("imported", ["before", "after"])
def test_a_module_of_the_program_under_the_name_of_a_dependency_stays_the_programs(
    setting: Setting, imported: str
) -> None:
    library = setting.folder / "library"
    (library / "sitecustomize.py").unlink()  # the fake ones import sigcontract, and with it msgspec, themselves
    (library / "torch.py").write_text("", encoding="utf-8")
    (setting.folder / "msgspec.py").write_text("print('imported')\n", encoding="utf-8")
    lines = ["import msgspec", "import torch"]
    program = "; ".join(lines if imported == "before" else reversed(lines))
    command = setting.command(f"{program}; import msgspec; print(msgspec.__file__)")
    installed = str(Path(sys.executable).with_name("sigcontract"))  # python -m looks into the folder as well
    ended = setting.run([installed, *command[3:]])
    assert ended.stdout == f"imported\n{setting.folder / 'msgspec.py'}\n", ended.stderr
    assert "recording did not begin" not in ended.stderr
    assert "nothing was recorded: no graph was instantiated" in ended.stderr


def test_a_report_that_cannot_be_read_costs_the_program_no_status(setting: Setting) -> None:
    program = """
        import os
        status = os.environ["SIGCONTRACT_RECORD_STATUS"]
        for name, report in {
            f"{os.getpid()}.json": '{"process_id": 1, "of_another_release": true}',
            "name.json": "[" * 100_000,
            "other.problem": "\\x80",
        }.items():
            open(os.path.join(status, name), "w").write(report)
        os.mkdir(os.path.join(status, "7.json"))
        raise SystemExit(17)
        """
    ended = setting.run(setting.command(program))
    assert ended.returncode == 17
    assert ended.stderr.count("its report cannot be read (") == 3
    assert (
        "if the program uses another release of sigcontract than this command, install the same release" in ended.stderr
    )


def test_a_closed_standard_error_costs_the_program_no_status(setting: Setting) -> None:
    command = setting.command("raise SystemExit(17)")
    ended = setting.run(["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *command])
    assert ended.returncode == 17


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_to_the_command_alone_reaches_the_program_and_one_to_both_does_so_once(
    setting: Setting, number: signal.Signals
) -> None:
    program = f"""
        import os, signal
        woken, wake = os.pipe(); os.set_blocking(wake, False); signal.set_wakeup_fd(wake)
        signal.signal({number:d}, lambda *_: print("got it", flush=True))
        signal.signal(signal.SIGWINCH, lambda *_: print("and that is all", flush=True) or exit(3))
        print("ready", flush=True)
        while True: os.read(woken, 1)  # unlike signal.pause(), misses no signal that comes just before
        """
    with setting.started(setting.command(program), start_new_session=True) as (process, output):
        process.send_signal(number)
        assert output.readline() == "got it\n"
        os.killpg(process.pid, number)
        assert output.readline() == "got it\n"
        process.send_signal(signal.SIGWINCH)  # higher than the others: passed on after what would be passed on
        assert output.readline() == "and that is all\n"
        assert process.wait(20) == 3


def test_asking_for_a_dump_ends_no_program_that_does_not_record(setting: Setting) -> None:
    with setting.started(
        setting.command("print('ready', flush=True); input(); print('alive')"), stdin=subprocess.PIPE
    ) as (process, _):
        process.send_signal(signal.SIGUSR2)
        process.send_signal(signal.SIGCONT)
        assert process.communicate("\n", timeout=60)[0] == "alive\n"
        assert process.returncode == 0


def test_asking_the_command_for_a_dump_asks_every_process_that_records(setting: Setting) -> None:
    program = """
        import sigcontract.driver.recording.writer as writer, sys, torch
        writer._DELAY_SECONDS = 60
        torch.instantiate(2)
        print("ready", flush=True)
        sys.stdin.readline()
        """
    command = setting.command(program)
    at = command.index("--")
    shell = [*command[:at], "--", "/bin/sh", "-c", '"$@"; exit 0', "sh", *command[at + 1 :]]
    with setting.started(shell, stdin=subprocess.PIPE) as (process, _):
        process.send_signal(signal.SIGUSR2)
        for _ in range(2000):
            if any(setting.dumps.glob("*.dump.json")):
                break
            select.select([], [], [], 0.01)
        assert list(setting.graphs().values()) == [2]
        process.communicate("\n", timeout=60)
        assert process.returncode == 0
