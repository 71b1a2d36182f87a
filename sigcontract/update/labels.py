"""Graphs of a dump by label, and the errors of labels that name none or several."""

from collections import Counter
from collections.abc import Collection

from sigcontract.errors import NotComparableError, UsageError
from sigcontract.model import LabeledGraph, SignatureDump

__all__ = ["by_label", "no_graph"]


def by_label(dump: SignatureDump, name: str) -> dict[str, LabeledGraph]:
    """Return the graphs of a dump by label.

    Parameters
    ----------
    dump
        The dump.
    name
        What an error calls it, as ``the old dump``.

    Raises
    ------
    NotComparableError
        A label stands for two of its graphs (``label_repeated``).
    """
    found = {entry.label: entry for entry in dump.graphs}
    if len(found) < len(dump.graphs):
        label, times = Counter(entry.label for entry in dump.graphs).most_common(1)[0]
        msg = f"{name} has {times} graphs labelled {label!r}; give each graph a label of its own"
        raise NotComparableError(msg, code="label_repeated")
    return found


def no_graph(label: str, known: Collection[str], where: str) -> UsageError:
    """Return the error of a label that no graph has, with the nearest that one has."""
    from difflib import get_close_matches  # noqa: PLC0415  only for a label that does not exist

    near = get_close_matches(label, known, n=1) or list(known)[:1]
    hint = f"; the nearest is {near[0]!r}" if near else ""
    return UsageError(f"there is no graph {label!r} in {where}{hint}")
