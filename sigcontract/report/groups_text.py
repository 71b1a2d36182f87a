"""Groups of graphs that can share an executable, as text for people."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from sigcontract.model import (
    Finding,
    GraphGroup,
    GraphName,
    GroupsReport,
    PolicyGroups,
)
from sigcontract.report.names import safe, shortened
from sigcontract.report.phrases import change_of, counted
from sigcontract.update import RULES

__all__ = ["STREAMS", "policy_head", "render_groups"]

#: Reasons shown of one group, the worst first.
_REASONS: Final = 3
#: Groups of several graphs that are shown, and labels of each.
_GROUPS: Final = 30
_LABELS: Final = 12
#: Graphs that share with none, shown with what keeps them apart.
_LONE: Final = 12
_NAME: Final = 56
_MEGABYTE: Final = 10**6
STREAMS: Final = (
    "launches of one executable are serialized: graphs of one group that run concurrently on several streams wait for "
    "each other; dumps do not record streams, so check before you share"
)


def render_groups(report: GroupsReport, others: Sequence[PolicyGroups] = (), *, width: int | None = None) -> str:
    """Return what may be missing, the groups of every policy, and what the other policies would give in one line.

    Labels carry their file where there are several. Lines are broken at ``width`` columns, None: nowhere.
    """
    files = report.dumps
    lines = [f"{safe(files[gap.dump])}: undetermined  {gap.rule}: {RULES[gap.rule].why}" for gap in report.gaps]
    lines += [""] if lines else []
    lines += [line for policy in report.policies for line in (*_policy(policy, files), "")]
    if others:
        lines += [f"other policies (--policy): {'; '.join(map(policy_head, others))}"]
    if any(policy.executables_saved for policy in report.policies):
        lines += [f"memory is an estimate, {report.memory_source}", STREAMS]
    broken = lines if width is None else [part for line in lines for part in _broken(line, width)]
    return "\n".join(broken).rstrip("\n") + "\n"


def _broken(line: str, width: int) -> list[str]:
    """Return a line in parts, what goes on after a break indented by two more columns."""
    if len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return wrap(line, width, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False)


def policy_head(found: PolicyGroups) -> str:
    """Return what a policy gives, in one line."""
    if found.policy == "portable":
        groups = sum(len(group.members) > 1 for group in found.groups)
        return f"portable: {counted(groups, 'group')} equal across processes"
    return f"{found.policy}: {counted(found.executables, 'executable')}{_saved(found)}"


def _policy(found: PolicyGroups, files: Sequence[str]) -> Iterator[str]:
    policy, _, rest = policy_head(found).partition(":")
    yield f"{policy}: {counted(found.graphs, 'graph')},{rest}"
    several = [group for group in found.groups if len(group.members) > 1]
    for group in several[:_GROUPS]:
        yield f"  {_members(group, files)}"
        yield from _nearest(group, files, "    ")
    if len(several) > _GROUPS:
        yield f"  and {counted(len(several) - _GROUPS, 'more group')}; --format json lists them"
    lone = [group for group in found.groups if len(group.members) == 1]
    for group in lone[:_LONE]:
        yield from _alone(group, files, only=len(found.groups) == 1)
    if len(lone) > _LONE:
        yield f"  and {counted(len(lone) - _LONE, 'more graph')} that share with no other; --format json lists them"


def _members(group: GraphGroup, files: Sequence[str]) -> str:
    shown = ", ".join(_name(name, files) for name in group.members[:_LABELS])
    more = len(group.members) - _LABELS
    return f"{shown} and {more} more" if more > 0 else shown


def _saved(found: PolicyGroups) -> str:
    if not found.executables_saved:
        return ""
    low, high = _size(found.memory_saved_bytes_low), _size(found.memory_saved_bytes_high)
    return f" ({found.executables_saved} fewer, {low} to {high})"


def _size(size_bytes: int) -> str:
    if size_bytes < _MEGABYTE:
        return f"{size_bytes / 1000:.0f} kB"
    return f"{size_bytes / _MEGABYTE:.1f} MB"


def _alone(group: GraphGroup, files: Sequence[str], *, only: bool) -> Iterator[str]:
    name = _name(group.members[0], files)
    if group.alone:
        yield f"  alone: {name}; no other graph can join"
        yield from _reasons(group.alone, "    ")
    elif only:
        yield f"  alone: {name}; no other graph to compare with"
    else:
        yield f"  alone: {name}"
        yield from _nearest(group, files, "    ")


def _nearest(group: GraphGroup, files: Sequence[str], indent: str) -> Iterator[str]:
    if group.nearest is not None:
        yield f"{indent}closest match: {_name(group.nearest.graph, files)}; differences:"
        yield from _reasons(group.nearest.findings, f"{indent}  ")


def _reasons(findings: Sequence[Finding], indent: str) -> Iterator[str]:
    worst_first = sorted(findings, key=lambda finding: -finding.verdict.badness)
    yield from (f"{indent}{_reason(finding)}" for finding in worst_first[:_REASONS])
    if len(findings) > _REASONS:
        yield f"{indent}and {counted(len(findings) - _REASONS, 'more reason')}"


def _reason(finding: Finding) -> str:
    more = f", at {finding.count} nodes" if finding.count > 1 else ""
    if finding.old is finding.new is None:
        change = f" ({shortened(finding.subject, _NAME)})" if finding.subject else ""
    else:
        change = f" {change_of(finding.old, finding.new)}"
    return f"{safe(finding.path)}{change}  {finding.verdict}  {finding.rule}{more}"


def _name(name: GraphName, files: Sequence[str]) -> str:
    return safe(name.label) if len(files) == 1 else safe(f"{files[name.dump]}: {name.label}")
