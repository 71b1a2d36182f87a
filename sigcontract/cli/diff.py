"""``sigcontract diff``: how two dumps differ, and what cuGraphExecUpdate does about each difference."""

import argparse
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sigcontract.cli.diff_ranks import run_by_rank
from sigcontract.cli.flags import add_flags
from sigcontract.cli.outputs import FORMATS, add_outputs, deliver, outputs_of
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.cli.profiles import load_profile
from sigcontract.compare import (
    FAIL_ON,
    compare_dumps,
    gate,
)
from sigcontract.contract import label_lines
from sigcontract.model import (
    SignatureDump,
)
from sigcontract.report import Outcome, diff_html, diff_text
from sigcontract.update import (
    POLICIES,
)
from sigcontract.wire import (
    load,
)

__all__ = ["register", "run"]

_EXAMPLE = """\
sigcontract diff before.dump.json after.dump.json               what differs, layer by layer
sigcontract diff a.dump.json b.dump.json --fail-on rejected     exit status 1 for rejected or worse
sigcontract diff a.dump.json a.dump.json --pair bs=1 bs=2       two graphs of one dump
sigcontract predict a.dump.json --held bs=1 --candidate bs=2    why the update fails
sigcontract diff a.dump.json b.dump.json --output json=diff.json --output github=-
                                                                several formats from one run
sigcontract diff run1 run2                                      two directories, rank by rank
"""

_DESCRIPTION = """\
Compare two dumps. Graphs are matched by label, then digest, then similarity. Nodes are aligned, so an inserted node is
one finding. Handles are renumbered by first use, as they mean nothing in another process. Each finding states what
cuGraphExecUpdate does about it.

Arguments of kernels are compared if both dumps were recorded with `record --arguments`: values by their offset in the
parameter buffer, pointers by the allocation they point into. If one dump has them and the other does not, the result is
undetermined; if neither has, the output ends with "not compared: arguments of kernels".

exit status: 0 nothing at or above --fail-on, 1 the gate failed, 2 wrong usage or input, 3 undetermined
"""


#: Formats without source locations.
_WITHOUT_LINES = frozenset({"text", "json", "markdown", "html"})
_STATUS = {"passed": Exit.OK, "failed": Exit.GATE, "undetermined": Exit.UNDETERMINED}


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "diff",
        summary="compare two dumps, and predict what an update does about each difference",
        description=_DESCRIPTION,
        example=_EXAMPLE,
        formats=FORMATS,
    )
    parser.add_argument("old", metavar="OLD", help="a dump, or a directory of dumps, one per rank")
    parser.add_argument(
        "new", metavar="NEW", help="the dump to compare with; OLD again to compare two graphs of one dump"
    )
    add_outputs(parser)
    parser.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        default=FAIL_ON[0],
        help="lowest verdict that fails the gate (default: any difference)",
    )
    parser.add_argument(
        "--policy", default="portable", help=f"what counts as the same: {', '.join(POLICIES)} (default: portable)"
    )
    parser.add_argument(
        "--profile", metavar="ID|FILE", help="driver profile for the verdicts (default: the one named in both dumps)"
    )
    add_flags(parser)
    parser.add_argument(
        "--graph", action="append", default=[], metavar="LABEL", help="only this graph; may be repeated"
    )
    parser.add_argument(
        "--pair",
        action="append",
        nargs=2,
        default=[],
        metavar=("OLD", "NEW"),
        help="compare graph OLD with graph NEW despite their different labels; may be repeated",
    )
    parser.add_argument(
        "--verdicts",
        action=argparse.BooleanOptionalAction,
        help="text: explain what an update does about each change (default: within one capture)",
    )


def run(args: argparse.Namespace) -> int:
    """Compare, write every requested format, and return whether the gate passed."""
    if Path(args.old).is_dir() or Path(args.new).is_dir():
        return run_by_rank(args)
    outputs = outputs_of(args)
    with _uncollected():
        profile = None if args.profile is None else load_profile(args.profile)
        old = load(args.old, expect=SignatureDump)
        # A file equals itself. Two files of equal bytes need not: unknown values may differ.
        new = old if _same_file(args.old, args.new) else load(args.new, expect=SignatureDump)
        comparison = compare_dumps(
            old, new, profile, policy=args.policy, flags=args.flags, labels=args.graph, pairs=args.pair
        )
        answer = gate(comparison.diff, args.fail_on)
        outcome = Outcome(
            command="diff",
            record=comparison.diff,
            answer=answer,
            files=(args.old, args.new),
            text=lambda color, width: diff_text(comparison, color=color, width=width, verdicts=args.verdicts),
            html=lambda: diff_html(comparison),
            fail_on=args.fail_on,
            lines=label_lines(args.new) if {form for form, _ in outputs} - _WITHOUT_LINES else {},
        )
        deliver(outcome, outputs)
    return _STATUS[answer]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the cyclic garbage collector: records hold no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _same_file(a: str, b: str) -> bool:
    try:
        return Path(a).samefile(b)
    except (OSError, ValueError):
        return False  # loading reports what is wrong with it
