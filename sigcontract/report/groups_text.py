"""Groups of graphs that could share an executable, as text for people."""

from collections.abc import Iterator, Sequence

from sigcontract.model import (
    Finding,
)
from sigcontract.report.names import safe
from sigcontract.report.phrases import change_in, counted
from sigcontract.update import (
    MEMORY_SOURCE,
    RULES,
    DumpGap,
    GraphName,
    NearMiss,
    PolicyGroups,
)

__all__ = ["render_groups"]

#: Reasons shown for one near miss, the worst first.
_REASONS = 4
_MEGABYTE = 10**6


def render_groups(found: Sequence[PolicyGroups], files: Sequence[str], gaps: Sequence[DumpGap] = ()) -> str:
    """Return what may be missing, and the groups of every policy; labels carry their file where there are several."""
    lines = [f"{safe(files[gap.dump])}: undetermined  {gap.rule}: {RULES[gap.rule].why}" for gap in gaps]
    lines += [""] if lines else []
    lines += [line for policy in found for line in (*_policy(policy, files), "")]
    if any(policy.executables_saved for policy in found):
        lines.append(f"memory is an estimate, {MEMORY_SOURCE}")
    return "\n".join(lines).rstrip("\n") + "\n"


def _policy(found: PolicyGroups, files: Sequence[str]) -> Iterator[str]:
    graphs = counted(found.graphs, "graph")
    if found.policy == "portable":
        yield f"portable: {graphs}, {counted(len(found.groups), 'group')} of the same in any process"
    else:
        yield f"{found.policy}: {graphs}, {counted(found.executables, 'executable')}{_saved(found)}"
    for group in found.groups:
        yield f"  {', '.join(_name(name, files) for name in group)}"
    for lone in found.singletons:
        yield from _near_miss(lone, files)


def _saved(found: PolicyGroups) -> str:
    if not found.executables_saved:
        return ""
    low, high = _size(found.memory_saved_bytes_low), _size(found.memory_saved_bytes_high)
    return f" ({found.executables_saved} fewer, {low} to {high})"


def _size(size_bytes: int) -> str:
    if size_bytes < _MEGABYTE:
        return f"{size_bytes / 1000:.0f} kB"
    return f"{size_bytes / _MEGABYTE:.1f} MB"


def _near_miss(lone: NearMiss, files: Sequence[str]) -> Iterator[str]:
    if lone.nearest is None:
        yield f"  alone: {_name(lone.graph, files)}; there is no other to compare it with"
        return
    yield f"  alone: {_name(lone.graph, files)}; nearest {_name(lone.nearest, files)}, parted by"
    worst_first = sorted(lone.reasons, key=lambda finding: -finding.verdict.badness)
    yield from (f"    {_reason(finding)}" for finding in worst_first[:_REASONS])
    if len(lone.reasons) > _REASONS:
        yield f"    and {counted(len(lone.reasons) - _REASONS, 'more reason')}"


def _reason(finding: Finding) -> str:
    places = f", at {finding.count} places" if finding.count > 1 else ""
    return f"{safe(finding.path)} {change_in(finding)}  {finding.verdict}  {finding.rule}{places}"


def _name(name: GraphName, files: Sequence[str]) -> str:
    return safe(name.label) if len(files) == 1 else safe(f"{files[name.dump]}: {name.label}")
