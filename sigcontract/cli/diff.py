"""``sigcontract diff``: how two dumps differ, and what an update would make of each difference."""

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
sigcontract diff a.dump.json b.dump.json --fail-on rejected     status 1 from rejected updates on
sigcontract diff a.dump.json a.dump.json --pair bs=1 bs=2       two graphs of one dump
sigcontract predict a.dump.json --held bs=1 --candidate bs=2    why an update of the one to the other fails
sigcontract diff a.dump.json b.dump.json --output json=diff.json --output github=-
                                                                several forms from one run
sigcontract diff run1 run2                                      two folders, rank by rank
"""

_DESCRIPTION = """\
Compare two dumps: graphs by label, then by digest, then by similarity; nodes aligned, so that an inserted one is one
finding; functions by which of them are the same, as handles mean nothing in another process. Each finding says what
cuGraphExecUpdate would make of it.

exit status: 0 nothing at or above --fail-on, 1 the gate failed, 2 wrong usage or input, 3 cannot tell
"""


#: Forms that place nothing in a file.
_WITHOUT_LINES = frozenset({"text", "json", "markdown", "html"})
_STATUS = {"passed": Exit.OK, "failed": Exit.GATE, "undetermined": Exit.UNDETERMINED}


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "diff",
        summary="compare two dumps, and say what an update would make of each difference",
        description=_DESCRIPTION,
        example=_EXAMPLE,
        formats=FORMATS,
    )
    parser.add_argument("old", metavar="OLD", help="a dump, or a folder of dumps, one for each rank")
    parser.add_argument("new", metavar="NEW", help="what to compare it with; OLD again, for two graphs of one dump")
    add_outputs(parser)
    parser.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        default=FAIL_ON[0],
        help="the least verdict that fails the gate (default: any difference)",
    )
    parser.add_argument(
        "--policy", default="portable", help=f"same for what: {', '.join(POLICIES)} (default: portable)"
    )
    parser.add_argument(
        "--profile", metavar="ID|FILE", help="driver profile for the verdicts (default: the one that both dumps name)"
    )
    add_flags(parser)
    parser.add_argument(
        "--graph", action="append", default=[], metavar="LABEL", help="only this graph; may be given several times"
    )
    parser.add_argument(
        "--pair",
        action="append",
        nargs=2,
        default=[],
        metavar=("OLD", "NEW"),
        help="compare the graph labelled OLD with the one labelled NEW, whatever their labels say; may be repeated",
    )
    parser.add_argument(
        "--verdicts",
        action=argparse.BooleanOptionalAction,
        help="text: say of each change what an update makes of it, and why (default: within one capture)",
    )


def run(args: argparse.Namespace) -> int:
    """Compare, write every form that was asked for, and say whether the gate passed."""
    if Path(args.old).is_dir() or Path(args.new).is_dir():
        return run_by_rank(args)
    outputs = outputs_of(args)
    with _uncollected():
        profile = None if args.profile is None else load_profile(args.profile)
        old = load(args.old, expect=SignatureDump)
        # One file is one dump; two equal ones need not be, where they cannot say what differs.
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
    """Keep the cyclic collector from walking through records, which hold no cycles, while they pile up."""
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
        return False  # loading says what is wrong with it
