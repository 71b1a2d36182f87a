"""The result of one command run in the shape that every output draws: cases, with the findings of each."""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from sigcontract.model import CheckReport, DumpDiff, FleetReport, GroupsReport, RankDiffs

__all__ = ["Answer", "Case", "CaseResult", "Level", "Outcome", "Reportable", "SourceLocation"]

#: Meaning of a command's exit status: 0, 1 and 3.
Answer = Literal["passed", "failed", "undetermined"]
Level = Literal["error", "warning", "note"]
Reportable = DumpDiff | RankDiffs | CheckReport | GroupsReport | FleetReport


class Outcome(NamedTuple):
    """The result of one run.

    Attributes
    ----------
    command
        The command: ``diff``, ``check``, ``groups`` or ``fleet``.
    record
        What it found: the document of the JSON form.
    answer
        Meaning of its exit status.
    files
        The inputs, as they were named: of a diff the old and the new dump.
    text
        Draws the record as text: with colour or without, in so many columns.
    html
        Draws the HTML page.
    fail_on
        The gate of a diff.
    lines
        Lines of the new dump that name graphs, by label.
    gaps_pass
        Whether gaps of a fleet are reported but do not count.
    """

    command: str
    record: Reportable
    answer: Answer
    files: tuple[str, ...]
    text: Callable[[bool, int], str]
    html: Callable[[], str]
    fail_on: str = "any"
    lines: Mapping[str, int] = {}
    gaps_pass: bool = False


class SourceLocation(NamedTuple):
    """A line of a file; None: the file as a whole."""

    file: str
    line: int | None = None


class CaseResult(NamedTuple):
    """One thing that was found.

    Attributes
    ----------
    rule
        Id of its rule.
    level
        How much it matters.
    message
        What it is, in a line or a few. Everything in it is printable.
    verdict
        What an update makes of it; None: it is about no update.
    logical
        Graph and path.
    location
        File and line that it is about; None: none.
    related
        The line of the contract that asked.
    subject
        The kernel's name in full; None: of no kernel.
    passes
        Whether it is allowed.
    justification
        Why it is suppressed; None: it is not.
    remark
        Whether it is worth a look though it passes: a suppression that is not used.
    """

    rule: str
    level: Level
    message: str
    verdict: str | None = None
    logical: str | None = None
    location: SourceLocation | None = None
    related: SourceLocation | None = None
    subject: str | None = None
    passes: bool = False
    justification: str | None = None
    remark: bool = False


class Case(NamedTuple):
    """One thing that was looked at: a graph, a clause, a class of ranks."""

    group: str
    name: str
    answer: Answer
    results: tuple[CaseResult, ...] = ()
    note: str | None = None
