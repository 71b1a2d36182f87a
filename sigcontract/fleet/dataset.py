"""Dumps as a Parquet data set: one row per graph and per node of every rank and run."""

import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from sigcontract.errors import FileError, MissingExtraError, SigcontractError, UsageError
from sigcontract.fleet.sources import DumpInput, Progress, Source, Unreadable, no_progress, read_sources
from sigcontract.model import (
    GraphSignature,
    NodeSignature,
    SignatureDump,
    node_row,
)
from sigcontract.profiles import named_profile
from sigcontract.update import NodeJudge, judged_key, judged_same
from sigcontract.wire import escaped_name, portable_digest

__all__ = ["GRAPH_COLUMNS", "NODE_COLUMNS", "TABLES", "Exported", "export_dataset"]

_RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
#: Rows per row group, the unit held in memory, and per file.
_ROWS_PER_GROUP: Final = 250_000
_ROWS_PER_PART: Final = 5_000_000

#: Columns of the table ``graphs`` and their Parquet types, in order: one row for each graph of each dump.
GRAPH_COLUMNS: Final = {
    "rank": "int64",
    "world_size": "int64",
    "hostname": "string",
    "file": "string",
    "created_at": "string",
    "complete": "bool",
    "graph": "string",
    "node_count": "int64",
    "portable_digest": "string",
    "share_key": "string",
}
#: Columns of the table ``nodes``: one row for each node of each graph of each dump, nested nodes included.
NODE_COLUMNS: Final = {
    "rank": "int64",
    "graph": "string",
    "position": "int64",
    "path": "string",
    "portable_digest": "string",
    "node_digest": "string",
    "type": "string",
    "name": "string",
    "grid_x": "int64",
    "grid_y": "int64",
    "grid_z": "int64",
    "block_x": "int64",
    "block_y": "int64",
    "block_z": "int64",
    "cluster_x": "int64",
    "cluster_y": "int64",
    "cluster_z": "int64",
    "dynamic_shared_mem_bytes": "int64",
    "code_sha256": "string",
}
TABLES: Final = {"graphs": GRAPH_COLUMNS, "nodes": NODE_COLUMNS}


class Exported(NamedTuple):
    """What an export wrote, and the unreadable dumps."""

    run_id: str
    dumps: int
    graphs: int
    nodes: int
    unreadable: tuple[Unreadable, ...]


def export_dataset(
    dumps: Sequence[DumpInput],
    dataset: str | os.PathLike[str],
    *,
    run_id: str | None = None,
    replace: bool = False,
    progress: Progress = no_progress,
) -> Exported:
    """Add one run to a Parquet data set: ``DATASET/graphs/run=ID/`` and ``DATASET/nodes/run=ID/``.

    One dump and one row group are held in memory. A failed export leaves the data set unchanged; unreadable dumps are
    skipped and returned.

    Parameters
    ----------
    dumps
        As for `compare_fleet`.
    dataset
        The directory, created if missing.
    run_id
        Name of the run: letters, digits, ``.``, ``_`` and ``-``. By default the time of its first dump, such as
        ``20261202T155846Z``.
    replace
        Whether to replace a run of that name.
    progress
        Called before each step: ``headers`` read, ``dumps`` decoded.

    Raises
    ------
    MissingExtraError
        pyarrow is not installed.
    UsageError
        No dump is readable, or the name is invalid.
    FileError
        The data set cannot be written, or holds a run of that name.
    """
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError("a Parquet data set", extra="fleet") from error
    found = read_sources(dumps, progress=progress)
    if not found.sources:
        raise UsageError(f"no readable dump; the first error: {found.unreadable[0].reason}")
    run_id = _run_name(found.sources, run_id)
    root = Path(dataset)
    targets = {table: root / table / f"run={run_id}" for table in TABLES}
    if not replace and any(target.exists() for target in targets.values()):
        msg = f"{root} already holds run {run_id}; choose another with --run-id, or add --force to replace it"
        raise FileError(msg, file=str(root), code="exists")
    # Engines ignore names that begin with an underscore.
    partial = {table: root / table / f"_{secrets.token_hex(4)}.partial" for table in TABLES}
    try:
        with ExitStack() as stack:
            writers = {table: _Writer(arrow, parquet, partial[table], columns) for table, columns in TABLES.items()}
            for writer in writers.values():
                stack.callback(writer.close)
            unreadable, counts = _write(arrow, found.sources, writers, progress)
            if len(unreadable) == len(found.sources):
                raise UsageError(f"no readable dump; the first error: {unreadable[0].reason}")
        _publish([(partial[table], target) for table, target in targets.items()], replace=replace)
    except (OSError, arrow.ArrowException) as error:
        raise FileError(
            f"cannot write {root}: {error}; free space, or name another directory", file=str(root)
        ) from error
    finally:
        for folder in partial.values():
            shutil.rmtree(folder, ignore_errors=True)
    written = len(found.sources) - len(unreadable)
    return Exported(run_id, written, counts["graphs"], counts["nodes"], (*found.unreadable, *unreadable))


def _publish(moves: Sequence[tuple[Path, Path]], *, replace: bool) -> None:
    """Rename each directory to its target, all or none; replaced ones are removed last."""
    with ExitStack() as undo:
        replaced = []
        for partial, target in moves:
            if replace and target.exists():
                replaced.append(partial.with_name(f"{partial.name}.old"))
                target.rename(replaced[-1])
                undo.callback(replaced[-1].rename, target)
            partial.rename(target)
            undo.callback(target.rename, partial)
        undo.pop_all()
    for folder in replaced:
        shutil.rmtree(folder, ignore_errors=True)


def _write(
    arrow: Any, sources: Sequence[Source], writers: dict[str, "_Writer"], progress: Progress
) -> tuple[list[Unreadable], Counter[str]]:
    """Write the rows of every dump; return the dumps that do not match their headers, and the row counts."""
    unreadable = []
    counts: Counter[str] = Counter()
    for number, source in enumerate(sources, 1):
        progress("dumps", number, len(sources))
        try:
            dump = source.load(verify=True)
        except SigcontractError as error:
            unreadable.append(Unreadable(source.name, escaped_name(str(error))))
            continue
        for table, rows in _rows_of(arrow, source, dump):
            counts[table] += rows.num_rows
            writers[table].write(rows)
    return unreadable, counts


def _run_name(sources: Sequence[Source], given: str | None) -> str:
    if given is None:
        # It comes from a file: drop characters that are invalid in a name.
        given = re.sub(r"[^A-Za-z0-9._]", "", min(source.header.environment.created_at for source in sources))[:100]
    if not _RUN_NAME.fullmatch(given):
        raise UsageError(f"{given!r} is not a run name; use letters, digits, '.', '_' and '-' with --run-id")
    return given


class _Writer:
    """Writes batches of a table to files in one directory; holds at most one row group."""

    def __init__(self, arrow: Any, parquet: Any, folder: Path, columns: dict[str, str]) -> None:
        folder.mkdir(parents=True)
        self._arrow, self._parquet, self._folder = arrow, parquet, folder
        self._schema = arrow.schema([(name, arrow.type_for_alias(kind)) for name, kind in columns.items()])
        self._held: list[Any] = []
        self._rows = self._part = self._in_part = 0
        self._file: Any = None

    def write(self, batch: Any) -> None:
        self._held.append(batch)
        self._rows += batch.num_rows
        if self._rows >= _ROWS_PER_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._file is None:
            name = self._folder / f"part-{self._part:05}.parquet"
            self._file = self._parquet.ParquetWriter(name, self._schema, compression="zstd")
        self._file.write_table(self._arrow.concat_tables(self._held), row_group_size=_ROWS_PER_GROUP)
        self._in_part += self._rows
        self._held, self._rows = [], 0
        if self._in_part >= _ROWS_PER_PART:
            self._end_part()

    def _end_part(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file, self._in_part = None, 0
            self._part += 1

    def close(self) -> None:
        if self._held:
            self._flush()
        self._end_part()


def _rows_of(arrow: Any, source: Source, dump: SignatureDump) -> Iterator[tuple[str, Any]]:
    judge = NodeJudge(named_profile(dump), 0)
    nodes = _NodeTable(arrow, dump.environment.rank)
    rows = []
    for entry, header in zip(dump.graphs, source.graphs, strict=True):
        nodes.add(entry.label, header.portable_digest, entry.graph)
        rows.append(
            {
                "graph": entry.label,
                "node_count": header.node_count,
                "portable_digest": header.portable_digest,
                "share_key": _share_key(entry.graph, judge),
            }
        )
    where = dump.environment
    of_dump = {
        "rank": where.rank,
        "world_size": where.world_size,
        "hostname": where.hostname,
        "file": source.name,
        "created_at": where.created_at,
        "complete": dump.complete,
    }
    yield "graphs", _table(arrow, GRAPH_COLUMNS, [of_dump | row for row in rows])
    yield "nodes", nodes.table()


def _share_key(graph: GraphSignature, judge: NodeJudge) -> str | None:
    """Return a key equal for graphs of one process that can share an executable; None if it shares with none."""
    return judged_key("share", graph, judge) if judged_same("share", graph, graph, judge).same else None


def _table(arrow: Any, columns: dict[str, str], rows: Sequence[dict[str, Any]]) -> Any:
    return arrow.table(
        {
            name: arrow.array([row.get(name) for row in rows], arrow.type_for_alias(kind))
            for name, kind in columns.items()
        }
    )


#: Columns of a node that do not depend on its position.
_OF_NODE = tuple(NODE_COLUMNS)[tuple(NODE_COLUMNS).index("node_digest") :]


class _NodeTable:
    """The nodes of one dump as columns: each distinct record is encoded once and referenced by number."""

    def __init__(self, arrow: Any, rank: int | None) -> None:
        self._arrow, self._rank = arrow, rank
        self._numbers: dict[int, int] = {}
        self._distinct: list[dict[str, Any]] = []
        self._kept: list[NodeSignature] = []
        self._columns: dict[str, list[Any]] = {name: [] for name in ("graph", "position", "path", "portable_digest")}
        self._of: list[int] = []

    def add(self, label: str, digest: str, graph: GraphSignature) -> None:
        paths = []
        for path, node in graph.walk():
            paths.append(path)
            self._of.append(self._number(node))
        self._columns["path"] += paths
        self._columns["position"] += range(len(paths))
        self._columns["graph"] += [label] * len(paths)
        self._columns["portable_digest"] += [digest] * len(paths)

    def _number(self, node: NodeSignature) -> int:
        number = self._numbers.get(id(node))
        if number is None:
            number = self._numbers[id(node)] = len(self._distinct)
            self._distinct.append(_node_values(node))
            self._kept.append(node)
        return number

    def table(self) -> Any:
        arrow = self._arrow
        distinct = _table(arrow, {name: NODE_COLUMNS[name] for name in _OF_NODE}, self._distinct)
        repeated = distinct.take(arrow.array(self._of, arrow.int64()))
        values = {"rank": [self._rank] * len(self._of)} | self._columns
        columns = {
            name: arrow.array(values[name], arrow.type_for_alias(kind)) if name in values else repeated[name]
            for name, kind in NODE_COLUMNS.items()
        }
        return arrow.table(columns)


def _node_values(node: NodeSignature) -> dict[str, Any]:
    alone = GraphSignature(nodes=(node,), dependencies=((),))
    return node_row(node) | {"node_digest": portable_digest(alone)}
