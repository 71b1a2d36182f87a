"""A fleet's report as text and Markdown: hostile names are shown as what they are, and gaps are never a pass."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

import sigcontract as sc
from sigcontract.fleet import compare_fleet
from sigcontract.model import FleetQueryResult
from sigcontract.report.query_table import query_text
from sigcontract.report.ranks_markdown import fleet_markdown
from sigcontract.report.ranks_text import fleet_text
from tests.compare.dumps import dump
from tests.fleet.ranks import gemm, layer, rank_dump


def ranks(folder: Path, label: str, present: int, world: int) -> Path:
    """Save dumps of so many ranks of a larger world, with one label for their graph."""
    for rank in range(present):
        one = dump()
        environment = replace(one.environment, rank=rank, world_size=world, process_id=100 + rank)
        graphs = tuple(replace(entry, label=label) for entry in one.graphs[:1])
        saved = replace(one, environment=environment, graphs=graphs)
        sc.save(saved, folder / f"rank{rank}.dump.json")
    return folder


def test_a_rank_that_is_missing_is_named_in_both_forms(tmp_path: Path) -> None:
    report = compare_fleet([ranks(tmp_path, "decode", 3, 4)])
    for drawn in (fleet_text(report), fleet_markdown(report)):
        assert "all 4 ranks agree" not in drawn
        assert "rank 3" in drawn


def test_a_hostile_label_moves_no_cursor_and_makes_no_markup(tmp_path: Path) -> None:
    report = compare_fleet([ranks(tmp_path, "\x1b[2J<b>|x", 2, 3)])
    assert "\x1b" not in fleet_text(report)
    assert "\x1b" not in fleet_markdown(report)
    assert "<b>" not in fleet_markdown(report)


LONG = "cutlass_sm90_tma_warpspecialized_pingpong_" * 6


@pytest.mark.parametrize("name", [LONG + "tile{}", LONG + "tile_{}x64_epilogue_bias_" * 3, LONG + "_{}"])
@pytest.mark.parametrize("width", [60, 120])
def test_kernels_that_differ_look_different_in_cause_and_table_however_long_their_names(name: str, width: int) -> None:
    tiles = [8, 16, 8, 8]
    report = compare_fleet([rank_dump(rank, {"g": layer(name.replace("{}", str(t)))}) for rank, t in enumerate(tiles)])
    drawn = fleet_text(report, width=width)
    assert max(map(len, drawn.splitlines())) <= width
    causes, _, table = " ".join(drawn.split()).partition("differences by rank: 1 row")
    cause = causes.partition("another kernel: ")[2]
    assert "8" in cause
    assert "16" in cause
    cells = re.fullmatch(r" g nodes\[0\] 0,2-3: (\S*) (?:\| )?1: (\S*)", table)
    assert cells is not None
    assert "16" in cells[2]
    assert "16" not in cells[1]
    (row,) = [line for line in fleet_markdown(report).splitlines() if "<br>1: " in line]
    assert "16" in row.partition("<br>1: ")[2]
    assert "16" not in row.partition("<br>1: ")[0]


def test_a_long_list_of_ranks_is_cut_and_counted() -> None:
    report = compare_fleet([rank_dump(rank, {"g": gemm(8 << rank % 2)}, world_size=400) for rank in range(400)])
    lines = fleet_text(report).splitlines()
    assert any(line.rstrip().endswith("…") or "… (200 dumps)" in line for line in lines)
    assert max(map(len, lines)) <= 120
    assert report.graphs[0].classes[0].ranks.endswith(",398")


def test_many_classes_and_many_gaps_of_one_kind_are_counted_and_other_kinds_still_shown() -> None:
    dumps = [rank_dump(rank, {"g": gemm(8 + rank)}, world_size=60) for rank in range(50)]
    dumps = [replace(dump, graphs=()) if rank >= 30 else dump for rank, dump in enumerate(dumps)]
    drawn = fleet_text(compare_fleet(dumps))
    assert "  … 9 more classes; --format json lists all" in drawn
    assert "  … 8 more empty gaps; --format json lists all" in drawn
    assert "rank-missing: no dump of ranks 50-59; the world size is 60" in drawn


def test_a_table_of_a_query_shows_columns_and_escapes_values() -> None:
    result = FleetQueryResult(query="q", engine="duckdb", columns=("label", "n"), rows=(("\x1b[2J", 3),))
    drawn = query_text(result)
    assert "label" in drawn
    assert "\x1b" not in drawn
