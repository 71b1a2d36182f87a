"""A diff as workflow commands of GitHub Actions: each finding is an annotation."""

from collections.abc import Callable

from sigcontract.model import (
    DumpDiff,
    Finding,
    GraphDiff,
    Verdict,
)
from sigcontract.report.left_out import left_out
from sigcontract.report.names import safe, shortened
from sigcontract.report.outcome import SourceLocation
from sigcontract.report.phrases import change_in, counted, label_of, like_graphs, path_of, summary
from sigcontract.update import (
    RULES,
)

__all__ = ["command", "diff_github"]

_NOWHERE = SourceLocation("")
_LEVELS = {
    Verdict.STALE: "error",
    Verdict.REJECTED: "error",
    Verdict.UNDETERMINED: "warning",
    Verdict.UPDATABLE: "notice",
    Verdict.HARMLESS: "notice",
    Verdict.IDENTICAL: "notice",
}


def diff_github(diff: DumpDiff, location_of: Callable[[GraphDiff | None], SourceLocation] = lambda _: _NOWHERE) -> str:
    """Return one line per finding, the worst first, and one on the whole at the end.

    ``location_of`` gives file and line of a graph, and of None the file of the dump as a whole.

    GitHub shows no more than ten annotations of a level per step; the order decides which.
    """
    found = [(finding, "environment", location_of(None)) for finding in diff.environment]
    for graphs in like_graphs(diff.graphs):
        more = "" if len(graphs) == 1 else f" and {counted(len(graphs) - 1, 'more graph')}"
        label = label_of(graphs[0]) + more
        found += ((finding, label, location_of(graphs[0])) for finding in graphs[0].findings)
    found.sort(key=lambda labeled: -labeled[0].verdict.badness)
    lines = [_annotation(*labeled) for labeled in found]
    whole = [summary(diff)] if diff.findings else [summary(diff), left_out(diff)]
    lines.append(command("notice", "sigcontract diff", "\n".join(filter(None, whole))))
    return "\n".join(lines) + "\n"


def _annotation(finding: Finding, label: str, location: SourceLocation) -> str:
    subject = f" ({shortened(finding.subject, 80)})" if finding.subject else ""
    text = f"{label}: {path_of(finding)}{subject}: {change_in(finding)}"
    if finding.rule in RULES:
        text += f"\n{RULES[finding.rule].why}"
    return command(_LEVELS[finding.verdict], f"{finding.verdict}: {finding.rule}", text, location)


def command(level: str, title: str, text: str, location: SourceLocation = _NOWHERE) -> str:
    """Return a workflow command; what would end it or open another one is escaped as GitHub asks."""
    at = f"file={_property(safe(location.file))}," if location.file else ""
    at += f"line={location.line}," if location.file and location.line is not None else ""
    return f"::{level} {at}title={_property(title)}::{_escaped(text)}"


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def _escaped(text: str) -> str:
    # ``##[`` is a command of the runner's older form, wherever in a line.
    return text.replace("##[", "#\\u0023[").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
