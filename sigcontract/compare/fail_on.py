"""Whether findings pass a gate. What a difference is stays in its verdict; whether it matters is decided here alone."""

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

#: passed: nothing at or above the gate. failed: something is. undetermined: neither can be said.
Answer = Literal["passed", "failed", "undetermined"]

_ORDER: Final = (Verdict.HARMLESS, Verdict.UPDATABLE, Verdict.REJECTED, Verdict.STALE)

#: What a gate can be set to: ``any`` difference, or a verdict and those above it.
FAIL_ON: Final = ("any", *(verdict.value for verdict in _ORDER))


#: Rules whose findings are reported and fail no gate.
_NO_WEIGHT: Final = frozenset({"environment.library"})
_ORDER_OF_NODES: Final = "topology.node-order"


def gate(found: DumpDiff, fail_on: str) -> Answer:
    """Say whether a diff passes.

    Parameters
    ----------
    found
        The diff. Where an update is refused nothing goes stale, so that a difference which would by itself counts as
        refused there. Other versions of libraries fail no gate: what they change is in the graphs. Nor does another
        order of nodes under ``portable`` fail ``any``, unless the graphs are of one capture and an update does not pair
        the nodes as their structure does.
    fail_on
        One of `FAIL_ON`. ``any`` fails on every known difference; a verdict fails on itself and those above it. An
        undetermined finding never passes: where none fails, the answer is undetermined.
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
    """Say whether two graphs whose nodes stand in another order are the same for what they were compared for."""
    return found.policy == "portable" and (not found.one_capture or verdict is Verdict.HARMLESS)


def _counted(found: DumpDiff) -> Iterator[tuple[Finding, Verdict]]:
    """Yield the findings that count, with the verdicts that count."""
    for finding in found.environment:
        if finding.rule not in _NO_WEIGHT:
            yield finding, finding.verdict
    for graph in found.graphs:
        refused = graph.verdict is Verdict.REJECTED
        for finding in graph.findings:
            stale = finding.verdict is Verdict.STALE
            yield finding, Verdict.REJECTED if refused and stale else finding.verdict
