"""Differences between paired nodes, with their paths in the graphs."""

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

#: A difference, its path in the candidate, and the node's description (None: of the whole graph).
LocatedDifference = tuple[Difference, str, str | None]

#: By path in the held graph: the node at the first launch, or the state of a kernel node. None: the held node.
Origin = Mapping[str, "NodeSignature | KernelState"] | None


def located_refusal(refusal: Refusal) -> LocatedDifference:
    """Return a refusal as a difference with its path."""
    return by_rule(refusal.rule, "", refusal.old, refusal.new), refusal.path, refusal.subject


def differences_along(  # noqa: PLR0913  two graphs, and the paths reached in them
    pairing: Pairing,
    graphs: tuple["GraphSignature", "GraphSignature"],
    judge: "NodeJudge",
    origin: "Origin" = None,
    at: tuple[str, str] = ("", ""),
    *,
    refused: bool = False,
) -> Iterator[LocatedDifference]:
    """Yield the differences of all pairs; for a refused update only those that leave the refusal undetermined.

    Parameters
    ----------
    pairing
        The pairing of the two graphs.
    graphs
        The held graph and the candidate.
    judge
        Judges the differences.
    origin
        By path in the held graph: the node at the first launch, or the state of a kernel node; missing or None: the
        held node.
    at
        Paths of the two graphs in the outermost graphs.
    refused
        Whether an enclosing graph is refused.
    """
    held, candidate = graphs
    refused = refused or pairing.refusal is not None
    # By id of the candidate's node: equal layers share nodes and pairs.
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
