"""Groups of graphs that can share an executable, as Markdown."""

from collections.abc import Iterator

from sigcontract.model import GroupsReport
from sigcontract.report.markdown import code_span, plain
from sigcontract.report.phrases import change_in, counted
from sigcontract.update import RULES

__all__ = ["groups_markdown"]

_GROUPS = 200
_LABELS = 12
_MEGABYTE = 10**6


def groups_markdown(report: GroupsReport) -> str:
    """Return groups as Markdown, every name that comes out of a file inert."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: GroupsReport) -> Iterator[str]:
    yield f"## sigcontract groups: {', '.join(code_span(file) for file in report.dumps[:_LABELS])}"
    for gap in report.gaps:
        yield from ("", f"**undetermined** {code_span(report.dumps[gap.dump])}: {plain(RULES[gap.rule].why)}")
    for policy in report.policies:
        saved = ""
        if policy.executables_saved:
            low, high = (
                number / _MEGABYTE for number in (policy.memory_saved_bytes_low, policy.memory_saved_bytes_high)
            )
            saved = f", {policy.executables_saved} fewer than graphs, some {low:.1f} to {high:.1f} MB of device memory"
        head = f"{counted(policy.graphs, 'graph')}, {counted(policy.executables, 'executable')}{saved}"
        yield from ("", f"### {plain(policy.policy)}: {head}", "")
        yield from ("| graphs | labels | differences from the closest match |", "|---|---|---|")
        for group in policy.groups[:_GROUPS]:
            labels = [member.label for member in group.members]
            more = f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else ""
            blocking = group.alone or (() if group.nearest is None else group.nearest.findings)
            why = "<br>".join(f"{code_span(each.rule)} {plain(change_in(each))}" for each in blocking[:3])
            shown = ", ".join(code_span(label) for label in labels[:_LABELS])
            yield f"| {len(labels)} | {shown}{more} | {why} |"
        if len(policy.groups) > _GROUPS:
            yield from ("", f"{counted(len(policy.groups) - _GROUPS, 'more group')} in the JSON form.")
