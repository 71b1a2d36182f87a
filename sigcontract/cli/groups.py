"""``sigcontract groups``: which graphs can share an executable, and what prevents it for the others."""

import argparse
import shlex
from collections.abc import Sequence

from sigcontract.cli.flags import add_flags
from sigcontract.cli.outputs import FORMATS, add_outputs, deliver, outputs_of
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.cli.profiles import load_profile
from sigcontract.fleet import compare_fleet
from sigcontract.model import (
    DriverProfile,
    GroupsReport,
    SignatureDump,
)
from sigcontract.profiles import (
    named_profile,
)
from sigcontract.report import (
    Outcome,
    fleet_text,
    groups_html,
    render_groups,
    safe,
)
from sigcontract.update import (
    GROUPING_POLICIES,
    MEMORY_SOURCE,
    gaps,
    group_dumps,
)
from sigcontract.wire import (
    escaped_name,
    load,
)

__all__ = ["register", "run"]

#: Most files named on the line that suggests a command.
_FILES = 4

_EXAMPLE = """\
sigcontract groups server.dump.json                             functions may differ if a profile is known
sigcontract groups server.dump.json --policy share              the registry's default policy
sigcontract groups server.dump.json --policy share-updatable    the fewest executables that are proven safe
sigcontract groups rank0.dump.json rank1.dump.json --policy portable
                                                                which graphs two ranks share
"""

_DESCRIPTION = """\
Show which graphs can share an executable, the closest match in another group with the differences that prevent sharing,
and the executables and memory saved. The default policy is share-functions if a driver profile lists what goes stale,
else share. One line each summarizes the other policies.

exit status: 0 done, 2 wrong usage or input, 3 a dump is truncated or empty, or the profile does not apply to it
"""


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "groups",
        summary="show which graphs can share an executable, and what that saves",
        description=_DESCRIPTION,
        example=_EXAMPLE,
        formats=FORMATS,
    )
    add_outputs(parser)
    parser.add_argument(
        "dumps", metavar="DUMP", nargs="+", help="a dump; graphs share executables within one dump only"
    )
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="POLICY",
        help=f"one of {', '.join(GROUPING_POLICIES)}; may be repeated "
        "(default: share-functions; share without a profile)",
    )
    add_flags(parser)
    parser.add_argument("--profile", metavar="ID|FILE", help="driver profile (default: the one named in the dumps)")


def run(args: argparse.Namespace) -> int:
    """Group and show."""
    outputs = outputs_of(args)
    dumps = [load(path, expect=SignatureDump) for path in args.dumps]
    profile = named_profile(*dumps) if args.profile is None else load_profile(args.profile)
    policies = args.policy or ["share" if profile is None else "share-functions"]
    # `fleet` compares ranks; as groups they make one endless line.
    only_text = {form for form, _ in outputs} == {"text"}
    by_rank = only_text and "portable" in policies and sum(d.environment.rank is not None for d in dumps) > 1
    report = GroupsReport(
        dumps=tuple(map(escaped_name, args.dumps)),
        gaps=gaps(dumps),
        profile=None if profile is None else profile.id,
        flags=args.flags,
        memory_source=MEMORY_SOURCE,
        policies=group_dumps(
            dumps, [policy for policy in policies if not (by_rank and policy == "portable")], profile, flags=args.flags
        ),
    )
    outcome = Outcome(
        command="groups",
        record=report,
        answer="undetermined" if report.gaps else "passed",
        files=report.dumps,
        text=lambda _color, width: _text(args, dumps, report, profile, by_rank=by_rank, width=width),
        html=lambda: groups_html(report),
    )
    deliver(outcome, outputs)
    return Exit.UNDETERMINED if report.gaps else Exit.OK


def _text(  # noqa: PLR0913  the groups, the policies, and how to draw them
    args: argparse.Namespace,
    dumps: Sequence[SignatureDump],
    report: GroupsReport,
    profile: DriverProfile | None,
    *,
    by_rank: bool,
    width: int,
) -> str:
    drawn = ""
    if report.policies or report.gaps or not by_rank:
        judged = {found.policy for found in report.policies} | ({"portable"} if by_rank else set())
        others = [] if args.policy else [policy for policy in GROUPING_POLICIES if policy not in judged]
        drawn = render_groups(report, group_dumps(dumps, others, profile, flags=args.flags, nearest=0), width=width)
    if by_rank:
        files = " ".join(map(shlex.quote, args.dumps)) if len(args.dumps) <= _FILES else "DIR"
        drawn += f"portable: to compare the dumps of ranks, run `sigcontract fleet {safe(files)}`:\n"
        drawn += fleet_text(compare_fleet(args.dumps), width=width)
    return drawn
