"""The differences between the nodes that the driver pairs, each with its location in the graphs."""

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING

from sigcontract.update.attributes import Difference, by_rule
from sigcontract.update.pairing import Pairing, Refusal, body_pairs, subject_of

if TYPE_CHECKING:
    from sigcontract.model import (
        GraphSignature,
        NodeSignature,
    )
    from sigcontract.update.kernel_state import KernelState
    from sigcontract.update.kernels import NodeJudge

__all__ = ["LocatedDifference", "Origin", "differences_along", "located_refusal"]

#: A difference, the path of its node in the candidate, and the node for people (None: the graphs as a whole differ).
LocatedDifference = tuple[Difference, str, str | None]

#: By path in the exec's graph: the node at the first launch, or the state of a kernel node. None: as the exec holds.
Origin = Mapping[str, "NodeSignature | KernelState"] | None


def located_refusal(refusal: Refusal) -> LocatedDifference:
    """Return a refusal as a difference with its place."""
    return by_rule(refusal.rule, "", refusal.old, refusal.new), refusal.path, refusal.subject


def differences_along(  # noqa: PLR0913  a recursion over two graphs, and where it stands in them
    pairing: Pairing,
    graphs: tuple["GraphSignature", "GraphSignature"],
    judge: "NodeJudge",
    origin: "Origin" = None,
    at: tuple[str, str] = ("", ""),
    *,
    refused: bool = False,
) -> Iterator[LocatedDifference]:
    """Yield what the pairs of two graphs differ in; of a refused update only what leaves its answer open.

    Parameters
    ----------
    pairing
        The pairing of the two graphs.
    graphs
        The graph that the exec holds, and the candidate.
    judge
        What a difference means.
    origin
        By path in the graph that the exec holds: the node at the first launch, or the state of a kernel node; a path
        that is missing, or None: the node that the exec holds.
    at
        Paths of the two graphs in the outermost ones.
    refused
        Whether a graph around these is refused.
    """
    held, candidate = graphs
    refused = refused or pairing.refusal is not None
    # By the number of the candidate's node: equal layers share nodes, and pair them alike.
    seen: dict[int, tuple[NodeSignature, NodeSignature | KernelState, list[Difference]]] = {}
    old_nodes, new_nodes = held.nodes, candidate.nodes
    for old, new in sorted(pairing.pairs, key=itemgetter(1)):
        before, after = old_nodes[old], new_nodes[new]
        if new in pairing.doubts:
            for doubt in pairing.doubts[new]:
                yield by_rule(*doubt), f"{at[1]}nodes[{new}]", subject_of(after)
        if not refused:
            first = before if origin is None else origin.get(f"{at[0]}nodes[{old}]", before)
            known = seen.get(id(after))
            if known is not None and known[0] is before and known[1] is first:
                differences = known[2]
            else:
                differences = judge.differences(before, after, first)
                seen[id(after)] = before, first, differences
            if differences:
                path, subject = f"{at[1]}nodes[{new}]", subject_of(after)
                for difference in differences:
                    yield difference, path, subject
        if new in pairing.inner:
            bodies = zip(pairing.inner[new], body_pairs(before, after), strict=False)
            for inner, (below, old_body, new_body) in bodies:
                inside = f"{at[0]}nodes[{old}]{below}", f"{at[1]}nodes[{new}]{below}"
                yield from differences_along(inner, (old_body, new_body), judge, origin, inside, refused=refused)
