"""``sigcontract check``: check a dump against a contract; create and update contracts."""

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from sigcontract.cli.output import refuse_to_overwrite
from sigcontract.cli.outputs import FORMATS, add_outputs, deliver, outputs_of
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.compare import DumpComparison
from sigcontract.contract import (
    ContractFile,
    check_dump,
    first_contract,
    graph_clauses,
    load_contract,
    update_baselines,
)
from sigcontract.errors import ContractError, UsageError
from sigcontract.model import SignatureDump
from sigcontract.report import Outcome, check_html, check_text, counted, demangle, safe
from sigcontract.wire import escaped_name, load, save, write_bytes

__all__ = ["register", "run"]

_EXAMPLE = """\
sigcontract check --init server.dump.json                       create contract.toml and its golden dump
sigcontract check server.dump.json                              check a dump against contract.toml
sigcontract check server.dump.json --contract serving.toml --output sarif=check.sarif --output junit=check.xml
                                                                several formats from one run
sigcontract check server.dump.json --update                     accept this dump: rewrite the golden dumps
"""

_DESCRIPTION = """\
Check a dump against a contract: a TOML file that names a golden dump and the differences allowed from it, the number of
graphs and executables, the kernels that must or must not appear, and the drivers it applies to. Undetermined never
passes; a missing golden dump fails.

exit status: 0 all checks passed, 1 a check failed, 2 wrong usage or invalid input, 3 undetermined
"""

_STATUS = {"passed": Exit.OK, "failed": Exit.GATE, "undetermined": Exit.UNDETERMINED}
_CONTRACT = "contract.toml"


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "check",
        summary="check a dump against a contract",
        description=_DESCRIPTION,
        example=_EXAMPLE,
        formats=FORMATS,
    )
    parser.add_argument("dump", metavar="DUMP", help="the dump")
    parser.add_argument("--contract", metavar="FILE", default=_CONTRACT, help=f"the contract (default: ./{_CONTRACT})")
    add_outputs(parser)
    action = parser.add_mutually_exclusive_group()
    action.add_argument(
        "--init", action="store_true", help="create a contract that the dump satisfies, and its golden dump"
    )
    action.add_argument(
        "--update",
        action="store_true",
        help="rewrite the contract's golden dumps from the dump; refused if the variable CI is set",
    )
    parser.add_argument("--force", action="store_true", help="--init: overwrite an existing contract and golden dump")


def run(args: argparse.Namespace) -> int:
    """Check a dump, or write the contract or baselines."""
    if (args.init or args.update) and (args.output or args.format != "text"):
        raise UsageError("--init and --update write no report; drop --format and --output")
    if args.init:
        return _init(args)
    if args.force:
        raise UsageError("--force applies to --init only")
    outputs = outputs_of(args)
    file = _contract(args.contract)
    dump = load(args.dump, expect=SignatureDump)
    if args.update:
        return _update(dump, file)
    _refuse_itself(args.dump, file)
    today = datetime.now(UTC).date()
    comparisons: list[tuple[str, DumpComparison]] = []

    def keep(golden: str, comparison: DumpComparison) -> None:
        comparisons.append((golden, comparison))

    report = check_dump(
        dump,
        file,
        dump_name=escaped_name(args.dump),
        today=today,
        demangle=demangle,
        on_comparison=keep,
    )
    outcome = Outcome(
        command="check",
        record=report,
        answer=report.answer,
        files=(args.dump, args.contract),
        text=lambda color, width: check_text(report, color=color, width=width),
        html=lambda: check_html(report, comparisons),
    )
    deliver(outcome, outputs)
    return _STATUS[report.answer]


def _contract(path: str) -> ContractFile:
    """Read the contract. Writes every fault to standard error before the error is raised."""
    try:
        return load_contract(path)
    except ContractError as error:
        for line, fault in zip(error.lines, error.faults, strict=True):
            sys.stderr.write(f"{safe(path)}:{line}: error[{fault.code}]: {safe(str(fault))}\n")
        raise


def _refuse_itself(dump: str, file: ContractFile) -> None:
    """Raise UsageError if the dump is the golden dump, which always agrees with itself."""
    for _, clause in graph_clauses(file):
        name = None if clause.golden_graph is not None else clause.golden or file.contract.golden
        if name is not None and file.beside(name).exists() and Path(dump).exists() and file.beside(name).samefile(dump):
            raise UsageError(f"{dump} is the golden dump of {file.path}; check the dump of another run")


def _init(args: argparse.Namespace) -> int:
    dump = load(args.dump, expect=SignatureDump)
    if not dump.complete or not dump.graphs:
        raise UsageError(
            f"{args.dump} is truncated or empty and cannot be a golden dump; record it again and let the program finish"
        )
    contract = Path(args.contract)
    golden = contract.with_name(f"{contract.name.removesuffix('.toml')}.golden.dump.json")
    for path in (contract, golden):
        refuse_to_overwrite(str(path), force=args.force)
    save(dump, golden)
    write_bytes(contract, first_contract(dump, golden.name, demangle).encode())
    load_contract(str(contract))
    held = f"{counted(len(dump.graphs), 'graph')} of {args.dump} in {golden}"
    sys.stdout.write(f"{safe(f'{contract}: created; {held}. Review it and commit both.')}\n")
    return Exit.OK


def _update(dump: SignatureDump, file: ContractFile) -> int:
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise UsageError(
            "golden dumps are not rewritten in CI (the variable CI is set); run --update on your machine and commit"
        )
    for baseline in update_baselines(dump, file):
        state = "written" if baseline.changed else "unchanged"
        sys.stdout.write(f"{safe(baseline.path)}: {counted(baseline.graphs, 'graph')}, {state}\n")
    sys.stdout.write("review the differences before you commit: git diff, sigcontract diff\n")
    return Exit.OK
