"""Graphs of which CUDA allows one executable at a time, and which therefore share none."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from sigcontract.model import (
    AttributeId,
    Finding,
    GraphSignature,
    KernelNodeSignature,
    MemAllocNode,
    MemFreeNode,
    NodeSignature,
)
from sigcontract.update.attributes import by_rule
from sigcontract.update.long_texts import bounded
from sigcontract.update.pairing import is_device_updatable, subject_of
from sigcontract.update.predict import finding_of

__all__ = ["SoleExec", "single_exec_finding", "sole_exec"]

#: What cuGraphInstantiateWithParams allows one executable of, by the type of a node, and no update.
#:
#: Conditional nodes are not among them. A graph with one may have one executable only, but an executable may be
#: updated to it: IF and WHILE, built and captured, to and fro, captured anew, other function, grid, argument and
#: default value: all 176 updates were carried out, also while the candidate had an executable of its own
#: (H200, driver 580.159.04, 2026-12-02, ``lab/conditionals.py``).
_SINGLE: Final[dict[type, str]] = {MemAllocNode: "an allocation node", MemFreeNode: "a free node"}


class SoleExec(NamedTuple):
    """A node for which its graph shares no executable.

    Attributes
    ----------
    node
        The node.
    what
        What it is, as ``an allocation node``; None: a kernel that the device updates.
    """

    node: NodeSignature
    what: str | None


def sole_exec(nodes: Iterable[NodeSignature]) -> SoleExec | None:
    """Return the first node for which a graph of these shares no executable, or None.

    Allocation and free nodes: cuGraphInstantiateWithParams allows one executable. Device-updatable
    kernels: cuGraphExecUpdate takes no such graph.
    """
    for node in nodes:
        what = _SINGLE.get(type(node))
        if what is not None:
            return SoleExec(node, what)
        if isinstance(node, KernelNodeSignature) and is_device_updatable(
            node.attribute(AttributeId.DEVICE_UPDATABLE_KERNEL_NODE)
        ):
            return SoleExec(node, None)
    return None


def single_exec_finding(graph: GraphSignature, nodes: Iterable[NodeSignature]) -> Finding | None:
    """Return why a graph shares no executable as a finding, or None where it may.

    ``nodes`` are all of the graph's, each object once or more often, those of children and bodies included.
    """
    found = sole_exec(nodes)
    if found is None:
        return None
    path = next(path for path, other in graph.walk() if other is found.node)
    (finding,) = bounded(
        [finding_of(by_rule("graph.single-exec", "", None, None), [path], subject_of(found.node), 1, None)]
    )
    return finding
