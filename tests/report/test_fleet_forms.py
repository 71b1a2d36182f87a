"""A fleet's report as text and Markdown: hostile names are shown as what they are, and gaps are never a pass."""

from pathlib import Path

from msgspec.structs import replace

import sigcontract as sc
from sigcontract.fleet import compare_fleet
from sigcontract.model import FleetQueryResult
from sigcontract.report.query_table import query_text
from sigcontract.report.ranks_markdown import fleet_markdown
from sigcontract.report.ranks_text import fleet_text
from tests.compare.dumps import dump


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


def test_a_table_of_a_query_shows_columns_and_escapes_values() -> None:
    result = FleetQueryResult(query="q", engine="duckdb", columns=("label", "n"), rows=(("\x1b[2J", 3),))
    drawn = query_text(result)
    assert "label" in drawn
    assert "\x1b" not in drawn
