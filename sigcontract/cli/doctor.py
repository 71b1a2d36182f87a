"""``sigcontract doctor``: what the driver and device of this machine read, apply, keep stale and reject."""

import argparse
import sys

from sigcontract.cli.output import refuse_to_overwrite, write_document
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.cli.terminal import columns, status_line
from sigcontract.driver import (
    measure_profile,
)
from sigcontract.report import (
    profile_lines,
    safe,
)
from sigcontract.wire import (
    save,
)

__all__ = ["register", "run"]

_EXAMPLE = """\
sigcontract doctor                                 measure this machine's driver with tiny kernels
sigcontract doctor -o mine.profile.json            and save the profile
sigcontract diff a.dump.json b.dump.json --profile mine.profile.json
"""


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "doctor",
        summary="measure what this machine's driver reads, applies and keeps stale",
        example=_EXAMPLE,
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="save the profile; .json or .msgpack, also .gz and .zst")
    parser.add_argument("--force", action="store_true", help="overwrite an existing FILE")


def run(args: argparse.Namespace) -> int:
    """Measure, show and save."""
    if args.output is not None:
        refuse_to_overwrite(args.output, force=args.force)
    with status_line() as say:
        profile = measure_profile(progress=say)
    if args.output is not None:
        save(profile, args.output)
    if args.format == "json":
        write_document(profile)
        return Exit.OK
    sys.stdout.writelines(f"{line}\n" for line in profile_lines(profile, columns()))
    if args.output is not None:
        sys.stdout.write(f"saved as {safe(args.output)}\n")
    return Exit.OK
