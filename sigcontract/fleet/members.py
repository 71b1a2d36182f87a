"""Who takes part: how dumps are named, and what of the job, the run and the machines does not fit together."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from sigcontract.fleet.ranks import missing_ranks, ranges
from sigcontract.fleet.sources import Source, Unreadable
from sigcontract.model import FleetGap, FleetGapKind

__all__ = ["Members", "majority", "unreadable_gap"]

#: Dumps of one run are written within this of each other, by their own account: capturing takes minutes.
_RUN_SECONDS = 3600
#: Dumps of which the files are named beside the ranks.
_NAMED = 3
_Value = TypeVar("_Value", bound=Hashable)


class Members:
    """The dumps that could be read, by row, and the names that a report gives them.

    Parameters
    ----------
    sources
        The dumps. A reference that is no rank of the job comes last.
    outsider
        Row of that reference, or None.
    """

    def __init__(self, sources: Sequence[Source], outsider: int | None) -> None:
        self.sources = tuple(sources)
        self.outsider = outsider
        #: Rows of the job's own dumps.
        self.rows = tuple(row for row in range(len(sources)) if row != outsider)
        self.ranks = {row: sources[row].header.environment.rank for row in self.rows}
        self._times = Counter(self.ranks.values())

    def names(self, rows: Iterable[int]) -> str:
        """Return ranks as ranges, and by its file each dump that names no rank or one that another names too."""
        known, others = [], []
        for row in rows:
            rank = self.ranks.get(row)
            if rank is None or self._times[rank] > 1:
                others.append(self.sources[row].name)
            else:
                known.append(rank)
        return ", ".join([ranges(known), *others] if known else others)

    def told(self, rows: Sequence[int]) -> str:
        """Return the names with a noun, and the files where they are few."""
        names = self.names(rows)
        files = [self.sources[row].name for row in rows]
        if names == ", ".join(files):
            return names
        noun = "rank" if len(rows) == 1 else "ranks"
        return f"{noun} {names} ({', '.join(files)})" if len(files) <= _NAMED else f"{noun} {names}"

    def gap(self, kind: FleetGapKind, rows: Iterable[int], detail: str) -> FleetGap:
        """Return a gap of some dumps."""
        return FleetGap(kind=kind, ranks=self.names(rows), detail=detail)

    @property
    def world_size(self) -> int | None:
        """Ranks of the job, where at least one dump says it and no other says another number."""
        sizes = {self.sources[row].header.environment.world_size for row in self.rows} - {None}
        return sizes.pop() if len(sizes) == 1 else None

    def gaps(self, reference: int | None) -> Iterator[FleetGap]:
        """Yield what is missing, and what does not fit together; the reference's facts count as expected."""
        yield from self._of_dumps()
        yield from self._of_ranks()
        yield from self._of_run()
        for fact in _FACTS:
            yield from self._of_fact(fact, reference)

    def _of_dumps(self) -> Iterator[FleetGap]:
        for row, source in enumerate(self.sources):
            name = self.told([row])
            if not source.header.complete:
                yield self.gap("incomplete", [row], f"{name}: being written, or cut off; what came later is missing")
            if not source.graphs:
                yield self.gap("empty", [row], f"{name}: holds no graph")

    def _of_ranks(self) -> Iterator[FleetGap]:
        by_rank = self._by(self.ranks.__getitem__)
        unknown = by_rank.pop(None, [])
        if unknown:
            yield self.gap("rank-unknown", unknown, f"{self.told(unknown)}: the dump does not say which rank it is of")
        for rank, rows in by_rank.items():
            if len(rows) > 1:
                yield self.gap("rank-repeated", rows, f"{self.names(rows)}: each says that it is of rank {rank}")
        yield from self._of_world_size([rank for rank in by_rank if rank is not None])
        if len(self.rows) == 1 and self.outsider is None:
            yield self.gap("alone", self.rows, f"{self.told(self.rows)}: one dump, and none to compare it with")

    def _of_world_size(self, ranks: Sequence[int]) -> Iterator[FleetGap]:
        sizes = self._by(lambda row: self.sources[row].header.environment.world_size)
        if set(sizes) <= {None}:
            detail = "no dump says how many ranks there are: whether one is missing cannot be told"
            yield self.gap("world-size-unknown", (), detail)
        elif len(sizes) > 1:
            told = ", ".join(
                f"{self.told(rows)} of {'an unknown number' if size is None else size}" for size, rows in sizes.items()
            )
            yield self.gap("world-size", (), f"the dumps are not of one job: {told}")
        if self.world_size is None:
            return
        missing = missing_ranks(ranks, self.world_size)
        if missing:
            yield FleetGap(kind="rank-missing", ranks=missing, detail=f"rank {missing} of {self.world_size}: no dump")
        over = [row for row, rank in self.ranks.items() if rank is not None and rank >= self.world_size]
        if over:
            yield self.gap("world-size", over, f"{self.told(over)}: no rank of a job of {self.world_size}")

    def _of_fact(self, fact: "_Fact", reference: int | None) -> Iterator[FleetGap]:
        values = self._by(lambda row: fact.of(self.sources[row]))
        if reference is None:
            expected = majority({value: len(rows) for value, rows in values.items()})
        else:
            expected = fact.of(self.sources[reference])
        if expected is None and len(values) > 1:
            told = "; ".join(f"{self.told(rows)} {_listed(value)}" for value, rows in values.items())
            yield self.gap(fact.kind, (), f"{fact.noun} differs: {told}")
        for value, rows in values.items():
            if expected is not None and value != expected:
                own, others = (
                    _listed(part for part in a if part not in b) for a, b in ((value, expected), (expected, value))
                )
                yield self.gap(fact.kind, rows, f"{self.told(rows)}: {fact.noun} {own}, where {others} is expected")

    def _of_run(self) -> Iterator[FleetGap]:
        """Tell which dumps were written at another time than most: they may be what an earlier run left behind."""
        times = {row: _seconds(self.sources[row].header.environment.created_at) for row in self.rows}
        known = sorted(time for time in times.values() if time is not None)
        for row, time in times.items():
            if time is None or abs(time - known[len(known) // 2]) > _RUN_SECONDS:
                own = self.sources[row].header.environment.created_at
                yield self.gap("run", [row], f"{self.told([row])}: written {own}, over an hour from most: another run?")

    def _by(self, fact: Callable[[int], _Value]) -> dict[_Value, list[int]]:
        values: dict[_Value, list[int]] = {}
        for row in self.rows:
            values.setdefault(fact(row), []).append(row)
        return values


def majority(sizes: Mapping[_Value, int]) -> _Value | None:
    """Return what more than half have, None where nothing is had by so many."""
    largest = max(sizes, key=sizes.__getitem__, default=None)
    return largest if largest is not None and 2 * sizes[largest] > sum(sizes.values()) else None


def unreadable_gap(unreadable: Unreadable) -> FleetGap:
    """Return the gap that a dump leaves which cannot be read."""
    return FleetGap(kind="unreadable", ranks=unreadable.name, detail=f"{unreadable.name}: {unreadable.reason}")


class _Fact(NamedTuple):
    """Something that the dumps of one run have alike, as parts of which a report names those that differ."""

    kind: FleetGapKind
    noun: str
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
    _Fact("driver", "driver", _driver),
    _Fact("device", "devices", _devices),
    _Fact("libraries", "libraries", _libraries),
    _Fact("profile", "driver profile", _profile),
    _Fact("version", "document and release", _version),
)


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts) or "none"


def _seconds(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return None
