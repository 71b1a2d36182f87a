"""Compare the dumps of one job: which ranks captured the same graphs, which deviate, what is missing."""

from collections.abc import Collection, Iterator, Sequence
from typing import get_args

from sigcontract.errors import UsageError
from sigcontract.fleet.classes import Classes, Graphs, classes_of, presence_gaps, repeated_labels
from sigcontract.fleet.details import Decoded, Details, details_of, representatives, unknown_gaps, unverified
from sigcontract.fleet.grouping import GroupBy, group_by as parsed_group_by
from sigcontract.fleet.members import Members, fleet_gap, unreadable_gap
from sigcontract.fleet.sources import (
    DumpInput,
    Found,
    Progress,
    Source,
    Unreadable,
    changed_since,
    no_progress,
    read_sources,
)
from sigcontract.model import (
    FleetAnswer,
    FleetCause,
    FleetClass,
    FleetGap,
    FleetGapKind,
    FleetGraphs,
    FleetReport,
)

__all__ = ["compare_fleet"]


def compare_fleet(
    dumps: Sequence[DumpInput],
    *,
    reference: int | DumpInput | None = None,
    group_by: str | None = None,
    verify: bool = False,
    progress: Progress = no_progress,
) -> FleetReport:
    r"""Compare the dumps of many ranks.

    Headers are read first: for each graph, ranks with one portable digest form a class. One dump per class is decoded,
    its digests are checked, and it is compared with that of the expected class. Memory is bounded by the two largest
    dumps.

    Parameters
    ----------
    dumps
        Directories (files named ``*.dump.json`` or ``*.dump.msgpack``, also ``.gz`` and ``.zst``), files, and dumps in
        memory.
    reference
        The expected signatures: those of a rank, or of a dump, not necessarily of the job. By default those that more
        than half of the ranks with a graph captured; if no class is that large, the ranks are split and none deviates.
    group_by
        Compare within groups only, such as ``rank/8`` or ``label=^(stage\d+)/`` (`sigcontract.fleet.group_by`).
    verify
        Whether to decode every dump and check its digests, instead of one per class.
    progress
        Called before each step: ``headers`` read, ``dumps`` decoded, ``classes`` compared.

    Returns
    -------
    FleetReport
        ``agree`` only if every rank is present, complete, of one run, and known to have captured the same graphs.

    Raises
    ------
    UsageError
        No dump is found, the reference is unknown, or the pattern is invalid.
    FileError
        A directory cannot be read.
    """
    pattern = None if group_by is None else parsed_group_by(group_by)
    found = read_sources(dumps, verify=verify, progress=progress)
    fleet = _Fleet(found, *_expected(found, reference), pattern)
    unreadable = list(found.unreadable)
    verified = {source.path for source in found.sources} if verify else set()
    while broken := fleet.broken(verified, progress):
        # Dumps that contradict their headers have formed classes; regroup without them.
        unreadable += broken.values()
        fleet = fleet.without(broken)
    classes = fleet.classes
    details = [fleet.details(each, progress, number) for number, each in enumerate(classes, 1)]
    gaps = [
        *map(unreadable_gap, unreadable),
        *(fleet_gap("changed", name, f"{name}: {what} during the comparison") for name, what in changed_since(found)),
        *fleet.gaps(),
        *(gap for each in details for gap in each.gaps),
    ]
    graphs = tuple(
        _graphs_of(fleet.members, each, detail.causes) for each, detail in zip(classes, details, strict=True)
    )
    return FleetReport(
        answer=_answer(graphs, gaps),
        reference=None if fleet.reference is None else fleet.members.describe([fleet.reference]),
        group_by=group_by,
        world_size=fleet.members.world_size,
        dumps=tuple(source.row for source in fleet.sources),
        graphs=graphs,
        rows=tuple(row for each in details for row in each.rows),
        gaps=tuple(sorted(gaps, key=lambda gap: _ORDER[gap.kind])),
    )


_ORDER = {kind: order for order, kind in enumerate(get_args(FleetGapKind))}


class _Fleet:
    """The dumps to compare, and their classes by header."""

    def __init__(self, found: Found, expected: Source | None, outsider: bool, pattern: GroupBy | None) -> None:  # noqa: FBT001  whether the reference is outside the job
        self._arguments = expected, outsider, pattern
        self._found = found
        self.sources = (*found.sources, expected) if expected is not None and outsider else found.sources
        self.reference = None if expected is None else self.sources.index(expected)
        self.members = Members(self.sources, self.reference if outsider else None)
        self._graphs = Graphs(self.members, pattern)
        self.classes = classes_of(self._graphs, self.reference)
        self.representatives = representatives(self.classes)
        self.decoded = Decoded(self.sources)

    def broken(self, verified: set[str], progress: Progress) -> dict[str, Unreadable]:
        """Return, by name, representatives and reference that do not match their headers.

        Skips dumps in ``verified``, and adds those it checks.
        """
        wanted = self.representatives if self.reference is None else [self.reference, *self.representatives]
        rows = [row for row in dict.fromkeys(wanted) if self.sources[row].path not in verified]
        broken = {self.sources[row].path: why for row, why in unverified(self.decoded, self.members, rows, progress)}
        verified.update(self.sources[row].path for row in rows)
        reference = None if self.reference is None else broken.get(self.sources[self.reference].path)
        if reference is not None:
            raise UsageError(f"the reference cannot be used: {reference.reason}")
        return broken

    def without(self, broken: Collection[str]) -> "_Fleet":
        """Return the fleet without some dumps."""
        kept = tuple(source for source in self._found.sources if source.path not in broken)
        return _Fleet(self._found._replace(sources=kept), *self._arguments)

    def details(self, classes: Classes, progress: Progress, number: int) -> Details:
        """Return how the classes of some graphs differ."""
        progress("classes", number, len(self.classes))
        return details_of(self.decoded, self.members, classes, set(self.representatives))

    def gaps(self) -> Iterator[FleetGap]:
        """Yield what prevents a complete answer."""
        for row, label in repeated_labels(self.members):
            name = self.members.describe([row])
            yield self.members.gap(
                "label-repeated", [row], f"{name}: two graphs are labelled {label}; the dump is not compared"
            )
        yield from self.members.gaps(self.reference)
        yield from presence_gaps(self.members, self._graphs, self.reference)
        yield from unknown_gaps(self.decoded, self.members, self.classes)


def _expected(found: Found, reference: int | DumpInput | None) -> tuple[Source | None, bool]:
    """Return the reference dump, and whether it is outside the fleet."""
    if reference is None:
        return None, False
    if isinstance(reference, int):
        of_rank = [source for source in found.sources if source.header.environment.rank == reference]
        if len(of_rank) != 1:
            how = "two dumps are" if of_rank else "no readable dump is"
            raise UsageError(f"{how} of rank {reference}; pass the reference as a file")
        return of_rank[0], False
    named = read_sources([reference])
    if len(named.sources) != 1:
        reason = named.unreadable[0].reason if named.unreadable else "it is a directory; pass one dump"
        raise UsageError(f"the reference cannot be used: {reason}")
    of_file = [
        source for source in found.sources if source.stamp is not None and source.stamp == named.sources[0].stamp
    ]
    return (of_file[0], False) if of_file else (named.sources[0], True)


def _graphs_of(members: Members, classes: Classes, causes: dict[int, tuple[FleetCause, ...]]) -> FleetGraphs:
    return FleetGraphs(
        group=classes.group,
        labels=tuple(classes.labels),
        classes=tuple(
            FleetClass(
                ranks=members.names(rows),
                dumps=rows,
                digests=tuple(digests[index] for digests in classes.digests),
                causes=causes.get(index, ()),
            )
            for index, rows in enumerate(classes.rows)
        ),
        expected=classes.expected,
    )


def _answer(graphs: Sequence[FleetGraphs], gaps: Sequence[FleetGap]) -> FleetAnswer:
    if any(len(each.classes) > 1 for each in graphs):
        return "deviate"
    return "undetermined" if gaps or not graphs else "agree"
