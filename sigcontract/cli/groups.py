"""``sigcontract groups``: which graphs could share one executable, and what keeps the others apart."""

import argparse
import shlex
import sys

from sigcontract.cli.output import write_json
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.cli.profiles import load_profile
from sigcontract.cli.terminal import columns
from sigcontract.fleet import compare_fleet
from sigcontract.model import (
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
    load,
)

__all__ = ["register", "run"]

#: Files that a command on one line can name.
_FILES = 4

_EXAMPLE = """\
sigcontract groups server.dump.json                             under every policy
sigcontract groups server.dump.json --policy share              as a registry would share
sigcontract groups a.dump.json b.dump.json --policy portable    which are the same in two processes
"""

_DESCRIPTION = """\
Show which graphs could share an executable under each policy, the nearest miss of each graph that is alone with what
parts the two, and the executables and memory that sharing saves.

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
        help=f"only this one of {', '.join(POLICIES)}; may be given several times",
    )
    parser.add_argument(
        "--profile", metavar="ID|FILE", help="driver profile to judge by (default: the one that the dumps name)"
    )


def run(args: argparse.Namespace) -> int:
    """Group and show."""
    dumps = [load(path, expect=SignatureDump) for path in args.dumps]
    profile = named_profile(*dumps) if args.profile is None else load_profile(args.profile)
    policies = args.policy or list(POLICIES)
    # Ranks are held against each other by `fleet`, which knows them; as groups they are one endless line.
    by_rank = (
        args.format == "text" and "portable" in policies and sum(d.environment.rank is not None for d in dumps) > 1
    )
    found = group_dumps(dumps, [policy for policy in policies if not (by_rank and policy == "portable")], profile)
    missing = gaps(dumps)
    if args.format == "json":
        write_json({"dumps": args.dumps, "gaps": missing, "memory_source": MEMORY_SOURCE, "policies": found})
    else:
        sys.stdout.write(render_groups(found, args.dumps, missing) if found or missing or not by_rank else "")
    if by_rank:
        files = " ".join(map(shlex.quote, args.dumps)) if len(args.dumps) <= _FILES else "DIR"
        sys.stdout.write(
            f"portable: dumps of ranks, as `sigcontract fleet {safe(files)}` holds them against each other\n"
        )
        sys.stdout.write(fleet_text(compare_fleet(args.dumps), width=columns()))
    return Exit.UNDETERMINED if missing else Exit.OK
