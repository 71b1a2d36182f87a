"""Why a graph shares an executable or does not, and which graphs never can."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta

from sigcontract.driver import (
    UpdateOutcome,
)
from sigcontract.model import (
    Finding,
    GraphSignature,
    NodeSignature,
    Record,
    Text,
    UpdateResult,
    Verdict,
)
from sigcontract.registry.shared_exec import UNVERIFIED, Judgement
from sigcontract.update import single_exec_finding, sole_exec

__all__ = ["FIRST", "Reason", "fallback", "not_joined", "shares", "single_exec", "unproved"]


class Reason(Record, frozen=True, kw_only=True):
    """Why a graph shares an executable or does not. ``str(reason)`` is its message."""

    code: Annotated[
        Literal[
            "first",
            "shares",
            "single-exec",
            "undetermined",
            "predicted",
            "refused",
            "update-failed",
            "unverified",
            "fallback",
        ],
        Meta(
            description="first: first of its group; shares: predicted safe and accepted by the driver; single-exec: "
            "CUDA allows one executable; undetermined: cannot be proven safe; predicted: the update would be refused "
            "or leave something stale; refused: by the driver at register; update-failed: the driver failed at "
            "register, or there was no executable to try; unverified: stand-in kernels do not confirm an update "
            "that the driver accepted; fallback: refused at replay."
        ),
    ]
    message: Annotated[Text, Meta(description="One sentence.")]
    findings: Annotated[tuple[Finding, ...], Meta(description="The differences behind it.")]

    def __str__(self) -> str:
        return self.message


FIRST: Final = Reason(code="first", message="the first of its group", findings=())


def single_exec(signature: GraphSignature, nodes: Sequence[NodeSignature]) -> Reason | None:
    """Return why CUDA allows a graph of these nodes only one executable, or None."""
    finding, found = single_exec_finding(signature, nodes), sole_exec(nodes)
    if finding is None or found is None:
        return None
    if found.what is None:
        message = "is device-updatable, which cuGraphExecUpdate rejects, so it is not shared"
    else:
        message = f"is {found.what}: CUDA allows such a graph one executable, so it is not shared"
    return Reason(code="single-exec", message=f"{finding.path} {message}", findings=(finding,))


def shares(judgement: Judgement, first: str) -> Reason:
    """Return the reason of a graph that joined the executable of another graph."""
    driver = "to be tried at replay, as it is evicted" if judgement.untried else "accepted by the driver"
    message = f"shares the executable of {first}: predicted {judgement.prediction.verdict}, {driver}"
    return Reason(code="shares", message=message, findings=judgement.prediction.findings)


def unproved(findings: tuple[Finding, ...]) -> Reason:
    """Return the reason of a graph with unknowns, which cannot be proven the same as any graph, not even itself."""
    message = f"cannot be proven the same as any graph{_worst(findings)}"
    return Reason(code="undetermined", message=message, findings=findings)


def not_joined(judgement: Judgement, first: str) -> Reason:
    """Return the reason of a graph that was not admitted to an executable."""
    prediction = judgement.prediction
    if judgement.error is not None:
        message = f"an update of the executable of {first} failed: {judgement.error}"
        return Reason(code="update-failed", message=message, findings=prediction.findings)
    if judgement.unbuilt:
        message = f"the executable of {first} could not be instantiated again after an error, so no update was tried"
        return Reason(code="update-failed", message=message, findings=prediction.findings)
    if judgement.outcome is UNVERIFIED:
        message = f"the driver accepted an update of the executable of {first} that stand-in kernels do not confirm"
        return Reason(code="unverified", message=message, findings=prediction.findings)
    if judgement.outcome is not None:
        message = f"the driver refused an update of the executable of {first}: {_refusal(judgement.outcome)}"
        return Reason(code="refused", message=message, findings=prediction.findings)
    if prediction.result is None or prediction.verdict.safe or prediction.verdict is Verdict.UNDETERMINED:
        message = f"an update of the executable of {first} cannot be proven safe{_worst(prediction.findings)}"
        return Reason(code="undetermined", message=message, findings=prediction.findings)
    message = f"an update of the executable of {first} is predicted {prediction.verdict}{_worst(prediction.findings)}"
    return Reason(code="predicted", message=message, findings=prediction.findings)


def fallback(outcome: UpdateOutcome, first: str) -> Reason:
    """Return the reason of a graph whose update the driver refused at replay."""
    if outcome is UNVERIFIED:
        message = f"at replay the driver accepted an update of the executable of {first} that is not confirmed"
        return Reason(code="unverified", message=message, findings=())
    message = f"at replay the driver refused an update of the executable of {first}: {_refusal(outcome)}"
    return Reason(code="fallback", message=message, findings=())


def _refusal(outcome: UpdateOutcome) -> str:
    node = f" at node {outcome.node:#x}" if outcome.node else ""
    dependency = f", dependency {outcome.from_node:#x}" if outcome.from_node else ""
    return f"{UpdateResult.name_of(outcome.result)}{node}{dependency}"


def _worst(findings: tuple[Finding, ...]) -> str:
    """Return the worst finding as the end of a sentence."""
    if not findings:
        return ""
    finding = max(findings, key=lambda finding: (not finding.verdict.safe, finding.verdict is Verdict.STALE))
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return f": {finding.path} {finding.rule}, {finding.old} -> {finding.new}{more}"
