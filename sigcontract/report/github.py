"""A diff as workflow commands of GitHub Actions: each finding is an annotation."""

from sigcontract.model import (
    DumpDiff,
    Finding,
    Verdict,
)
from sigcontract.report.left_out import left_out
from sigcontract.report.names import shortened
from sigcontract.report.phrases import change_in, counted, label_of, like_graphs, path_of, summary
from sigcontract.update import (
    RULES,
)

__all__ = ["diff_github"]

_LEVELS = {
    Verdict.STALE: "error",
    Verdict.REJECTED: "error",
    Verdict.UNDETERMINED: "warning",
    Verdict.UPDATABLE: "notice",
    Verdict.HARMLESS: "notice",
    Verdict.IDENTICAL: "notice",
}


def diff_github(diff: DumpDiff) -> str:
    """Return one line per finding, the worst first, and one on the whole at the end.

    GitHub shows no more than ten annotations of a level per step; the order decides which.
    """
    found = [(finding, "environment") for finding in diff.environment]
    for graphs in like_graphs(diff.graphs):
        more = "" if len(graphs) == 1 else f" and {counted(len(graphs) - 1, 'more graph')}"
        label = label_of(graphs[0]) + more
        found += ((finding, label) for finding in graphs[0].findings)
    found.sort(key=lambda labeled: -labeled[0].verdict.badness)
    lines = [_annotation(finding, label) for finding, label in found]
    whole = [summary(diff)] if diff.findings else [summary(diff), left_out(diff)]
    lines.append(_command("notice", "sigcontract diff", "\n".join(filter(None, whole))))
    return "\n".join(lines) + "\n"


def _annotation(finding: Finding, label: str) -> str:
    subject = f" ({shortened(finding.subject, 80)})" if finding.subject else ""
    text = f"{label}: {path_of(finding)}{subject}: {change_in(finding)}"
    if finding.rule in RULES:
        text += f"\n{RULES[finding.rule].why}"
    return _command(_LEVELS[finding.verdict], f"{finding.verdict}: {finding.rule}", text)


def _command(level: str, title: str, text: str) -> str:
    """Return a workflow command; what would end it or open another one is escaped as GitHub asks."""
    title = _escaped(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={title}::{_escaped(text)}"


def _escaped(text: str) -> str:
    # ``##[`` is a command of the runner's older form, wherever in a line.
    return text.replace("##[", "#\\u0023[").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
