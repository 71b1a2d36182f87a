"""Graphs of a dump by label, and errors for unknown and repeated labels."""

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
        Its name in errors, such as ``the old dump``.

    Raises
    ------
    NotComparableError
        Two of its graphs share a label (``label_repeated``).
    """
    found = {entry.label: entry for entry in dump.graphs}
    if len(found) < len(dump.graphs):
        label, times = Counter(entry.label for entry in dump.graphs).most_common(1)[0]
        msg = f"{name} has {times} graphs labelled {label!r}; give each graph its own label"
        raise NotComparableError(msg, code="label_repeated")
    return found


def no_graph(label: str, known: Collection[str], where: str) -> UsageError:
    """Return the error for an unknown label, with the most similar known one."""
    from difflib import get_close_matches  # noqa: PLC0415  only for an unknown label

    near = get_close_matches(label, known, n=1) or list(known)[:1]
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return UsageError(f"no graph {label!r} in {where}{hint}")
