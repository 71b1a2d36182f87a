"""Check a dump against a contract: every clause, then suppressions and whether they are still used."""

from collections.abc import Iterator, Sequence
from datetime import date

from msgspec.structs import replace

from sigcontract.compare import DumpComparison
from sigcontract.contract.agreement import Agreement, OnComparison
from sigcontract.contract.clause_checks import Answer, clause_check, worst_answer
from sigcontract.contract.contract_file import ContractFile
from sigcontract.contract.patterns import Demangler, matches
from sigcontract.contract.structure import (
    executables_checks,
    graph_count_checks,
    graph_structure_checks,
    uncovered_checks,
)
from sigcontract.contract.suppressions import Suppressions
from sigcontract.model import (
    CheckReport,
    ClauseCheck,
    DriverProfile,
    DriverScope,
    Environment,
    GraphClause,
    SignatureDump,
    SuppressionUse,
)
from sigcontract.profiles import PROFILES, named_profile, shipped_profile
from sigcontract.wire import explains_invalid, load

__all__ = ["check_dump", "graph_clauses"]


def _kept_by_nobody(golden: str, comparison: DumpComparison) -> None:
    """Take a comparison that nobody draws."""


@explains_invalid("dump")
def check_dump(  # noqa: PLR0913  a dump, a contract, and what neither contains
    dump: SignatureDump,
    file: ContractFile,
    *,
    dump_name: str,
    today: date,
    demangle: Demangler,
    on_comparison: OnComparison = _kept_by_nobody,
) -> CheckReport:
    """Check a dump against a contract.

    Parameters
    ----------
    dump
        The dump.
    file
        The contract, from `load_contract`.
    dump_name
        Name of the dump in the report.
    today
        The current date, UTC, to which suppressions expire.
    demangle
        Returns the C++ name of a mangled kernel name, or the name unchanged if it cannot be demangled; then a match
        with a pattern of demangled names is undetermined.
    on_comparison
        Called for each clause with a golden dump: with the name of that dump in the contract, and the comparison of the
        clause's graphs.

    Returns
    -------
    CheckReport
        ``passed`` only if every clause is known to hold. A missing golden dump fails. A truncated or empty dump, an
        unknown value, and a driver that the contract does not cover are undetermined.

    Raises
    ------
    NotComparableError
        Two graphs of a dump share a label, or the profile is of another driver.
    SigcontractError
        A golden dump or a profile cannot be read.
    """
    suppressions = Suppressions(file, today, demangle)
    clauses = [_suppressed(check, suppressions) for check in _checks(dump, file, suppressions, demangle, on_comparison)]
    uses = suppressions.uses()
    clauses += [_expired(use, file, today) for use in uses if use.state == "expired"]
    return CheckReport(
        answer=worst_answer(check.answer for check in clauses),
        contract=file.name,
        dump=dump_name,
        checked_on=today.isoformat(),
        profile=file.contract.profile,
        clauses=tuple(clauses),
        suppressions=uses,
    )


def graph_clauses(file: ContractFile) -> list[tuple[str, GraphClause]]:
    """Return the graph clauses with their paths; one for all graphs if the contract has only a golden dump."""
    contract = file.contract
    if not contract.graph and contract.golden is not None:
        return [("golden", GraphClause(at_least=0))]
    return [(f"graph[{index}]", clause) for index, clause in enumerate(contract.graph)]


def _checks(
    dump: SignatureDump,
    file: ContractFile,
    suppressions: Suppressions,
    demangle: Demangler,
    on_comparison: OnComparison,
) -> Iterator[ClauseCheck]:
    if file.contract.driver:
        driver = _driver(dump.environment, file)
        yield driver
        if driver.answer != "passed":
            return  # the contract is for other drivers and does not apply to this dump
    yield _complete(dump, file)
    clauses = graph_clauses(file)
    explicit = clauses if file.contract.graph else []
    profile = _profile(file)
    yield from graph_count_checks(dump, file, explicit)
    if explicit:
        yield from uncovered_checks(dump, file, explicit)
    yield from graph_structure_checks(dump, file, explicit, demangle)
    yield from executables_checks(dump, file, profile if file.contract.profile else named_profile(dump))
    yield from Agreement(dump, file, profile, suppressions, on_comparison).checks(clauses)


def _suppressed(check: ClauseCheck, suppressions: Suppressions) -> ClauseCheck:
    """Return the check, passed if it failed as a whole and a suppression names its rule."""
    if check.answer == "passed" or check.findings:
        return check
    row = suppressions.of_clause(check.rule, check.graph)
    return check if row is None else replace(check, answer="passed", suppression=row)


def _expired(use: SuppressionUse, file: ContractFile, today: date) -> ClauseCheck:
    return clause_check(
        file,
        use.clause,
        "contract.suppression-expired",
        answer="failed",
        expected=f"suppressed until {use.expires}: {use.reason}",
        found=f"today is {today.isoformat()}",
        advice="fix the cause and remove the suppression, or set a new date",
    )


def _profile(file: ContractFile) -> DriverProfile | None:
    name = file.contract.profile
    if name is None:
        return None  # the comparison uses the profile named in both dumps
    if name in PROFILES:
        return shipped_profile(name)
    return load(file.beside(name), expect=DriverProfile)


def _complete(dump: SignatureDump, file: ContractFile) -> ClauseCheck:
    answer: Answer = "passed" if dump.complete and dump.graphs else "undetermined"
    found = "complete" if dump.graphs else "no graph"
    return clause_check(
        file,
        "",
        "contract.complete",
        answer=answer,
        expected="a complete dump of at least one graph",
        found=found if dump.complete else "truncated: graphs after the last write are missing",
        advice="record it again and let the program finish",
    )


def _driver(environment: Environment, file: ContractFile) -> ClauseCheck:
    scopes = file.contract.driver
    holds = any(_is_within(environment, scope) for scope in scopes)
    devices = ", ".join(dict.fromkeys(_device_words(environment))) or "no device recorded"
    return clause_check(
        file,
        "driver",
        "contract.driver",
        answer="passed" if holds else "undetermined",
        expected=" or ".join(_scope_words(scope) for scope in scopes),
        found=f"CUDA driver {environment.cuda_driver_version}, {environment.display_driver_version}; {devices}",
        advice="the contract does not cover this driver and device: create one for them, or add a [[driver]]",
    )


def _is_within(environment: Environment, scope: DriverScope) -> bool:
    """Whether the dump's driver and devices are known to match a scope."""
    display = environment.display_driver_version
    asked: Sequence[bool] = (
        scope.cuda_driver_version in (None, environment.cuda_driver_version),
        scope.display_driver_version is None
        or (display is not None and matches(scope.display_driver_version, display)),
        scope.device is None
        or (bool(environment.devices) and all(matches(scope.device, each.name) for each in environment.devices)),
        scope.compute_capability is None
        or {f"{each.compute_capability_major}.{each.compute_capability_minor}" for each in environment.devices}
        == {scope.compute_capability},
    )
    return all(asked)


def _device_words(environment: Environment) -> Iterator[str]:
    for each in environment.devices:
        yield f"{each.name} ({each.compute_capability_major}.{each.compute_capability_minor})"


def _scope_words(scope: DriverScope) -> str:
    words = {
        "CUDA driver": scope.cuda_driver_version,
        "display driver": scope.display_driver_version,
        "device": scope.device,
        "compute capability": scope.compute_capability,
    }
    return ", ".join(f"{name} {value}" for name, value in words.items() if value is not None)
