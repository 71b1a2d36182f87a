"""The shipped queries, each an SQL file with its documentation at the top."""

import os
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from sigcontract.errors import FileError, UsageError
from sigcontract.fleet.engines import ask
from sigcontract.model import FleetQueryResult

__all__ = ["Query", "queries", "query_dataset"]


class Query(NamedTuple):
    """A query on a data set.

    Attributes
    ----------
    name
        Name, as for ``fleet query``.
    about
        Description, in one line.
    sql
        Text, valid in DuckDB and Spark.
    """

    name: str
    about: str
    sql: str


def queries() -> dict[str, Query]:
    """Return the shipped queries by name."""
    folder = files("sigcontract.fleet") / "sql"
    found = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        name, _, suffix = file.name.rpartition(".")
        if suffix == "sql":
            sql = file.read_text(encoding="utf-8")
            found[name] = Query(name, sql.splitlines()[0].removeprefix("-- "), sql)
    return found


def query_dataset(
    query: str, dataset: str | os.PathLike[str], *, engine: str = "duckdb", memory_limit: str | None = None
) -> FleetQueryResult:
    """Run a query on a data set written by `export_dataset`.

    Parameters
    ----------
    query
        A name in `queries`, or the path of a ``.sql`` file with one query over the views ``graphs`` and ``nodes``.
    dataset
        The directory, or a URL that the engine can read.
    engine
        ``duckdb``, in this process, or ``sc://HOST:PORT``, a Spark Connect server.
    memory_limit
        Memory limit of DuckDB before it spills to disk, such as ``4GB``.

    Raises
    ------
    UsageError
        The query or engine is unknown.
    MissingExtraError
        The engine's library is not installed.
    EngineError
        The engine is unreachable, rejects the query, or died.
    FileError
        The data set does not exist, or the file cannot be read.
    """
    where = os.fspath(dataset)
    # A server has its own working directory.
    where = where if "://" in where else os.path.abspath(where)  # noqa: PTH100  the text of a path, whatever it is
    answer = ask(_text_of(query), where, engine, memory_limit=memory_limit)
    return FleetQueryResult(query=query, engine=engine, columns=answer.columns, rows=answer.rows)


def _text_of(query: str) -> str:
    if query.endswith(".sql"):
        try:
            return Path(query).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise FileError(f"cannot read {query}: {error}; check the name", file=query) from error
    known = queries()
    if query not in known:
        raise UsageError(f"no query {query!r}; use one of {', '.join(known)}, or a file that ends in .sql")
    return known[query].sql
