"""The fewest executables under ``share-updatable``: which first-come groups go together, and how few are possible.

An executable may serve a set of graphs if it can be updated from each to each other one, once it ran: then it can be
updated along every order of them, launched in between or not. The state of a node depends on the last launch and on
what it holds, and what both of these leave is among what the pairs leave.
"""

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from sigcontract.update.cover import fewest_groups
from sigcontract.update.exec_state import ExecState
from sigcontract.update.policies import is_updatable
from sigcontract.update.share_key import judged_alike_key, pairing_key

if TYPE_CHECKING:
    from sigcontract.model import GraphSignature
    from sigcontract.update.kernels import NodeJudge

__all__ = ["Executables", "FirstCome", "fewest_executables"]

#: Graphs of one pairing key that are compared each with each; of more, whole groups are put together.
_EACH: Final = 48
#: Comparisons for each graph beyond that, so that thousands take linear time.
_PER_GRAPH: Final = 32


class FirstCome(NamedTuple):
    """Graphs that go together: of one key of ``share-functions``, or of one executable that holds them by turns.

    Attributes
    ----------
    members
        Their numbers.
    separate
        Groups of which this differs never go together: the load epochs of reused handles.
    """

    members: tuple[int, ...]
    separate: Hashable = None


class Executables(NamedTuple):
    """Graphs by the executable that serves them.

    Attributes
    ----------
    groups
        The numbers of the graphs of each executable, ascending; in the order of their first ones.
    at_least
        No fewer executables can serve the graphs. They are the fewest if there are so many.
    """

    groups: tuple[tuple[int, ...], ...]
    at_least: int


def fewest_executables(
    graphs: Sequence["GraphSignature"], first_come: Iterable[FirstCome], judge: "NodeJudge"
) -> Executables:
    """Return the fewest executables for graphs, or as few as are found; never more than the groups given.

    Exact, but for more than 48 graphs of one structure that differ in launch dimensions or functions, of which only
    whole groups are put together, and for sets that a search of 20,000 steps does not settle.

    Parameters
    ----------
    graphs
        The graphs, in the order of arrival.
    first_come
        The groups that they are in already. A graph that can share with none is in none.
    judge
        The judge that grouped them.
    """
    buckets: dict[Hashable, list[FirstCome]] = {}
    for group in first_come:
        key = pairing_key(graphs[group.members[0]], judge), group.separate
        buckets.setdefault(key, []).append(group)
    found: list[tuple[int, ...]] = []
    at_least = 0
    for groups in buckets.values():
        bucket = _Bucket(graphs, groups, judge).cover() if len(groups) > 1 else Executables((groups[0].members,), 1)
        found += bucket.groups
        at_least += bucket.at_least
    return Executables(tuple(sorted(found)), at_least)


class _Bucket:
    """Groups of one pairing key. Graphs that are judged alike are one vertex."""

    def __init__(self, graphs: Sequence["GraphSignature"], groups: Sequence[FirstCome], judge: "NodeJudge") -> None:
        self._judge = judge
        self._members: list[list[int]] = []
        #: The vertices of each group.
        self._groups: list[list[int]] = []
        for group in groups:
            alike: dict[str, list[int]] = {}
            for number in group.members:
                alike.setdefault(judged_alike_key(graphs[number], judge), []).append(number)
            first = len(self._members)
            self._members += alike.values()
            self._groups.append(list(range(first, len(self._members))))
        self._graphs = [graphs[members[0]] for members in self._members]
        self._states: dict[int, ExecState] = {}
        self._known: dict[tuple[int, int], bool] = {}
        self._left = max(_EACH**2, _PER_GRAPH * len(self._graphs))

    def cover(self) -> Executables:
        """Return the fewest executables."""
        if len(self._graphs) > _EACH:
            return self._cover_of_groups()
        neighbours = [0] * len(self._graphs)
        for group in self._groups:
            for a, b in combinations(group, 2):
                _join(neighbours, a, b)
        for one, other in combinations(self._groups, 2):
            for a in one:
                for b in other:
                    if self._together(a, b):
                        _join(neighbours, a, b)
        cover = fewest_groups(neighbours, self._groups)
        return Executables(tuple(map(self._numbers, cover.groups)), cover.at_least)

    def _cover_of_groups(self) -> Executables:
        """Put whole groups together, those compared before the budget ends; work is linear in the graphs.

        Each group is compared with all earlier ones. Groups of which the first graphs do not go together need an
        executable each, however groups are split.
        """
        of_firsts: list[int] = []
        of_groups: list[int] = []
        for number, group in enumerate(self._groups):
            if self._left <= 0:
                break
            of_firsts.append(0)
            of_groups.append(0)
            for earlier, other in enumerate(self._groups[:number]):
                # What was not compared may go together, so it proves no bound.
                if self._left <= 0 or self._together(other[0], group[0]):
                    _join(of_firsts, earlier, number)
                    if self._left > 0 and all(self._left > 0 and self._together(a, b) for a in other for b in group):
                        _join(of_groups, earlier, number)
        bound = fewest_groups(of_firsts, [[index] for index in range(len(of_firsts))], steps=0).at_least
        cover = fewest_groups(of_groups, [[index] for index in range(len(of_groups))])
        merged = [tuple(vertex for index in group for vertex in self._groups[index]) for group in cover.groups]
        merged += map(tuple, self._groups[len(of_groups) :])
        return Executables(tuple(map(self._numbers, merged)), bound)

    def _numbers(self, vertices: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(number for vertex in vertices for number in self._members[vertex]))

    def _together(self, a: int, b: int) -> bool:
        """Whether an executable can be updated from each to the other, whichever it ran first."""
        # A graph of which not even its own updates are safe joins none.
        return self._updates(a, b) and self._updates(b, a) and self._updates(a, a) and self._updates(b, b)

    def _updates(self, held: int, candidate: int) -> bool:
        known = self._known.get((held, candidate))
        if known is None:
            self._left -= 1
            known = self._known[held, candidate] = self._judged(held, candidate)
        return known

    def _judged(self, held: int, candidate: int) -> bool:
        state = self._states.get(held)
        if state is None:
            state = self._states[held] = ExecState.judged(self._graphs[held], self._judge).used()
        return is_updatable(state, self._graphs[candidate], self._judge)


def _join(neighbours: list[int], a: int, b: int) -> None:
    neighbours[a] |= 1 << b
    neighbours[b] |= 1 << a
