"""``sigcontract fleet``, and the commands that lead to it."""

import json
from pathlib import Path

import pytest

from sigcontract.cli.main import main
from sigcontract.model.fleet import FleetReport, RankDiffs
from sigcontract.wire.codec import decode
from tests.fleet.ranks import job, saved

EXAMPLES = Path(__file__).parents[2] / "examples" / "real"
RANKS = [str(EXAMPLES / f"rank{rank}.dump.json.zst") for rank in range(4)]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    shown = capsys.readouterr()
    return status, shown.out, shown.err


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def test_equal_ranks_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(tmp_path, job([8] * 64, sizes=range(1, 13)))
    assert run(capsys, "fleet", str(tmp_path)) == (0, "all 64 ranks agree: 12 graphs each\n", "")


@pytest.mark.usefixtures("narrow")
def test_the_rank_of_another_problem_size_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    status, out, _ = run(capsys, "fleet", *[Path(path).name for path in RANKS])
    assert status == 1
    lines = out.splitlines()
    assert lines[:4] == [
        "ranks differ: 2 of 2 graphs, 4 dumps read",
        "",
        "graph/0, graph/1: 1 of 4 deviates",
        "  rank 2 (rank2.dump.json.zst) differs from ranks 0-1,3",
    ]
    assert lines[4].startswith("    ~ another kernel: …64x8_64x16_2x4_h_bz_NNT → …64x16_64x16_2x4_h_bz_NNT, grid 8x8x1")
    assert max(map(len, lines)) <= 120
    assert "differences by rank: 6 rows" in lines
    assert "  graph/1 nodes[2]  0-1,3: grid_dim 8x1x1 | 2: grid_dim 24x1x1" in lines


@pytest.mark.usefixtures("narrow")
def test_a_split_is_reported_as_a_split_with_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(tmp_path, job([16, 8, 16, 8]))
    status, out, _ = run(capsys, "fleet", str(tmp_path))
    assert status == 1
    assert out.splitlines() == [
        "ranks differ: 2 of 2 graphs, 4 dumps read",
        "",
        "bs=1, bs=2: a split, 2/2: no class has more than half",
        "  ranks 1,3 differ from ranks 0,2",
        "    ~ another kernel: gemm_tile16x64 → gemm_tile8x64; node 1 in each of these 2 graphs",
        "",
        "differences by rank: 2 rows",
        "  bs=1 nodes[1]  0,2: gemm_tile16x64 | 1,3: gemm_tile8x64",
        "  bs=2 nodes[1]  0,2: gemm_tile16x64 | 1,3: gemm_tile8x64",
    ]


def test_a_gap_leaves_the_question_open_unless_gaps_are_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = saved(tmp_path, job([8] * 4))
    Path(paths[3]).unlink()
    status, out, _ = run(capsys, "fleet", str(tmp_path))
    assert (status, out.splitlines()) == (
        3,
        [
            "undetermined: 1 gap; no differences found: 2 graphs, 3 dumps",
            "",
            "1 gap prevents a complete answer",
            "  rank-missing: no dump of rank 3; the world size is 4",
        ],
    )
    status, out, _ = run(capsys, "fleet", str(tmp_path), "--allow-incomplete")
    assert status == 0
    assert "agree" not in out


def test_deviations_fail_whatever_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = saved(tmp_path, job([8, 8, 16, 8]))
    Path(paths[3]).write_bytes(b"{")
    assert run(capsys, "fleet", str(tmp_path), "--allow-incomplete")[0] == 1
    status, out, _ = run(capsys, "fleet", str(tmp_path))
    assert status == 1
    assert len([line for line in out.splitlines() if paths[3] in line]) == 1


def test_one_dump_is_no_agreement_even_where_gaps_are_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = saved(tmp_path, job([8]))
    status, out, _ = run(capsys, "fleet", path, "--allow-incomplete")
    assert status == 3
    assert out.startswith("undetermined: 1 gap; nothing was compared\n")


def test_json_is_the_document_and_says_what_the_text_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(tmp_path, job([8, 8, 16]))
    status, out, _ = run(capsys, "fleet", str(tmp_path), "--format", "json")
    report = decode(out.encode(), expect=FleetReport)
    assert (status, report.answer) == (1, "deviate")
    assert report.graphs[0].classes[1].ranks == "2"


def test_markdown_lets_no_name_be_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a|b*c"
    folder.mkdir()
    saved(folder, job([8, 8, 16]))
    status, out, _ = run(capsys, "fleet", str(folder), "--format", "markdown")
    assert status == 1
    assert out.startswith("## ranks differ: 2 of 2 graphs, 3 dumps read\n")
    assert "a\\|b\\*c" in out
    rows = [line for line in out.splitlines() if line.startswith("| rank")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {4}


def test_groups_and_a_reference_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = saved(tmp_path, job([8, 8, 16, 16]))
    status, out, _ = run(capsys, "fleet", str(tmp_path), "--group-by", "rank/2")
    assert (status, out) == (0, "all 4 ranks agree within 2 groups by rank/2: 2 graphs each\n")
    assert "ranks 2-3 differ from ranks 0-1" in run(capsys, "fleet", str(tmp_path), "--reference", "0")[1]
    assert "ranks 0-1 differ from ranks 2-3" in run(capsys, "fleet", str(tmp_path), "--reference", paths[2])[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fleet"], "required"),
        (["fleet", "{tmp}"], "no dumps in"),
        (["fleet", "{tmp}", "--engine", "duckdb"], "--engine does not apply to fleet;"),
        (["fleet", "query", "kernels", "{tmp}", "--reference", "0"], "--reference does not apply to fleet query;"),
        (["fleet", "export", "{tmp}"], "fleet export takes dumps and -o DATASET"),
        (["fleet", "export", "{tmp}", "-o", "x", "--format", "json"], "fleet export has no format json; use text"),
        (["fleet", "query"], "divergence: Where ranks differ"),
    ],
)
def test_wrong_usage_says_what_to_do(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *(argument.format(tmp=tmp_path) for argument in arguments))
    assert (status, out) == (2, "")
    assert message in err


def test_diff_of_two_folders_goes_rank_by_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, tiles in ((old, [8] * 4), (new, [8, 8, 8, 16])):
        folder.mkdir()
        saved(folder, job(tiles))
    status, out, _ = run(capsys, "diff", str(old), str(new))
    assert status == 1
    heads = [line for line in out.splitlines() if line.startswith(("rank", "updatable"))]
    assert heads[0] == "updatable: 2 distinct pairs of dumps, 1 with differences"
    assert [head.split(":")[0] for head in heads[1:]] == ["ranks 0-2", "rank 3"]
    assert "gemm_tile8x64 → gemm_tile16x64" in out
    assert run(capsys, "diff", str(old), str(new), "--fail-on", "rejected")[0] == 0
    status, out, _ = run(capsys, "diff", str(old), str(new), "--format", "json")
    assert [each.ranks for each in decode(out.encode(), expect=RankDiffs).diffs] == ["0-2", "3"]


def test_diff_of_folders_with_a_rank_missing_passes_no_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = saved(tmp_path, job([8] * 3))
    status, out, _ = run(capsys, "diff", str(tmp_path), paths[0], "--fail-on", "stale")
    assert status == 3
    assert "rank-missing: ranks 1-2: no comparable new dump" in out
    assert run(capsys, "diff", str(tmp_path), str(tmp_path), "--pair", "g0", "g0")[0] == 2


def test_groups_over_ranks_names_who_deviates_and_points_to_fleet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = saved(tmp_path, job([16, 8, 16, 8]))
    status, out, _ = run(capsys, "groups", *paths, "--policy", "portable")
    assert status == 0
    assert "run `sigcontract fleet " in out
    assert "a split, 2/2" in out
    assert max(map(len, out.splitlines()[1:])) < 160
    status, out, _ = run(capsys, "groups", *paths, "--policy", "portable", "--format", "json")
    assert [policy["policy"] for policy in json.loads(out)["policies"]] == ["portable"]
