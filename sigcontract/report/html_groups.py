"""Groups of graphs that can share an executable, as one HTML page."""

from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from sigcontract.model import Finding, GraphGroup, GraphName, GroupsReport, PolicyGroups
from sigcontract.report.groups_text import STREAMS, policy_head
from sigcontract.report.html_comparisons import rules_list
from sigcontract.report.html_filter import filter_bar, name_bar
from sigcontract.report.html_page import badge, element, page, section, table
from sigcontract.report.names import shortened
from sigcontract.report.phrases import change_in, counted, path_of
from sigcontract.update import RULES

__all__ = ["groups_html"]

#: Groups of one policy, labels of one group, reasons that keep a group apart. The page counts what it leaves out.
_GROUPS: Final = 2000
_LABELS: Final = 200
_REASONS: Final = 12
_NAME: Final = 120
_VALUE: Final = 160


def groups_html(report: GroupsReport) -> str:
    """Return groups as one HTML page that loads nothing."""
    findings = [
        finding for policy in report.policies for group in policy.groups for finding in _blocking(group)[:_REASONS]
    ]
    heads = list(map(policy_head, report.policies))
    body = [
        element(
            "header",
            element("h1", "sigcontract groups ", *([badge("undetermined")] if report.gaps else [])),
            *(element("p", head) for head in heads),
            element("p", f"driver profile: {report.profile or 'none'}", class_="note"),
        ),
        filter_bar(findings, nodes=False) if findings else name_bar("label"),
    ]
    if report.gaps:
        gaps = [
            element("tr", *(element("td", cell) for cell in (report.dumps[gap.dump], gap.rule, RULES[gap.rule].why)))
            for gap in report.gaps
        ]
        body.append(section("Gaps", table(("dump", "rule", "why"), gaps), name="gaps"))
    for policy, head in zip(report.policies, heads, strict=True):
        title = f"{head}, of {counted(policy.graphs, 'graph')}"
        groups = element("div", *_policy(policy, report.dumps), class_="groups")
        body.append(section(title, groups, name=policy.policy))
    if any(policy.executables_saved for policy in report.policies):
        body.append(element("p", f"memory is an estimate, {report.memory_source}", class_="note"))
        body.append(element("p", STREAMS, class_="note"))
    if findings:
        body.append(section("Rules", rules_list(findings), name="rules"))
    return page(f"sigcontract groups: {'; '.join(heads)}", body, {"kind": "groups", "graphs": []})


def _policy(policy: PolicyGroups, files: Sequence[str]) -> Iterator[ET.Element]:
    rows = [_row(group, files) for group in policy.groups[:_GROUPS]]
    yield table(("graphs", "labels", "nearest graph of another group", "kept apart by"), rows)
    if len(policy.groups) > _GROUPS:
        yield element("p", f"and {counted(len(policy.groups) - _GROUPS, 'more group')} in the JSON form", class_="note")


def _row(group: GraphGroup, files: Sequence[str]) -> ET.Element:
    found = _blocking(group)
    labels = [_name(member, files) for member in group.members]
    more = f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else ""
    nearest = "no other graph can join" if group.alone else ""
    if not group.alone and group.nearest is not None:
        nearest = shortened(_name(group.nearest.graph, files), _NAME)
    reasons = [_reason(finding) for finding in found[:_REASONS]]
    if len(found) > _REASONS:
        reasons.append(element("p", f"and {counted(len(found) - _REASONS, 'more reason')} in the JSON form"))
    cells = (str(len(labels)), ", ".join(labels[:_LABELS]) + more, nearest)
    verdict = str(found[0].verdict) if found else None
    rules = " ".join(dict.fromkeys(finding.rule for finding in found))
    names = " ".join(finding.subject or "" for finding in found)
    return element(
        "tr",
        *(element("td", cell) for cell in cells),
        element("td", *reasons),
        data_verdict=verdict,
        data_rules=rules,
        data_text=f"{' '.join(labels)} {names}".lower(),
    )


def _blocking(group: GraphGroup) -> list[Finding]:
    """Return what keeps a group alone, or apart from the nearest one, the worst first."""
    found = group.alone or (() if group.nearest is None else group.nearest.findings)
    return sorted(found, key=lambda finding: -finding.verdict.badness)


def _reason(finding: Finding) -> ET.Element:
    subject = f" ({shortened(finding.subject, _NAME)})" if finding.subject else ""
    text = f" {path_of(finding)}{subject}: {change_in(finding, width=_VALUE)} "
    return element("p", badge(finding.verdict), text, element("code", finding.rule))


def _name(name: GraphName, files: Sequence[str]) -> str:
    return name.label if len(files) == 1 else f"{files[name.dump]}: {name.label}"
