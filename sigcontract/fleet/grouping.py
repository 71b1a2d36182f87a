"""Groups of ranks that may differ from each other: pipeline stages, expert ranks, hosts, models."""

import re
from typing import NamedTuple

from sigcontract.errors import UsageError
from sigcontract.fleet.sources import Source

__all__ = ["UNMATCHED", "GroupBy", "group_by"]

_PATTERN = re.compile(r"(?P<what>label|host|rank)(?:(?P<sign>[=/%])(?P<rest>.+))?", re.DOTALL)
#: Group of values that the pattern does not match; they are compared too.
UNMATCHED = "(no match)"


class GroupBy(NamedTuple):
    """A pattern that assigns the graphs of each rank to groups.

    Attributes
    ----------
    what
        ``label``, ``host`` or ``rank``.
    sign
        ``=`` for an expression, ``/`` for blocks of ranks, ``%`` for every n-th rank; empty: the value itself.
    expression
        Searched in the value; its first matching group names the group, else the whole match.
    number
        Ranks per block, or number of groups.
    """

    what: str
    sign: str
    expression: re.Pattern[str] | None
    number: int

    def group(self, source: Source, label: str) -> str:
        """Return the name of the group of a graph of a dump."""
        rank, host = source.header.environment.rank, source.header.environment.hostname
        value = {"label": label, "host": host, "rank": None if rank is None else str(rank)}[self.what]
        if value is None:
            return UNMATCHED
        if self.expression is not None:
            match = self.expression.search(value)
            if match is None:
                return UNMATCHED
            value = next((part for part in match.groups() if part is not None), match[0])
        elif rank is not None and self.sign == "/":
            value = str(rank // self.number)
        elif rank is not None and self.sign == "%":
            value = str(rank % self.number)
        return (
            f"{self.what} {value}" if not self.sign or self.sign == "=" else f"rank {self.sign} {self.number}: {value}"
        )


def group_by(pattern: str) -> GroupBy:
    """Parse a pattern.

    Parameters
    ----------
    pattern
        ``host``, ``host=EXPRESSION``, ``label=EXPRESSION``, ``rank=EXPRESSION``; ``rank/8`` for blocks of eight ranks,
        such as pipeline stages; ``rank%8`` for every eighth rank, such as expert ranks. Expressions are of Python's
        `re`, and are searched for.

    Raises
    ------
    UsageError
        The pattern is invalid.
    """
    match = _PATTERN.fullmatch(pattern)
    if match is None:
        raise UsageError(
            f"{pattern!r} is not a pattern of groups; use host, host=REGEX, label=REGEX, rank=REGEX, rank/N or rank%N"
        )
    what, sign, rest = match["what"], match["sign"] or "", match["rest"] or ""
    if sign == "=":
        try:
            return GroupBy(what, sign, re.compile(rest), 0)
        except re.error as error:
            raise UsageError(f"{rest!r} is not a regular expression: {error}") from error
    if sign and not (what == "rank" and rest.isascii() and rest.isdecimal() and int(rest[:9]) > 0):
        raise UsageError(f"{pattern!r}: {sign} applies to rank only, with a number of at least 1, such as rank{sign}8")
    if what != "host" and not sign:
        raise UsageError(f"{pattern!r} makes one group per {what}; use an expression, {what}=REGEX")
    return GroupBy(what, sign, None, int(rest[:9]) if sign else 0)
