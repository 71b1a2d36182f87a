"""``sigcontract migrate``."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.wire.codec import load, read_header, save
from tests.cli.dumps import DUMP, chain, kernel
from tests.update.build import graph, kernel as full_kernel


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Give a dump of version 1."""
    entry = LabeledGraph(label="g", graph=chain(kernel("k", 1), kernel("k", 2)))
    path = tmp_path / "old.dump.json"
    save(
        SignatureDump(environment=DUMP.environment, profile=None, complete=True, graphs=(entry,), extensions={}),
        path,
        version=1,
    )
    return path


def test_an_old_version_becomes_the_default_version(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new.dump.json"
    assert main(["migrate", str(old), str(target)]) == 0
    assert (read_header(old).version, read_header(target).version) == (1, 2)
    assert load(target) == load(old)
    assert capsys.readouterr().out == f"{target}: sigcontract.dump 2, {target.stat().st_size} bytes\n"


@pytest.mark.parametrize("suffix", [".msgpack", ".json.gz", ".msgpack.zst"])
def test_the_suffix_says_the_format(suffix: str, tmp_path: Path) -> None:
    source, target = tmp_path / "a.dump.json", tmp_path / f"b.dump{suffix}"
    save(DUMP, source)
    assert main(["migrate", str(source), str(target)]) == 0
    assert load(target) == DUMP
    assert target.stat().st_size < source.stat().st_size


def test_the_json_form_names_both_files(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "new.dump.json"
    assert main(["migrate", str(old), str(target), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "document": "sigcontract.migration",
        "version": 1,
        "source": str(old),
        "target": str(target),
        "target_document": "sigcontract.dump",
        "target_version": 2,
        "target_bytes": target.stat().st_size,
        "left_out": [],
    }


def test_what_exists_is_not_overwritten_unless_forced(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new.dump.json"
    target.write_text("mine")
    assert main(["migrate", str(old), str(target)]) == 2
    assert capsys.readouterr().err == (f"sigcontract: error[exists]: {target} exists; add --force to overwrite it\n")
    assert target.read_text() == "mine"
    assert main(["migrate", str(old), str(target), "--force"]) == 0
    assert load(target) == load(old)


def test_an_older_version_can_be_written_and_refuses_what_it_cannot_say(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = tmp_path / "again.dump.json"
    assert main(["migrate", str(old), str(again), "--to-version", "1"]) == 0
    assert again.read_bytes() == old.read_bytes()
    assert capsys.readouterr().out == f"{again}: sigcontract.dump 1, {again.stat().st_size} bytes\n"
    rich = tmp_path / "rich.dump.json"
    save(DUMP, rich)
    assert main(["migrate", str(rich), str(tmp_path / "poor.dump.json"), "--to-version", "1"]) == 2
    assert "version 1 has kernel nodes only" in capsys.readouterr().err
    assert not (tmp_path / "poor.dump.json").exists()


def test_a_faulty_source_leaves_nothing_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "a.dump.json", tmp_path / "b.dump.json"
    source.write_text('{"document":"sigcontract.dump","version":2,"header":[')
    assert main(["migrate", str(source), str(target)]) == 2
    assert capsys.readouterr().err.startswith("sigcontract: error[malformed]: ")
    assert not target.exists()


def test_an_older_version_lists_what_it_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each field with the number of values, so that nobody takes the copy for the whole."""
    nodes = graph(full_kernel(func=0xF0), full_kernel(func=0xF1), full_kernel(func=0xF0), edges=[[], [], [1, 0]])
    source, target = tmp_path / "new.dump.json", tmp_path / "old.dump.json"
    entries = (LabeledGraph(label="g", graph=nodes),)
    extensions: dict[str, Any] = {"sigcontract.record": {"problems": []}}  # as of each dump that `record` writes
    save(replace(DUMP, graphs=entries, profile="nvidia-h200-cuda-13.0", extensions=extensions), source)
    assert main(["migrate", str(source), str(target), "--to-version", "1", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["left_out"]
    named = {lost["field"]: lost["count"] for lost in found if "attributes" not in lost["field"]}
    assert named == {
        "profile": 1,
        "graphs.graph.nodes.func": 3,
        "graphs.graph.nodes.context": 3,
        "graphs.graph.nodes.function": 3,
        "graphs.graph.dependencies order": 1,
        "extensions": 1,
    }
    fields = {lost["field"]: lost["count"] for lost in found}
    assert fields["graphs.graph.nodes.attributes[8]"] == 3, "priority"
    assert "graphs.graph.nodes.attributes[4]" not in fields, "the cluster is kept"
    target.unlink()
    assert main(["migrate", str(source), str(target), "--to-version", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "left out, because version 1 has no field for them (with the number of values):"
    assert "  graphs.graph.nodes.func  3" in lines
    assert lines[-1] == "readers of the file see these values as unknown; unknown values never match"
