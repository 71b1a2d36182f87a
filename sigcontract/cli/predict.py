"""``sigcontract predict``: what cuGraphExecUpdate returns, at which node it fails, and what runs afterwards."""

import argparse
import sys
from pathlib import Path

from sigcontract.cli.flags import add_flags
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.cli.profiles import load_profile
from sigcontract.cli.terminal import columns
from sigcontract.errors import NotComparableError, UsageError
from sigcontract.model import GraphPrediction, GraphSignature, SignatureDump, Verdict
from sigcontract.profiles import check_profile, named_profile
from sigcontract.report import render_prediction
from sigcontract.update import by_label, no_graph, predict_update
from sigcontract.wire import encode, load

__all__ = ["register", "run"]

_EXAMPLE = """\
sigcontract predict server.dump.json --held bs=1 --candidate bs=2
                                                                why the update fails
sigcontract predict server.dump.json --held bs=2 --candidate bs=1 --fixed bs=1
                                                                and back, for an executable first launched with bs=1
sigcontract predict a.dump.json b.dump.json --held bs=1 --candidate bs=1 --flags USE_NODE_PRIORITY
                                                                two dumps of one process
"""

_DESCRIPTION = """\
Predict cuGraphExecUpdate of an executable to another graph of the same process: the driver's result, its error node and
error-from node by path, and whether the executable then runs what a fresh instantiation runs, and if not, why.

exit status: 0 the update succeeds and takes effect, 1 it is rejected or leaves stale values, 2 wrong usage or input, 3
undetermined
"""

_STATUS = {Verdict.REJECTED: Exit.GATE, Verdict.STALE: Exit.GATE, Verdict.UNDETERMINED: Exit.UNDETERMINED}


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "predict",
        summary="predict an update of an executable from one graph to another",
        description=_DESCRIPTION,
        example=_EXAMPLE,
    )
    parser.add_argument("dumps", metavar="DUMP", nargs="+", help="a dump, or two: the second holds the candidate")
    parser.add_argument("--held", metavar="LABEL", required=True, help="the graph the executable holds")
    parser.add_argument("--candidate", metavar="LABEL", required=True, help="the graph to update it to")
    parser.add_argument(
        "--fixed", metavar="LABEL", help="the graph of the executable's first launch or upload (default: --held)"
    )
    add_flags(parser)
    parser.add_argument("--profile", metavar="ID|FILE", help="driver profile (default: the one named in the dumps)")


def run(args: argparse.Namespace) -> int:
    """Predict and show."""
    if len(args.dumps) > 2:  # noqa: PLR2004  one with the held graph, one with the candidate
        raise UsageError(
            "predict takes one dump, or two of one process: first that of --held, then that of --candidate"
        )
    dumps = [load(path, expect=SignatureDump) for path in args.dumps]
    first, last = dumps[0], dumps[-1]
    if first is not last:
        _check_one_process(first, last, args.dumps)
    profile = named_profile(*dumps) if args.profile is None else load_profile(args.profile)
    if profile is not None:
        for dump in dumps:
            check_profile(profile, dump.environment)
    prediction = predict_update(
        _graph(first, args.held, args.dumps[0]),
        _graph(last, args.candidate, args.dumps[-1]),
        profile,
        None if args.fixed is None else _graph(first, args.fixed, args.dumps[0]),
        flags=args.flags,
    )
    found = GraphPrediction(
        held=args.held,
        candidate=args.candidate,
        fixed=args.fixed,
        flags=args.flags,
        profile=None if profile is None else profile.id,
        prediction=prediction,
    )
    if args.format == "json":
        sys.stdout.write(encode(found).decode())
    else:
        sys.stdout.write(render_prediction(found, width=columns()))
    return _STATUS.get(prediction.verdict, Exit.OK)


def _graph(dump: SignatureDump, label: str, file: str) -> GraphSignature:
    graphs = by_label(dump, file)
    if label not in graphs:
        raise no_graph(label, sorted(graphs), file)
    return graphs[label].graph


def _check_one_process(first: SignatureDump, last: SignatureDump, files: list[str]) -> None:
    """Refuse dumps not known to come from one process: handles mean nothing in another."""
    names = [(dump.environment.hostname, dump.environment.process_id) for dump in (first, last)]
    if names[0] != names[1] or None in names[0]:
        old, new = (Path(file).name for file in files)
        raise NotComparableError(
            f"{old} and {new} are not known to come from one process, and an executable belongs to one; "
            "`sigcontract diff` compares two runs",
            code="two_processes",
        )
