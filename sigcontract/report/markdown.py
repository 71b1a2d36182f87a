"""A diff as Markdown, for a pull request or a job summary."""

import re
from collections.abc import Sequence

from sigcontract.model import (
    DumpDiff,
    Finding,
)
from sigcontract.report.left_out import left_out
from sigcontract.report.names import safe, shortened
from sigcontract.report.phrases import change_in, label_of, like_graphs, path_of, profile_of, summary

__all__ = ["code_span", "diff_markdown", "plain"]

_LABELS_SHOWN = 5
_HEAD = "| verdict | where | what | change | rule | evidence |\n|---|---|---|---|---|---|"
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#|~!&])")


def diff_markdown(diff: DumpDiff) -> str:
    """Return the diff as headings and tables; graphs with the same findings share one."""
    lines = [f"## sigcontract diff: {plain(summary(diff))}", ""]
    note = profile_of(diff) if diff.findings else left_out(diff)
    if note:
        lines += [plain(note), ""]
    if diff.environment:
        lines += ["### Environment", "", *_table(diff.environment), ""]
    for graphs in like_graphs(diff.graphs):
        shown = ", ".join(code_span(label_of(graph)) for graph in graphs[:_LABELS_SHOWN])
        more = f" and {len(graphs) - _LABELS_SHOWN} more" if len(graphs) > _LABELS_SHOWN else ""
        lines += [f"### {shown}{more}: {graphs[0].verdict}", "", *_table(graphs[0].findings), ""]
    return "\n".join(lines)


def _table(findings: Sequence[Finding]) -> list[str]:
    return [_HEAD, *map(_row, findings)]


def _row(finding: Finding) -> str:
    subject = shortened(finding.subject, 80) if finding.subject else ""
    cells = (
        f"**{finding.verdict}**",
        code_span(path_of(finding)),
        plain(subject),
        plain(change_in(finding)),
        code_span(finding.rule),
        finding.evidence,
    )
    return f"| {' | '.join(cells)} |"


def plain(text: str) -> str:
    """Return text in which nothing is markup: names come out of files."""
    return _SPECIAL.sub(r"\\\1", safe(text))


def code_span(text: str) -> str:
    """Return a code span; a bar would end the table's cell even there, and a backtick the span."""
    return f"`{safe(text).replace('`', chr(0x2019)).replace('|', chr(0xA6))}`"
