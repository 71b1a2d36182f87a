"""Engines for queries on a data set: DuckDB in this process, or an existing Spark Connect server."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from sigcontract.errors import EngineError, FileError, MissingExtraError, UsageError
from sigcontract.fleet.dataset import TABLES

__all__ = ["Answer", "ask"]

Value = int | str | None

#: Connection timeout, in seconds.
_CONNECT_SECONDS: Final = 10
_SPARK_PORT: Final = 15002
#: Retry policy of Spark calls, in milliseconds: fails soon after the server dies.
_RETRIES: Final = {"max_retries": 4, "initial_backoff": 200, "max_backoff": 2000}
_SIZE = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,3})?[KMGT]i?B", re.IGNORECASE)


class Answer(NamedTuple):
    """Columns and rows, as the engine returns them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


def ask(sql: str, dataset: str, engine: str = "duckdb", *, memory_limit: str | None = None) -> Answer:
    """Run a query on a data set.

    Parameters
    ----------
    sql
        One query over the views ``graphs`` and ``nodes``.
    dataset
        The directory; for a distributed engine a path or URL readable by every worker, such as ``s3a://…``.
    engine
        ``duckdb``, or a Spark Connect server, ``sc://HOST:PORT``.
    memory_limit
        Memory limit of DuckDB, such as ``4GB``; beyond it, DuckDB spills to ``TMPDIR``.

    Raises
    ------
    MissingExtraError
        The engine's library is not installed.
    EngineError
        The engine is unreachable, rejects the query, or died.
    FileError
        The data set does not exist.
    UsageError
        The engine is unknown.
    """
    if engine == "duckdb":
        return _by_duckdb(sql, dataset, memory_limit)
    if engine.startswith("sc://"):
        if memory_limit is not None:
            raise UsageError("--memory-limit applies to duckdb; a Spark server has its own")
        return _by_spark(sql, dataset, engine)
    raise UsageError(f"no engine {engine!r}; use duckdb, or sc://HOST:PORT of a Spark Connect server")


def _by_duckdb(sql: str, dataset: str, memory_limit: str | None) -> Answer:
    if memory_limit is not None and not _SIZE.fullmatch(memory_limit):
        raise UsageError(f"{memory_limit!r} is not a size; use one such as 512MB or 4GB")
    try:
        duckdb = import_module("duckdb")
    except ImportError as error:
        raise MissingExtraError("`fleet query`", extra="fleet") from error
    _check_dataset(dataset)
    with (
        # By default DuckDB spills into the working directory, which may not be writable.
        TemporaryDirectory(prefix="sigcontract-") as spill,
        _translated("duckdb", duckdb.Error),
        duckdb.connect(":memory:", config={"temp_directory": spill}) as connection,
    ):
        # By default DuckDB draws a progress bar on standard output.
        connection.execute("SET enable_progress_bar = false")
        if memory_limit is not None:
            connection.execute(f"SET memory_limit = '{memory_limit}'")
        for table in TABLES:
            files = f"{dataset}/{table}/run=*/*.parquet".replace("'", "''")
            # Without casts, a run named 7 or 2026-12-02 stays text.
            connection.execute(
                f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{files}', hive_partitioning = true, "  # noqa: S608  the folder is quoted, the names are ours
                "hive_types_autocast = false)"
            )
        result = connection.execute(sql)
        columns = tuple(column[0] for column in result.description or ())
        return Answer(columns, tuple(tuple(map(_plain, row)) for row in result.fetchall()))


def _check_dataset(dataset: str) -> None:
    if "://" not in dataset and not all(any(Path(dataset, table).glob("run=*/*.parquet")) for table in TABLES):
        msg = f"{dataset} is not a data set; `sigcontract fleet export` writes one"
        raise FileError(msg, file=dataset)


def _by_spark(sql: str, dataset: str, engine: str) -> Answer:
    _reach(engine)
    try:
        names = ("pyspark.sql.connect.session", "pyspark.sql.connect.client.retries", "pyspark.errors", "grpc")
        sessions, retries, errors, grpc = map(import_module, names)
    except ImportError as error:
        raise MissingExtraError("Spark Connect", extra="fleet-spark") from error
    dead = (errors.PySparkException, grpc.RpcError, OSError)
    with _translated(engine, *dead):
        session = sessions.SparkSession.builder.remote(engine).create()
        try:
            # By default the client waits ten minutes for a dead server.
            session.client.set_retry_policies([retries.DefaultPolicy(**_RETRIES)])
            session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
            for table in TABLES:
                session.read.parquet(f"{dataset}/{table}").createOrReplaceTempView(table)
            frame = session.sql(sql)
            rows = tuple(tuple(_plain(value) for value in row) for row in frame.collect())
            return Answer(tuple(frame.columns), rows)
        finally:
            with suppress(*dead):
                session.stop()


def _reach(engine: str) -> None:
    """Raise EngineError unless the server accepts a connection: Spark's client retries for minutes."""
    try:
        parts = urlsplit(engine)
        host, port = parts.hostname, parts.port or _SPARK_PORT
    except ValueError as error:
        raise UsageError(f"{engine!r} is not an address: {error}; use sc://HOST:PORT") from error
    if not host:
        raise UsageError(f"{engine!r} names no host; use sc://HOST:PORT")
    try:
        with socket.create_connection((host, port), timeout=_CONNECT_SECONDS):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        msg = f"no Spark Connect server answers at {host}:{port} ({reason}); check the address, or use --engine duckdb"
        raise EngineError(msg, code="engine_unreachable") from error


@contextmanager
def _translated(engine: str, *kinds: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kinds as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise EngineError(f"{engine} did not answer the query: {lines[0]}") from error


def _plain(value: Any) -> Value:
    if value is None or isinstance(value, int | str):
        return int(value) if isinstance(value, bool) else value
    return str(value)
