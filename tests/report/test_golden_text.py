"""The text of a recording that differs from its golden, and of a graph in a message."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import sigcontract as sc
from sigcontract.golden import compare_with_golden, golden_bytes, golden_of
from sigcontract.report.golden_text import disagreement_text
from sigcontract.report.graph_table import graph_lines
from tests.compare.dumps import dump, kernel
from tests.update import build

NORM, GEMM = kernel(name="norm", func=1), kernel(name="gemm", func=2)


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """Return the golden of one graph."""
    file = tmp_path / "golden.json"
    file.write_bytes(golden_bytes(golden_of(dump(build.graph(NORM, GEMM)))))
    return file


def lines_of(recorded: sc.SignatureDump, golden: Path) -> list[str]:
    return disagreement_text(compare_with_golden(golden_of(recorded), golden)).splitlines()


def test_causes_come_first(golden: Path) -> None:
    wider = replace(GEMM, grid_dim=sc.Dim3(x=64, y=1, z=1))
    assert lines_of(dump(build.graph(NORM, wider)), golden)[:7] == [
        "graph 'g0': differs from the golden",
        "",
        "updatable: findings in 1 of 1 graph",
        "without a driver profile, effects that need a measurement are undetermined (--profile, sigcontract doctor)",
        "",
        "g0: 2 nodes; update: updatable",
        "  ~ gemm: grid 8x1x1 → 64x1x1, node 1",
    ]


def test_a_missing_golden_shows_what_was_recorded(tmp_path: Path) -> None:
    lines = lines_of(dump(*[build.graph(NORM, GEMM)] * 8), tmp_path / "none.json")
    assert lines[:3] == [
        "no golden yet for graphs 'g0', 'g1', 'g2', 'g3', 'g4', 'g5' and 2 more",
        "",
        "g0: 2 nodes (2 kernel), 1 edge",
    ]
    assert lines[-1] == "… and 5 more graphs"


def test_a_golden_of_other_graphs_and_another_driver_is_named_as_such(golden: Path) -> None:
    lines = lines_of(dump(build.graph(NORM), build.graph(GEMM), cuda_driver_version=12080), golden)
    assert " ".join(lines[:4]) == (
        "graphs 'g0', 'g1': differs from the golden "
        "the golden has graph 'g0': graphs were added, removed or renamed, or the file was copied "
        "the golden is from CUDA 13.0, driver 580.159.04, NVIDIA H200, the recording from CUDA 12.8, driver "
        "580.159.04, NVIDIA H200: libraries select kernels by device and driver"
    )


def test_a_graph_in_a_message_folds_its_layers_and_is_cut() -> None:
    lines = graph_lines(build.graph(*[NORM, GEMM] * 50))
    assert lines[0] == "100 nodes (100 kernel), 99 edges"
    assert "50 times these 2 nodes, up to node 99:" in lines
    different = graph_lines(build.graph(*(kernel(name=f"k{'x' * n}", func=n, grid=n + 1) for n in range(60))), most=10)
    assert len(different) == 12
    assert different[-1] == "… cut; `sigcontract show` draws the whole graph"
    assert graph_lines(build.graph()) == ["0 nodes, 0 edges"]
