"""Whether findings pass a gate. What a difference is stays in its verdict; whether it matters is decided here alone."""

from collections.abc import Iterable
from typing import Final, Literal

from sigcontract.model import (
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


def gate(findings: Iterable[Finding], fail_on: str) -> Answer:
    """Say whether findings pass.

    Parameters
    ----------
    findings
        What was found.
    fail_on
        One of `FAIL_ON`. ``any`` fails on every known difference; a verdict fails on itself and those above it. An
        undetermined finding never passes: where none fails, the answer is undetermined.
    """
    undetermined = False
    failing = _ORDER[0 if fail_on == "any" else _ORDER.index(Verdict(fail_on)) :]
    for finding in findings:
        known = is_difference(finding.rule, finding.old, finding.new)
        if finding.verdict in failing and known:
            return "failed"
        if finding.verdict is Verdict.UNDETERMINED or not known:
            if fail_on == "any" and known:
                return "failed"
            undetermined = True
    return "undetermined" if undetermined else "passed"
