"""Align two sequences.

No library fits: `difflib` is quadratic on graphs with repeated layers (every element is "popular"), and C libraries
compare text. Elements are compared by equality and hash only; small integers are fastest.
"""

from collections.abc import Hashable, Iterator, Sequence
from itertools import compress, count, pairwise
from operator import ne
from typing import NamedTuple, Protocol

__all__ = ["Alignment", "Match", "align", "align_by_levels", "joined"]

#: Edits of one search before it commits to the best path so far. The cost is quadratic in this.
_EDITS_EXACT = 1000
_EDITS_BOUNDED = 64
#: Less than any index, even with one added.
_NOWHERE = -2


class Match(NamedTuple):
    """A slice of ``old`` that corresponds element by element to a slice of ``new``."""

    old: int
    new: int
    length: int


class Alignment(NamedTuple):
    """Matches in ascending order of both sequences; elements between them have no counterpart.

    ``exact`` is False if the search was cut short: matches are still valid, but longer ones may exist.
    """

    matches: tuple[Match, ...]
    exact: bool

    def gaps(self, old_length: int, new_length: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield each unmatched slice as (old start, old end, new start, new end)."""
        old_end = new_end = 0
        for match in (*self.matches, Match(old_length, new_length, 0)):
            if match.old > old_end or match.new > new_end:
                yield old_end, match.old, new_end, match.new
            old_end, new_end = match.old + match.length, match.new + match.length


def align(old: Sequence[Hashable], new: Sequence[Hashable]) -> Alignment:
    """Return the alignment of equal elements.

    Leaves a minimal number of elements unmatched up to a thousand, else nearly so (``exact`` False). The cost is linear
    in the lengths, times at most the number of differing elements.
    """
    return align_by_levels([(old, new)])


class Sliceable(Protocol):
    """A sequence that is only sliced."""

    def __len__(self) -> int: ...

    def __getitem__(self, stretch: slice, /) -> Sequence[Hashable]: ...


def align_by_levels(levels: Sequence[tuple[Sliceable, Sliceable]]) -> Alignment:
    """Align by the first pair of key sequences, then unmatched elements by the next, coarser pair, and so on.

    Every pair has the same two lengths. Unmatched elements in gaps of equal length are matched by position, so an
    element that changed entirely is a change, not a removal and an addition.
    """
    old_length, new_length = len(levels[0][0]), len(levels[0][1])
    gaps = [(0, old_length, 0, new_length)]
    matches: list[Match] = []
    exact = True
    for old, new in levels:
        left: list[tuple[int, int, int, int]] = []
        for old_start, old_end, new_start, new_end in gaps:
            search = _Search(old[old_start:old_end], new[new_start:new_end])
            exact = exact and search.exact
            matches += (Match(old_start + i, new_start + j, n) for i, j, n in search.matches)
            found = Alignment(tuple(search.matches), search.exact)
            left += (
                (old_start + i, old_start + i_end, new_start + j, new_start + j_end)
                for i, i_end, j, j_end in found.gaps(old_end - old_start, new_end - new_start)
            )
        gaps = left
    if len(levels) > 1:
        matches += (Match(i, j, i_end - i) for i, i_end, j, j_end in gaps if i_end - i == j_end - j)
    return Alignment(tuple(joined(sorted(matches))), exact)


def joined(matches: Sequence[Match]) -> Iterator[Match]:
    """Join matches that continue each other on both sides."""
    held: Match | None = None
    for match in matches:
        if held is None:
            held = match
        elif held.old + held.length == match.old and held.new + held.length == match.new:
            held = Match(held.old, held.new, held.length + match.length)
        else:
            yield held
            held = match
    if held is not None:
        yield held


class _Search:
    """Myers' greedy O(ND) search, without common ends and elements of one side only.

    A search that exhausts its edits commits to the furthest path and restarts from its end, as GNU diff does, so the
    total cost is at most (edits x bound) steps.
    """

    def __init__(self, old: Sequence[Hashable], new: Sequence[Hashable]) -> None:
        self.matches: list[Match] = []
        self.exact = True
        shorter = min(len(old), len(new))
        head = next(compress(count(), map(ne, old, new)), shorter)
        tail = next(compress(count(), map(ne, reversed(old), reversed(new))), shorter)
        tail = min(tail, shorter - head)
        if head:
            self.matches.append(Match(0, 0, head))
        self._middle(old, new, head, tail)
        if tail:
            self.matches.append(Match(len(old) - tail, len(new) - tail, tail))

    def _middle(self, old: Sequence[Hashable], new: Sequence[Hashable], head: int, tail: int) -> None:
        shared = set(old[head : len(old) - tail]).intersection(new[head : len(new) - tail])
        if not shared:
            return
        # Elements of one side only cannot match; without them the search is shorter.
        old_at = [i for i in range(head, len(old) - tail) if old[i] in shared]
        new_at = [j for j in range(head, len(new) - tail) if new[j] in shared]
        a, b = [old[i] for i in old_at], [new[j] for j in new_at]
        pairs: list[tuple[int, int]] = []
        x = y = 0
        bound = _EDITS_EXACT
        while x < len(a) and y < len(b):
            x, y, found, finished = _furthest(a, b, x, y, bound)
            pairs += found
            if not finished:
                self.exact = False
                bound = _EDITS_BOUNDED
        found = [(old_at[i], new_at[j]) for i, j in pairs]
        ends = (head, len(old) - tail), (head, len(new) - tail)
        # Unmatched elements of a run of equal ones move next to insertions, and vice versa.
        found = _settled(found, old, *ends)
        turned = _settled([(j, i) for i, j in found], new, ends[1], ends[0])
        self.matches += joined([Match(i, j, 1) for j, i in turned])


def _settled(
    pairs: list[tuple[int, int]], old: Sequence[Hashable], old_ends: tuple[int, int], new_ends: tuple[int, int]
) -> list[tuple[int, int]]:
    """Return equally many pairs, with unmatched old elements next to unmatched new ones where possible.

    Any element of a run of equal ones may stay unmatched: a search leaves the last ones, a reader expects those that
    were replaced.
    """
    settled: list[tuple[int, int]] = []
    position = 0
    while position < len(pairs):
        # The pairs of one run, and the run's start and end in the old sequence.
        first = position
        value = old[pairs[first][0]]
        while position < len(pairs) and (position == first or _is_run(old, pairs[position - 1][0], pairs[position][0])):
            position += 1
        run = pairs[first:position]
        start, end = run[0][0], run[-1][0] + 1
        floor = settled[-1][0] + 1 if settled else old_ends[0]
        ceiling = pairs[position][0] if position < len(pairs) else old_ends[1]
        while start > floor and old[start - 1] == value:
            start -= 1
        while end < ceiling and old[end] == value:
            end += 1
        left_over = end - start - len(run)
        if not left_over:
            settled += run
            continue
        before = settled[-1][1] if settled else new_ends[0] - 1
        after = pairs[position][1] if position < len(pairs) else new_ends[1]
        news = [before, *(j for _, j in run), after]
        came = [b - a - 1 for a, b in pairwise(news)]
        settled += zip(_spread(start, left_over, came), (j for _, j in run), strict=True)
    return settled


def _is_run(old: Sequence[Hashable], first: int, last: int) -> bool:
    """Whether all elements from first to last are equal."""
    return all(old[index] == old[first] for index in range(first + 1, last + 1))


def _spread(start: int, left_over: int, came: list[int]) -> Iterator[int]:
    """Yield the index of each match in a run, with unmatched elements next to insertions, one each at first."""
    put = [0] * len(came)
    while left_over:
        open_gaps = [gap for gap, count in enumerate(came) if put[gap] < count]
        if not open_gaps:
            put[-1] += left_over
            break
        if len(open_gaps) > left_over:
            open_gaps = open_gaps[:left_over]
        # As many rounds at once as all open gaps allow, so work is per gap, not per element.
        rounds = max(1, min(*(came[gap] - put[gap] for gap in open_gaps), left_over // len(open_gaps)))
        for gap in open_gaps:
            put[gap] += rounds
        left_over -= rounds * len(open_gaps)
    for skipped in put[:-1]:
        start += skipped
        yield start
        start += 1


def _furthest(
    a: list[Hashable], b: list[Hashable], x0: int, y0: int, bound: int
) -> tuple[int, int, list[tuple[int, int]], bool]:
    """Search from (x0, y0) for a shortest edit path to the end, at most ``bound`` edits long.

    Returns the end of the path, its pairs of equal elements, and whether it reaches the end of both.
    """
    n, m = len(a), len(b)
    # Diagonal k = (x - x0) - (y - y0) is at index bound + 1 + k; _NOWHERE marks an unreached one.
    centre = bound + 1
    furthest = [_NOWHERE] * (2 * bound + 3)
    furthest[centre + 1] = x0
    history: list[list[int]] = []
    end_x, end_k, end_edits = x0, 0, 0
    for edits in range(bound + 1):
        for k in range(-edits, edits + 1, 2):
            below, right = furthest[centre + k + 1], furthest[centre + k - 1]
            x = below if below > right else right + 1
            y = x - k - x0 + y0
            if x < x0 or x > n or y > m:
                furthest[centre + k] = _NOWHERE
                continue
            while x < n and y < m and a[x] == b[y]:
                x += 1
                y += 1
            furthest[centre + k] = x
            if 2 * x - k > 2 * end_x - end_k:
                end_x, end_k, end_edits = x, k, edits
            if x == n and y == m:
                break
        history.append(furthest[centre - edits : centre + edits + 1 : 2])
        end_y = end_x - end_k - x0 + y0
        if end_x == n and end_y == m:
            break
    end_y = end_x - end_k - x0 + y0
    pairs = _walk_back(history[: end_edits + 1], end_x, end_k, x0, y0)
    return end_x, end_y, pairs, end_x == n and end_y == m


def _walk_back(history: list[list[int]], x: int, k: int, x0: int, y0: int) -> list[tuple[int, int]]:
    """Return the pairs on the path that ends at ``x`` on diagonal ``k``, in ascending order.

    ``history[e]`` holds, for diagonals -e, -e + 2, ... e, the furthest x of ``e`` edits.
    """
    pairs: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, 0, -1):
        row = history[edits - 1]
        index = (k + edits) // 2
        below = row[index] if index < len(row) else _NOWHERE
        right = row[index - 1] if index > 0 else _NOWHERE
        start = below if below > right else right + 1
        pairs += ((i, i - k - x0 + y0) for i in range(x - 1, start - 1, -1))
        k, x = (k + 1, below) if below > right else (k - 1, right)
    pairs += ((i, i - k - x0 + y0) for i in range(x - 1, x0 - 1, -1))
    pairs.reverse()
    return pairs
