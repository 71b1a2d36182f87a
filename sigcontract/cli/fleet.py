"""``sigcontract fleet``: which ranks captured something else; Parquet export and SQL queries."""

import argparse
import sys
from typing import Final, Literal

from sigcontract.cli.outputs import FORMATS, add_outputs, deliver, outputs_of
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.cli.terminal import status_line
from sigcontract.errors import UsageError
from sigcontract.fleet import compare_fleet, export_dataset, queries, query_dataset
from sigcontract.model import FleetAnswer, FleetReport
from sigcontract.report import Outcome, counted, fleet_html, fleet_text, query_text, safe
from sigcontract.wire import encode

__all__ = ["register", "run"]

_EXAMPLE = """\
sigcontract fleet dumps                                   whether all ranks in this directory agree
sigcontract fleet dumps --reference 0                     what differs from rank 0
sigcontract fleet dumps --group-by rank/8                 within pipeline stages of eight ranks
sigcontract fleet export dumps -o data                    a Parquet data set, for many runs and ranks
sigcontract fleet query divergence data                   where ranks differ, in SQL
sigcontract fleet query divergence data --engine sc://spark.example:15002
                                                          the same on an existing Spark cluster
"""

_DESCRIPTION = """\
Compare the dumps of many ranks. Header digests group the ranks into classes that captured the same graphs. One dump per
class is decoded to name the graph, node and field that deviate from the majority or the reference. A missing or broken
dump, or one of another run, is a gap.

`fleet export` writes a Parquet data set, `fleet query` queries one (extra `fleet`). Write ./export for a directory of
that name.

exit status: 0 all ranks agree, 1 some deviate, 2 wrong usage or input, 3 undetermined: no deviation, but gaps
"""

_ANSWERS: Final[dict[FleetAnswer, Literal["passed", "failed", "undetermined"]]] = {
    "agree": "passed",
    "deviate": "failed",
    "undetermined": "undetermined",
}
_STATUS = {"passed": Exit.OK, "failed": Exit.GATE, "undetermined": Exit.UNDETERMINED}
#: Options by subcommand.
_OPTIONS = {
    "compare": {"reference", "group_by", "allow_incomplete", "verify", "output"},
    "export": {"dataset", "run_id", "force"},
    "query": {"engine", "memory_limit"},
}
_FORMATS = {"compare": FORMATS, "export": ("text",), "query": ("text", "json")}


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "fleet",
        summary="compare the dumps of many ranks",
        description=_DESCRIPTION,
        example=_EXAMPLE,
        formats=_FORMATS["compare"],
    )
    parser.add_argument(
        "dumps",
        metavar="DIR|DUMP",
        nargs="+",
        help="a directory of dumps, or a dump, also after `export`; after `query`: a query by name or as an .sql file, "
        "and a data set",
    )
    compared = parser.add_argument_group("comparing")
    compared.add_argument(
        "--reference",
        metavar="RANK|DUMP",
        help="the expected signatures (default: what more than half of the ranks captured)",
    )
    compared.add_argument(
        "--group-by",
        metavar="PATTERN",
        help="compare within groups only: host, host=REGEX, label=REGEX, rank=REGEX, rank/N (blocks "
        "of N ranks) or rank%%N",
    )
    compared.add_argument("--allow-incomplete", action="store_true", help="list gaps without failing")
    add_outputs(compared)
    compared.add_argument("--verify", action="store_true", help="decode every dump and check its digests")
    exported = parser.add_argument_group("export")
    exported.add_argument(
        "-o", "--dataset", metavar="DATASET", help="directory of the data set; the run is added to it"
    )
    exported.add_argument("--run-id", metavar="NAME", help="name of the run (default: time of its first dump)")
    exported.add_argument("--force", action="store_true", help="replace a run of that name")
    asked = parser.add_argument_group("query")
    asked.add_argument(
        "--engine",
        metavar="ENGINE",
        help="duckdb, or a Spark Connect server, sc://HOST:PORT (default: duckdb)",
    )
    asked.add_argument("--memory-limit", metavar="SIZE", help="memory of duckdb before it spills to disk, such as 4GB")


def run(args: argparse.Namespace) -> int:
    """Compare, export or query."""
    word = args.dumps[0] if args.dumps[0] in ("export", "query") else "compare"
    foreign = {option for other, options in _OPTIONS.items() if other != word for option in options}
    for option in sorted(foreign):
        if getattr(args, option):
            flag = option.replace("_", "-")
            given = "fleet" if word == "compare" else f"fleet {word}"
            raise UsageError(
                f"--{flag} does not apply to {given}; `sigcontract fleet --help` lists the options of each"
            )
    if args.format not in _FORMATS[word]:
        raise UsageError(f"fleet {word} has no format {args.format}; use {' or '.join(_FORMATS[word])}")
    return {"compare": _compare, "export": _export, "query": _query}[word](args)


def _compare(args: argparse.Namespace) -> int:
    outputs = outputs_of(args)
    with status_line() as say:
        report = compare_fleet(
            args.dumps,
            reference=_reference(args.reference),
            group_by=args.group_by,
            verify=args.verify,
            progress=lambda step, number, total: say(f"{number}/{total} {step}"),
        )
    answer = _ANSWERS[report.answer]
    if args.allow_incomplete and answer == "undetermined" and _was_compared(report):
        answer = "passed"
    outcome = Outcome(
        command="fleet",
        record=report,
        answer=answer,
        files=tuple(args.dumps),
        text=lambda color, width: fleet_text(report, color=color, width=width),
        html=lambda: fleet_html(report),
        gaps_pass=args.allow_incomplete,
    )
    deliver(outcome, outputs)
    return _STATUS[answer]


def _was_compared(report: FleetReport) -> bool:
    """Return whether any two dumps have a graph in common; if none have, nothing was compared."""
    return any(len(each.dumps) > 1 for graphs in report.graphs for each in graphs.classes)


def _reference(given: str | None) -> int | str | None:
    return int(given) if given is not None and given.isascii() and given.isdecimal() else given


def _export(args: argparse.Namespace) -> int:
    if args.dataset is None or len(args.dumps) == 1:
        raise UsageError("fleet export takes dumps and -o DATASET; `sigcontract fleet --help` shows an example")
    with status_line() as say:
        done = export_dataset(
            args.dumps[1:],
            args.dataset,
            run_id=args.run_id,
            replace=args.force,
            progress=lambda step, number, total: say(f"{number}/{total} {step}"),
        )
    counts = f"{counted(done.dumps, 'dump')}, {counted(done.graphs, 'graph')}, {counted(done.nodes, 'node')}"
    sys.stdout.write(f"{safe(args.dataset)}: run {done.run_id}, {counts}\n")
    for unreadable in done.unreadable:
        sys.stdout.write(f"  left out: {safe(unreadable.name)}: {safe(unreadable.reason)}\n")
    return Exit.UNDETERMINED if done.unreadable else Exit.OK


def _query(args: argparse.Namespace) -> int:
    if len(args.dumps) != 3:  # noqa: PLR2004  `query`, its name, the data set
        known = "".join(f"\n  {query.name}: {query.about}" for query in queries().values())
        raise UsageError(f"fleet query takes a query and a data set; queries:{known}")
    _, query, dataset = args.dumps
    result = query_dataset(query, dataset, engine=args.engine or "duckdb", memory_limit=args.memory_limit)
    sys.stdout.write(encode(result).decode() if args.format == "json" else query_text(result))
    return Exit.OK
