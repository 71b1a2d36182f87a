"""The check of one clause, and the worst of several answers."""

from collections.abc import Iterable
from os.path import normpath
from typing import Any, Final

from sigcontract.contract.contract_file import ContractFile
from sigcontract.model import CheckAnswer as Answer, ClauseCheck
from sigcontract.update import fitting
from sigcontract.wire import escaped_name

__all__ = ["Answer", "answer_of_bounds", "bounds_words", "clause_check", "worst_answer"]

_ORDER: Final[tuple[Answer, ...]] = ("passed", "undetermined", "failed")


def worst_answer(answers: Iterable[Answer]) -> Answer:
    """Return failed if any is, else undetermined if any is, else passed."""
    return max(answers, key=_ORDER.index, default="passed")


def clause_check(  # noqa: PLR0913  keyword arguments, one per field of the result
    file: ContractFile,
    clause: str,
    rule: str,
    *,
    answer: Answer,
    expected: str,
    found: str,
    graph: str | None = None,
    advice: str | None = None,
    golden: str | None = None,
    golden_line: int | None = None,
    findings: tuple[Any, ...] = (),
) -> ClauseCheck:
    """Return the check of a clause, with its line in the contract."""
    return ClauseCheck(
        clause=clause,
        line=file.lines.line_of(clause),
        rule=rule,
        graph=graph,
        answer=answer,
        expected=fitting(expected),
        found=fitting(found),
        advice=None if advice is None else fitting(advice),
        golden=None if golden is None else escaped_name(normpath(file.beside(golden))),
        golden_line=golden_line,
        suppression=None,
        findings=findings,
    )


def answer_of_bounds(least: int, most: int | None, wanted: tuple[int, int | None]) -> Answer:
    """Compare a number known to be in least..most with the bounds; ``most`` None: unbounded."""
    low, high = wanted
    if least >= low and (high is None or (most is not None and most <= high)):
        return "passed"
    if (most is not None and most < low) or (high is not None and least > high):
        return "failed"
    return "undetermined"


def bounds_words(wanted: tuple[int, int | None]) -> str:
    """Return the bounds in words: ``exactly 2``, ``none``, ``at least 1``, ``1 to 4``."""
    low, high = wanted
    if high is None:
        return f"at least {low}" if low else "any number of"
    if low == high:
        return f"exactly {low}" if low else "no"
    return f"{low} to {high}" if low else f"at most {high}"
