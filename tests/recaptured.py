"""Graphs with branches, and the same captured in another order."""

from random import Random

from msgspec.structs import replace

from sigcontract.model.graph import Dependency, GraphSignature
from tests.update.build import kernel


def edge(node: int) -> Dependency:
    return Dependency(node=node, from_port=0, to_port=0, type=0)


def branches(names: list[list[str]]) -> GraphSignature:
    """Return a fork, branches of kernels with these names, one after another, and a join."""
    nodes, edges = [kernel(name="fork", func=1)], list[tuple[Dependency, ...]]([()])
    ends = []
    for branch in names:
        last = 0
        for name in branch:
            nodes.append(kernel(name=name, func=hash_of(name)))
            edges.append((edge(last),))
            last = len(nodes) - 1
        ends.append(last)
    return GraphSignature(
        nodes=(*nodes, kernel(name="join", func=2)), dependencies=(*edges, tuple(edge(end) for end in ends))
    )


def hash_of(name: str) -> int:
    return 16 + int.from_bytes(name.encode(), "big")


def recaptured(captured: GraphSignature, random: Random) -> GraphSignature:
    """Return the graph with its nodes in another order that its edges allow."""
    after: list[list[int]] = [[] for _ in captured.nodes]
    waiting = [len(edges) for edges in captured.dependencies]
    for index, edges in enumerate(captured.dependencies):
        for item in edges:
            after[item.node].append(index)
    ready, order = [index for index, count in enumerate(waiting) if not count], []
    while ready:
        index = ready.pop(random.randrange(len(ready)))
        order.append(index)
        for later in after[index]:
            waiting[later] -= 1
            if not waiting[later]:
                ready.append(later)
    at = {index: position for position, index in enumerate(order)}
    return GraphSignature(
        nodes=tuple(captured.nodes[index] for index in order),
        dependencies=tuple(
            tuple(replace(item, node=at[item.node]) for item in captured.dependencies[index]) for index in order
        ),
    )
