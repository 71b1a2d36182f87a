"""Phrases that all report formats share: values, counts, verdicts, and the summary line."""

import re
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from sigcontract.model import (
    DumpDiff,
    Finding,
    GraphDiff,
    GraphSignature,
)
from sigcontract.report.cuda_words import value_word
from sigcontract.report.names import differing, safe, shortened

__all__ = [
    "NO_DIFFERENCES",
    "change_of",
    "counted",
    "label_of",
    "like_graphs",
    "path_of",
    "profile_of",
    "programmatic_edges",
    "summary",
]

_SHA256 = re.compile(r"[0-9a-f]{64}")
NO_DIFFERENCES = "no differences"


def change_of(old: int | str | None, new: int | str | None, *, width: int = 60) -> str:
    """Return ``old → new``; names are demangled and cut so that their difference is seen."""
    if old is None and new is None:
        return "unknown"
    if isinstance(old, str) and isinstance(new, str):
        old, new = differing(_short_digest(old), _short_digest(new), width=width)
    return f"{_value(old, width)} → {_value(new, width)}"


def change_in(finding: Finding, *, width: int = 60) -> str:
    """Return ``old → new`` of a finding, numbers in CUDA's words where its field has such."""
    return change_of(value_word(finding.path, finding.old), value_word(finding.path, finding.new), width=width)


def _value(value: int | str | None, width: int) -> str:
    return "none" if value is None else shortened(str(value), width)


def _short_digest(digest: str) -> str:
    """Return the first 12 digits of a sha256, other text unchanged."""
    return digest[:12] if _SHA256.fullmatch(digest) else digest


def path_of(finding: Finding) -> str:
    """Return the path, and how many more there are."""
    return safe(finding.path) if finding.count == 1 else f"{safe(finding.path)} and {finding.count - 1} more"


def label_of(graph: GraphDiff) -> str:
    """Return the label; both, where a graph has another one in each dump."""
    if graph.old_label is None or graph.new_label is None or graph.old_label == graph.new_label:
        return safe(graph.label)
    return f"{safe(graph.old_label)} → {safe(graph.new_label)}"


def like_graphs(graphs: Sequence[GraphDiff]) -> list[list[GraphDiff]]:
    """Return the graphs that differ, those with the same findings together, in the order of their first."""
    alike: dict[bytes, list[GraphDiff]] = {}
    for graph in graphs:
        if graph.findings:
            content = sha256(msgspec.msgpack.encode(graph.findings)).digest()
            alike.setdefault(content, []).append(graph)
    return list(alike.values())


def summary(diff: DumpDiff) -> str:
    """Return one sentence: the verdict, and how many graphs differ."""
    if not diff.findings:
        return f"{NO_DIFFERENCES} in {counted(len(diff.graphs), 'graph')}"
    differ = sum(bool(graph.findings) for graph in diff.graphs)
    parts = [f"findings in {differ} of {counted(len(diff.graphs), 'graph')}"]
    if diff.environment:
        parts.append(f"{counted(len(diff.environment), 'finding')} about the environment")
    return f"{diff.verdict}: {', '.join(parts)}"


def profile_of(diff: DumpDiff) -> str:
    """Return one line: which driver profile the verdicts hold for, or what there is without one."""
    if diff.profile is None:
        return (
            "without a driver profile, effects that need a measurement are undetermined (--profile, sigcontract doctor)"
        )
    return f"verdicts hold for driver profile {safe(diff.profile)}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, singular or plural."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def programmatic_edges(graph: GraphSignature) -> int:
    """Count the edges of a graph that are programmatic (PDL), those of graphs inside not included."""
    return sum(edge.type == 1 for edges in graph.dependencies for edge in edges)
