"""The result of a query as a table for people."""

from collections.abc import Sequence

from sigcontract.model import FleetQueryResult
from sigcontract.report.names import elided, safe, shortened
from sigcontract.report.phrases import counted

__all__ = ["query_text"]

_CELL = 48
_ROWS = 200


def query_text(result: FleetQueryResult) -> str:
    """Return a table, numbers to the right; digests and long names are cut, ``--format json`` has them whole."""
    shown = [[_cell(value) for value in row] for row in result.rows[:_ROWS]]
    heads = [safe(column) for column in result.columns]
    widths = [max(map(len, column)) for column in zip(heads, *shown, strict=True)]
    numbers = [all(isinstance(row[column], int | None) for row in result.rows) for column in range(len(heads))]
    lines = [_line(row, widths, numbers) for row in (heads, *shown)]
    if len(result.rows) > _ROWS:
        lines.append(f"… {counted(len(result.rows) - _ROWS, 'more row')}; --format json lists all")
    lines.append(counted(len(result.rows), "row"))
    return "\n".join(lines) + "\n"


def _cell(value: int | str | None) -> str:
    if value is None:
        return "-"
    text = str(value)
    digest = text.removeprefix("sha256:")
    hexadecimal = len(digest) == 64 and set(digest) <= set("0123456789abcdef")  # noqa: PLR2004  a sha256
    return digest[:12] if hexadecimal else elided(shortened(text, _CELL), _CELL)


def _line(cells: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if number else cell.ljust(width)
        for cell, width, number in zip(cells, widths, numbers, strict=True)
    )
    return "  ".join(padded).rstrip()
