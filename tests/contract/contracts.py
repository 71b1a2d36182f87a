"""Contracts around small dumps, for the tests of checks and reports."""

from datetime import date
from pathlib import Path

from sigcontract.contract import check_dump, load_contract
from sigcontract.model import CheckReport, ClauseCheck, SignatureDump
from sigcontract.report import demangle
from sigcontract.wire import save

__all__ = ["HEAD", "TODAY", "checked", "clauses", "only", "written"]

HEAD = 'document = "sigcontract.contract"\nversion = 1\n'
TODAY = date(2026, 12, 2)


def written(folder: Path, text: str, **goldens: SignatureDump) -> str:
    """Write a contract, and each golden dump as ``NAME.dump.json`` beside it; return the contract's path."""
    for name, golden in goldens.items():
        save(golden, folder / f"{name}.dump.json")
    path = folder / "contract.toml"
    path.write_text(HEAD + text, encoding="utf-8")
    return str(path)


def checked(folder: Path, dump: SignatureDump, text: str, **goldens: SignatureDump) -> CheckReport:
    """Hold a dump against a contract of this text."""
    file = load_contract(written(folder, text, **goldens))
    return check_dump(dump, file, dump_name="new.dump.json", today=TODAY, demangle=demangle)


def clauses(report: CheckReport) -> dict[tuple[str, str | None], str]:
    """Return the answers by rule and graph; of several with one key, the last."""
    return {(check.rule, check.graph): check.answer for check in report.clauses}


def only(report: CheckReport, rule: str, graph: str | None = None) -> ClauseCheck:
    """Return the one result of a rule about a graph."""
    (found,) = [check for check in report.clauses if check.rule == rule and check.graph == graph]
    return found
