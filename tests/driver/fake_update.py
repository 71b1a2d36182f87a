"""What cuGraphExecUpdate answers and what it leaves stale, as measured on an H200 with driver 580.159.04.

Written from the measurement alone, without a look at the library's own prediction: two independent readings of one
rule check each other.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from tests.driver.fake_state import KERNEL, NO_CLUSTER, FakeGraph, FakeNode, FakeRun

__all__ = ["Answer", "answer", "carry", "fix"]

SUCCESS, TOPOLOGY_CHANGED, NODE_TYPE_CHANGED, PARAMETERS_CHANGED, ATTRIBUTES_CHANGED = 0, 2, 3, 5, 8
USE_NODE_PRIORITY = 8  # CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY
MEMCPY, MEMSET, CHILD, CONDITIONAL = 1, 2, 4, 13


class Answer(NamedTuple):
    """The result, and the pairs that were made up to it."""

    result: int
    node: FakeNode | None = None
    from_node: FakeNode | None = None
    pairs: Sequence[tuple[FakeNode, FakeNode]] = ()


def _sinks(graph: FakeGraph) -> list[FakeNode]:
    needed = {edge.node.handle for node in graph.nodes for edge in node.dependencies}
    return [node for node in graph.nodes if node.handle not in needed]


def answer(held: FakeGraph, candidate: FakeGraph, flags: int) -> Answer:  # noqa: C901, PLR0911  one rule, in order
    """Return what the driver answers to an update from `held` to `candidate`."""
    if len(held.nodes) != len(candidate.nodes):
        return Answer(TOPOLOGY_CHANGED)
    old_sinks, new_sinks = _sinks(held), _sinks(candidate)
    if len(new_sinks) > len(old_sinks):
        return Answer(TOPOLOGY_CHANGED, new_sinks[len(new_sinks) - len(old_sinks) - 1])
    if len(new_sinks) < len(old_sinks):
        return Answer(TOPOLOGY_CHANGED)
    queue = deque(reversed(list(zip(old_sinks, new_sinks, strict=True))))
    partner = {old.handle: new for old, new in queue}
    taken = {new.handle for _old, new in queue}
    pairs: list[tuple[FakeNode, FakeNode]] = []
    while queue:
        old, new = queue.popleft()
        if len(old.dependencies) != len(new.dependencies):
            return Answer(TOPOLOGY_CHANGED, new)
        if old.type != new.type:
            return Answer(NODE_TYPE_CHANGED, new)
        inner = _node_answer(old, new, flags)
        if inner.result != SUCCESS:
            return inner
        pairs.append((old, new))
        pairs.extend(inner.pairs)
        for old_edge, new_edge in zip(old.dependencies, new.dependencies, strict=True):
            paired = partner.get(old_edge.node.handle)
            mismatch = (paired is not None or new_edge.node.handle in taken) and paired is not new_edge.node
            if old_edge.data != new_edge.data or mismatch:
                return Answer(TOPOLOGY_CHANGED, new, new_edge.node)
            if paired is None:
                partner[old_edge.node.handle] = new_edge.node
                taken.add(new_edge.node.handle)
                queue.append((old_edge.node, new_edge.node))
    return Answer(SUCCESS, pairs=pairs)


def _node_answer(old: FakeNode, new: FakeNode, flags: int) -> Answer:  # noqa: C901  one branch a node type
    """Return what the node itself forbids."""
    refused = None
    if old.type == KERNEL:
        priority = bool(flags & USE_NODE_PRIORITY) and old.priority != new.priority
        if old.cooperative != new.cooperative or old.nvlink != new.nvlink or priority:
            refused = ATTRIBUTES_CHANGED
    elif old.type == MEMSET:
        flat = (old.params["height"] <= 1, new.params["height"] <= 1)
        shape = [(node.params["width"], node.params["height"], node.params["element_size"]) for node in (old, new)]
        if flat[0] != flat[1] or (not flat[0] and shape[0] != shape[1]):
            refused = PARAMETERS_CHANGED
    elif old.type == MEMCPY:
        kinds = [(node.params["source_type"], node.params["destination_type"]) for node in (old, new)]
        flat = (_flat(old), _flat(new))
        if kinds[0] != kinds[1] or (not all(flat) and old.params != new.params):
            refused = PARAMETERS_CHANGED
    elif old.type == CONDITIONAL and (old.params["kind"], old.params["size"]) != (
        new.params["kind"],
        new.params["size"],
    ):
        refused = PARAMETERS_CHANGED
    if refused is not None:
        return Answer(refused, new)
    pairs: list[tuple[FakeNode, FakeNode]] = []
    for old_child, new_child in zip(old.children, new.children, strict=True):
        inner = answer(old_child, new_child, flags)
        if inner.result != SUCCESS:
            return inner
        pairs.extend(inner.pairs)
    return Answer(SUCCESS, pairs=pairs)


def _flat(node: FakeNode) -> bool:
    return bool(node.params["height"] <= 1 and node.params["depth"] <= 1)


def carry(old: FakeNode, new: FakeNode, *, other_work: bool) -> None:
    """Make the executable's node hold the candidate's, and keep what the driver keeps stale.

    ``other_work``: whether other kernels ran on the device since the last launch. Where none did, an update that
    changes no launch dimension leaves what ran: the cluster, and the function of a cooperative node.
    """
    if new.cluster != NO_CLUSTER:
        old.stored_cluster = new.cluster
    ran = old.ran if old.ran is not None and old.ran.is_like(new) and not other_work else None
    if old.function is not new.function:
        old.fixed_cluster = None if ran is None else ran.cluster
    if ran is None or not new.cooperative:
        old.runs_function = new.function
    elif old.function is not new.function:
        old.runs_function = ran.function
    old.params, old.attributes, old.function = dict(new.params), dict(new.attributes), new.function
    old.memory = new.memory


def fix(node: FakeNode) -> None:
    """Keep what a launch of an executable's node keeps."""
    node.fixed_cluster = node.runs_cluster
    node.ran = FakeRun(dict(node.params), node.runs_cluster, node.runs_function)
