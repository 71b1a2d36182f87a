"""Why two records that a test states to be equal are not: the diff in place of two reprs."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from sigcontract.compare import compare_dumps
from sigcontract.errors import SigcontractError
from sigcontract.model import GraphSignature, Record, SignatureDump
from sigcontract.report import diff_text, safe, shortened_distinctly
from sigcontract.testing.dumps import UNKNOWN_ENVIRONMENT, dump_of

__all__ = ["inequality_lines"]

#: Characters of a value that is shown.
_VALUE = 60


def inequality_lines(left: object, right: object) -> list[str] | None:
    """Return why two dumps or two graphs are not equal, causes first; None for other objects.

    Blank lines are left out: pytest shows the first eight lines, and all with ``-vv`` or in CI.
    """
    if isinstance(left, GraphSignature) and isinstance(right, GraphSignature):
        left, right = (dump_of({"graph": graph}, UNKNOWN_ENVIRONMENT, None) for graph in (left, right))
        first = "two graphs differ (left → right)"
    elif isinstance(left, SignatureDump) and isinstance(right, SignatureDump):
        first = "two dumps differ (left → right)"
    else:
        return None
    return [first, *_graphs(left, right), *_fields(left, right, "")]


def _graphs(left: SignatureDump, right: SignatureDump) -> Iterator[str]:
    """Yield the differences of the graphs, every recorded field counted, handles included."""
    if left.graphs == right.graphs:
        return
    equal = [entry for entry in left.graphs if entry in right.graphs]
    old, new = (
        replace(dump, graphs=tuple(entry for entry in dump.graphs if entry not in equal)) for dump in (left, right)
    )
    if not old.graphs or not new.graphs:  # the others are equal, or only their order differs
        yield f"graphs: {_change(_labels(left), _labels(right))}"
        return
    try:
        text = diff_text(compare_dumps(old, new, policy="exact"), color=False, width=110)
    except SigcontractError as error:
        yield f"their graphs cannot be compared: {safe(str(error))}"
        return
    yield from filter(None, text.splitlines())


def _fields(left: Record, right: Record, path: str) -> Iterator[str]:
    """Yield the other fields that differ."""
    for name in left.__struct_fields__:
        old, new = getattr(left, name), getattr(right, name)
        if old == new or name == "graphs":
            continue
        if isinstance(old, Record) and isinstance(new, Record):
            yield from _fields(old, new, f"{path}{name}.")
        else:
            yield f"{path}{name}: {_change(old, new)}"


def _labels(dump: SignatureDump) -> list[str]:
    return [entry.label for entry in dump.graphs]


def _change(old: Any, new: Any) -> str:
    return " → ".join(shortened_distinctly([safe(repr(value)) for value in (old, new)], _VALUE))
