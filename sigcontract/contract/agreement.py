"""Compare graphs with golden ones; decide whether each difference passes, and by what."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from sigcontract.compare import DumpComparison, compare_dumps, gate
from sigcontract.contract.baseline_dumps import GoldenDumps
from sigcontract.contract.clause_checks import Answer, clause_check, worst_answer
from sigcontract.contract.contract_file import NEVER_PASS, ContractFile
from sigcontract.contract.patterns import matches
from sigcontract.contract.suppressions import Suppressions
from sigcontract.model import (
    CheckedFinding,
    ClauseCheck,
    DecidedBy,
    DriverProfile,
    DumpDiff,
    Finding,
    GraphClause,
    GraphDiff,
    RuleAnswer,
    SignatureDump,
    Verdict,
    WorstVerdict,
)
from sigcontract.update import bounded

__all__ = ["Agreement", "OnComparison"]

#: The `compare.gate` that fails what exceeds the worst verdict allowed. None: no known verdict fails.
_GATES: Final[dict[WorstVerdict, str | None]] = {
    "identical": "any",
    "harmless": "updatable",
    "updatable": "rejected",
    "rejected": "stale",
    "stale": None,
}
_UNMATCHED: Final = {"graph.added": "the golden dump has no such graph", "graph.removed": "the dump has no such graph"}
_UPDATE: Final = "if this is intended, run the same command with --update"
_RULES: Final[DecidedBy] = "rules"
_WORST: Final[DecidedBy] = "worst"
_ENVIRONMENT: Final = frozenset({"environment.driver", "environment.device"})


#: Is called with the golden dump, as the contract names it, and the comparison with it of the graphs of one clause.
OnComparison = Callable[[str, DumpComparison], None]


class _Terms(NamedTuple):
    """Differences that one clause allows."""

    worst: WorstVerdict
    vary: tuple[str, ...]
    rules: dict[str, RuleAnswer]
    of_drivers: bool


class Agreement:
    """Compares a dump with the golden dumps of a contract, once per golden dump and policy."""

    def __init__(
        self,
        dump: SignatureDump,
        file: ContractFile,
        profile: DriverProfile | None,
        suppressions: Suppressions,
        on_comparison: OnComparison,
    ) -> None:
        self._dump = dump
        self._file = file
        self._profile = profile
        self._suppressions = suppressions
        self._goldens = GoldenDumps()
        self._on_comparison = on_comparison
        self._comparisons: dict[tuple[str, str], DumpComparison] = {}

    def checks(self, clauses: Sequence[tuple[str, GraphClause]]) -> Iterator[ClauseCheck]:
        """Yield the check of each clause with a golden dump, and one of the environment per golden dump."""
        seen: set[tuple[str, str]] = set()
        for path, clause in clauses:
            golden = clause.golden or self._file.contract.golden
            if golden is None:
                continue
            at = f"{path}.golden" if clause.golden else "golden" if self._file.contract.golden else path
            policy = clause.policy or self._file.contract.policy
            if not self._file.beside(golden).exists():
                yield self._missing(at, golden)
                continue
            found = self._comparison(golden, policy)
            if (golden, policy) not in seen:
                seen.add((golden, policy))
                yield self._environment(at, golden, found.diff)
            if clause.golden_graph is not None:
                found = self._comparison_with_one(golden, clause.golden_graph, policy, clause)
            found = _only(found, clause.label)
            self._on_comparison(golden, found)
            for graph in found.diff.graphs:
                yield self._graph(path, clause, golden, graph, found.diff)

    def _comparison(self, golden: str, policy: str) -> DumpComparison:
        key = golden, policy
        if key not in self._comparisons:
            old = self._goldens.dump(self._file.beside(golden))
            self._comparisons[key] = compare_dumps(old, self._dump, self._profile, policy=policy)
        return self._comparisons[key]

    def _comparison_with_one(self, golden: str, label: str, policy: str, clause: GraphClause) -> DumpComparison:
        """Compare every graph of a clause with one golden graph."""
        old = self._goldens.dump(self._file.beside(golden))
        self._goldens.graph(self._file.beside(golden), label)
        pairs = [(label, entry.label) for entry in self._dump.graphs if matches(clause.label, entry.label)]
        if not pairs:
            whole = self._comparison(golden, policy)
            return whole._replace(diff=replace(whole.diff, graphs=()), changes=())
        return compare_dumps(old, self._dump, self._profile, policy=policy, pairs=pairs)

    def _environment(self, at: str, golden: str, found: DumpDiff) -> ClauseCheck:
        whole = replace(found, graphs=())
        terms = self._terms(None)
        findings = tuple(
            self._judged(finding, replace(whole, environment=(finding,)), (), terms) for finding in found.environment
        )
        return clause_check(
            self._file,
            at,
            "contract.golden",
            answer=worst_answer(each.answer for each in findings),
            expected=f"same driver, devices and versions as in {golden}; worst verdict allowed: {terms.worst}",
            found=_found(findings),
            golden=golden,
            findings=findings,
        )

    def _graph(self, path: str, clause: GraphClause, golden: str, graph: GraphDiff, found: DumpDiff) -> ClauseCheck:
        terms = self._terms(clause)
        labels = _labels(graph) if clause.golden_graph is None else (graph.label,)
        bare = replace(found, environment=(), graphs=())
        findings = tuple(
            self._judged(
                finding, replace(bare, graphs=(replace(graph, findings=(finding,), causes=()),)), labels, terms
            )
            for finding in graph.findings
        )
        named = clause.golden_graph or graph.old_label or graph.label
        answer = worst_answer(each.answer for each in findings)
        unmatched = next((_UNMATCHED[each.finding.rule] for each in findings if each.finding.rule in _UNMATCHED), None)
        return clause_check(
            self._file,
            path,
            "contract.golden",
            graph=graph.label,
            answer=answer,
            expected=f"same as {clause.golden_graph or 'the graph of this label'} in {golden}; "
            f"worst verdict allowed: {terms.worst}",
            found=unmatched or _found(findings),
            advice=_UPDATE if answer == "failed" and clause.golden_graph is None else None,
            golden=golden,
            golden_line=self._goldens.line_of(self._file.beside(golden), named),
            findings=findings,
        )

    def _missing(self, at: str, golden: str) -> ClauseCheck:
        return clause_check(
            self._file,
            at,
            "contract.golden-missing",
            answer="failed",
            expected=f"the golden dump {golden}",
            found="no such file",
            advice="commit it, or write it from this dump: run the same command with --update",
            golden=golden,
        )

    def _terms(self, clause: GraphClause | None) -> _Terms:
        whole = self._file.contract
        of_drivers = bool(whole.driver)
        if clause is None:
            return _Terms(whole.worst, whole.vary, whole.rules, of_drivers)
        return _Terms(clause.worst or whole.worst, whole.vary + clause.vary, whole.rules | clause.rules, of_drivers)

    def _judged(self, finding: Finding, alone: DumpDiff, labels: tuple[str, ...], terms: _Terms) -> CheckedFinding:
        """Judge one finding, the only one of a diff."""
        answer = _by_verdict(finding, alone, terms.worst)
        by: DecidedBy
        suppression = None
        if terms.rules.get(finding.rule) == "fail":
            answer, by = "failed", _RULES
        elif answer == "passed" or finding.rule in NEVER_PASS:
            by = _WORST
        else:
            allowed = _allowed_by(finding, labels, terms)
            suppression = None if allowed else self._suppressions.of_finding(finding, labels)
            if suppression is not None:
                answer, by = "passed", "suppress"
            else:
                answer, by = ("passed", allowed) if allowed else (answer, _WORST)
        (kept,) = bounded([finding])
        return CheckedFinding(answer=answer, decided_by=by, suppression=suppression, finding=kept)


def _allowed_by(finding: Finding, labels: tuple[str, ...], terms: _Terms) -> DecidedBy | None:
    """Return what allows a finding beyond the worst verdict; stale findings must be allowed explicitly."""
    if terms.of_drivers and finding.rule in _ENVIRONMENT:
        return "driver"
    rule_answer, stale = terms.rules.get(finding.rule), finding.verdict is Verdict.STALE
    if rule_answer == "allow-stale" or (rule_answer == "allow" and not stale):
        return "rules"
    return "vary" if labels and not stale and _varies(finding, terms.vary) else None


def _by_verdict(finding: Finding, alone: DumpDiff, worst: WorstVerdict) -> Answer:
    if finding.rule in _UNMATCHED:
        return "failed"  # a missing or unexpected graph has no verdict to allow
    at = _GATES[worst]
    if at is not None:
        return gate(alone, at)
    answer = gate(alone, "stale")
    return "passed" if answer == "failed" else answer


def _varies(finding: Finding, fields: tuple[str, ...]) -> bool:
    """Whether a finding is about a field that may vary, at every path it lists."""
    names = [_field(path) for path in (finding.path, *finding.also)]
    return all(any(_is_within(name, field) for field in fields) for name in names)


def _field(path: str) -> str:
    """Return the field of a path below its innermost node: ``grid_dim`` of ``nodes[3].grid_dim``."""
    _, edge, rest = path.rpartition("dependencies[")
    if edge and "nodes[" not in rest:
        return "dependencies"
    return path.rpartition("nodes[")[2].partition("]")[2].removeprefix(".")


def _is_within(name: str, field: str) -> bool:
    return name == field or (name.startswith(field) and name[len(field)] in ".[")


def _only(found: DumpComparison, pattern: str) -> DumpComparison:
    """Return a comparison with the graphs that have a label of a pattern."""
    kept = [
        (graph, changes)
        for graph, changes in zip(found.diff.graphs, found.changes, strict=True)
        if any(matches(pattern, label) for label in _labels(graph))
    ]
    graphs = tuple(graph for graph, _ in kept)
    return found._replace(diff=replace(found.diff, graphs=graphs), changes=tuple(changes for _, changes in kept))


def _labels(graph: GraphDiff) -> tuple[str, ...]:
    """Return the labels of a graph, the new one first."""
    return tuple(dict.fromkeys(label for label in (graph.new_label, graph.old_label) if label is not None))


def _found(findings: tuple[CheckedFinding, ...]) -> str:
    if not findings:
        return "no differences"
    kept = [each.finding for each in findings if each.answer != "passed"]
    allowed = len(findings) - len(kept)
    parts = [f"{len(kept)} not allowed, worst verdict {Verdict.worst(each.verdict for each in kept)}"] if kept else []
    parts += [f"{allowed} allowed"] if allowed else []
    return f"{len(findings)} difference{'s' if len(findings) > 1 else ''}: {', '.join(parts)}"
