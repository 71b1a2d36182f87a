"""``sigcontract diff`` given folders: the dumps of two runs, rank by rank."""

import argparse
import sys

from sigcontract.cli.parser import Exit
from sigcontract.cli.profiles import load_profile
from sigcontract.cli.terminal import columns, status_line, use_color
from sigcontract.compare import gate
from sigcontract.errors import UsageError
from sigcontract.fleet import RankComparison, compare_by_rank
from sigcontract.model import Verdict
from sigcontract.report import counted, diff_text, gap_lines, safe
from sigcontract.wire import encode

__all__ = ["run_by_rank"]

_STATUS = {"passed": Exit.OK, "failed": Exit.GATE, "undetermined": Exit.UNDETERMINED}


def run_by_rank(args: argparse.Namespace) -> int:
    """Compare, write, and say whether the gate passed on every rank."""
    if args.pair or args.output or args.format not in ("text", "json"):
        raise UsageError("folders are compared rank by rank, as text or json; give two dumps for anything else")
    profile = None if args.profile is None else load_profile(args.profile)
    with status_line() as say:
        compared = compare_by_rank(
            [args.old],
            [args.new],
            profile,
            policy=args.policy,
            labels=args.graph,
            each=lambda number, of: say(f"{number}/{of} pairs"),
        )
    document = compared.document
    sys.stdout.write(encode(document).decode() if args.format == "json" else _text(compared))
    passed = gate((finding for each in document.diffs for finding in each.diff.findings), args.fail_on)
    if passed == "passed" and (document.gaps or not document.diffs):
        passed = "undetermined"
    return _STATUS[passed]


def _text(compared: RankComparison) -> str:
    document = compared.document
    lines = []
    differing = sum(each.diff.verdict is not Verdict.IDENTICAL for each in document.diffs)
    kinds = counted(len(document.diffs), "kind")
    lines.append(
        f"{document.verdict}: {kinds} of rank, {differing} with differences, {counted(len(document.gaps), 'gap')}"
    )
    for each, comparison in zip(document.diffs, compared.comparisons, strict=True):
        lines += ["", f"rank {safe(each.ranks)}: {safe(each.old_file)} → {safe(each.new_file)}"]
        shown = diff_text(comparison, color=use_color(sys.stdout), width=columns() - 2)
        lines += [f"  {line}".rstrip() for line in shown.splitlines()]
    if document.gaps:
        lines += ["", *gap_lines(document.gaps)]
    return "\n".join(lines) + "\n"
