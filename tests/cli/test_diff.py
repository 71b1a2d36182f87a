"""``sigcontract diff``: forms, gate, and every kind of bad input."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.findings import DumpDiff
from sigcontract.model.graph import GraphSignature
from sigcontract.wire.codec import decode, encode, load, save
from sigcontract.wire.schemas import schema_text
from tests.compare.dumps import dump, kernel, without_code
from tests.update.build import H200, cluster, graph

EXAMPLES = Path(__file__).parents[2] / "examples"

ONE, WIDER, CLUSTERED = (graph(node) for node in (kernel(), kernel(grid=9), kernel(cluster(2))))


def saved(folder: Path, name: str, *graphs: GraphSignature, **changed: Any) -> str:
    """Save a dump of another process for each name, and return its path."""
    path = folder / f"{name}.dump.json"
    given = dump(*graphs, process_id=sum(map(ord, name)))
    save(replace(given, profile="nvidia-h200-cuda-13.0", **changed), path)
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Return saved dumps by name."""
    found = {
        name: saved(tmp_path, name, each)
        for name, each in {"one": ONE, "same": ONE, "wider": WIDER, "clustered": CLUSTERED}.items()
    }
    found["unknown"] = saved(tmp_path, "unknown", graph(without_code(kernel())))
    found["empty"] = saved(tmp_path, "empty")
    found["cut"] = saved(tmp_path, "cut", ONE, complete=False)
    found["twice"] = saved(tmp_path, "twice", ONE, ONE, graphs=(LabeledGraph(label="g0", graph=ONE),) * 2)
    profile = tmp_path / "h200.profile.json"
    save(H200, profile)
    found["profile"] = str(profile)
    return found


@pytest.mark.parametrize(
    ("old", "new", "arguments", "status"),
    [
        pytest.param("one", "one", [], 0, id="itself"),
        pytest.param("one", "same", [], 0, id="another run of the same"),
        pytest.param("one", "wider", [], 1, id="any difference fails by default"),
        pytest.param("one", "wider", ["--fail-on", "rejected"], 0, id="below the gate"),
        pytest.param("one", "clustered", ["--fail-on", "rejected"], 1, id="above the gate"),
        pytest.param("one", "unknown", [], 3, id="code not known"),
        pytest.param("one", "unknown", ["--fail-on", "stale"], 3, id="unknown passes no gate"),
        pytest.param("empty", "empty", [], 3, id="nothing in either"),
        pytest.param("one", "empty", [], 3, id="nothing in the new"),
        pytest.param("empty", "one", ["--fail-on", "stale"], 3, id="nothing in the old"),
        pytest.param("cut", "cut", [], 3, id="cut off"),
        pytest.param("twice", "twice", [], 3, id="one label twice"),
        pytest.param("one", "profile", [], 2, id="another kind of document"),
        pytest.param("one", "missing", [], 2, id="no such file"),
        pytest.param("one", "same", ["--policy", "strict"], 2, id="no such policy"),
        pytest.param("one", "same", ["--profile", "b200"], 2, id="no such profile"),
        pytest.param("one", "same", ["--graph", "g7"], 2, id="no such graph"),
        pytest.param("one", "same", ["--pair", "g0", "g7"], 2, id="no such graph to pair"),
        pytest.param("one", "same", ["--output", "pdf=x"], 2, id="no such form"),
        pytest.param("one", "wider", ["--policy", "share"], 0, id="a grid may differ in a shared executable"),
    ],
)
def test_the_status_says_whether_the_gate_passed(
    files: dict[str, str], old: str, new: str, arguments: list[str], status: int
) -> None:
    paths = [files.get(name, name) for name in (old, new)]
    assert main(["diff", *paths, *arguments]) == status
    assert main(["diff", paths[0], *arguments, paths[1]]) == status


def test_bad_input_is_one_line_that_says_what_to_do(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["diff", files["twice"], files["one"]])
    main(["diff", files["one"], files["one"], "--graph", "g00"])
    main(["diff", files["one"], files["one"], "--profile", "b200"])
    main(["diff", files["one"], files["one"], "--output", "json"])
    shown = capsys.readouterr()
    assert shown.out == ""
    repeated, *others = shown.err.splitlines()
    assert repeated == (
        "sigcontract: error[label_repeated]: the old dump has 2 graphs labelled 'g0'; give each graph its own label"
    )
    assert others == [
        "sigcontract: error[usage]: no graph 'g00' in either dump (did you mean 'g0'?)",
        (
            "sigcontract: error[usage]: 'b200' is not a shipped profile (nvidia-h200-cuda-13.0), and "
            "cannot read b200: No such file or directory; check the name"
        ),
        (
            "sigcontract: error[usage]: --output 'json': give FORMAT=FILE, the format one of text, json, markdown, "
            "github, sarif, junit, html"
        ),
    ]


def test_a_profile_of_another_driver_is_not_comparable(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = tmp_path / "older.profile.json"
    save(replace(H200, cuda_driver_version=12080), older)
    assert main(["diff", files["one"], files["same"], "--profile", str(older)]) == 3
    assert "error[profile_mismatch]" in capsys.readouterr().err


def test_a_profile_from_a_file_judges_as_a_shipped_one(files: dict[str, str]) -> None:
    assert main(["diff", files["one"], files["clustered"], "--profile", files["profile"]]) == 1


def test_one_run_writes_every_form_that_was_asked_for(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, summary = tmp_path / "diff.json", tmp_path / "summary.md"
    forms = [f"json={report}", f"markdown={summary}", "github=-"]
    arguments = [part for form in forms for part in ("--output", form)]
    assert main(["diff", files["one"], files["clustered"], *arguments]) == 1
    assert load(report, expect=DumpDiff).verdict == "stale"
    assert summary.read_text().startswith("## sigcontract diff: stale")
    assert capsys.readouterr().out.startswith(
        f"::error file={files['clustered']},line=4,title=stale%3A kernel.cluster-dim::g0: nodes[0]"
    )


def test_json_is_the_document_of_its_schema(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["diff", files["one"], files["clustered"], "--format", "json"])
    written = capsys.readouterr().out
    found = json.loads(written)
    jsonschema.validate(found, json.loads(schema_text("sigcontract.diff", 2)))
    assert (found["document"], found["version"], found["verdict"]) == ("sigcontract.diff", 2, "stale")
    (finding,) = found["graphs"][0]["findings"]
    assert finding | {"subject": None, "count": None, "also": None} == {
        "rule": "kernel.cluster-dim",
        "path": "nodes[0].attributes[cluster_dimension]",
        "verdict": "stale",
        "evidence": "measured",
        "old": "none",
        "new": "2x1x1",
        "subject": None,
        "count": None,
        "also": None,
    }
    assert encode(decode(written.encode(), expect=DumpDiff)).decode() == written


def test_only_the_graphs_asked_for_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = saved(tmp_path, "a", ONE, ONE, ONE), saved(tmp_path, "b", ONE, WIDER, CLUSTERED)
    assert main(["diff", old, new, "--graph", "g0"]) == 0
    assert main(["diff", old, new, "--graph", "g0", "--graph", "g1", "--fail-on", "rejected"]) == 0
    assert main(["diff", old, new, "--pair", "g0", "g2", "--fail-on", "rejected"]) == 1
    assert "g0 → g2: 1 node; update: stale (kernel.cluster-dim)" in capsys.readouterr().out


def test_the_collector_is_as_it_was(files: dict[str, str]) -> None:
    import gc  # noqa: PLC0415  only what is looked at here

    assert gc.isenabled()
    main(["diff", files["one"], files["twice"]])
    assert gc.isenabled()


def example(name: str) -> SignatureDump:
    return load(EXAMPLES / f"{name}.dump.json", expect=SignatureDump)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    status = main(["diff", *arguments])
    return status, capsys.readouterr().out.splitlines()


TORCH = str(EXAMPLES / "torch-block.dump.json")
CLUSTERS = str(EXAMPLES / "clusters.dump.json")


def test_two_triton_kernels_of_one_name_are_not_equal(capsys: pytest.CaptureFixture[str]) -> None:
    """Recorded on an H200: a constexpr differs, and nothing else that the driver gives."""
    paths = [str(EXAMPLES / f"triton-scale-{scale}.dump.json") for scale in (2, 3)]
    status, lines = shown(capsys, *paths)
    assert status == 1
    assert "  ~ scale: other code (28723c505c58 → 0a6c7f1fe84a), node 0" in lines
    for paths[1] in (str(EXAMPLES / f"triton-scale-{scale}.v1.json") for scale in (2, 3)):
        assert main(["diff", *paths]) == 3, "a version 1 record cannot tell the two apart"
    v1 = [str(EXAMPLES / f"triton-scale-{scale}.v1.json") for scale in (2, 3)]
    assert main(["diff", *v1]) == 3


@pytest.mark.parametrize("old", ["none", "2", "4"])
@pytest.mark.parametrize("new", ["none", "2", "4"])
def test_recorded_clusters_are_stale_in_every_direction(old: str, new: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = shown(capsys, CLUSTERS, CLUSTERS, "--pair", f"cluster {old}", f"cluster {new}")
    assert status == (old != new)
    if old != new:
        assert lines[0].startswith("stale")
        assert "kernel.cluster-dim: stale, measured" in lines


@pytest.mark.parametrize("size", [2, 32])
def test_a_recorded_decoder_at_two_batch_sizes_differs_layer_by_layer_in_under_a_screen(
    size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines = shown(capsys, TORCH, TORCH, "--pair", "decode/bs=1", f"decode/bs={size}")
    assert status == 1
    assert "  24 times these 11 nodes, up to [263]:" in lines
    assert len(lines) < 70
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("**/*.dump.json")), ids=lambda path: path.name)
def test_every_example_and_itself_have_no_difference(path: Path, tmp_path: Path) -> None:
    assert main(["diff", str(path), str(path)]) == 0
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    assert main(["diff", str(path), str(copy)]) == 0


def test_version_1_against_version_2_is_undetermined() -> None:
    assert main(["diff", str(EXAMPLES / "clusters.v1.json"), CLUSTERS]) == 3
