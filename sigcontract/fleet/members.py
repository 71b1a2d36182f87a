"""The dumps of a fleet: their names in a report, and mismatches of job, run or machine."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from sigcontract.fleet.ranks import missing_ranks, ranges, with_noun
from sigcontract.fleet.sources import Source, Unreadable
from sigcontract.model import FleetGap, FleetGapKind
from sigcontract.update import fitting

__all__ = ["Members", "fleet_gap", "majority", "unreadable_gap"]

#: Longest time between dumps of one run, by their own clocks: capture takes minutes.
_RUN_SECONDS = 3600
#: Most files in one sentence.
_FILES = 3
_Value = TypeVar("_Value", bound=Hashable)


class Members:
    """The readable dumps, by row, and their names in a report.

    Parameters
    ----------
    sources
        The dumps; a reference outside the job comes last.
    outsider
        Row of such a reference, or None.
    """

    def __init__(self, sources: Sequence[Source], outsider: int | None) -> None:
        self.sources = tuple(sources)
        self.outsider = outsider
        #: Rows of the job's own dumps.
        self.rows = tuple(row for row in range(len(sources)) if row != outsider)
        self.ranks = {row: sources[row].header.environment.rank for row in self.rows}
        self._times = Counter(self.ranks.values())

    def names(self, rows: Iterable[int]) -> str:
        """Return ranks as ranges, and the files of dumps without a unique rank."""
        known, others = [], []
        for row in rows:
            rank = self._own_rank(row)
            if rank is None:
                others.append(self.sources[row].name)
            else:
                known.append(rank)
        return fitting(", ".join([ranges(known), *others] if known else others))

    def describe(self, rows: Sequence[int]) -> str:
        """Return ranks and the first few files, for a sentence."""
        known = [rank for row in rows if (rank := self._own_rank(row)) is not None]
        files = [self.sources[row].name for row in rows if not known or len(rows) <= _FILES]
        listed = ", ".join(files[:_FILES]) + (f" and {len(files) - _FILES} more" if len(files) > _FILES else "")
        if not known:
            return listed
        others = f" and {len(rows) - len(known)} without a unique rank" if len(known) < len(rows) else ""
        return f"{with_noun(ranges(known))}{others}{f' ({listed})' if listed else ''}"

    def _own_rank(self, row: int) -> int | None:
        """Return the rank of this dump if no other has it."""
        rank = self.ranks.get(row)
        return None if self._times[rank] > 1 else rank

    def gap(self, kind: FleetGapKind, rows: Iterable[int], detail: str) -> FleetGap:
        """Return a gap of these dumps."""
        return fleet_gap(kind, self.names(rows), detail)

    @property
    def world_size(self) -> int | None:
        """Ranks of the job, if the dumps that record it agree."""
        sizes = {self.sources[row].header.environment.world_size for row in self.rows} - {None}
        return sizes.pop() if len(sizes) == 1 else None

    def gaps(self, reference: int | None) -> Iterator[FleetGap]:
        """Yield what is missing and what does not match the reference, or the majority."""
        yield from self._of_dumps()
        yield from self._of_ranks()
        yield from self._of_run()
        for fact in _FACTS:
            yield from self._of_fact(fact, reference)

    def _of_dumps(self) -> Iterator[FleetGap]:
        for row, source in enumerate(self.sources):
            name = self.describe([row])
            if not source.header.complete:
                yield self.gap(
                    "incomplete",
                    [row],
                    f"{name}: incomplete: still being written, or its process died; later graphs are missing",
                )
            if not source.graphs:
                yield self.gap("empty", [row], f"{name}: no graphs")

    def _of_ranks(self) -> Iterator[FleetGap]:
        by_rank = self._by(self.ranks.__getitem__)
        unknown = by_rank.pop(None, [])
        if unknown:
            yield self.gap("rank-unknown", unknown, f"{self.describe(unknown)}: no rank in the dump")
        for rank, rows in by_rank.items():
            if len(rows) > 1:
                yield self.gap("rank-repeated", rows, f"{self.describe(rows)}: all of rank {rank}")
        yield from self._of_world_size([rank for rank in by_rank if rank is not None])
        if len(self.rows) == 1 and self.outsider is None:
            yield self.gap("alone", self.rows, f"{self.describe(self.rows)}: the only dump, nothing to compare with")

    def _of_world_size(self, ranks: Sequence[int]) -> Iterator[FleetGap]:
        sizes = self._by(lambda row: self.sources[row].header.environment.world_size)
        if set(sizes) == {None}:
            detail = "no dump records the world size, so missing ranks are unknown"
            yield self.gap("world-size-unknown", (), detail)
        elif len(sizes) > 1:
            listed = "; ".join(
                f"{self.describe(rows)}: {'none' if size is None else size}" for size, rows in sizes.items()
            )
            yield self.gap("world-size", (), f"world sizes differ, so the dumps are not of one job: {listed}")
        if self.world_size is None:
            return
        missing = missing_ranks(ranks, self.world_size)
        if missing:
            detail = f"no dump of {with_noun(missing)}; the world size is {self.world_size}"
            yield fleet_gap("rank-missing", missing, detail)
        over = [row for row, rank in self.ranks.items() if rank is not None and rank >= self.world_size]
        if over:
            yield self.gap("world-size", over, f"{self.describe(over)}: beyond the world size, {self.world_size}")

    def _of_fact(self, fact: "_Fact", reference: int | None) -> Iterator[FleetGap]:
        values = self._by(lambda row: fact.of(self.sources[row]))
        if reference is None:
            expected = majority({value: len(rows) for value, rows in values.items()})
        else:
            expected = fact.of(self.sources[reference])
        if expected is None and len(values) > 1:
            listed = "; ".join(f"{self.describe(rows)}: {_listed(value)}" for value, rows in values.items())
            yield self.gap(fact.kind, (), f"{fact.noun} {fact.predicate}: {listed}")
        for value, rows in values.items():
            if expected is not None and value != expected:
                own, others = (
                    _listed(part for part in a if part not in b) for a, b in ((value, expected), (expected, value))
                )
                yield self.gap(fact.kind, rows, f"{self.describe(rows)}: {fact.noun} {own}, expected {others}")

    def _of_run(self) -> Iterator[FleetGap]:
        """Yield dumps written long before or after most: they may be left over from another run."""
        times = {row: _seconds(self.sources[row].header.environment.created_at) for row in self.rows}
        known = sorted(time for time in times.values() if time is not None)
        for row, time in times.items():
            if time is None or abs(time - known[len(known) // 2]) > _RUN_SECONDS:
                own = self.sources[row].header.environment.created_at
                yield self.gap(
                    "run",
                    [row],
                    f"{self.describe([row])}: written at {own}, more than an hour from most: from another run?",
                )

    def _by(self, fact: Callable[[int], _Value]) -> dict[_Value, list[int]]:
        values: dict[_Value, list[int]] = {}
        for row in self.rows:
            values.setdefault(fact(row), []).append(row)
        return values


def majority(sizes: Mapping[_Value, int]) -> _Value | None:
    """Return the value that more than half have, or None."""
    largest = max(sizes, key=sizes.__getitem__, default=None)
    return largest if largest is not None and 2 * sizes[largest] > sum(sizes.values()) else None


def fleet_gap(kind: FleetGapKind, ranks: str, detail: str) -> FleetGap:
    """Return a gap. Ranks and sentences about many dumps may be longer than a field of a report."""
    return FleetGap(kind=kind, ranks=fitting(ranks), detail=fitting(detail))


def unreadable_gap(unreadable: Unreadable) -> FleetGap:
    """Return the gap of a dump that cannot be read."""
    return fleet_gap("unreadable", unreadable.name, f"{unreadable.name}: {unreadable.reason}")


class _Fact(NamedTuple):
    """A fact that dumps of one run share, as a tuple; a report names the entries that differ."""

    kind: FleetGapKind
    noun: str
    predicate: str
    of: Callable[[Source], tuple[str, ...]]


def _driver(source: Source) -> tuple[str, ...]:
    where = source.header.environment
    version = where.cuda_driver_version
    cuda = "unknown" if version is None else f"{version // 1000}.{version % 1000 // 10}"
    return f"{where.display_driver_version or 'unknown'}", f"CUDA {cuda}"


def _devices(source: Source) -> tuple[str, ...]:
    counts = Counter(
        f"{device.name} ({device.compute_capability_major}.{device.compute_capability_minor})"
        for device in source.header.environment.devices
    )
    return tuple(f"{count} x {name}" for name, count in sorted(counts.items()))


def _libraries(source: Source) -> tuple[str, ...]:
    return tuple(f"{library.name} {library.version}" for library in source.header.environment.libraries)


def _profile(source: Source) -> tuple[str, ...]:
    return () if source.header.profile is None else (source.header.profile,)


def _version(source: Source) -> tuple[str, ...]:
    return f"sigcontract.dump {source.header.version}", f"sigcontract {source.header.environment.sigcontract_version}"


_FACTS = (
    _Fact("driver", "driver", "differs", _driver),
    _Fact("device", "devices", "differ", _devices),
    _Fact("libraries", "libraries", "differ", _libraries),
    _Fact("profile", "driver profile", "differs", _profile),
    _Fact("version", "document and release", "differ", _version),
)


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts) or "none"


def _seconds(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return None
