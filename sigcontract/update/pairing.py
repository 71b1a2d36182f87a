"""How cuGraphExecUpdate pairs the nodes of two graphs, and where it stops.

The rule was fitted on 4,000 recorded answers and checked on 17,500 others (H200, driver 580.159.04, 2026-12-01):
result, error node and error-from node were exact in all of them. Sinks are paired in node order; pairs are taken from a
queue that starts with the last sink; the dependencies of a pair are paired in the order in which their edges were
added. The caller supplies the refusals of node pairs, which depend on driver and flags.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from sigcontract.model import (
    NODE_RECORDS,
    AttributeId,
    DeviceUpdatableNode,
    GraphSignature,
    KernelNodeSignature,
    LaunchAttribute,
    NodeSignature,
    OpaqueNode,
    UpdateResult,
    graph_fields,
    inner_graphs,
)

if TYPE_CHECKING:
    from sigcontract.model import (
        Dependency,
    )

__all__ = [
    "Doubt",
    "NodePair",
    "NodeRefusal",
    "Pairing",
    "Refusal",
    "body_pairs",
    "first_refusal",
    "is_device_updatable",
    "pair_graphs",
    "subject_of",
]


class NodeRefusal(NamedTuple):
    """A refusal of a pair of nodes.

    Attributes
    ----------
    rule
        Id of the rule.
    result
        The driver's result; None if unknown.
    field
        Path of the field, below the node.
    old, new
        Its two values, as text.
    """

    rule: str
    result: UpdateResult | None
    field: str
    old: int | str | None
    new: int | str | None

    def at(self, index: int, node: NodeSignature) -> "Refusal":
        """Return the refusal at the candidate's node of that index."""
        at = f"nodes[{index}]"
        return Refusal(self.rule, self.result, at, None, at + self.field, self.old, self.new, subject_of(node))


class Doubt(NamedTuple):
    """A pair of nodes that the driver may or may not accept.

    Attributes
    ----------
    rule
        Id of the rule with the reason.
    field
        Path of the field, below the node.
    old, new
        Its two values, as text.
    """

    rule: str
    field: str
    old: int | str | None
    new: int | str | None


#: Nodes with nested graphs.
_HOLDERS = tuple(filter(graph_fields, NODE_RECORDS.values()))

#: Called for each pair of nodes of one type; returns a refusal, or doubts, possibly none.
Judge = Callable[[NodeSignature, NodeSignature], "NodeRefusal | tuple[Doubt, ...]"]


class Refusal(NamedTuple):
    """Where and why the driver stops.

    Attributes
    ----------
    rule
        Id of the rule.
    result
        CUgraphExecUpdateResult; None if the driver refuses with an unknown result.
    node
        Path of the error node in the candidate; None if the driver reports none.
    from_node
        Path of the mismatched dependency in the candidate, or None.
    path
        Path of the difference in the candidate.
    old, new
        The two values, as text.
    subject
        Description of the candidate's node; None if the whole graphs differ.
    """

    rule: str
    result: UpdateResult | None
    node: str | None
    from_node: str | None
    path: str
    old: int | str | None
    new: int | str | None
    subject: str | None

    def inside(self, prefix: str) -> "Refusal":
        """Return the refusal with paths from the graph that holds this one at ``prefix``."""
        return self._replace(
            node=None if self.node is None else prefix + self.node,
            from_node=None if self.from_node is None else prefix + self.from_node,
            path=prefix + self.path,
        )


class NodePair(NamedTuple):
    """Two nodes that the driver pairs.

    Attributes
    ----------
    held, candidate
        The nodes.
    held_path, candidate_path
        Their paths in the outermost graphs.
    """

    held: NodeSignature
    candidate: NodeSignature
    held_path: str
    candidate_path: str


class Pairing(NamedTuple):
    """The pairs of two graphs, up to the driver's refusal.

    Attributes
    ----------
    pairs
        Index in the exec's graph and in the candidate, in the driver's order.
    refusal
        The refusal; None if everything is paired.
    inner
        By index in the candidate: the pairings of a child graph, or of the bodies of a conditional.
    doubts
        By index in the candidate: doubts whether the driver accepts the pair.
    """

    pairs: list[tuple[int, int]]
    refusal: Refusal | None
    inner: dict[int, "tuple[Pairing, ...]"]
    doubts: dict[int, tuple[Doubt, ...]]

    @property
    def doubtful(self) -> bool:
        """Whether the driver might refuse a pair for reasons not recorded."""
        return bool(self.doubts) or any(pairing.doubtful for inner in self.inner.values() for pairing in inner)

    def walk(
        self, held: GraphSignature, candidate: GraphSignature, held_prefix: str = "", candidate_prefix: str = ""
    ) -> Iterator[NodePair]:
        """Yield every pair; those of children and readable bodies follow their node."""
        for old, new in self.pairs:
            pair = NodePair(
                held.nodes[old], candidate.nodes[new], f"{held_prefix}nodes[{old}]", f"{candidate_prefix}nodes[{new}]"
            )
            yield pair
            for pairing, (at, old_body, new_body) in zip(
                self.inner.get(new, ()), body_pairs(pair.held, pair.candidate), strict=False
            ):
                yield from pairing.walk(old_body, new_body, pair.held_path + at, pair.candidate_path + at)


def body_pairs(held: NodeSignature, candidate: NodeSignature) -> Iterator[tuple[str, GraphSignature, GraphSignature]]:
    """Yield the nested graphs readable in both nodes, with their path below the node (``.graph.``)."""
    if type(held) is type(candidate):
        for (at, old), (_, new) in zip(inner_graphs(held), inner_graphs(candidate), strict=False):
            if old is not None and new is not None:
                yield at, old, new


def subject_of(node: NodeSignature) -> str:
    """Return a node's description: a kernel's name, else the node's type."""
    if isinstance(node, KernelNodeSignature):
        return node.name
    if isinstance(node, OpaqueNode):
        return f"node of type {node.type}"
    return str(type(node).__struct_config__.tag)


def pair_graphs(held: GraphSignature, candidate: GraphSignature, judge: Judge) -> Pairing:
    """Pair the nodes of a held graph with those of a candidate, as cuGraphExecUpdate does.

    Parameters
    ----------
    held
        The graph that the exec holds now.
    candidate
        The graph to update it to.
    judge
        Returns refusals and doubts of a pair of nodes of one type.
    """
    pairing = Pairing([], None, {}, {})
    refusal = _device_updatable(candidate)
    if refusal is None and held is not candidate:
        refusal = _device_updatable(held)
    if refusal is not None:
        return pairing._replace(refusal=refusal)
    counts = len(held.nodes), len(candidate.nodes)
    if counts[0] != counts[1]:
        return pairing._replace(refusal=_topology("topology.node-count", "nodes", counts))
    alike = held.dependencies == candidate.dependencies
    new_sinks = candidate.sinks
    old_sinks = new_sinks if alike else held.sinks
    counts = len(old_sinks), len(new_sinks)
    if counts[0] > counts[1]:
        return pairing._replace(refusal=_topology("topology.sink-count", "nodes", counts))
    if counts[0] < counts[1]:
        index = new_sinks[counts[1] - counts[0] - 1]
        at, subject = f"nodes[{index}]", subject_of(candidate.nodes[index])
        return pairing._replace(refusal=_topology("topology.sink-count", at, counts, subject, at))
    pairing.pairs.extend(zip(reversed(old_sinks), reversed(new_sinks), strict=True))
    return pairing._replace(refusal=_follow(held, candidate, judge, pairing, alike=alike))


def first_refusal(barriers: Iterable[NodeRefusal | Doubt]) -> NodeRefusal | tuple[Doubt, ...]:
    """Return the driver's first refusal of a pair of nodes, or the doubts."""
    doubts = []
    for barrier in barriers:
        if isinstance(barrier, NodeRefusal):
            return barrier
        doubts.append(barrier)
    return tuple(doubts)


def is_device_updatable(entry: LaunchAttribute | None) -> bool:
    """Whether an entry of attribute 13 makes its node device-updatable."""
    return entry is not None and isinstance(entry.value, DeviceUpdatableNode) and entry.value.device_updatable != 0


def _device_updatable(graph: GraphSignature) -> Refusal | None:
    """Refuse a graph with a device-updatable node; the driver does so before pairing."""
    seen: set[int] = set()
    for node in {id(node): node for node in graph.nodes}.values():
        if isinstance(node, KernelNodeSignature) and id(node.attributes) not in seen:
            seen.add(id(node.attributes))  # equal sets are mostly one object
            if is_device_updatable(node.attribute(AttributeId.DEVICE_UPDATABLE_KERNEL_NODE)):
                path = f"nodes[{graph.nodes.index(node)}].attributes[device_updatable_kernel_node]"
                return Refusal("kernel.device-updatable", None, None, None, path, 1, 1, node.name)
    return None


def _follow(  # noqa: C901, PLR0912  one branch for each step of the driver's rule
    held: GraphSignature, candidate: GraphSignature, judge: Judge, pairing: Pairing, *, alike: bool
) -> Refusal | None:
    """Process ``pairing.pairs`` as a queue; return the driver's refusal, if any.

    ``alike``: both graphs have equal edges at every index.
    """
    queue = pairing.pairs
    unpaired = -1
    partner_of_old, partner_of_new = [unpaired] * len(held.nodes), [unpaired] * len(held.nodes)
    for old, new in queue:
        partner_of_old[old], partner_of_new[new] = new, old
    old_nodes, new_nodes = held.nodes, candidate.nodes
    # By id of a held node, the last node paired with it without objection: layers repeat.
    plain: dict[int, NodeSignature] = {}
    old_dependencies, new_dependencies = held.dependencies, candidate.dependencies
    for old, new in queue:  # grows during the loop: breadth first
        old_edges, new_edges = old_dependencies[old], new_dependencies[new]
        old_node, new_node = old_nodes[old], new_nodes[new]
        is_plain = plain.get(id(old_node)) is new_node
        if len(old_edges) != len(new_edges) or (not is_plain and old_node.node_type != new_node.node_type):
            return _shape_refusal(new, old_node, new_node, len(old_edges), len(new_edges))
        if not is_plain:
            answer = judge(old_node, new_node)
            if isinstance(answer, NodeRefusal):
                return answer.at(new, new_node)
            if answer:
                pairing.doubts[new] = answer
            if isinstance(new_node, _HOLDERS):
                refusal = _descend(old_node, new_node, new, judge, pairing)
                if refusal is not None:
                    return refusal
            elif not answer:
                plain[id(old_node)] = new_node
        if alike:  # from equal sinks, equal edges pair nodes of equal index
            for edge in new_edges:
                if partner_of_new[edge.node] == unpaired:
                    partner_of_new[edge.node] = edge.node
                    queue.append((edge.node, edge.node))
            continue
        for position, new_edge in enumerate(new_edges):
            old_edge = old_edges[position]
            before, after = old_edge.node, new_edge.node
            same_data = old_edge == new_edge or _data(old_edge) == _data(new_edge)
            if same_data and partner_of_old[before] == partner_of_new[after] == unpaired:
                partner_of_old[before], partner_of_new[after] = after, before
                queue.append((before, after))
            elif not same_data or partner_of_old[before] != after:
                return _edge_refusal(new, position, old_edge, new_edge, subject_of(new_node))
    return None


def _descend(old: NodeSignature, new: NodeSignature, index: int, judge: Judge, pairing: Pairing) -> Refusal | None:
    """Apply the rule to child graphs, or to the readable bodies of a conditional."""
    inner: list[Pairing] = []
    refusal = None
    for at, old_body, new_body in body_pairs(old, new):
        body = pair_graphs(old_body, new_body, judge)
        inner.append(body)
        if body.refusal is not None:
            refusal = body.refusal.inside(f"nodes[{index}]{at}")
            break
    pairing.inner[index] = tuple(inner)
    return refusal


def _shape_refusal(
    index: int, old_node: NodeSignature, new_node: NodeSignature, old_count: int, new_count: int
) -> Refusal:
    at, subject = f"nodes[{index}]", subject_of(new_node)
    if old_count != new_count:
        path = f"dependencies[{index}]"
        return _topology("topology.dependency-count", path, (old_count, new_count), subject, at)
    types = subject_of(old_node), subject
    return Refusal("node.type", UpdateResult.ERROR_NODE_TYPE_CHANGED, at, None, at, *types, subject)


def _edge_refusal(index: int, position: int, old: "Dependency", new: "Dependency", subject: str) -> Refusal:
    at, from_at, path = f"nodes[{index}]", f"nodes[{new.node}]", f"dependencies[{index}][{position}]"
    if _data(old) != _data(new):
        return _topology("edge.data", path, (_edge_text(old), _edge_text(new)), subject, at, from_at)
    return _topology("topology.dependency", f"{path}.node", (old.node, new.node), subject, at, from_at)


def _topology(
    rule: str,
    path: str,
    texts: tuple[int | str, int | str],
    subject: str | None = None,
    *at: str,
) -> Refusal:
    """Return TOPOLOGY_CHANGED; ``at`` has the error node and, if any, the error-from node."""
    node, from_node, *_ = (*at, None, None)
    return Refusal(rule, UpdateResult.ERROR_TOPOLOGY_CHANGED, node, from_node, path, *texts, subject)


def _data(edge: "Dependency") -> tuple[int, int, int]:
    return edge.from_port, edge.to_port, edge.type


def _edge_text(edge: "Dependency") -> str:
    return f"from_port {edge.from_port}, to_port {edge.to_port}, type {edge.type}"
