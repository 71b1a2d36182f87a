"""The gate: which verdicts on differences matter."""

from collections.abc import Iterator
from typing import Final, Literal

from sigcontract.model import (
    DumpDiff,
    Finding,
    Verdict,
)
from sigcontract.update import (
    is_difference,
)

__all__ = ["FAIL_ON", "Answer", "gate"]

#: passed: nothing at or above the gate. failed: something is. undetermined: neither is known.
Answer = Literal["passed", "failed", "undetermined"]

_ORDER: Final = (Verdict.HARMLESS, Verdict.UPDATABLE, Verdict.REJECTED, Verdict.STALE)

#: Gates: ``any`` difference, or a verdict and those above it.
FAIL_ON: Final = ("any", *(verdict.value for verdict in _ORDER))


#: Rules whose findings fail no gate.
_NO_WEIGHT: Final = frozenset({"environment.library"})
_ORDER_OF_NODES: Final = "topology.node-order"


def gate(found: DumpDiff, fail_on: str) -> Answer:
    """Return whether a diff passes a gate.

    Parameters
    ----------
    found
        The diff. If an update is rejected nothing goes stale, so stale differences count as rejected there. Library
        versions fail no gate: their effects are in the graphs. Under ``portable``, node order does not fail ``any``,
        unless the graphs are of one capture and an update pairs other nodes.
    fail_on
        One of `FAIL_ON`. ``any`` fails on every known difference; a verdict fails on itself and those above it. An
        undetermined finding never passes: if nothing fails, the answer is undetermined.
    """
    undetermined = False
    failing = _ORDER[0 if fail_on == "any" else _ORDER.index(Verdict(fail_on)) :]
    for finding, verdict in _counted(found):
        if fail_on == "any" and finding.rule == _ORDER_OF_NODES and _order_is_free(found, verdict):
            continue
        known = is_difference(finding.rule, finding.old, finding.new)
        if verdict in failing and known:
            return "failed"
        if verdict is Verdict.UNDETERMINED or not known:
            if fail_on == "any" and known:
                return "failed"
            undetermined = True
    return "undetermined" if undetermined else "passed"


def _order_is_free(found: DumpDiff, verdict: Verdict) -> bool:
    """Whether node order is irrelevant for the comparison."""
    return found.policy == "portable" and (not found.one_capture or verdict is Verdict.HARMLESS)


def _counted(found: DumpDiff) -> Iterator[tuple[Finding, Verdict]]:
    """Yield the findings that count, with their effective verdicts."""
    for finding in found.environment:
        if finding.rule not in _NO_WEIGHT:
            yield finding, finding.verdict
    for graph in found.graphs:
        refused = graph.verdict is Verdict.REJECTED
        for finding in graph.findings:
            stale = finding.verdict is Verdict.STALE
            yield finding, Verdict.REJECTED if refused and stale else finding.verdict
