"""Each node record of a graph once: layers repeat, readers share equal records, and most questions are of a record."""

from typing import TYPE_CHECKING

from sigcontract.model import (
    GraphSignature,
    NodeSignature,
    inner_graphs,
)
from sigcontract.update import (
    judged_same,
)

if TYPE_CHECKING:
    from sigcontract.model import (
        Finding,
    )
    from sigcontract.update import (
        NodeJudge,
    )

__all__ = ["distinct_nodes", "unknowns"]


def distinct_nodes(graph: GraphSignature) -> tuple[NodeSignature, ...]:
    """Return every node object once, those of children and readable bodies included."""
    found: dict[int, NodeSignature] = {}
    graphs = [graph]
    for one in graphs:  # grows while it is walked
        for node in one.nodes:
            if id(node) in found:
                continue
            found[id(node)] = node
            graphs.extend(inner for _, inner in inner_graphs(node) if inner is not None)
    return tuple(found.values())


def unknowns(
    policy: str, graph: GraphSignature, nodes: tuple[NodeSignature, ...], judge: "NodeJudge"
) -> "tuple[Finding, ...]":
    """Return what keeps a graph from being the same as any other under a policy, itself included.

    What is unknown is unknown of a node. So a graph of its ``nodes`` without edges is asked first, each of them once
    (`distinct_nodes`), and the whole only for the paths in it.
    """
    bare = GraphSignature(nodes=nodes, dependencies=((),) * len(nodes))
    if judged_same(policy, bare, bare, judge).same:
        return ()
    return judged_same(policy, graph, graph, judge).reasons
