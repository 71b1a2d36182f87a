"""``sigcontract diff`` of folders: the dumps of two runs, rank by rank."""

import argparse
import sys

from sigcontract.cli.parser import Exit
from sigcontract.cli.profiles import load_profile
from sigcontract.cli.terminal import columns, status_line, use_color
from sigcontract.compare import DumpComparison, gate
from sigcontract.errors import UsageError
from sigcontract.fleet import compare_by_rank
from sigcontract.model import RankDiff, RankDiffs, Verdict
from sigcontract.report import counted, diff_text, gap_lines, safe
from sigcontract.wire import encode

__all__ = ["run_by_rank"]


def run_by_rank(args: argparse.Namespace) -> int:
    """Compare, write, and return whether the gate passes on every rank."""
    if args.pair or args.output or args.format not in ("text", "json"):
        raise UsageError("folders are compared rank by rank, as text or json; other forms and options take two dumps")
    profile = None if args.profile is None else load_profile(args.profile)
    drawn: list[str] = []

    def draw(each: RankDiff, comparison: DumpComparison) -> None:
        noun = "rank" if each.ranks.isdecimal() else "ranks"
        drawn.extend(("", f"{noun} {safe(each.ranks)}: {safe(each.old_file)} → {safe(each.new_file)}"))
        shown = diff_text(comparison, color=use_color(sys.stdout), width=columns() - 2)
        drawn.extend(f"  {line}".rstrip() for line in shown.splitlines())

    with status_line() as say:
        found = compare_by_rank(
            [args.old],
            [args.new],
            profile,
            policy=args.policy,
            labels=args.graph,
            progress=lambda step, number, total: say(f"{number}/{total} {step}"),
            on_diff=draw if args.format == "text" else lambda *_: None,
        )
    if args.format == "json":
        sys.stdout.write(encode(found).decode())
    else:
        gaps = ["", *gap_lines(found.gaps, columns())] if found.gaps else []
        sys.stdout.write("\n".join([_head(found), *drawn, *gaps]) + "\n")
    answers = {gate(each.diff, args.fail_on) for each in found.diffs}
    if "failed" in answers:
        return Exit.GATE
    return Exit.UNDETERMINED if "undetermined" in answers or found.gaps or not found.diffs else Exit.OK


def _head(found: RankDiffs) -> str:
    differing = sum(each.diff.verdict is not Verdict.IDENTICAL for each in found.diffs)
    gaps = f", {counted(len(found.gaps), 'gap')}" if found.gaps else ""
    return f"{found.verdict}: {counted(len(found.diffs), 'distinct pair')} of dumps, {differing} with differences{gaps}"
