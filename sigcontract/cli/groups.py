"""``sigcontract groups``: which graphs could share one executable, and what keeps the others apart."""

import argparse
import shlex
import sys

from sigcontract.cli.flags import add_flags
from sigcontract.cli.output import escaped_name
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.cli.profiles import load_profile
from sigcontract.cli.terminal import columns
from sigcontract.fleet import compare_fleet
from sigcontract.model import (
    GroupsReport,
    SignatureDump,
)
from sigcontract.profiles import (
    named_profile,
)
from sigcontract.report import (
    fleet_text,
    render_groups,
    safe,
)
from sigcontract.update import (
    MEMORY_SOURCE,
    POLICIES,
    gaps,
    group_dumps,
)
from sigcontract.wire import (
    encode,
    load,
)

__all__ = ["register", "run"]

#: Files that a command on one line can name.
_FILES = 4

_EXAMPLE = """\
sigcontract groups server.dump.json                             under the widest policy that is safe
sigcontract groups server.dump.json --policy share              as a registry shares by default
sigcontract groups rank0.dump.json rank1.dump.json --policy portable
                                                                which are the same on two ranks
"""

_DESCRIPTION = """\
Show which graphs could share an executable, the graph of another group that each comes nearest to with what keeps the
two apart, and the executables and memory that sharing saves. By default the policy is the widest that is safe: under a
driver profile, which says what may go stale, functions may differ; else they may not. One line says what each other
policy would give.

exit status: 0 done, 2 wrong usage or input, 3 a dump is cut off or empty, or cannot be judged by the profile
"""


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "groups",
        summary="show which graphs could share an executable, and what that saves",
        description=_DESCRIPTION,
        example=_EXAMPLE,
    )
    parser.add_argument("dumps", metavar="DUMP", nargs="+", help="a dump; an executable is shared inside of one only")
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="POLICY",
        help=f"one of {', '.join(POLICIES)}; may be given several times (default: the widest that is safe)",
    )
    add_flags(parser)
    parser.add_argument(
        "--profile", metavar="ID|FILE", help="driver profile to judge by (default: the one that the dumps name)"
    )


def run(args: argparse.Namespace) -> int:
    """Group and show."""
    dumps = [load(path, expect=SignatureDump) for path in args.dumps]
    profile = named_profile(*dumps) if args.profile is None else load_profile(args.profile)
    policies = args.policy or ["share" if profile is None else "share-functions"]
    # Ranks are held against each other by `fleet`, which knows them; as groups they are one endless line.
    by_rank = (
        args.format == "text" and "portable" in policies and sum(d.environment.rank is not None for d in dumps) > 1
    )
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
    if args.format == "json":
        sys.stdout.write(encode(report).decode())
    else:
        others = [] if args.policy else [policy for policy in POLICIES if policy not in policies]
        if report.policies or report.gaps or not by_rank:
            rest = group_dumps(dumps, others, profile, flags=args.flags, nearest=0)
            sys.stdout.write(render_groups(report, rest, width=columns()))
    if by_rank:
        files = " ".join(map(shlex.quote, args.dumps)) if len(args.dumps) <= _FILES else "DIR"
        sys.stdout.write(f"portable: dumps of ranks, as `sigcontract fleet {safe(files)}` compares them:\n")
        sys.stdout.write(fleet_text(compare_fleet(args.dumps), width=columns()))
    return Exit.UNDETERMINED if report.gaps else Exit.OK
