"""The queries of the package on a real Spark Connect server: the same results as DuckDB's.

Needs the extras fleet and fleet-spark, and a server: either SIGCONTRACT_SPARK names one that reads this machine's files
(``sc://HOST:PORT``), or pyspark's own is started here, which needs the whole of pyspark and a Java runtime.
"""

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from sigcontract.errors import EngineError
from sigcontract.fleet import export_dataset, queries, query_dataset
from tests.fleet.ranks import gemm, job, rank_dump

duckdb = pytest.importorskip("duckdb", reason="the extra fleet is not installed")
pytest.importorskip("pyarrow", reason="the extra fleet is not installed")
pytest.importorskip("grpc", reason="the extra fleet-spark is not installed")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),  # pyspark's own libraries warn of each other
]

STARTS_WITHIN_SECONDS = 120
#: Both engines get less than the large data set holds.
HEAP = "512m"
MEMORY_LIMIT = "256MB"
LARGE_ROWS = 8_000_000
LARGE_NODES = """
    COPY (
        SELECT (i // 20000)::BIGINT AS rank, 'bs=' || (i % 50) AS graph, (i % 20000 // 50)::BIGINT AS position,
            'nodes[' || (i % 20000 // 50) || ']' AS path,
            md5('g' || (i % 50) || (i % 50 = 7 AND i // 20000 = 3)) AS portable_digest,
            CASE WHEN i % 50 = 7 THEN md5('n' || (i // 20000 = 3 AND i % 20000 // 50 = 5))
                ELSE sha256('seed 5' || i) END AS node_digest,
            'kernel' AS type, 'kernel_' || (i % 11) AS name, 1::BIGINT AS grid_x, 1::BIGINT AS grid_y,
            1::BIGINT AS grid_z, 1::BIGINT AS block_x, 1::BIGINT AS block_y, 1::BIGINT AS block_z,
            NULL::BIGINT AS cluster_x, NULL::BIGINT AS cluster_y, NULL::BIGINT AS cluster_z,
            0::BIGINT AS dynamic_shared_mem_bytes, sha256('c' || (i % 11)) AS code_sha256
        FROM range({rows}) AS r(i)
    ) TO '{folder}/nodes/run=1/part-00000.parquet' (FORMAT parquet, COMPRESSION uncompressed)
"""
LARGE_GRAPHS = """
    COPY (
        SELECT (i // 50)::BIGINT AS rank, 1::BIGINT AS world_size, 'node' AS hostname, 'f' AS file,
            '2026-12-01T00:00:00Z' AS created_at, true AS complete, 'bs=' || (i % 50) AS graph,
            400::BIGINT AS node_count, md5('g' || (i % 50) || (i % 50 = 7 AND i // 50 = 3)) AS portable_digest,
            NULL::VARCHAR AS share_key
        FROM range({rows}) AS r(i)
    ) TO '{folder}/graphs/run=1/part-00000.parquet' (FORMAT parquet)
"""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def started(port: int, log: Path) -> "subprocess.Popen[bytes]":
    """Start pyspark's own Spark Connect server and wait until it takes connections."""
    spec = find_spec("pyspark")
    home = Path(spec.origin).parent if spec is not None and spec.origin is not None else Path()
    script = home / "sbin" / "start-connect-server.sh"
    if not script.exists():
        pytest.skip("no Spark Connect server: pip install 'pyspark[connect]', or set SIGCONTRACT_SPARK")
    if shutil.which("java") is None:
        pytest.skip("no Java runtime for a Spark Connect server: apt install default-jre-headless")
    settings = {"spark.connect.grpc.binding.port": port, "spark.driver.memory": HEAP, "spark.ui.enabled": "false"}
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    environment = os.environ | {"SPARK_NO_DAEMONIZE": "1", "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    server = subprocess.Popen(
        [str(script), "--master", "local[2]", *options],
        stdout=log.open("wb"),
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    )
    for _ in range(2 * STARTS_WITHIN_SECONDS):
        if server.poll() is not None:
            break
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", port)) == 0:
                return server
        select.select([], [], [], 0.5)
    stop(server)
    pytest.fail(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")


def stop(server: "subprocess.Popen[bytes]") -> None:
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server."""
    given = os.environ.get("SIGCONTRACT_SPARK")
    if given:
        yield given
        return
    port = free_port()
    server = started(port, tmp_path_factory.mktemp("spark") / "server.log")
    yield f"sc://127.0.0.1:{port}"
    stop(server)


@pytest.mark.parametrize("query", ["changes", "divergence", "kernels", "sharing"])
def test_spark_answers_as_duckdb_does(query: str, spark: str, tmp_path: Path) -> None:
    export_dataset(job([8, 8, 16, 8]), tmp_path, run_id="1")
    later = [rank_dump(rank, {"bs=1": gemm(8 << rank % 2)}, created_at="2026-12-03T00:00:00Z") for rank in range(4)]
    export_dataset([*later, rank_dump(None, {"bs=9": gemm(8)})], tmp_path, run_id="2026-12-03")
    here, there = (query_dataset(query, tmp_path, engine=engine) for engine in ("duckdb", spark))
    assert here.rows != ()
    assert (here.columns, here.rows) == (there.columns, there.rows)


def test_every_query_is_put_to_spark() -> None:
    assert set(queries()) == {"changes", "divergence", "kernels", "sharing"}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a data set of more bytes than either engine may take: no two of its nodes have one digest."""
    folder = tmp_path_factory.mktemp("large")
    for table in ("nodes", "graphs"):
        (folder / table / "run=1").mkdir(parents=True)
    with duckdb.connect(":memory:") as connection:
        connection.execute(LARGE_NODES.format(rows=LARGE_ROWS, folder=folder))
        connection.execute(LARGE_GRAPHS.format(rows=LARGE_ROWS // 400, folder=folder))
    assert sum(file.stat().st_size for file in folder.rglob("*.parquet")) > 512 * 2**20
    return folder


@pytest.mark.parametrize("query", ["divergence", "kernels"])
def test_a_data_set_larger_than_memory_has_the_same_answers(query: str, spark: str, large: Path) -> None:
    here = query_dataset(query, large, memory_limit=MEMORY_LIMIT)
    assert len(here.rows) == {"divergence": 2, "kernels": 11}[query]
    assert query_dataset(query, large, engine=spark).rows == here.rows


def test_a_query_that_spark_refuses_is_an_error_of_ours(spark: str, tmp_path: Path) -> None:
    export_dataset(job([8, 8]), tmp_path)
    own = tmp_path / "own.sql"
    own.write_text("SELECT nothing FROM nowhere")
    with pytest.raises(EngineError, match=r"did not answer the query: .*TABLE_OR_VIEW_NOT_FOUND"):
        query_dataset(str(own), tmp_path, engine=spark)


def test_a_server_that_dies_in_the_middle_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = pytest.importorskip("pyspark.sql.connect.session").SparkSession
    export_dataset(job([8, 8]), tmp_path)
    own = tmp_path / "own.sql"
    own.write_text("SELECT COUNT(*) AS n FROM RANGE(1000000000000) AS a WHERE SHA2(CAST(id AS STRING), 256) = 'x'")
    port = free_port()
    server = started(port, tmp_path / "server.log")
    seen = []

    def dies_at_work(*, inflight_tasks: int, **_: object) -> None:
        if inflight_tasks:
            seen.append(inflight_tasks)
            stop(server)

    ask = session.sql

    def asking(self: Any, sql: str) -> Any:
        self.registerProgressHandler(dies_at_work)
        return ask(self, sql)

    monkeypatch.setattr(session, "sql", asking)
    try:
        with pytest.raises(EngineError, match="did not answer the query"):
            query_dataset(str(own), tmp_path, engine=f"sc://127.0.0.1:{port}")
    finally:
        stop(server)
    assert seen
