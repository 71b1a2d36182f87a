"""``sigcontract review``: accept, reject or skip the pending goldens that failed checks wrote."""

import argparse
import sys
from pathlib import Path
from typing import Literal, NamedTuple

from sigcontract.cli.output import write_document
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.cli.terminal import columns, use_color
from sigcontract.errors import FileError, SigcontractError, UsageError
from sigcontract.golden import (
    Agreement,
    compare_with_golden,
    decode_golden,
    golden_of_pending,
    in_ci,
    pending_files,
)
from sigcontract.model import PendingGolden, ReviewReport
from sigcontract.report import counted, disagreement_text, safe
from sigcontract.wire import MAX_DOCUMENT_BYTES, check_regular, document_bytes, escaped_name, write_bytes

__all__ = ["register", "run"]

_EXAMPLE = """\
sigcontract review                              show and ask about every pending golden below this folder
sigcontract review tests/goldens/test_decode    the goldens of one test module
sigcontract review --accept                     accept all without showing them
sigcontract review --reject                     delete all pending files
sigcontract review --format json                list them, change nothing
"""

_DESCRIPTION = """\
Walk through the pending goldens, NAME.json.new, that failed checks of the pytest plugin wrote: show how each differs
from its golden, then accept it as the golden, reject (delete) it, or skip it. Without a terminal and without --accept
or --reject, each is shown and skipped. Goldens are not changed in CI.

exit status: 0 nothing left pending, 1 some are, 2 wrong usage or an unusable pending file
"""

_Action = Literal["accept", "reject", "skip"]
_ANSWERS: dict[str, _Action] = {"a": "accept", "r": "reject", "s": "skip", "": "skip"}
_DONE: dict[_Action, str] = {"accept": "accepted", "reject": "rejected", "skip": "skipped"}


class _Pending(NamedTuple):
    """A pending file, its bytes, and how it differs from its golden; None and the fault if it is invalid."""

    path: Path
    golden: Path
    data: bytes
    found: Agreement | None
    fault: SigcontractError | None


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "review",
        summary="accept, reject or skip goldens that failed tests wrote",
        description=_DESCRIPTION,
        example=_EXAMPLE,
    )
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        default=["."],
        help="a pending file or a directory (default: this directory)",
    )
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument("--accept", action="store_true", help="accept all without asking")
    answer.add_argument("--reject", action="store_true", help="delete all pending files without asking")


def run(args: argparse.Namespace) -> int:
    """Walk through the pending files; return whether some remain."""
    if args.accept and in_ci():
        raise UsageError("goldens are not accepted in CI; review them on your machine")
    fixed: _Action | None = "accept" if args.accept else "reject" if args.reject else None
    asks = fixed is None and args.format == "text" and sys.stdin is not None and sys.stdin.isatty()
    files = list(pending_files([Path(path) for path in args.paths]))
    listed: list[PendingGolden] = []
    left = faults = 0
    for number, path in enumerate(files, 1):
        pending = _read(path)
        faults += pending.fault is not None and fixed != "reject"
        if args.format == "text":
            _show(pending, f"{number}/{len(files)}")
        action = fixed or (_asked(pending) if asks else "skip")
        if action is None:
            left += len(files) - number + 1
            break
        if action == "accept" and pending.fault is not None:
            action = "skip"
        _do(action, pending)
        left += action == "skip"
        if args.format == "text":
            sys.stdout.write(f"{_DONE[action]}: {safe(str(path))}\n\n")
        listed.append(_as_record(pending, action))
    if args.format == "json":
        write_document(ReviewReport(pending=tuple(listed)))
    else:
        sys.stdout.write(f"{counted(left, 'golden')} still pending\n" if left else "nothing is pending\n")
    return Exit.ERROR if faults else Exit.GATE if left else Exit.OK


def _read(path: Path) -> _Pending:
    golden = golden_of_pending(path)
    data = b""
    try:
        for file in (path, golden) if golden.exists() else (path,):
            check_regular(file)
        data = document_bytes(path, MAX_DOCUMENT_BYTES)
        return _Pending(path, golden, data, compare_with_golden(decode_golden(data), golden), None)
    except SigcontractError as error:
        return _Pending(path, golden, data, None, error)


def _show(pending: _Pending, at: str) -> None:
    sys.stdout.write(f"{at} {safe(str(pending.golden))}\n")
    if pending.found is None:
        fault = pending.fault
        sys.stdout.write(f"the pending file is invalid [{fault and fault.code}]: {safe(str(fault))}\n")
        sys.stdout.write("run the test again to rewrite it, or reject it\n")
    else:
        sys.stdout.write(disagreement_text(pending.found, color=use_color(sys.stdout), width=columns()))


def _asked(pending: _Pending) -> _Action | None:
    """Prompt for an action; None means quit."""
    choices = "[r]eject, [s]kip, [q]uit" if pending.found is None else "[a]ccept, [r]eject, [s]kip, [q]uit"
    while True:
        sys.stdout.write(f"\n{choices}? ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        answer = line.strip().lower()[:1]
        if answer == "q" or not line:
            return None
        if answer in _ANSWERS and not (answer == "a" and pending.found is None):
            return _ANSWERS[answer]


def _do(action: _Action, pending: _Pending) -> None:
    if action == "skip":
        return
    if action == "accept":
        # Write what was shown, even if a test has rewritten the file since.
        write_bytes(pending.golden, pending.data)
    try:
        pending.path.unlink()
    except OSError as error:
        msg = f"cannot delete {pending.path}: {error.strerror}; check the permissions of its directory"
        raise FileError(msg, file=str(pending.path)) from error


def _as_record(pending: _Pending, action: _Action) -> PendingGolden:
    found = pending.found
    return PendingGolden(
        pending=escaped_name(str(pending.path)),
        golden=escaped_name(str(pending.golden)),
        # A review is not strict: undetermined is not a state of its own.
        state="unusable" if found is None else "same" if found.state == "undetermined" else found.state,
        verdict=None if found is None or found.comparison is None else found.comparison.diff.verdict,
        error=None if pending.fault is None else pending.fault.code,
        action=action,
    )
