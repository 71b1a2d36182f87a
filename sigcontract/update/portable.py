"""Policy ``portable``: graphs of two processes, handles renumbered by first use, nodes in any order."""

from collections.abc import Iterator
from typing import Final

from sigcontract.model import GraphSignature, KernelNodeSignature, NodeSignature, Verdict
from sigcontract.update.arguments import argument_unknowns
from sigcontract.update.arrangement import NodeOrder, StructureUndecided, compact_portable_form, portable_order
from sigcontract.update.attributes import Difference, by_rule
from sigcontract.update.by_index import STRUCTURE, Changes, differences_by_index, recorded
from sigcontract.update.changes import corresponding_changes
from sigcontract.update.function_changes import unproven_function
from sigcontract.update.kernels import NodeJudge
from sigcontract.update.located import LocatedDifference
from sigcontract.update.pairing import subject_of
from sigcontract.update.predict import judged_update
from sigcontract.update.similarity import similarity_key
from sigcontract.update.structure import node_order, reordered
from sigcontract.wire import portable_form

__all__ = ["portable_differences"]

#: Kind of a number in portable form, by the rule for its change within one process.
_CORRESPONDENCE: Final = {"kernel.function": "portable.function", "kernel.context": "portable.context"}

#: Fields with such numbers.
_NUMBERS: Final = (".func", ".context")


def portable_differences(
    a: GraphSignature, b: GraphSignature, judge: NodeJudge
) -> Iterator[tuple[LocatedDifference, bool]]:
    """Yield the differences of two graphs, except process-local numbers, and whether each makes them not the same.

    Node order does not. A graph with unknowns is the same as no graph.
    """
    if a is not b:
        old, new = compact_portable_form(a), compact_portable_form(b)
        if old != new:
            yield from _between(old, new, judge)
    for graph in (a,) if a == b else (a, b):
        for path, node in graph.walk():
            for difference in _unknowns(node, judge):
                yield (difference, path, subject_of(node)), True


def _between(old: GraphSignature, new: GraphSignature, judge: NodeJudge) -> Iterator[tuple[LocatedDifference, bool]]:
    """Yield the differences of two unequal portable forms."""

    def changes(held: NodeSignature, candidate: NodeSignature) -> Iterator[Difference]:
        for difference in recorded(corresponding_changes(held, candidate, judge)):
            if difference.rule in _CORRESPONDENCE and difference.field in _NUMBERS:
                yield difference._replace(rule=_CORRESPONDENCE[difference.rule])
            elif difference.rule != "function.name-not-durable":  # reported with each node's unknowns
                yield difference

    try:
        order = portable_order(old, new)
    except StructureUndecided:
        order = None
        difference = by_rule("node.alignment", "", None, None)
        yield (difference._replace(verdict=Verdict.UNDETERMINED), "nodes", None), True
    if order is not None:
        yield _moved(old, new, order, judge), False
        return
    for located in _closest(old, new, changes):
        yield located, True


def _closest(old: GraphSignature, new: GraphSignature, changes: Changes) -> list[LocatedDifference]:
    """Return the differences between nodes of equal index, or between nodes matched by edges and types, if fewer.

    If one kernel changed in a graph with another node order, the kernel is the reason, not the order.
    """
    found = list(differences_by_index(old, new, changes))
    if len(old.nodes) != len(new.nodes) or not any(difference.rule in STRUCTURE for difference, _, _ in found):
        return found
    numbers: dict[tuple[int, str], int] = {}
    kinds = [[numbers.setdefault(similarity_key(node), len(numbers)) for node in graph.nodes] for graph in (old, new)]
    order = node_order([(kinds[0], kinds[1])], old.dependencies, new.dependencies).order
    return min(found, list(differences_by_index(portable_form(reordered(old, order)), new, changes)), key=len)


def _moved(old: GraphSignature, new: GraphSignature, order: NodeOrder, judge: NodeJudge) -> LocatedDifference:
    """Return the finding of another node order, with the verdict on an update."""
    held = order.inverse.applied(portable_form(order.applied(old)))  # with the new graph's numbers
    verdict = Verdict.worst((judged_update(held, new, judge).verdict, Verdict.HARMLESS))
    return by_rule("topology.node-order", "", None, None)._replace(verdict=verdict), "nodes", None


def _unknowns(node: NodeSignature, judge: NodeJudge) -> Iterator[Difference]:
    """Yield the unknowns that keep a node from matching any node of another process."""
    for difference in judge.unknowns(node):
        if difference.rule != "kernel.function-unknown":  # handles mean nothing in another process
            yield difference
    if isinstance(node, KernelNodeSignature):
        yield from unproven_function(node)
        yield from argument_unknowns(node.arguments, across=True)
