"""The check of a dump against a contract: for each clause what was expected, found and suppressed."""

from typing import Annotated, Literal

from msgspec import Meta

from sigcontract.model.findings import Finding
from sigcontract.model.record import Record, Text, UInt32

__all__ = [
    "CheckAnswer",
    "CheckReport",
    "CheckedFinding",
    "ClauseCheck",
    "DecidedBy",
    "SuppressionState",
    "SuppressionUse",
]

#: passed: as agreed. failed: not as agreed. undetermined: neither is known; not a pass.
CheckAnswer = Literal["passed", "failed", "undetermined"]

#: used: something passes by it. unused: nothing matched. expired: its last day is over, which fails.
SuppressionState = Literal["used", "unused", "expired"]

#: The part of the contract that decided on a difference.
DecidedBy = Literal["worst", "rules", "vary", "driver", "suppress"]

_CLAUSE = "Path in the contract, such as graph[0].kernel[1]."
_LINE = "Line of the contract, from 1; null: not in a file."


class CheckedFinding(Record, frozen=True, kw_only=True):
    """One difference from the golden graph, and whether the contract lets it pass."""

    answer: Annotated[CheckAnswer, Meta(description="Whether the difference passes.")]
    decided_by: Annotated[
        DecidedBy,
        Meta(description="Which part of the contract decided."),
    ]
    suppression: Annotated[UInt32 | None, Meta(description="Row of the report's suppressions; null: none.")]
    finding: Annotated[Finding, Meta(description="The difference.")]


class ClauseCheck(Record, frozen=True, kw_only=True):
    """One clause of the contract applied to one graph or the dump."""

    clause: Annotated[Text, Meta(description=_CLAUSE)]
    line: Annotated[UInt32 | None, Meta(description=_LINE)]
    rule: Annotated[Text, Meta(description="Stable id of what was checked, such as contract.kernel.")]
    graph: Annotated[Text | None, Meta(description="Label of the graph; null: the dump as a whole.")]
    answer: Annotated[CheckAnswer, Meta(description="Whether the clause holds.")]
    expected: Annotated[Text, Meta(description="What the contract requires, in one line.")]
    found: Annotated[Text, Meta(description="What was found, in one line.")]
    advice: Annotated[Text | None, Meta(description="What to do; null: nothing.")]
    golden: Annotated[Text | None, Meta(description="Golden dump, as a path; null: the clause has none.")]
    golden_line: Annotated[
        UInt32 | None, Meta(description="Line of the golden dump that names the graph, from 1; null: not known.")
    ]
    suppression: Annotated[UInt32 | None, Meta(description="Row of the report's suppressions; null: none.")]
    findings: Annotated[tuple[CheckedFinding, ...], Meta(description="Differences from the golden graph.")]


class SuppressionUse(Record, frozen=True, kw_only=True):
    """A suppression and its use."""

    clause: Annotated[Text, Meta(description=_CLAUSE)]
    line: Annotated[UInt32 | None, Meta(description=_LINE)]
    rule: Annotated[Text, Meta(description="The suppressed rule.")]
    reason: Annotated[Text, Meta(description="The reason given in the contract.")]
    expires: Annotated[Text, Meta(description="Its last day, UTC.")]
    state: Annotated[SuppressionState, Meta(description="Whether it is in use.")]
    hidden: Annotated[UInt32, Meta(description="Findings that it lets pass.")]
    stale_kept: Annotated[UInt32, Meta(description="Stale findings that it matches but does not let pass.")]


class CheckReport(Record, frozen=True, kw_only=True):
    """The result of checking a dump against a contract."""

    answer: Annotated[CheckAnswer, Meta(description="failed over undetermined over passed.")]
    contract: Annotated[Text, Meta(description="The contract's file, as given.")]
    dump: Annotated[Text, Meta(description="The dump's file, as given.")]
    checked_on: Annotated[Text, Meta(description="Date to which suppressions expire, UTC, ISO 8601.")]
    profile: Annotated[Text | None, Meta(description="Id of the contract's driver profile; null: none.")]
    clauses: Annotated[tuple[ClauseCheck, ...], Meta(description="Every clause, the dump as a whole first.")]
    suppressions: Annotated[tuple[SuppressionUse, ...], Meta(description="In the order of the contract.")]
