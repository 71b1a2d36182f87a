"""One answer: first line, JSON, JUnit and exit status of a command never contradict each other."""

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.compare.fail_on import FAIL_ON
from sigcontract.model.dump import SignatureDump
from sigcontract.model.graph import GraphSignature, NodeSignature
from sigcontract.model.nodes import KernelNodeSignature
from sigcontract.update.policies import POLICIES
from sigcontract.wire import redacted, save, without_arguments
from tests.compare.dumps import dump, environment
from tests.contract.contracts import HEAD
from tests.strategies import LAWS, arguments, graphs, records

OLD, NEW, BOTH = "old.dump.json", "new.dump.json", "both.dump.json"
CHECKED = {"passed": 0, "failed": 1, "undetermined": 3}
PREDICTED = {"identical": 0, "harmless": 0, "updatable": 0, "rejected": 1, "stale": 1, "undetermined": 3}
FLEET = {"agree": (0, "all 2 ranks agree"), "deviate": (1, "ranks differ"), "undetermined": (3, "undetermined")}


@pytest.fixture(autouse=True, scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run in one folder for all examples, with a contract on the old dump."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("answers"))
        patch.setenv("COLUMNS", "1000")
        patch.setenv("NO_COLOR", "1")
        patch.setenv("GITHUB_ACTIONS", "")
        Path("contract.toml").write_text(f'{HEAD}golden = "{OLD}"\n', encoding="utf-8")
        yield


@st.composite
def _with_arguments(draw: st.DrawFn) -> GraphSignature:
    found = draw(graphs())
    nodes = [
        replace(node, arguments=draw(arguments())) if isinstance(node, KernelNodeSignature) else node
        for node in found.nodes
    ]
    return replace(found, nodes=tuple(nodes))


@st.composite
def _changed(draw: st.DrawFn, graph: GraphSignature) -> GraphSignature:
    """Draw a graph with at most a field of each node changed."""
    nodes: list[NodeSignature] = []
    for node in graph.nodes:
        names = draw(st.sets(st.sampled_from(node.__struct_fields__), max_size=1)) if node.__struct_fields__ else ()
        other = draw(records(type(node))) if names else node
        nodes.append(replace(node, **{name: getattr(other, name) for name in names}))
    return replace(graph, nodes=tuple(nodes))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[SignatureDump, SignatureDump]:
    """Draw two dumps, of one process or of two ranks: the same graphs, changed ones, or others; some not known."""
    old = draw(st.lists(graphs() | _with_arguments(), min_size=1, max_size=2))
    new = [draw(st.just(each) | _changed(each) | graphs()) for each in old]
    profile = draw(st.sampled_from([None, "nvidia-h200-cuda-13.0"]))
    one_process = draw(st.booleans())
    dumps = [
        replace(
            dump(*found),
            environment=environment(rank=rank, world_size=2, process_id=1 if one_process else rank),
            profile=profile,
            complete=draw(st.sampled_from([True, True, True, False])),
        )
        for rank, found in enumerate((old, new))
    ]
    hide = draw(st.sampled_from([None, None, redacted, without_arguments]))
    return dumps[0], dumps[1] if hide is None else hide(dumps[1])


def _run(*command: str) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(command)
    assert (status in (0, 1, 3), bool(out.getvalue())) == (True, True), err.getvalue()
    return status, out.getvalue()


def _answer(*command: str) -> tuple[int, list[str], Any]:
    """Return the status, the lines and the JSON of a command, whose status is the same for each format."""
    status, text = _run(*command)
    again, document = _run(*command, "--format", "json")
    assert again == status
    return status, text.splitlines(), json.loads(document)


def _junit(*command: str) -> tuple[bool, bool]:
    """Return whether JUnit has failures, and whether it has errors."""
    (suites,) = ET.fromstring(_run(*command, "--format", "junit")[1]).iter("testsuites")  # noqa: S314  written here
    failures, errors = (int(suites.attrib[kind]) for kind in ("failures", "errors"))
    return failures > 0, errors > 0


def diff_has_one_answer(policy: str, fail_on: str) -> None:
    command = "diff", OLD, NEW, "--policy", policy, "--fail-on", fail_on
    status, lines, found = _answer(*command)
    findings = [*found["environment"], *(finding for graph in found["graphs"] for finding in graph["findings"])]
    verdict = found["verdict"]
    assert lines[0].startswith(f"{verdict}: " if findings else "no differences in ")
    assert (verdict == "identical") == (not findings)
    # Another order of nodes is no difference of two runs, whatever an update makes of it.
    told = {finding["verdict"] for finding in findings if finding["rule"] != "topology.node-order"}
    if status == 0:
        assert "undetermined" not in told
        assert fail_on == "any" or told.isdisjoint(FAIL_ON[FAIL_ON.index(fail_on) :]) or verdict == "rejected"
    else:
        assert findings
    failures, errors = _junit(*command)
    assert (failures, failures or errors) == (status == 1, status != 0)


def groups_have_one_answer() -> None:
    status, lines, found = _answer("groups", OLD, NEW)
    assert status == (3 if found["gaps"] else 0)
    assert [line for line in lines if ": undetermined  " in line] == lines[: len(found["gaps"])]
    for policy in found["policies"]:
        (head,) = (line for line in lines if line.startswith(f"{policy['policy']}: {policy['graphs']} graph"))
        assert f", {policy['executables']} executable" in head
    assert _junit("groups", OLD, NEW) == (False, status == 3)


def prediction_has_one_answer() -> None:
    status, lines, found = _answer("predict", BOTH, "--held=old", "--candidate=new")
    verdict = found["prediction"]["verdict"]
    assert lines[0].startswith(f"old → new: {verdict}: ")
    assert status == PREDICTED[verdict]


def check_has_one_answer() -> None:
    status, lines, found = _answer("check", NEW)
    answers = {clause["answer"] for clause in found["clauses"]}
    assert lines[0].startswith(f"{found['answer']}: ")
    assert status == CHECKED[found["answer"]]
    assert found["answer"] == next(answer for answer in ("failed", "undetermined", "passed") if answer in answers)
    assert _junit("check", NEW) == ("failed" in answers, "undetermined" in answers)


def fleet_has_one_answer() -> None:
    status, lines, found = _answer("fleet", OLD, NEW)
    expected, head = FLEET[found["answer"]]
    assert (status, lines[0].startswith(head)) == (expected, True)
    assert (status == 1) == any(len(graphs["classes"]) > 1 for graphs in found["graphs"])
    assert status != 0 or not found["gaps"]


def memory_that_is_gone_has_one_answer() -> None:
    status, lines, found = _answer("show", NEW, "--fail-on", "gone")
    gone = [address for graph in found["graphs"] for address in graph["gone"]]
    assert (status == 1) == any(address["certain"] for address in gone)
    assert any(line.endswith(" to memory that is gone:") for line in lines) == bool(gone)
    assert status != 0 or not gone


@LAWS
@given(pairs(), st.sampled_from(FAIL_ON))
def test_a_command_has_one_answer_in_every_form(pair: tuple[SignatureDump, SignatureDump], fail_on: str) -> None:
    old, new = pair
    both = [replace(each.graphs[0], label=label) for each, label in zip(pair, ("old", "new"), strict=True)]
    for found, name in ((old, OLD), (new, NEW), (replace(old, graphs=tuple(both)), BOTH)):
        save(found, name, version=3, force=True)
    for policy in POLICIES:
        diff_has_one_answer(policy, fail_on)
    groups_have_one_answer()
    prediction_has_one_answer()
    check_has_one_answer()
    fleet_has_one_answer()
    memory_that_is_gone_has_one_answer()
