"""The fewest groups in which every two go together: a clique cover, exact where a bounded search ends.

Knows nothing of graphs: the numbers from 0 are vertices, and a set of them is an int, one bit for each.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

__all__ = ["Cover", "bits", "fewest_groups"]

#: Vertices of a connected part that is searched for the least number, and steps of all searches.
_SEARCHED: Final = 96
_STEPS: Final = 20_000


class Cover(NamedTuple):
    """Groups that hold every vertex once.

    Attributes
    ----------
    groups
        The vertices of each group in ascending order; the groups in the order of their first ones.
    at_least
        No cover has fewer groups. The cover has the least number if it has so many.
    """

    groups: tuple[tuple[int, ...], ...]
    at_least: int


def fewest_groups(neighbours: Sequence[int], first: Iterable[Sequence[int]], *, steps: int = _STEPS) -> Cover:
    """Return the fewest groups in which every two vertices are neighbours, or as few as are found.

    Parameters
    ----------
    neighbours
        For each vertex the set of those that it goes together with. Symmetric; the vertex itself does not count.
    first
        A cover to begin with. It is returned where none has fewer groups.
    steps
        Vertices that the searches may assign, all together. A part of the vertices whose search is cut off keeps
        the fewest groups found until then, and the bound that its search began with.
    """
    known = [sum(1 << vertex for vertex in group) for group in first]
    found: list[int] = []
    at_least = 0
    budget = _Budget(steps)
    for part in _parts(neighbours):
        best = [group for group in known if group & part]
        independent = _independent(part, neighbours)
        for cover in _greedy(part, neighbours, independent):
            if len(cover) < len(best):
                best = cover
        bound = len(independent)
        if bound < len(best) and part.bit_count() <= _SEARCHED:
            best, finished = _Search(part, neighbours, independent, best, budget).run()
            bound = len(best) if finished else bound
        found += best
        at_least += bound
    groups = sorted(tuple(bits(group)) for group in found)
    return Cover(tuple(groups), at_least)


def bits(vertices: int) -> Iterator[int]:
    """Yield the vertices of a set, in ascending order."""
    while vertices:
        lowest = vertices & -vertices
        yield lowest.bit_length() - 1
        vertices ^= lowest


def _parts(neighbours: Sequence[int]) -> Iterator[int]:
    """Yield the connected parts: a group lies in one of them."""
    left = (1 << len(neighbours)) - 1
    while left:
        part = frontier = left & -left
        while frontier:
            reached = 0
            for vertex in bits(frontier):
                reached |= neighbours[vertex]
            frontier = reached & left & ~part
            part |= frontier
        left &= ~part
        yield part


def _independent(part: int, neighbours: Sequence[int]) -> tuple[int, ...]:
    """Return vertices of which no two are neighbours: each needs a group of its own."""
    found = []
    for vertex in sorted(bits(part), key=lambda vertex: (neighbours[vertex] & part).bit_count()):
        if part >> vertex & 1:
            found.append(vertex)
            part &= ~neighbours[vertex]
    return tuple(found)


def _greedy(part: int, neighbours: Sequence[int], independent: Sequence[int]) -> Iterator[list[int]]:
    """Yield covers that put each vertex into the first group that takes it, in some orders."""
    rest = [vertex for vertex in bits(part) if vertex not in set(independent)]
    fewest_first = sorted(rest, key=lambda vertex: neighbours[vertex].bit_count())
    for order in (rest, fewest_first, fewest_first[::-1]):
        groups: list[int] = []
        for vertex in (*independent, *order):
            for number, group in enumerate(groups):
                if group & ~neighbours[vertex] == 0:
                    groups[number] |= 1 << vertex
                    break
            else:
                groups.append(1 << vertex)
        yield groups


class _Budget:
    """Steps that are left to all searches."""

    def __init__(self, steps: int) -> None:
        self.left = steps


class _Search:
    """Branch and bound over one connected part: assigns the vertex with the fewest choices first."""

    def __init__(
        self, part: int, neighbours: Sequence[int], independent: Sequence[int], best: list[int], budget: _Budget
    ) -> None:
        self._neighbours = neighbours
        self._best = best
        self._budget = budget
        self._at_least = len(independent)
        self._groups = [1 << vertex for vertex in independent]
        self._left = part & ~sum(self._groups)

    def run(self) -> tuple[list[int], bool]:
        """Return the fewest groups found, and whether none has fewer."""
        finished = self._assign()
        return self._best, finished

    def _assign(self) -> bool:
        """Assign what is left in every way that may need fewer groups; return whether none was left out."""
        groups = self._groups
        if len(groups) >= len(self._best):
            return True
        if not self._left:
            self._best = list(groups)
            return True
        if self._budget.left <= 0:
            return False
        self._budget.left -= 1
        vertex, choices = self._next()
        self._left &= ~(1 << vertex)
        try:
            for number in choices:
                groups[number] |= 1 << vertex
                finished = self._assign()
                groups[number] &= ~(1 << vertex)
                if not finished or len(self._best) == self._at_least:
                    return finished
            if len(groups) + 1 >= len(self._best):
                return True
            groups.append(1 << vertex)
            finished = self._assign()
            groups.pop()
            return finished
        finally:
            self._left |= 1 << vertex

    def _next(self) -> tuple[int, list[int]]:
        """Return the vertex that the fewest groups take, and their numbers."""
        return min(((vertex, self._choices(vertex)) for vertex in bits(self._left)), key=_number_of_choices)

    def _choices(self, vertex: int) -> list[int]:
        others = ~self._neighbours[vertex]
        return [number for number, group in enumerate(self._groups) if group & others == 0]


def _number_of_choices(candidate: tuple[int, list[int]]) -> int:
    return len(candidate[1])
