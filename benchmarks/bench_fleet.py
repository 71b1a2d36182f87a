"""What many ranks cost: headers against whole dumps, 1,000 ranks, and queries on simulated fleets.

``python benchmarks/bench_fleet.py [--json FILE] [--ranks N] [--rows N ...]``. Export and queries need extra ``fleet``.
The dumps are made of the layers of ``examples/observed/torch-block.dump.json``; the simulated data set is made by seed.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from msgspec.structs import replace

import sigcontract as sc
from sigcontract.fleet import compare_fleet, export_dataset, queries, query_dataset

EXAMPLE = Path(__file__).parents[1] / "examples" / "observed" / "torch-block.dump.json"
GRAPHS, NODES = 50, 400
ROUNDS = 5
#: Most that the engine may take: less than the larger data set.
MEMORY_LIMIT = "2GB"


def chain(nodes: list[sc.NodeSignature]) -> sc.GraphSignature:
    """Return a graph in which each node depends on the one before."""
    edges = [()] + [(sc.Dependency(node=index, from_port=0, to_port=0, type=0),) for index in range(len(nodes) - 1)]
    return sc.GraphSignature(nodes=tuple(nodes), dependencies=tuple(edges))


def dump_of(rank: int, world_size: int) -> sc.SignatureDump:
    """Return the dump of one rank: 50 graphs of 400 nodes; the last rank has other blocks in one kernel."""
    example = sc.load(EXAMPLE, expect=sc.SignatureDump)
    layers = example.graphs[0].graph.nodes
    graphs = []
    for number in range(GRAPHS):
        nodes = []
        for index in range(NODES):
            node = layers[index % len(layers)]
            if isinstance(node, sc.KernelNodeSignature) and index % 7 == 0:
                other = number + 2 if (rank, number, index) == (world_size - 1, 3, 70) else number + 1
                node = replace(node, grid_dim=sc.Dim3(x=other, y=1, z=1))
            nodes.append(node)
        graphs.append(sc.LabeledGraph(label=f"decode/bs={number + 1}", graph=chain(nodes)))
    where = replace(example.environment, rank=rank, world_size=world_size, hostname="node", process_id=rank)
    return replace(example, environment=where, graphs=tuple(graphs))


def write_ranks(folder: Path, count: int) -> int:
    """Write the dumps of many ranks, as text in which only the rank differs; return the bytes of one."""
    text = sc.encode(dump_of(0, count))
    assert text.count(b'"rank":0,') == 1
    for rank in range(count - 1):
        (folder / f"rank{rank}.dump.json").write_bytes(text.replace(b'"rank":0,', b'"rank":%d,' % rank))
    sc.save(dump_of(count - 1, count), folder / f"rank{count - 1}.dump.json")
    return len(text)


def timed(call: Callable[[], Any]) -> float:
    """Return the time of one call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def seconds(call: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Return the least time of a call: what else runs on the machine only adds to it."""
    return min(timed(call) for _ in range(rounds))


def peak_bytes(code: str, *arguments: str) -> int:
    """Return the most memory that a process of its own took for some code."""
    # Not by getrusage: what that gives a new program is at least what its parent took.
    tail = "\nprint(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"
    command = [sys.executable, "-c", code + tail, *arguments]
    return 1024 * int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.split()[-1])  # noqa: S603  our own


def ranks(count: int) -> dict[str, Any]:
    """Time headers, decoding and the whole comparison of many ranks, and what of it is held in memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write_ranks(folder, count)
        files = sorted(folder.iterdir())
        headers = seconds(lambda: [sc.read_header(file) for file in files])
        some = files[: max(1, count // 20)]
        decoding = seconds(lambda: [sc.load(file) for file in some]) / len(some) * count
        checked = seconds(lambda: [sc.load(file, verify=True) for file in some]) / len(some) * count
        report = compare_fleet([folder])
        assert report.answer == "deviate"
        assert [row.label for row in report.rows] == ["decode/bs=4"]
        code = "import sys; from sigcontract.fleet import compare_fleet; compare_fleet([sys.argv[1]])"
        one = "import sys, sigcontract as sc; sc.load(sys.argv[1])"
        return {
            "ranks": count,
            "graphs_each": GRAPHS,
            "nodes_each_graph": NODES,
            "bytes_of_a_dump": size,
            "headers_seconds": headers,
            "decoding_all_seconds": decoding,
            "decoding_and_checking_all_seconds": checked,
            "headers_times_faster_than_decoding": decoding / headers,
            "headers_times_faster_than_checking": checked / headers,
            "whole_comparison_seconds": seconds(lambda: compare_fleet([folder])),
            "peak_bytes": peak_bytes(code, name),
            "peak_bytes_of_one_dump": peak_bytes(one, str(files[0])),
        }


#: The nodes of one rank, as most captured them and as one of 997 ranks did.
SIMULATED_RANK = """
CREATE TABLE one_rank AS SELECT
    deviates,
    'decode/bs=' || (g + 1) AS graph,
    n::BIGINT AS position,
    'nodes[' || n || ']' AS path,
    'sha256:' || sha256('g' || g || deviates) AS portable_digest,
    'sha256:' || sha256('n' || (n % 11) || (deviates AND n = 70)) AS node_digest,
    'kernel' AS type,
    'kernel_' || (n % 11) AS name,
    CASE WHEN deviates AND n = 70 THEN 2 ELSE 1 END::BIGINT AS grid_x,
    1::BIGINT AS grid_y, 1::BIGINT AS grid_z, 128::BIGINT AS block_x, 1::BIGINT AS block_y, 1::BIGINT AS block_z,
    NULL::BIGINT AS cluster_x, NULL::BIGINT AS cluster_y, NULL::BIGINT AS cluster_z,
    0::BIGINT AS dynamic_shared_mem_bytes,
    sha256('c' || (n % 11)) AS code_sha256
FROM range({graphs}) AS graphs(g), range({nodes}) AS nodes(n), (VALUES (true), (false)) AS variants(deviates)
ORDER BY deviates, g, n
"""
SIMULATED_NODES = """
COPY (
    SELECT ranks.rank::BIGINT AS rank, one_rank.* EXCLUDE (deviates)
    FROM range({begin}, {end}) AS ranks(rank) JOIN one_rank ON one_rank.deviates = (ranks.rank % 997 = {seed})
) TO '{folder}/nodes/run=1/part-{part:05}.parquet' (FORMAT parquet, COMPRESSION zstd)
"""
#: In the second run every 89th rank captured one graph otherwise.
SIMULATED_GRAPHS = """
COPY (
    SELECT
        (i // {graphs})::BIGINT AS rank, {ranks}::BIGINT AS world_size, 'node' || (i // {graphs} // 8) AS hostname,
        'rank' || (i // {graphs}) || '.dump.json' AS file, '2026-12-0{run}T00:00:00Z' AS created_at, true AS complete,
        'decode/bs=' || (i % {graphs} + 1) AS graph, {nodes}::BIGINT AS node_count,
        'sha256:' || sha256('g' || (i % {graphs}) || (i // {graphs} % 997 = {seed})
            || ({run} = 2 AND i % {graphs} = 3 AND i // {graphs} % 89 = 0)) AS portable_digest,
        'share:' || (i % {graphs} % 7) AS share_key
    FROM range({ranks} * {graphs}) AS r(i)
) TO '{folder}/graphs/run={run}/part-00000.parquet' (FORMAT parquet, COMPRESSION zstd)
"""
RANKS_PER_PART = 250


def simulate(folder: Path, rows: int, seed: int = 5) -> int:
    """Write a data set as `export_dataset` would, of so many node rows and a second run of graphs; return its bytes."""
    import duckdb  # noqa: PLC0415  no other part needs it

    ranks = rows // (GRAPHS * NODES)
    for name in ("nodes/run=1", "graphs/run=1", "graphs/run=2"):
        (folder / name).mkdir(parents=True)
    facts = {"ranks": ranks, "nodes": NODES, "graphs": GRAPHS, "seed": seed, "folder": folder}
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        connection.execute(SIMULATED_RANK.format(**facts))
        for part, begin in enumerate(range(0, ranks, RANKS_PER_PART)):
            end = min(ranks, begin + RANKS_PER_PART)
            connection.execute(SIMULATED_NODES.format(**facts, begin=begin, end=end, part=part))
        for run in (1, 2):
            connection.execute(SIMULATED_GRAPHS.format(**facts, run=run))
    return sum(file.stat().st_size for file in folder.rglob("*.parquet"))


#: The same questions as an engineer writes them for DuckDB and this data.
BY_HAND = {
    "changes": """
        WITH digests AS (SELECT run, rank, graph, portable_digest FROM graphs)
        SELECT old.run, new.run, coalesce(old.rank, new.rank), coalesce(old.graph, new.graph),
            old.portable_digest, new.portable_digest
        FROM (FROM digests WHERE run = '1') old FULL JOIN (FROM digests WHERE run = '2') new USING (rank, graph)
        WHERE old.portable_digest IS DISTINCT FROM new.portable_digest ORDER BY 3, 4""",
    "divergence": """
        WITH differing AS (SELECT run, graph FROM graphs GROUP BY ALL HAVING count(DISTINCT portable_digest) > 1),
        kinds AS (
            SELECT run, graph, position, node_digest, count(*) AS dumps, min(rank), max(rank), any_value(path),
                any_value(name), any_value(grid_x), any_value(code_sha256)
            FROM nodes SEMI JOIN differing USING (run, graph) GROUP BY run, graph, position, node_digest
        )
        SELECT * FROM kinds QUALIFY count(*) OVER (PARTITION BY run, graph, position) > 1
        ORDER BY run, graph, position, dumps""",
    "kernels": """
        SELECT run, name, code_sha256, count(DISTINCT rank), count(DISTINCT graph), count(*), min(rank), max(rank)
        FROM nodes WHERE type = 'kernel' GROUP BY ALL ORDER BY ALL""",
    "sharing": """
        SELECT run, rank, file, count(*), count(DISTINCT share_key), count(share_key) FROM graphs
        GROUP BY run, rank, file ORDER BY run, rank, file""",
}


def by_hand(folder: Path, sql: str) -> list[Any]:
    """Put a question to DuckDB with nothing of this package."""
    import duckdb  # noqa: PLC0415  as above

    with duckdb.connect(":memory:") as connection:
        connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        for table in ("graphs", "nodes"):
            files = f"{folder}/{table}/run=*/*.parquet"
            connection.execute(
                f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{files}', hive_types_autocast = false)"  # noqa: S608  ours
            )
        rows: list[Any] = connection.execute(sql).fetchall()
        return rows


def questions(rows: int) -> dict[str, Any]:
    """Time the queries of the package on a simulated fleet, in turn with queries written by hand for it."""
    import duckdb  # noqa: PLC0415  as above

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begin = time.perf_counter()
        size = simulate(folder, rows)
        found: dict[str, Any] = {
            "duckdb": duckdb.__version__,
            "rows": rows,
            "ranks": rows // (GRAPHS * NODES),
            "seed": 5,
            "bytes": size,
            "memory_limit": MEMORY_LIMIT,
            "generated_seconds": time.perf_counter() - begin,
        }
        for query in queries():
            asked = len(query_dataset(query, folder, memory_limit=MEMORY_LIMIT).rows)
            assert asked == len(by_hand(folder, BY_HAND[query])) > 0, query
            took, hand = [], []
            for _ in range(ROUNDS):
                took.append(timed(lambda query=query: query_dataset(query, folder, memory_limit=MEMORY_LIMIT)))  # type: ignore[misc]
                hand.append(timed(lambda query=query: by_hand(folder, BY_HAND[query])))  # type: ignore[misc]
            found[query] = {
                "rows": asked,
                "seconds": min(took),
                "by_hand_seconds": min(hand),
                "ratio": min(took) / min(hand),
            }
        found["peak_bytes_of_this_process"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return found


def exporting(count: int) -> dict[str, Any]:
    """Time the export of some ranks."""
    with tempfile.TemporaryDirectory() as name:
        dumps = Path(name, "dumps")
        dumps.mkdir()
        write_ranks(dumps, count)
        begin = time.perf_counter()
        done = export_dataset([dumps], Path(name, "data"))
        took = time.perf_counter() - begin
        return {"ranks": count, "nodes": done.nodes, "seconds": took, "nodes_per_second": done.nodes / took}


def main() -> None:
    """Run all parts and print what they found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--ranks", type=int, default=1000)
    parser.add_argument(
        "--rows",
        type=int,
        nargs="*",
        default=[50_000_000, 200_000_000],
        help="node rows of each simulated fleet (default: 2,500 and 10,000 ranks)",
    )
    args = parser.parse_args()
    found: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "msgspec": version("msgspec"),
        "cpu_cores": os.cpu_count(),
        "ranks": ranks(args.ranks),
    }
    if args.rows:
        found["export"] = exporting(20)
        found["questions"] = [questions(rows) for rows in args.rows]
    text = json.dumps(found, indent=2)
    print(text)
    if args.json:
        Path(args.json).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
