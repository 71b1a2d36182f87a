"""Cases of each kind of result: what SARIF, JUnit and annotations draw."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

from msgspec.structs import replace

from sigcontract.compare import gate
from sigcontract.model import (
    CheckedFinding,
    CheckReport,
    ClauseCheck,
    DumpDiff,
    Finding,
    FleetReport,
    GraphDiff,
    GraphGroup,
    GroupsReport,
    RankDiffs,
    Verdict,
)
from sigcontract.report.contract_text import suppression_words
from sigcontract.report.names import safe, shortened
from sigcontract.report.outcome import Answer, Case, CaseResult, Level, Outcome, SourceLocation
from sigcontract.report.phrases import change_in, label_of, path_of
from sigcontract.report.ranks_text import what_changed, where_of, who
from sigcontract.update import RULES

__all__ = ["LEVELS", "cases_of", "location_of_graph"]

#: Level of a finding by its verdict.
LEVELS: Final[dict[Verdict, Level]] = {
    Verdict.STALE: "error",
    Verdict.REJECTED: "error",
    Verdict.UNDETERMINED: "warning",
    Verdict.UPDATABLE: "note",
    Verdict.HARMLESS: "note",
    Verdict.IDENTICAL: "note",
}
_LEVEL_OF_ANSWER: Final[dict[Answer, Level]] = {"failed": "error", "undetermined": "warning", "passed": "note"}
_NAME: Final = 80
_LABELS: Final = 4


def cases_of(outcome: Outcome) -> list[Case]:
    """Return what was looked at, in the order of the record."""
    record = outcome.record
    match record:
        case DumpDiff():
            return list(_of_diff(record, outcome, "", outcome.files))
        case RankDiffs():
            return list(_of_ranks(record, outcome))
        case CheckReport():
            return [
                *(_of_clause(check, record) for check in record.clauses),
                *(_unused(row, record) for row, use in enumerate(record.suppressions) if use.state == "unused"),
            ]
        case GroupsReport():
            return list(_of_groups(record))
        case FleetReport():
            return list(_of_fleet(record, gaps_pass=outcome.gaps_pass))
        case _:
            assert_never(record)


def _of_diff(diff: DumpDiff, outcome: Outcome, group: str, files: Sequence[str]) -> Iterator[Case]:
    group = group or safe(" → ".join(files))
    location = SourceLocation(files[-1])
    if diff.environment:
        found = tuple(_result(finding, "environment", location) for finding in diff.environment)
        yield Case(group, "environment", gate(replace(diff, graphs=()), outcome.fail_on), found)
    for graph in diff.graphs:
        alone = replace(diff, environment=(), graphs=(graph,))
        location = location_of_graph(graph, files, outcome.lines)
        found = tuple(_result(finding, label_of(graph), location) for finding in graph.findings)
        yield Case(group, label_of(graph), gate(alone, outcome.fail_on), found)


def location_of_graph(graph: GraphDiff | None, files: Sequence[str], lines: Mapping[str, int]) -> SourceLocation:
    """Return where a graph of a diff is named: in the new dump, or in the old one that alone has it."""
    if graph is None:
        return SourceLocation(files[-1])
    if graph.new_label is None:
        return SourceLocation(files[0])
    return SourceLocation(files[-1], lines.get(graph.new_label))


def _of_ranks(record: RankDiffs, outcome: Outcome) -> Iterator[Case]:
    for each in record.diffs:
        yield from _of_diff(each.diff, outcome, f"rank {safe(each.ranks)}", (each.old_file, each.new_file))
    for gap in record.gaps:
        yield _gap(gap.kind, gap.detail, passes=False)


def _gap(kind: str, detail: str, *, passes: bool) -> Case:
    result = CaseResult(f"gap.{kind}", "note" if passes else "warning", safe(detail), passes=passes)
    return Case("gaps", safe(f"{kind}: {detail}"), "passed" if passes else "undetermined", (result,))


def _of_clause(check: ClauseCheck, report: CheckReport) -> Case:
    contract = SourceLocation(report.contract, check.line)
    golden = contract if check.golden is None else SourceLocation(check.golden, check.golden_line)
    results = tuple(_checked(each, check, golden, contract, report) for each in check.findings)
    if not check.findings and (check.answer != "passed" or check.suppression is not None):
        location = golden if check.golden_line is not None else contract
        results = (_whole(check, location, contract, report),)
    of = "dump" if check.graph is None else safe(check.graph)
    at = f" ({check.clause})" if check.clause else ""
    note = safe(f"agreed: {check.expected}; found: {check.found}" + (f"; {check.advice}" if check.advice else ""))
    return Case(safe(report.contract), f"{check.rule} {of}{at}", check.answer, results, note)


def _whole(check: ClauseCheck, location: SourceLocation, contract: SourceLocation, report: CheckReport) -> CaseResult:
    message = f"agreed: {check.expected}\nfound: {check.found}" + (f"\n{check.advice}" if check.advice else "")
    return CaseResult(
        rule=check.rule,
        level=_LEVEL_OF_ANSWER[check.answer],
        message="\n".join(map(safe, message.split("\n"))),
        logical=None if check.graph is None else safe(check.graph),
        location=location,
        related=contract,
        passes=check.answer == "passed",
        justification=_justification(check.suppression, report),
    )


def _checked(
    each: CheckedFinding, check: ClauseCheck, golden: SourceLocation, contract: SourceLocation, report: CheckReport
) -> CaseResult:
    result = _result(each.finding, "environment" if check.graph is None else safe(check.graph), golden)
    return result._replace(
        level=_LEVEL_OF_ANSWER[each.answer],
        related=contract,
        passes=each.answer == "passed",
        justification=_justification(each.suppression, report),
    )


def _justification(row: int | None, report: CheckReport) -> str | None:
    if row is None:
        return None
    use = report.suppressions[row]
    return safe(f"{use.reason} (until {use.expires})")


def _unused(row: int, report: CheckReport) -> Case:
    use = report.suppressions[row]
    message = f"suppression of {suppression_words(row, report)}"
    location = SourceLocation(report.contract, use.line)
    result = CaseResult("contract.suppression-unused", "note", message, location=location, passes=True, remark=True)
    return Case(safe(report.contract), safe(f"{result.rule} {use.rule} ({use.clause})"), "passed", (result,))


def _of_groups(report: GroupsReport) -> Iterator[Case]:
    for gap in report.gaps:
        file = report.dumps[gap.dump]
        result = CaseResult(gap.rule, "warning", RULES[gap.rule].why, location=SourceLocation(file))
        yield Case("gaps", safe(f"{gap.rule}: {file}"), "undetermined", (result,))
    for policy in report.policies:
        for group in policy.groups:
            yield Case(policy.policy, _members(group), "passed", tuple(_blocking(group, report)))


def _members(group: GraphGroup) -> str:
    return _listed([member.label for member in group.members])


def _listed(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else ""
    return safe(", ".join(labels[:_LABELS])) + more


def _blocking(group: GraphGroup, report: GroupsReport) -> Iterator[CaseResult]:
    """Yield what keeps a group alone, or apart from the nearest one: reasons, and no faults."""
    findings = group.alone or (() if group.nearest is None else group.nearest.findings)
    first = group.members[0]
    why = "alone"
    if not group.alone and group.nearest is not None:
        why = f"differs from {shortened(group.nearest.graph.label, _NAME)}"
    for finding in findings:
        result = _result(finding, safe(first.label), SourceLocation(report.dumps[first.dump]))
        yield result._replace(level="note", message=f"{why}: {result.message}", passes=True)


def _of_fleet(report: FleetReport, *, gaps_pass: bool) -> Iterator[Case]:
    for graphs in report.graphs:
        group = _listed(graphs.labels)
        for index, each in enumerate(graphs.classes):
            deviates = len(graphs.classes) > 1 and index != graphs.expected
            found = [
                CaseResult(
                    rule=cause.changes[0].rule if cause.changes else f"fleet.{cause.kind}",
                    level="warning" if cause.kind == "unknown" else "error",
                    message=f"{who(each, report)}: {what_changed(cause)}; {where_of(cause, len(graphs.labels))}",
                    verdict=Verdict.worst(change.verdict for change in cause.changes).value,
                    logical=group,
                    location=SourceLocation(report.dumps[each.dumps[0]].file),
                    subject=cause.subject,
                )
                for cause in each.causes
            ]
            if deviates and not found:
                message = f"{who(each, report)} differs; only the digests were compared"
                found = [
                    CaseResult(
                        "fleet.class", "error", message, location=SourceLocation(report.dumps[each.dumps[0]].file)
                    )
                ]
            answer: Answer = "failed" if deviates else "passed"
            named = f"{safe(graphs.group)}: " if graphs.group is not None else ""
            yield Case(group, f"{named}{who(each, report)}", answer, tuple(found) if deviates else ())
    for gap in report.gaps:
        yield _gap(gap.kind, gap.detail, passes=gaps_pass)


def _result(finding: Finding, where: str, location: SourceLocation) -> CaseResult:
    subject = f" ({shortened(finding.subject, _NAME)})" if finding.subject else ""
    return CaseResult(
        rule=finding.rule,
        level=LEVELS[finding.verdict],
        message=f"{where}: {path_of(finding)}{subject}: {change_in(finding)}: {finding.verdict}",
        verdict=finding.verdict.value,
        logical=f"{where} {path_of(finding)}",
        location=location,
        subject=finding.subject,
    )
