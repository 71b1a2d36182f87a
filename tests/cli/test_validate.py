"""``sigcontract validate``."""

import json
import os
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.model.dims import Dim3
from sigcontract.model.dump import LabeledGraph
from sigcontract.wire.codec import save
from sigcontract.wire.schemas import schema
from tests.architecture.source import ROOT
from tests.cli.dumps import DUMP
from tests.update.build import FACTS, child, cluster, graph, kernel as full_kernel


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.dump.json"
    save(DUMP, path)
    return path


@pytest.fixture
def bad(tmp_path: Path, good: Path) -> Path:
    """Give a dump with two faults of type and bounds."""
    path = tmp_path / "bad.dump.json"
    text = good.read_text(encoding="utf-8")
    path.write_text(text.replace('"complete":true', '"complete":1').replace('"rank":3', '"rank":-3'), encoding="utf-8")
    return path


def test_a_valid_file_is_named_with_what_it_holds(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(good)]) == 0
    assert capsys.readouterr().out == f"{good}: valid sigcontract.dump 2, 3 graphs\n"


def test_a_file_of_an_older_version_is_valid_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = ROOT / "examples" / "clusters.v1.json", ROOT / "examples" / "clusters.dump.json"
    assert main(["validate", str(old), str(new)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{old}: valid sigcontract.dump 1, 5 graphs",
        f"{new}: valid sigcontract.dump 2, 5 graphs",
    ]


def test_a_document_that_is_no_dump_has_no_graphs_to_count(capsys: pytest.CaptureFixture[str]) -> None:
    profile = files("sigcontract") / "profiles/nvidia-h200-cuda-13.0.json"
    assert main(["validate", str(profile)]) == 0
    assert capsys.readouterr().out == f"{profile}: valid sigcontract.profile 2\n"


def test_every_fault_of_every_file_is_listed_and_the_status_is_that_of_faulty_input(
    good: Path, bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(bad), str(good), str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"{bad}: 2 faults",
        "  error[decode]: Input should be greater than or equal to 0 (at /environment/rank)",
        "  error[decode]: Input should be a valid boolean (at /complete)",
        f"{good}: valid sigcontract.dump 2, 3 graphs",
        f"{tmp_path / 'none.json'}: 1 fault",
        f"  error[file]: cannot read {tmp_path / 'none.json'}: No such file or directory; check the name",
    ]


def test_a_header_that_claims_another_digest_is_faulty(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "claims.dump.json"
    text = good.read_text(encoding="utf-8")
    begin = text.index("sha256:")
    path.write_text(text[:begin] + "sha256:" + "0" * 64 + text[begin + 71 :], encoding="utf-8")
    assert main(["validate", str(path)]) == 2
    assert "  error[digest]: " in capsys.readouterr().out


def test_the_json_form_has_code_path_and_message_of_each_fault(
    good: Path, bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(good), str(bad), "--format", "json"]) == 2
    shown = json.loads(capsys.readouterr().out)
    jsonschema.validate(shown, schema("sigcontract.validation"))
    first, second = shown["files"]
    assert first == {
        "file": str(good),
        "valid": True,
        "document": "sigcontract.dump",
        "version": 2,
        "graphs": 3,
        "complete": True,
        "remarks": [],
        "faults": [],
    }
    assert (second["document"], second["version"], second["graphs"]) == (None, None, None)
    assert second["faults"][0] == {
        "code": "decode",
        "path": "$.environment.rank",
        "pointer": "/environment/rank",
        "message": "Input should be greater than or equal to 0",
    }


def test_a_file_name_cannot_move_the_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(tmp_path / "a\x1b[2J.json")]) == 2
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux")
def test_a_file_name_that_is_not_utf8_is_escaped_in_the_json_form(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there, missing = (os.fsdecode(os.fsencode(tmp_path) + name) for name in (b"/\xff.json", b"/\xfe.json"))
    Path(there).write_bytes(good.read_bytes())
    assert main(["validate", there, missing, "--format", "json"]) == 2
    first, second = json.loads(capsys.readouterr().out)["files"]
    assert (first["file"], first["valid"]) == (f"{tmp_path}/\\udcff.json", True)
    message = f"cannot read {tmp_path}/\\udcfe.json: No such file or directory; check the name"
    assert second["faults"] == [{"code": "file", "path": None, "pointer": None, "message": message}]


def test_a_name_that_says_another_format_is_a_fault_as_it_is_for_every_reader(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.msgpack"
    path.write_bytes(good.read_bytes())
    assert main(["validate", str(path)]) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"{path}: 1 fault",
        "  error[magic]: the suffix means msgpack, but the content is not; rename the file",
    ]


def test_a_dump_that_was_cut_off_is_valid_and_reported_to_be_incomplete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.dump.json"
    save(replace(DUMP, complete=False), cut)
    assert main(["validate", str(cut)]) == 0
    shown = capsys.readouterr().out
    assert shown.endswith(", incomplete: graphs after the last write are missing\n")


def test_a_grid_that_is_no_multiple_of_its_cluster_is_remarked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the attribute, and of the cluster that is compiled in; in child graphs too. The dump is valid all the same."""
    compiled = replace(FACTS, required_cluster_dim=Dim3(x=4, y=1, z=1))
    odd = graph(full_kernel(cluster(2), grid=6), full_kernel(cluster(2), grid=7), child(full_kernel(function=compiled)))
    none = graph(full_kernel(cluster(0), grid=7), full_kernel(cluster(2), grid=8))
    path = tmp_path / "odd.dump.json"
    entries = (LabeledGraph(label="odd", graph=odd), LabeledGraph(label="even", graph=none))
    save(replace(DUMP, graphs=entries), path)
    assert main(["validate", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  remark: odd: nodes[1]: grid 7x1x1 is not a multiple of cluster 2x1x1; such a launch fails"
    ]
    save(replace(DUMP, graphs=(LabeledGraph(label="odd", graph=graph(full_kernel(function=compiled, grid=6))),)), path)
    assert main(["validate", str(path), "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["files"]
    message = "nodes[0]: grid 6x1x1 is not a multiple of cluster 4x1x1; such a launch fails"
    assert found["remarks"] == [{"label": "odd", "message": message}]
