"""A registry in a forked child: nothing of it can be used there, and every call says so at once."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from sigcontract.errors import RegistryError
from tests.registry.rig import Rig, closed

ROOT = Path(__file__).parents[2]

#: A thread of the parent is inside a launch, so that a lock is held that nobody in the child releases.
PROGRAM = """
import json, os, signal, threading
from sigcontract.errors import SigcontractError
from tests.registry.rig import Capture, Rig

rig = Rig()
registry = rig.registry()
first, second = (registry.register(Capture(rig.builder(value))) for value in (1, 2))
inside, go = threading.Event(), threading.Event()
rig.on_launch(lambda: (inside.set(), go.wait(60)))
thread = threading.Thread(target=lambda: first.replay(0))
thread.start()
inside.wait()
calls = {
    "replay": lambda: second.replay(0),
    "replay the busy one": lambda: first.replay(0),
    "registry.replay": lambda: registry.replay(second, 0),
    "release": second.release,
    "registry.release": lambda: registry.release(second),
    "reset": second.reset,
    "register": lambda: registry.register(rig.graph(3)),
    "seal": registry.seal,
    "stats": registry.stats,
    "report": registry.report,
    "why_not": lambda: registry.why_not(first, second),
    "close": registry.close,
    "close and reset": lambda: registry.close(reset=True),
    "replay after close": lambda: second.replay(0),
}
child = os.fork()
if not child:
    signal.alarm(30)
    answers = {}
    for name, call in calls.items():
        try:
            call()
            answers[name] = None
        except SigcontractError as error:
            answers[name] = [error.code, str(error)]
    print(json.dumps([answers, rig.execs(), second.graph.resets]), flush=True)
    os._exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
go.set()
thread.join()
second.replay(0)
registry.close()
print(status, rig.execs(), rig.fake.misuse)
"""


def test_every_call_in_a_forked_child_says_so_and_waits_for_no_lock_of_the_parent() -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    in_child, in_parent = ended.stdout.splitlines()
    answers, execs, resets = json.loads(in_child)
    closes = {name: answers.pop(name) for name in ("close", "close and reset")}
    assert closes == {"close": None, "close and reset": None}
    assert {answer and answer[0] for answer in answers.values()} == {"forked"}
    assert answers["replay"][1] == (
        "the registry belongs to the parent process, and CUDA cannot be used in a forked child; start the process "
        "with spawn and make a registry there"
    )
    assert (execs, resets) == (1, 0), "what is the parent's stays untouched"
    assert (in_parent, ended.stderr) == ("0 0 []", "")


def test_a_forked_child_closes_without_the_locks_of_the_parent() -> None:
    rig = Rig()
    registry = rig.registry()
    registry.register(rig.graph(1))
    with registry._lifecycle._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            registry.close()
            os._exit(7 if registry.closed else 1)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    registry.close()
    assert rig.execs() == 0


def test_a_registry_made_in_a_forked_child_works_there() -> None:
    parent = Rig()
    with closed(parent.registry(), parent):
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            rig = Rig()
            with closed(rig.registry(), rig) as registry:
                ran = rig.replayed(registry.register(rig.graph(5)).replay)
            os._exit(7 if ran == {5} else 1)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


def test_the_parent_goes_on_after_a_fork() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(rig.graph(1))
        child = os.fork()
        if child == 0:
            try:
                entry.replay()
            except RegistryError as error:
                os._exit(7 if error.code == "forked" else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert rig.replayed(entry.replay) == {1}
