"""Graphs that CUDA allows only one executable, so they share none."""

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

#: Node types of graphs that cuGraphInstantiateWithParams limits to one executable, without updates.
#:
#: Not conditional nodes: their graph may have only one executable, but executables may be updated to it. IF and WHILE,
#: built and captured, back and forth, recaptured, with another function, grid, argument and default value: all 176
#: updates took effect, even while the candidate had its own executable (H200, driver 580.159.04, 2026-12-02,
#: ``lab/conditionals.py``).
_SINGLE: Final[dict[type, str]] = {MemAllocNode: "an allocation node", MemFreeNode: "a free node"}


class SoleExec(NamedTuple):
    """A node whose graph must not share an executable.

    Attributes
    ----------
    node
        The node.
    what
        Description, such as ``an allocation node``; None: a device-updatable kernel.
    """

    node: NodeSignature
    what: str | None


def sole_exec(nodes: Iterable[NodeSignature]) -> SoleExec | None:
    """Return the first node that keeps its graph from sharing an executable, or None.

    Allocation and free nodes: cuGraphInstantiateWithParams allows one executable. Device-updatable kernels:
    cuGraphExecUpdate rejects the graph.
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
    """Return the finding that a graph must not share an executable, or None.

    ``nodes`` are all nodes of the graph, children and bodies included; repeats are allowed.
    """
    found = sole_exec(nodes)
    if found is None:
        return None
    path = next(path for path, other in graph.walk() if other is found.node)
    subject = subject_of(found.node)
    if isinstance(found.node, MemAllocNode | MemFreeNode):
        subject += f" of {found.node.address:#x}"
    (finding,) = bounded([finding_of(by_rule("graph.single-exec", "", None, None), [path], subject, 1, None)])
    return finding
