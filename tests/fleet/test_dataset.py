"""Dumps as a Parquet data set, and questions to it. Needs the extra fleet."""

import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.errors import EngineError, FileError, MissingExtraError, UsageError
from sigcontract.fleet import (
    GRAPH_COLUMNS,
    NODE_COLUMNS,
    compare_fleet,
    dataset,
    export_dataset,
    queries,
    query_dataset,
)
from sigcontract.model.fleet import FleetQueryResult
from tests.compare.dumps import without_code
from tests.fleet.ranks import gemm, job, layer, rank_dump, saved
from tests.update import build

pytest.importorskip("duckdb", reason="the extra fleet is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="the extra fleet is not installed")


def rows(result: FleetQueryResult) -> list[dict[str, int | str | None]]:
    return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


def read(folder: Path, table: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = parquet.read_table(folder / table).to_pylist()
    return found


def test_a_data_set_has_a_row_for_each_graph_and_each_node(tmp_path: Path) -> None:
    done = export_dataset(job([8, 16]), tmp_path, run_id="first")
    assert (done.run_id, done.dumps, done.graphs, done.nodes, done.unreadable) == ("first", 2, 4, 12, ())
    graphs, nodes = read(tmp_path, "graphs"), read(tmp_path, "nodes")
    assert set(graphs[0]) == {*GRAPH_COLUMNS, "run"}
    assert set(nodes[0]) == {*NODE_COLUMNS, "run"}
    second = next(row for row in nodes if (row["rank"], row["graph"], row["position"]) == (1, "bs=2", 1))
    assert {name: second[name] for name in ("run", "path", "type", "name", "grid_x", "block_x", "cluster_x")} == {
        "run": "first",
        "path": "nodes[1]",
        "type": "kernel",
        "name": "gemm_tile16x64",
        "grid_x": 2,
        "block_x": 64,
        "cluster_x": 0,
    }
    assert {row["portable_digest"] for row in nodes} == {row["portable_digest"] for row in graphs}


def test_nodes_inside_of_nodes_have_rows_and_paths_of_their_own(tmp_path: Path) -> None:
    graph = build.graph(*gemm(8).nodes[:1], build.child(*gemm(8).nodes[1:]))
    export_dataset([rank_dump(0, {"g": graph})], tmp_path)
    paths = [(row["position"], row["path"], row["type"]) for row in read(tmp_path, "nodes")]
    assert paths == [
        (0, "nodes[0]", "kernel"),
        (1, "nodes[1]", "graph"),
        (2, "nodes[1].graph.nodes[0]", "kernel"),
        (3, "nodes[1].graph.nodes[1]", "kernel"),
    ]


def test_divergence_names_the_nodes_that_the_report_names(tmp_path: Path) -> None:
    dumps = job([8, 8, 16, 8])
    export_dataset(dumps, tmp_path)
    found = rows(query_dataset("divergence", tmp_path))
    assert [(row["graph"], row["path"], row["dumps"], row["first_rank"], row["name"]) for row in found] == [
        ("bs=1", "nodes[1]", 3, 0, "gemm_tile8x64"),
        ("bs=1", "nodes[1]", 1, 2, "gemm_tile16x64"),
        ("bs=2", "nodes[1]", 3, 0, "gemm_tile8x64"),
        ("bs=2", "nodes[1]", 1, 2, "gemm_tile16x64"),
    ]
    assert {(row["graph"], row["path"]) for row in found} == {
        (row.label, row.path) for row in compare_fleet(dumps).rows
    }


def test_divergence_has_the_node_that_one_rank_lacks(tmp_path: Path) -> None:
    short = build.graph(*gemm(8).nodes[:2])
    export_dataset([rank_dump(rank, {"g": gemm(8) if rank != 2 else short}) for rank in range(4)], tmp_path)
    (row,) = rows(query_dataset("divergence", tmp_path))
    assert (row["path"], row["kinds"], row["dumps"], row["of_dumps"]) == ("nodes[2]", 1, 3, 4)


def test_kernels_counts_ranks_graphs_nodes_and_codes_of_a_name(tmp_path: Path) -> None:
    one, other = layer("probe"), layer("probe")
    node = one.kernel_nodes[0]
    facts = replace(node.function, code_sha256="ab" * 32) if node.function else None
    other = build.graph(replace(node, function=facts))
    export_dataset([rank_dump(0, {"a": one, "b": one}), rank_dump(1, {"a": other})], tmp_path)
    found = rows(query_dataset("kernels", tmp_path))
    assert [(row["name"], row["codes"], row["ranks"], row["graphs"], row["nodes"]) for row in found] == [
        ("probe", 2, 1, 2, 2),
        ("probe", 2, 1, 1, 1),
    ]


def test_sharing_counts_executables_and_what_is_unknown_needs_its_own(tmp_path: Path) -> None:
    known, unknown = gemm(8), build.graph(build.kernel(func=0, kern=0, function=None))
    graphs = {"a": known, "b": gemm(8, grid=2), "c": gemm(16), "d": unknown, "e": unknown}
    export_dataset([rank_dump(0, graphs)], tmp_path)
    (row,) = rows(query_dataset("sharing", tmp_path))
    assert (row["graphs"], row["executables"], row["saved"]) == (5, 4, 1)


def test_changes_reports_what_came_went_and_changed_from_run_to_run(tmp_path: Path) -> None:
    def run(day: int, **graphs: int) -> None:
        dumps = [
            rank_dump(
                rank, {label: gemm(tile) for label, tile in graphs.items()}, created_at=f"2026-12-0{day}T00:00:00Z"
            )
            for rank in range(2)
        ]
        export_dataset(dumps, tmp_path, run_id=f"{9 - day}")

    run(1, same=8, tuned=8, gone=8)
    run(2, same=8, tuned=16, new=8)
    run(3, same=8, tuned=16, new=8)
    found = rows(query_dataset("changes", tmp_path))
    assert [(row["old_run"], row["new_run"], row["rank"], row["graph"], row["change"]) for row in found] == [
        ("8", "7", rank, *change)
        for rank in (0, 1)
        for change in (("gone", "removed"), ("new", "added"), ("tuned", "changed"))
    ]


@pytest.mark.parametrize("run_id", ["7", "2026-12-02", "true", "1e3"])
def test_the_name_of_a_run_stays_text_whatever_it_looks_like(run_id: str, tmp_path: Path) -> None:
    export_dataset(job([8, 8]), tmp_path, run_id=run_id)
    assert {row["run"] for row in rows(query_dataset("sharing", tmp_path))} == {run_id}


def test_a_run_is_named_by_when_it_was_written_and_never_replaced_unasked(tmp_path: Path) -> None:
    assert export_dataset(job([8, 8]), tmp_path).run_id == "20261201T000000Z"
    with pytest.raises(FileError, match="already holds run 20261201T000000Z; choose another with --run-id, or add"):
        export_dataset(job([16, 16]), tmp_path)
    export_dataset(job([16, 16]), tmp_path, replace=True)
    assert {row["name"] for row in read(tmp_path, "nodes") if row["position"] == 1} == {"gemm_tile16x64"}


def test_a_run_that_cannot_be_replaced_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_dataset(job([8, 8]), tmp_path)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.suffix == ".partial" and target.parent.name == "nodes":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(FileError, match="No space left"):
        export_dataset(job([16, 16]), tmp_path, replace=True)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    assert {row["name"] for row in read(tmp_path, "nodes") if row["position"] == 1} == {"gemm_tile8x64"}


@pytest.mark.parametrize("run_id", ["", "a/b", "..", "x" * 101, "a b"])
def test_a_name_that_is_no_folder_of_its_own_is_refused(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a run name"):
        export_dataset(job([8]), tmp_path, run_id=run_id)
    assert list(tmp_path.iterdir()) == []


def test_a_dump_that_cannot_be_read_is_left_out_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    paths = saved(folder, job([8, 8, 8]))
    Path(paths[0]).write_bytes(b"{")
    text = Path(paths[1]).read_text()
    Path(paths[1]).write_text(text.replace('"gemm_tile8x64"', '"gemm_tile9x64"'))
    assert main(["fleet", "export", str(folder), "-o", str(tmp_path / "data")]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("run 20261201T000000Z, 1 dump, 2 graphs, 6 nodes")
    assert [line.split(": ")[1] for line in lines[1:]] == paths[:2]
    assert {row["rank"] for row in read(tmp_path / "data", "nodes")} == {2}


def test_an_export_of_nothing_readable_adds_no_run(tmp_path: Path) -> None:
    (path,) = saved(tmp_path, job([8]))
    text = Path(path).read_text()
    for spoiled in (text.replace('"gemm_tile8x64"', '"gemm_tile9x64"'), "{"):
        Path(path).write_text(spoiled)
        with pytest.raises(UsageError, match="no readable dump; the first error: "):
            export_dataset([path], tmp_path / "data")
    assert [found for found in tmp_path.rglob("*") if "=" in found.name] == []


def test_an_export_that_fails_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(dataset._Writer, "_flush", full)
    with pytest.raises(FileError, match="No space left on device; free space"):
        export_dataset(job([8, 8]), tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file() or "=" in path.name or path.name[0] == "_"] == []


def test_no_more_than_a_part_is_held_and_parts_end_where_they_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "_ROWS_PER_GROUP", 10)
    monkeypatch.setattr(dataset, "_ROWS_PER_PART", 20)
    held: list[int] = []
    write = dataset._Writer.write

    def watched(self: dataset._Writer, batch: object) -> None:
        write(self, batch)
        held.append(self._rows)

    monkeypatch.setattr(dataset._Writer, "write", watched)
    export_dataset(job([8] * 12), tmp_path)
    assert max(held) < 10
    assert len(list((tmp_path / "nodes").rglob("*.parquet"))) == 3
    assert len(read(tmp_path, "nodes")) == 12 * 6


def test_a_user_may_ask_with_a_file_of_sql(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export_dataset(job([8, 8]), tmp_path / "data")
    query = tmp_path / "own.sql"
    query.write_text("SELECT graph, COUNT(*) AS ranks FROM graphs GROUP BY graph ORDER BY graph")
    assert main(["fleet", "query", str(query), str(tmp_path / "data")]) == 0
    assert capsys.readouterr().out.splitlines() == ["graph  ranks", "bs=1       2", "bs=2       2", "2 rows"]
    assert main(["fleet", "query", str(query), str(tmp_path / "data"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [["bs=1", 2], ["bs=2", 2]]


def test_every_query_says_what_it_answers_and_each_of_its_columns(tmp_path: Path) -> None:
    export_dataset(job([8, 16]), tmp_path)
    assert set(queries()) == {"changes", "divergence", "kernels", "sharing"}
    for query in queries().values():
        comment = [line for line in query.sql.splitlines() if line.startswith("--")]
        assert query.about.endswith(".")
        columns = query_dataset(query.name, tmp_path).columns
        described = " ".join(comment).replace(" .. ", ", ")
        spans = {"grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "cluster_x", "cluster_y", "cluster_z"}
        assert [
            column
            for column in columns
            if column not in described and column not in spans | {"dynamic_shared_mem_bytes"}
        ] == []


@pytest.mark.parametrize(
    ("query", "engine", "kind", "message"),
    [
        ("who", "duckdb", UsageError, "no query 'who'; use one of changes, divergence, kernels, sharing"),
        ("missing.sql", "duckdb", FileError, "cannot read missing.sql"),
        ("kernels", "oracle", UsageError, "no engine 'oracle'; use duckdb, or sc://HOST:PORT"),
        ("kernels", "sc://", UsageError, "names no host"),
        ("kernels", "sc://127.0.0.1:x", UsageError, "is not an address"),
        ("kernels", "sc://127.0.0.1:1", EngineError, "no Spark Connect server answers at 127.0.0.1:1"),
    ],
)
def test_what_cannot_be_asked_says_what_to_do(
    query: str, engine: str, kind: type[Exception], message: str, tmp_path: Path
) -> None:
    export_dataset(job([8, 8]), tmp_path)
    with pytest.raises(kind, match=message.replace("(", r"\(")):
        query_dataset(query, tmp_path, engine=engine)


def test_a_folder_that_is_not_a_data_set_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is not a data set; `sigcontract fleet export` writes one"):
        query_dataset("kernels", tmp_path)


def test_a_query_that_the_engine_refuses_and_a_damaged_part_are_errors_of_ours(tmp_path: Path) -> None:
    export_dataset(job([8, 8]), tmp_path)
    own = tmp_path / "own.sql"
    own.write_text("SELECT nothing FROM nowhere")
    with pytest.raises(EngineError, match="duckdb did not answer the query: Catalog Error"):
        query_dataset(str(own), tmp_path)
    for part in (tmp_path / "nodes").rglob("*.parquet"):
        part.write_bytes(b"no parquet")
    with pytest.raises(EngineError, match="duckdb did not answer the query"):
        query_dataset("kernels", tmp_path)


def test_a_memory_limit_is_a_size(tmp_path: Path) -> None:
    export_dataset(job([8, 8]), tmp_path)
    assert query_dataset("kernels", tmp_path, memory_limit="64MB").rows != ()
    with pytest.raises(UsageError, match="is not a size; use one such as 512MB or 4GB"):
        query_dataset("kernels", tmp_path, memory_limit="1'; DROP")


def test_the_engine_draws_no_progress_and_writes_nothing_into_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    export_dataset(job([8, 8]), tmp_path / "data")
    own = tmp_path / "own.sql"
    own.write_text("SELECT name, value FROM duckdb_settings() WHERE name IN ('enable_progress_bar', 'temp_directory')")
    settings = {row["name"]: row["value"] for row in rows(query_dataset(str(own), tmp_path / "data"))}
    assert settings["enable_progress_bar"] == "false"
    spill = Path(str(settings["temp_directory"]))
    assert spill.is_absolute()
    assert not spill.exists()


def test_a_path_with_a_quote_is_a_path(tmp_path: Path) -> None:
    folder = tmp_path / "it's"
    export_dataset(job([8, 8]), folder)
    assert query_dataset("kernels", folder).rows != ()


def test_without_the_extra_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_dataset(job([8, 8]), tmp_path)
    for library in ("pyarrow", "duckdb"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sigcontract\[fleet\]'"):
        export_dataset(job([8, 8]), tmp_path / "other")
    with pytest.raises(MissingExtraError, match=r"pip install 'sigcontract\[fleet\]'"):
        query_dataset("kernels", tmp_path)


def test_unobserved_code_is_a_kernel_without_code(tmp_path: Path) -> None:
    graph = build.graph(*[without_code(node) for node in gemm(8).kernel_nodes])
    export_dataset([rank_dump(0, {"g": graph})], tmp_path)
    assert {row["code_sha256"] for row in rows(query_dataset("kernels", tmp_path))} == {None}
