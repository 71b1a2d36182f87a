"""Find the order in which an old graph's nodes match those of the new graph.

The driver lists nodes in creation order. Two streams captured in another order give another list of the same graph, so
structure identifies nodes, and order does not. Every step is linear in nodes and edges, except for sorting each node's
edges, and a search of bounded steps.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from msgspec.structs import replace

from sigcontract.model import Dependency, GraphSignature

__all__ = [
    "Edge",
    "Reordering",
    "Shape",
    "is_chain",
    "isomorphism",
    "may_be_one_structure",
    "node_order",
    "positions",
    "reordered",
]

#: Rounds of refinement; each distinguishes nodes by everything before and after them.
_ROUNDS = 3
#: Steps of the search beyond one for each node.
_STEPS_SPARE = 20_000
#: How many edges from a node its twins are distinguished if the graphs differ farther away.
_EDGES_NEARBY = 3
#: Share of nodes that must agree in everything before or after them for twins to be distinguished.
_WORTH_A_LOOK = 0.1

_Edges = tuple[Dependency, ...]
#: Colours of the nodes of an old and of a new graph.
_Colours = tuple[Sequence[int], Sequence[int]]
#: A node, and the label of an edge: ports and type, for one, or a number for these.
Edge = tuple[int, Any]


class Reordering(NamedTuple):
    """The old graph's nodes in another order.

    Attributes
    ----------
    order
        Recorded index of each node, in the new order.
    partner
        New index of each old node; -1 if its edges do not determine it.
    total
        Whether the two graphs are isomorphic, so each node has its counterpart's index.
    exact
        Whether the search for an isomorphism was complete.
    back
        If they are not isomorphic, the recorded index of each new node, in the order of the old ones.
    """

    order: list[int]
    partner: list[int]
    total: bool
    exact: bool
    back: Sequence[int] = ()


def is_chain(dependencies: Sequence[_Edges]) -> bool:
    """Whether each node depends on the previous one alone, so no other order exists."""
    count = len(dependencies)
    if list(map(len, dependencies)) != [0, *[1] * (count - 1)][:count]:
        return False
    return [edges[0].node for edges in dependencies[1:]] == list(range(count - 1))


def node_order(
    levels: Sequence[tuple[Sequence[int], Sequence[int]]], old: Sequence[_Edges], new: Sequence[_Edges]
) -> Reordering:
    """Return the old graph's nodes in the order of their counterparts in the new one.

    Parameters
    ----------
    levels
        Keys of old and new nodes, finest first: nodes of equal key may correspond.
    old, new
        Dependencies of each node.

    Returns
    -------
    Reordering
        By the finest keys under which the graphs are isomorphic. If there are none, a topological order in which nodes
        with a counterpart follow its order.
    """
    graphs = _shape(old), _shape(new)
    exact = True
    if len(old) == len(new):
        for level, keys in enumerate(levels):
            if level and _as_fine(keys, levels[level - 1]):
                continue  # they distinguish the same nodes as the previous keys
            if not may_be_one_structure(keys, graphs):
                continue
            partner, ended = _one_structure(keys, graphs)
            if partner is not None:
                return Reordering(list(positions(partner)), partner, total=True, exact=True)
            exact = exact and ended
    partner = _partial(levels[0], graphs)
    order = _led(partner, graphs[0], len(new))
    return Reordering(
        order, partner, total=False, exact=exact, back=_led(_inverse(partner, len(new)), graphs[1], len(old))
    )


def positions(order: Sequence[int]) -> tuple[int, ...]:
    """Return the position of each index in an order."""
    at = [0] * len(order)
    for position, index in enumerate(order):
        at[index] = position
    return tuple(at)


def reordered(graph: GraphSignature, order: Sequence[int]) -> GraphSignature:
    """Return a graph with its nodes in another order."""
    at = positions(order)
    return GraphSignature(
        nodes=tuple(graph.nodes[index] for index in order),
        dependencies=tuple(
            tuple(replace(edge, node=at[edge.node]) for edge in graph.dependencies[index]) for index in order
        ),
    )


class Shape:
    """Edges in both directions, and a topological order."""

    def __init__(self, before: Sequence[Sequence[Edge]]) -> None:
        self.before = before
        self.after: list[list[Edge]] = [[] for _ in before]
        for index, edges in enumerate(before):
            for node, data in edges:
                self.after[node].append((index, data))
        in_order = all(node < index for index, edges in enumerate(before) for node, _ in edges)
        self.order = list(range(len(before)) if in_order else _topological(self, range(len(before))))


def _shape(dependencies: Sequence[_Edges]) -> Shape:
    return Shape([[(edge.node, (edge.from_port, edge.to_port, edge.type)) for edge in edges] for edges in dependencies])


def _topological(shape: Shape, priority: Sequence[int]) -> Iterator[int]:
    """Yield the nodes in topological order; among candidates, the first by priority."""
    waiting = list(map(len, shape.before))
    ready = [(priority[index], index) for index, count in enumerate(waiting) if not count]
    heapify(ready)
    while ready:
        _, index = heappop(ready)
        yield index
        for node, *_ in shape.after[index]:
            waiting[node] -= 1
            if not waiting[node]:
                heappush(ready, (priority[node], node))


def may_be_one_structure(keys: tuple[Sequence[Any], Sequence[Any]], graphs: tuple[Shape, Shape]) -> bool:
    """Whether two graphs have the same nodes by key and number of edges; most different graphs do not."""
    known = [
        sorted(zip(side, map(len, shape.before), map(len, shape.after), strict=True))
        for side, shape in zip(keys, graphs, strict=True)
    ]
    return known[0] == known[1]


def _as_fine(keys: tuple[Sequence[int], Sequence[int]], other: tuple[Sequence[int], Sequence[int]]) -> bool:
    """Whether keys distinguish the same nodes as finer ones."""
    pairs = {*zip(keys[0], other[0], strict=True), *zip(keys[1], other[1], strict=True)}
    return len(pairs) == len({*keys[0], *keys[1]})


def _inverse(partner: Sequence[int], length: int) -> list[int]:
    found = [-1] * length
    for index, at in enumerate(partner):
        if at >= 0:
            found[at] = index
    return found


def _one_structure(
    keys: tuple[Sequence[int], Sequence[int]], graphs: tuple[Shape, Shape]
) -> tuple[list[int] | None, bool]:
    """Return the new index of each old node if the graphs are isomorphic, and whether that was decided.

    Nodes of different colours cannot correspond. The first colours nearly always suffice; finer ones cost as much
    again.
    """
    colours = keys
    distinct = 0
    for _ in range(_ROUNDS):
        colours = _refined(_refined(colours, graphs, upward=False), graphs, upward=True)
        if sorted(colours[0]) != sorted(colours[1]):
            return None, True
        found = len(set(colours[0]))
        if found == distinct:
            return None, False  # no finer colours, and the search reached its bound on these
        distinct = found
        partner, ended = isomorphism(colours, graphs)
        if partner is not None or ended:
            return partner, ended
    return None, False


def _refined(
    keys: tuple[Sequence[int], Sequence[int]], graphs: tuple[Shape, Shape], *, upward: bool
) -> tuple[list[int], list[int]]:
    """Return colours that distinguish nodes by everything before them, or upward, everything after."""
    number: dict[Hashable, int] = {}
    found: list[list[int]] = []
    for key, shape in zip(keys, graphs, strict=True):
        colour = [0] * len(key)
        edges = shape.after if upward else shape.before
        for index in reversed(shape.order) if upward else shape.order:
            near = edges[index]
            seen = [(colour[node], data) for node, data in near]
            if len(seen) > 1:
                seen.sort()
            colour[index] = number.setdefault((key[index], *seen), len(number))
        found.append(colour)
    return found[0], found[1]


def isomorphism(
    colours: tuple[Sequence[Hashable], Sequence[Hashable]], graphs: tuple[Shape, Shape]
) -> tuple[list[int] | None, bool]:
    """Return the new index of each old node so that all edges correspond, and whether the search was complete.

    In topological order, a node's dependencies limit its candidates. The first candidate is nearly always right, as
    colours include what comes after; otherwise the search backtracks.
    """
    old, new = graphs
    candidates: dict[Hashable, list[int]] = {}
    for index in range(len(new.before)):
        candidates.setdefault(_situation(colours[1][index], new.before[index], None), []).append(index)
    partner = [-1] * len(old.order)
    used = bytearray(len(new.order))
    #: For each node so far, its candidates and the next one to try.
    tried: list[tuple[list[int], int]] = []
    first: dict[int, int] = {}
    steps = len(old.order) + _STEPS_SPARE
    while len(tried) < len(old.order):
        index = old.order[len(tried)]
        wanted = candidates.get(_situation(colours[0][index], old.before[index], partner), [])
        position = first.get(id(wanted), 0)
        while True:
            while position < len(wanted) and used[wanted[position]]:
                position += 1
                steps -= 1
            if position < len(wanted):
                break
            if not tried or steps < 0:
                return None, steps >= 0
            # Backtrack to the previous choice and take its next candidate.
            first.clear()
            wanted, position = tried.pop()
            index = old.order[len(tried)]
            used[partner[index]] = 0
            partner[index] = -1
            position += 1
            steps -= 1
        partner[index] = wanted[position]
        used[wanted[position]] = 1
        first[id(wanted)] = position + 1
        tried.append((wanted, position))
    return partner, True


def _situation(colour: Hashable, edges: Sequence[Edge], partner: Sequence[int] | None) -> Hashable:
    """Return a node's colour and dependencies, as indices in the new graph."""
    seen = edges if partner is None else [(partner[node], data) for node, data in edges]
    return (colour, *(sorted(seen) if len(seen) > 1 else seen))


def _partial(keys: tuple[Sequence[int], Sequence[int]], graphs: tuple[Shape, Shape]) -> list[int]:
    """Return the new index of each old node, or -1; matches nodes that agree in everything before or after them.

    A difference changes the upward colours of everything before it. So a node is distinguished from its twins by
    everything before it, and by as much of what comes after as agrees: all, a few edges, or none; and vice versa.
    """
    down, up = _refined(keys, graphs, upward=False), _refined(keys, graphs, upward=True)
    both = _refined(down, graphs, upward=True)
    partner, taken = [-1] * len(keys[0]), [-1] * len(keys[1])
    for colours, first, upward in ((down, (both,), False), (up, (), True)):
        levels: list[_Colours] = [*first]
        if _in_common(colours) >= _WORTH_A_LOOK * min(map(len, keys)):
            levels += _nearby(colours, graphs, upward=not upward)
        _pair([*levels, colours], graphs, partner, taken, upward=upward)
    return partner


def _in_common(colours: tuple[Sequence[int], Sequence[int]]) -> int:
    return (Counter(colours[0]) & Counter(colours[1])).total()


def _nearby(
    colours: tuple[Sequence[int], Sequence[int]], graphs: tuple[Shape, Shape], *, upward: bool
) -> list[tuple[Sequence[int], Sequence[int]]]:
    """Return colours that distinguish nodes by what is a few edges after them, or before, farthest first."""
    found: list[tuple[Sequence[int], Sequence[int]]] = []
    for _ in range(_EDGES_NEARBY):
        number: dict[Hashable, int] = {}
        finer = [
            [
                number.setdefault((known[index], *sorted((known[node], data) for node, data in edges)), len(number))
                for index, edges in enumerate(shape.after if upward else shape.before)
            ]
            for known, shape in zip(colours, graphs, strict=True)
        ]
        colours = finer[0], finer[1]
        found.insert(0, colours)
    return found


def _pair(
    levels: Sequence[tuple[Sequence[int], Sequence[int]]],
    graphs: tuple[Shape, Shape],
    partner: list[int],
    taken: list[int],
    *,
    upward: bool,
) -> None:
    """Pair nodes of one colour, finest first, whose neighbours are paired, in order."""
    old, new = ((shape.after if upward else shape.before) for shape in graphs)
    found: list[dict[Hashable, list[int]]] = []
    for _, colours in levels:
        candidates: dict[Hashable, list[int]] = {}
        for index in reversed(range(len(new))):
            if taken[index] < 0:
                candidates.setdefault(_situation(colours[index], new[index], None), []).append(index)
        found.append(candidates)
    for index in reversed(graphs[0].order) if upward else graphs[0].order:
        if partner[index] >= 0:
            continue
        for (colours, _), candidates in zip(levels, found, strict=True):
            waiting = candidates.get(_situation(colours[index], old[index], partner), [])
            while waiting and taken[waiting[-1]] >= 0:
                waiting.pop()
            if waiting:
                partner[index] = waiting.pop()
                taken[partner[index]] = index
                break


def _led(partner: Sequence[int], shape: Shape, last: int) -> list[int]:
    """Return the nodes in the order of their partners; one without a partner follows its dependencies."""
    priority = [0] * len(partner)
    for index in shape.order:
        at = partner[index]
        before = [priority[node] for node, *_ in shape.before[index]]
        priority[index] = at if at >= 0 else max(before, default=last if shape.after[index] else 0)
    return list(_topological(shape, priority))
