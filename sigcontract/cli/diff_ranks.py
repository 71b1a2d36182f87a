"""``sigcontract diff`` of directories: the dumps of two runs, rank by rank."""

import argparse
import sys
from typing import Literal

from sigcontract.cli.outputs import deliver, outputs_of
from sigcontract.cli.parser import Exit
from sigcontract.cli.profiles import load_profile
from sigcontract.cli.terminal import columns, status_line, use_color
from sigcontract.compare import DumpComparison, gate
from sigcontract.errors import UsageError
from sigcontract.fleet import compare_by_rank
from sigcontract.model import RankDiff, RankDiffs
from sigcontract.report import Outcome, RanksPage, diff_text, gap_lines, ranks_head, safe

__all__ = ["run_by_rank"]


def run_by_rank(args: argparse.Namespace) -> int:
    """Compare, write, and return whether the gate passes on every rank."""
    if args.pair:
        raise UsageError("directories are compared rank by rank; give two dumps to compare a pair of graphs")
    outputs = outputs_of(args)
    texts = [file for form, file in outputs if form == "text"]
    color, width = (use_color(sys.stdout), columns()) if texts == ["-"] else (False, 120)
    profile = None if args.profile is None else load_profile(args.profile)
    drawn: list[str] = []
    page = RanksPage() if any(form == "html" for form, _ in outputs) else None

    def draw(each: RankDiff, comparison: DumpComparison) -> None:
        if page is not None:
            page.add(each, comparison)
        if not texts:
            return
        noun = "rank" if each.ranks.isdecimal() else "ranks"
        drawn.extend(("", f"{noun} {safe(each.ranks)}: {safe(each.old_file)} → {safe(each.new_file)}"))
        shown = diff_text(comparison, color=color, width=width - 2)
        drawn.extend(f"  {line}".rstrip() for line in shown.splitlines())

    with status_line() as say:
        found = compare_by_rank(
            [args.old],
            [args.new],
            profile,
            policy=args.policy,
            labels=args.graph,
            progress=lambda step, number, total: say(f"{number}/{total} {step}"),
            on_diff=draw,
        )
    gaps = ["", *gap_lines(found.gaps, width)] if found.gaps else []
    text = "\n".join([ranks_head(found), *drawn, *gaps]) + "\n"
    answer = _answer(found, args.fail_on)
    outcome = Outcome(
        command="diff",
        record=found,
        answer=answer,
        files=(args.old, args.new),
        text=lambda _color, _width: text,
        html=lambda: (page or RanksPage()).html(found),
        fail_on=args.fail_on,
    )
    deliver(outcome, outputs)
    return {"passed": Exit.OK, "failed": Exit.GATE, "undetermined": Exit.UNDETERMINED}[answer]


def _answer(found: RankDiffs, fail_on: str) -> Literal["passed", "failed", "undetermined"]:
    answers = {gate(each.diff, fail_on) for each in found.diffs}
    if "failed" in answers:
        return "failed"
    return "undetermined" if "undetermined" in answers or found.gaps or not found.diffs else "passed"
