"""``sigcontract predict``."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.model.cuda import AttributeId, UpdateResult
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.findings import GraphPrediction, Verdict
from sigcontract.model.graph import GraphSignature
from sigcontract.wire.codec import decode, save
from tests.compare.dumps import dump, kernel, without_code
from tests.update.build import cluster, graph, memset, value, without_value

GRAPHS: dict[str, GraphSignature] = {
    "one": graph(kernel(cluster(2)), memset()),
    "grid": graph(kernel(cluster(2), grid=9), memset()),
    "clustered": graph(kernel(cluster(4)), memset()),
    "turned": graph(memset(), kernel(cluster(2))),
    "longer": graph(kernel(cluster(2)), memset(), memset()),
    "first": graph(kernel(value(AttributeId.PRIORITY, -5), cluster(2)), memset()),
    "unread": graph(kernel(without_value(AttributeId.MEM_SYNC_DOMAIN), cluster(2)), memset()),
    "bare": graph(without_code(kernel(cluster(2))), memset()),
}


@pytest.fixture
def server(tmp_path: Path) -> str:
    entries = tuple(LabeledGraph(label=label, graph=each) for label, each in GRAPHS.items())
    return written(tmp_path / "server.dump.json", replace(dump(), graphs=entries))


def written(path: Path, of: SignatureDump) -> str:
    save(of, path)
    return str(path)


def predicted(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, GraphPrediction]:
    status = main(["predict", *arguments, "--format", "json"])
    return status, decode(capsys.readouterr().out.encode(), expect=GraphPrediction)


@pytest.mark.parametrize(
    ("candidate", "more", "status", "verdict", "result", "node"),
    [
        pytest.param("one", [], 0, "identical", 0, None, id="itself"),
        pytest.param("grid", [], 0, "updatable", 0, None, id="a grid"),
        pytest.param("clustered", [], 1, "stale", 0, None, id="a cluster"),
        pytest.param("clustered", ["--fixed", "clustered"], 0, "harmless", 0, None, id="back at the first launch"),
        pytest.param("turned", [], 1, "rejected", 3, "nodes[1]", id="another type"),
        pytest.param("longer", [], 1, "rejected", 2, None, id="one more node"),
        pytest.param("first", [], 0, "harmless", 0, None, id="a priority that nobody asked for"),
        pytest.param("first", ["--flags", "USE_NODE_PRIORITY"], 1, "rejected", 8, "nodes[0]", id="a priority"),
        pytest.param("unread", [], 3, "undetermined", 0, None, id="an unreadable attribute"),
    ],
)
def test_the_answer_of_the_driver_is_reported_and_gates(  # noqa: PLR0913, PLR0917  a table
    candidate: str,
    more: list[str],
    status: int,
    verdict: str,
    result: int,
    node: str | None,
    server: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = [server, "--held", "one", "--candidate", candidate, *more, "--profile", "nvidia-h200-cuda-13.0"]
    answered, found = predicted(capsys, *arguments)
    assert (answered, found.prediction.verdict) == (status, Verdict(verdict))
    assert (found.prediction.result, found.prediction.node) == (UpdateResult(result), node)
    assert (found.held, found.candidate, found.profile) == ("one", candidate, "nvidia-h200-cuda-13.0")


GOLDEN = """\
one → turned: rejected: the update is rejected and the executable is unchanged: instantiate a new one
cuGraphExecUpdate: ERROR_NODE_TYPE_CHANGED (3), error node nodes[1]
verdicts hold for driver profile nvidia-h200-cuda-13.0

  nodes[1] (probe)  memset → probe  rejected  node.type

node.type: rejected, measured
  Two paired nodes have different types: NODE_TYPE_CHANGED.
"""


def test_the_text_says_where_the_driver_stops_and_why(
    server: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")  # as where there is no terminal; pytest-xdist sets 80
    profile = ["--profile", "nvidia-h200-cuda-13.0"]
    assert main(["predict", server, "--held", "one", "--candidate", "turned", *profile]) == 1
    assert capsys.readouterr().out == GOLDEN


def test_two_dumps_of_one_process(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = LabeledGraph(label="later", graph=GRAPHS["grid"])
    later = replace(dump(created_at="2026-12-02T12:00:00Z"), graphs=(entry,))
    other = written(tmp_path / "later.dump.json", later)
    status, found = predicted(capsys, server, other, "--held", "one", "--candidate", "later")
    assert (status, found.prediction.verdict) == (0, Verdict.UPDATABLE)


@pytest.mark.parametrize("environment", [{"process_id": 2}, {"hostname": "elsewhere"}, {"process_id": None}])
def test_dumps_of_two_or_of_unknown_processes_are_undetermined(
    environment: dict[str, object], server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = written(tmp_path / "other.dump.json", dump(GRAPHS["one"], **environment))
    assert main(["predict", server, other, "--held", "one", "--candidate", "g0"]) == 3
    assert capsys.readouterr().err == (
        "sigcontract: error[two_processes]: server.dump.json and other.dump.json are not known to come from one "
        "process, and an executable belongs to one; `sigcontract diff` compares two runs\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--held", "onw", "--candidate", "one"], "no graph 'onw' in {server} (did you mean 'one'?)"),
        (["--held", "one", "--candidate", "g\x1b[2J"], "no graph 'g\\x1b[2J' in {server}"),
        (["--held", "one"], "the following arguments are required: --candidate"),
        (
            ["{server}", "{server}", "--held", "one", "--candidate", "one"],
            "predict takes one dump, or two of one process",
        ),
        (["--held", "one", "--candidate", "one", "--flags", "16x"], "'16x' is not a flag; flags: AUTO_FREE_ON_LAUNCH"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", server, *(argument.format(server=server) for argument in arguments)]) == 2
    shown = capsys.readouterr()
    assert (shown.out, message.format(server=server) in shown.err) == ("", True)
    assert "\x1b" not in shown.err
