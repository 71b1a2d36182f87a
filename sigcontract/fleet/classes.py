"""Classes of ranks that captured the same graph, by portable digest, and the expected class."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from sigcontract.fleet.grouping import GroupBy
from sigcontract.fleet.members import Members, majority
from sigcontract.model import FleetGap

__all__ = ["Classes", "Graphs", "classes_of", "presence_gaps", "repeated_labels"]

#: Most labels in one sentence.
_LABELS = 4


class Classes(NamedTuple):
    """Graphs that split the dumps into the same classes.

    Attributes
    ----------
    group
        The group of ranks, or None.
    rows
        Rows of the dumps of each class, the largest class first, then by the first row.
    expected
        Index of the class that the others deviate from; None for a split.
    labels
        Labels of the graphs.
    digests
        For each label, the portable digest of each class.
    """

    group: str | None
    rows: tuple[tuple[int, ...], ...]
    expected: int | None
    labels: list[str]
    digests: list[tuple[str, ...]]

    @property
    def base(self) -> int:
        """Index of the class to compare the others with: the expected one, or in a split the first."""
        return self.expected or 0


class Graphs:
    """Which dumps have which graph, by group and label."""

    def __init__(self, members: Members, pattern: GroupBy | None) -> None:
        #: By group and label: the rows with each digest.
        self.by_label: dict[tuple[str | None, str], dict[str, list[int]]] = {}
        #: By group: the rows with any graph in it.
        self.rows: dict[str | None, set[int]] = {}
        skipped = {row for row, _ in repeated_labels(members)}
        for row, source in enumerate(members.sources):
            for entry in source.graphs if row not in skipped else ():
                group = pattern.group(source, entry.label) if pattern and row != members.outsider else None
                self.by_label.setdefault((group, entry.label), {}).setdefault(entry.portable_digest, []).append(row)
                self.rows.setdefault(group, set()).add(row)
        if pattern and members.outsider is not None:
            self._spread(members.outsider)

    def _spread(self, outsider: int) -> None:
        """Add a reference outside the job to every group with a graph of its label."""
        for label, digests in [(label, d) for (group, label), d in self.by_label.items() if group is None]:
            del self.by_label[None, label]
            for (group, other), others in self.by_label.items():
                if other == label and group is not None:
                    others.setdefault(next(iter(digests)), []).append(outsider)
                    self.rows[group].add(outsider)
        self.rows.pop(None, None)


def repeated_labels(members: Members) -> Iterator[tuple[int, str]]:
    """Yield each dump with a repeated label, and the label: such graphs cannot be compared by label."""
    for row, source in enumerate(members.sources):
        counts = Counter(entry.label for entry in source.graphs)
        twice = next((label for label, count in counts.items() if count > 1), None)
        if twice is not None:
            yield row, twice


def classes_of(graphs: Graphs, reference: int | None) -> list[Classes]:
    """Return the classes, graphs with the same classes together, differing graphs first."""
    found: dict[tuple[str | None, tuple[tuple[int, ...], ...], int | None], Classes] = {}
    for (group, label), by_digest in graphs.by_label.items():
        ordered = sorted(by_digest.items(), key=lambda item: (-len(item[1]), item[1]))
        rows = tuple(tuple(rows) for _, rows in ordered)
        expected = next((index for index, of in enumerate(rows) if reference in of), None)
        if expected is None:
            expected = majority({index: len(of) for index, of in enumerate(rows)})
        key = group, rows, expected
        classes = found.setdefault(key, Classes(*key, labels=[], digests=[]))
        classes.labels.append(label)
        classes.digests.append(tuple(digest for digest, _ in ordered))
    return sorted(found.values(), key=lambda classes: len(classes.rows) == 1)


def presence_gaps(members: Members, graphs: Graphs, reference: int | None) -> Iterator[FleetGap]:
    """Yield dumps that lack a graph of most dumps or of the reference, and dumps with a graph that most lack."""
    by_having: dict[tuple[str | None, frozenset[int]], list[str]] = {}
    for (group, label), by_digest in graphs.by_label.items():
        having = frozenset(row for rows in by_digest.values() for row in rows)
        by_having.setdefault((group, having), []).append(label)
    # An incomplete dump is its own gap.
    complete = {row for row, source in enumerate(members.sources) if source.header.complete}
    for (group, having), labels in by_having.items():
        lacking = sorted((graphs.rows[group] & complete) - having)
        if not lacking:
            continue
        named = _named(labels)
        having_ranks, lacking_ranks = members.describe(sorted(having)), members.describe(lacking)
        wanted = reference in having if reference in having.union(lacking) else _wanted(len(having), len(lacking))
        if wanted is None:
            detail = f"{having_ranks} {_verb(having, 'has')} {named}; {lacking_ranks} {_verb(lacking, 'lacks')} it"
            yield members.gap("graph-missing", lacking, detail)
        elif wanted:
            yield members.gap("graph-missing", lacking, f"{lacking_ranks} {_verb(lacking, 'lacks')} {named}")
        else:
            detail = f"{having_ranks} {_verb(having, 'has')} {named}, absent from the others"
            yield members.gap("graph-added", sorted(having), detail)


def _wanted(having: int, lacking: int) -> bool | None:
    return None if having == lacking else having > lacking


def _verb(rows: Collection[int], singular: str) -> str:
    return singular if len(rows) == 1 else {"has": "have", "lacks": "lack"}[singular]


def _named(labels: list[str]) -> str:
    shown = ", ".join(labels[:_LABELS])
    return f"{shown} and {len(labels) - _LABELS} more graphs" if len(labels) > _LABELS else shown
