"""Recordings with arguments: what a diff of two of them and a search for memory that is gone report."""

import json
from pathlib import Path

import pytest

import sigcontract as sc
from sigcontract.cli.main import main

FOLDER = Path(__file__).parents[2] / "examples" / "arguments"
#: Path and offset of each argument that leads to memory that is gone.
GONE = {"freed-input": [("nodes[0]", 24)], "compile": [("nodes[0]", 0), ("nodes[3]", 8)]}


def path_of(name: str) -> str:
    return str(FOLDER / f"{name}.dump.json")


def findings_of(old: str, new: str) -> dict[str, list[sc.Finding]]:
    """Return the findings of each graph that differs in two recordings."""
    before, after = (sc.load(path_of(name), expect=sc.SignatureDump) for name in (old, new))
    return {graph.label: list(graph.findings) for graph in sc.diff(before, after).graphs if graph.findings}


def changes_of(old: str, new: str) -> list[tuple[str, object, object]]:
    """Return the changed arguments: path, old and new."""
    found = [one for findings in findings_of(old, new).values() for one in findings if one.rule == "kernel.argument"]
    return [(one.path, one.old, one.new) for one in found]


@pytest.mark.parametrize(
    ("old", "new", "offset", "values"),
    [("scalar-2", "scalar-3", 8, ("2.0", "3.0")), ("triton-scalar-2", "triton-scalar-3", 16, ("2.5", "3.5"))],
)
def test_a_changed_scalar_is_the_only_changed_argument(
    old: str, new: str, offset: int, values: tuple[str, str]
) -> None:
    assert changes_of(old, new) == [(f"nodes[0].arguments[offset={offset}]", *values)]
    assert changes_of(old, old) == []


def test_two_inputs_that_became_one_buffer_are_reported() -> None:
    expected = "nodes[0].arguments[offset=24].alias", "distinct from offset 16", "same address as offset 16"
    assert expected in changes_of("distinct-inputs", "aliased-inputs")


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name.partition(".")[0])
def test_freed_memory_is_found_where_the_program_freed_it_and_nowhere_else(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = GONE.get(path.name.removesuffix(".dump.json"), [])
    assert main(["show", "--fail-on", "gone", "--format", "json", str(path)]) == bool(expected)
    gone = [one for graph in json.loads(capsys.readouterr().out)["graphs"] for one in graph["gone"]]
    assert [(one["path"], one["offset_bytes"]) for one in gone] == expected
    assert {(one["reason"], one["certain"]) for one in gone} <= {("free block", True)}


def test_xla_compiles_a_scalar_into_a_kernel_and_tunes_each_process_again() -> None:
    """Two runs of one JAX program with another epsilon: no argument differs, and one kernel has another tile."""
    assert changes_of("jax-1e-5", "jax-1e-6") == []
    (findings,) = findings_of("jax-1e-5", "jax-1e-6").values()
    code = {one.subject for one in findings if one.rule == "function.code"}
    assert code == {"loop_multiply_fusion_1"}
    grids = {one.subject: (one.old, one.new) for one in findings if one.path.endswith(".grid_dim")}
    assert grids == {"gemm_fusion_dot_general_2": ("128x1x1", "32x1x1")}
