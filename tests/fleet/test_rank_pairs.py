"""Two runs compared rank by rank."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from sigcontract.errors import UsageError
from sigcontract.fleet import compare_by_rank
from sigcontract.model.findings import Verdict
from tests.fleet.ranks import gemm, job, rank_dump, saved


def test_ranks_with_the_same_findings_are_compared_once() -> None:
    found = compare_by_rank(job([8] * 8), job([8] * 6 + [16] * 2))
    assert [(each.ranks, each.diff.verdict) for each in found.diffs] == [
        ("0-5", Verdict.IDENTICAL),
        ("6-7", Verdict.UPDATABLE),
    ]
    assert (found.verdict, found.gaps) == (Verdict.UPDATABLE, ())


def test_a_rank_without_counterpart_leaves_the_answer_open() -> None:
    found = compare_by_rank(job([8] * 4), job([8] * 4)[:3])
    assert [(gap.kind, gap.ranks) for gap in found.gaps] == [("rank-missing", "3")]
    assert found.verdict is Verdict.UNDETERMINED


def test_dumps_of_no_or_of_one_rank_twice_are_gaps() -> None:
    graphs = {"g": gemm(8)}
    new = [rank_dump(0, graphs), rank_dump(1, graphs), rank_dump(1, graphs), rank_dump(None, graphs)]
    found = compare_by_rank([rank_dump(rank, graphs) for rank in range(2)], new)
    assert [gap.kind for gap in found.gaps] == ["rank-unknown", "rank-repeated", "rank-missing"]
    assert [each.ranks for each in found.diffs] == ["0"]


def test_a_broken_dump_costs_its_rank_alone(tmp_path: Path) -> None:
    paths = saved(tmp_path, job([8] * 3))
    text = Path(paths[0]).read_text()
    Path(paths[0]).write_text(text.replace('"gemm_tile8x64"', '"gemm_tile9x64"'))
    Path(paths[2]).write_bytes(b"{")
    found = compare_by_rank(job([16] * 3), [tmp_path])
    assert {gap.kind for gap in found.gaps} == {"unreadable", "rank-missing"}
    assert [(each.ranks, Path(each.new_file).name) for each in found.diffs] == [("1", "rank1-pid4001.dump.json")]


def test_a_label_twice_is_not_compared() -> None:
    new = job([8] * 2)
    new[1] = replace(new[1], graphs=new[1].graphs[:1] * 2)
    found = compare_by_rank(job([8] * 2), new)
    assert [(gap.kind, gap.ranks) for gap in found.gaps] == [("not-compared", "1")]


def test_an_unknown_policy_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="no policy '"):
        compare_by_rank(job([8]), job([8]), policy="strict")
