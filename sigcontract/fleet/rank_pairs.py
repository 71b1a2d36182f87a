"""Compare two directories of dumps rank by rank: what changed between two runs of one job."""

from collections.abc import Callable, Hashable, Iterator, Sequence

from sigcontract.compare import DumpComparison, compare_dumps
from sigcontract.errors import NotComparableError, SigcontractError
from sigcontract.fleet.details import Decoded
from sigcontract.fleet.members import Members, fleet_gap, unreadable_gap
from sigcontract.fleet.ranks import ranges, with_noun
from sigcontract.fleet.sources import DumpInput, Progress, Source, no_progress, read_sources
from sigcontract.model import DriverProfile, FleetGap, RankDiff, RankDiffs, SignatureDump, Verdict
from sigcontract.update import fitting

__all__ = ["compare_by_rank"]


def compare_by_rank(  # noqa: PLR0913  two runs, and independent options
    old: Sequence[DumpInput],
    new: Sequence[DumpInput],
    profile: DriverProfile | None = None,
    *,
    policy: str = "portable",
    labels: Sequence[str] = (),
    progress: Progress = no_progress,
    on_diff: Callable[[RankDiff, DumpComparison], None] = lambda *_: None,
) -> RankDiffs:
    """Compare the dump of each rank in one run with that of the same rank in another.

    Ranks with equal headers in both runs are compared once, with the digests of their dumps checked.

    Parameters
    ----------
    old, new
        Directories, files and dumps of the two runs, as for `compare_fleet`.
    profile, policy, labels
        As for `sigcontract.compare.compare_dumps`.
    progress
        Called before each step: ``headers`` read, ``pairs`` compared.
    on_diff
        Called with each diff and its comparison, which is not kept.

    Raises
    ------
    UsageError
        A run has no dump, or the policy is unknown.
    FileError
        A directory cannot be read.
    """
    runs = read_sources(old, progress=progress), read_sources(new, progress=progress)
    members = tuple(Members(found.sources, None) for found in runs)
    gaps = [unreadable_gap(unreadable) for found in runs for unreadable in found.unreadable]
    by_rank = [dict(_by_rank(each_run, gaps)) for each_run in members]
    for rows, others, side in ((by_rank[0], by_rank[1], "new"), (by_rank[1], by_rank[0], "old")):
        missing = ranges(rows.keys() - others.keys())
        if missing:
            detail = f"{with_noun(missing)}: no comparable {side} dump"
            gaps.append(fleet_gap("rank-missing", missing, detail))
    alike: dict[Hashable, list[int]] = {}
    for rank in sorted(by_rank[0].keys() & by_rank[1].keys()):
        pair = [run.sources[rows[rank]] for run, rows in zip(members, by_rank, strict=True)]
        alike.setdefault(tuple(map(_content, pair)), []).append(rank)
    decoded = [Decoded(run.sources) for run in members]
    diffs: list[RankDiff] = []
    for number, ranks in enumerate(alike.values(), 1):
        progress("pairs", number, len(alike))
        dumps = _first_pair(decoded, by_rank, ranks, gaps)
        if dumps is None:
            continue
        try:
            compared = compare_dumps(*dumps, profile, policy=policy, labels=labels)
        except NotComparableError as error:
            gaps.append(fleet_gap("not-compared", ranges(ranks), f"{with_noun(ranges(ranks))}: {error}"))
            continue
        files = [run.sources[rows[ranks[0]]].name for run, rows in zip(members, by_rank, strict=True)]
        diffs.append(RankDiff(ranks=fitting(ranges(ranks)), old_file=files[0], new_file=files[1], diff=compared.diff))
        on_diff(diffs[-1], compared)
    verdicts = [diff.diff.verdict for diff in diffs]
    if gaps or not diffs:
        verdicts.append(Verdict.UNDETERMINED)
    return RankDiffs(verdict=Verdict.worst(verdicts), diffs=tuple(diffs), gaps=tuple(gaps))


def _first_pair(
    decoded: Sequence[Decoded], by_rank: Sequence[dict[int, int]], ranks: list[int], gaps: list[FleetGap]
) -> tuple[SignatureDump, SignatureDump] | None:
    """Decode the dumps of the first rank whose dumps match their headers; drop the ranks before it."""
    while ranks:
        try:
            before, after = (run(rows[ranks[0]], verify=True) for run, rows in zip(decoded, by_rank, strict=True))
        except SigcontractError as error:
            rank = str(ranks.pop(0))
            gaps.append(fleet_gap("unreadable", rank, f"rank {rank}: {error}"))
        else:
            return before, after
    return None


def _by_rank(members: Members, gaps: list[FleetGap]) -> Iterator[tuple[int, int]]:
    """Yield rank and row of each dump with a unique rank; the others are gaps."""
    rows: dict[int, list[int]] = {}
    for row, rank in members.ranks.items():
        if rank is None:
            gaps.append(members.gap("rank-unknown", [row], f"{members.sources[row].name}: no rank in the dump"))
        else:
            rows.setdefault(rank, []).append(row)
    for rank, of_rank in rows.items():
        if len(of_rank) == 1:
            yield rank, of_rank[0]
        else:
            gaps.append(members.gap("rank-repeated", of_rank, f"{members.describe(of_rank)}: all of rank {rank}"))


def _content(source: Source) -> Hashable:
    """Return the header fields that a comparison depends on."""
    header = source.header
    where = header.environment
    return (
        header.graphs,
        header.profile,
        header.complete,
        header.version,
        where.cuda_driver_version,
        where.display_driver_version,
        where.devices,
        where.libraries,
    )
