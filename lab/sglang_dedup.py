"""The registry of SGLang 0.5.23 as its behaviour is described in docs/registry.md, to run beside `GraphExecRegistry`.

Written from that description, not from SGLang's code. Five launch attributes are those of `sigcontract.dump` version 1.
Graphs are read by `sigcontract.driver.read_graph`, so the time of a registration here is not SGLang's.
"""

from collections.abc import Hashable
from typing import Any, Final, NamedTuple

from sigcontract.driver import DriverApi, default_driver, graph_handle, read_graph
from sigcontract.model import (
    AttributeId,
    ChildGraphNode,
    ClusterDim,
    GraphSignature,
    KernelNodeSignature,
    MemcpyNode,
    MemsetNode,
    NodeSignature,
    UpdateResult,
)

__all__ = ["DescribedRegistry", "described_key"]

_FIVE: Final = (
    AttributeId.COOPERATIVE,
    AttributeId.CLUSTER_DIMENSION,
    AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    AttributeId.PREFERRED_CLUSTER_DIMENSION,
    AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT,
)


class _Graph(NamedTuple):
    graph: int
    group: "_Group"


class _Group:
    """The executable of the graphs of one key, and the graph that it holds."""

    def __init__(self, graph_exec: int, graph: int) -> None:
        self.graph_exec = graph_exec
        self.held = graph


class DescribedRegistry:
    """The five methods of SGLang's class. A refused update is an AssertionError, as there.

    Parameters
    ----------
    driver
        The driver; by default this process's libcuda.
    """

    def __init__(self, driver: DriverApi | None = None) -> None:
        self._driver = default_driver() if driver is None else driver
        self._groups: dict[Hashable, _Group] = {}
        self._owners: list[object] = []

    def register(self, captured_graph: Any) -> _Graph:
        """Put a graph into the group of its key, after an update of the group's executable."""
        driver, graph = self._driver, graph_handle(captured_graph)
        self._owners.append(captured_graph)
        key = described_key(read_graph(graph, driver=driver))
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group(driver.graph_instantiate(graph), graph)
            return _Graph(graph, group)
        self._update(group, graph)
        return _Graph(graph, group)

    def replay(self, graph: _Graph, stream: int) -> None:
        """Launch a graph, after an update if its group's executable holds another one."""
        group = graph.group
        if group.held != graph.graph:
            self._update(group, graph.graph)
        self._driver.graph_launch(group.graph_exec, stream)

    def seal(self) -> None:
        """Do nothing: SGLang's marks the end of registration."""

    def stats(self) -> tuple[int, int]:
        """Return the number of graphs and of groups, each of which has an executable."""
        return len(self._owners), len(self._groups)

    def close(self) -> None:
        """Destroy the executables. Unlike SGLang's, leave the captured graphs as they are."""
        while self._groups:
            _, group = self._groups.popitem()
            self._driver.graph_exec_destroy(group.graph_exec)
        self._owners.clear()

    def _update(self, group: _Group, graph: int) -> None:
        outcome = self._driver.graph_exec_update(group.graph_exec, graph)
        if outcome.result:
            raise AssertionError(f"the update was refused: {UpdateResult.name_of(outcome.result)}")
        group.held = graph


def described_key(graph: GraphSignature) -> Hashable:
    """Return the key that two graphs of one executable have in common; unlike any other's where a graph is unique."""
    order = _topological(graph)
    position = {node: index for index, node in enumerate(order)}
    edges = sorted(
        (position[edge.node], position[node]) for node in order for edge in graph.dependencies[node]
    )  # without their data
    return tuple(_node_key(graph.nodes[node]) for node in order), tuple(edges)


def _topological(graph: GraphSignature) -> list[int]:
    """Return the nodes, each after those that it depends on, else in the driver's order."""
    done: set[int] = set()
    order: list[int] = []
    while len(order) < len(graph.nodes):
        for node in range(len(graph.nodes)):
            if node not in done and all(edge.node in done for edge in graph.dependencies[node]):
                done.add(node)
                order.append(node)
    return order


def _node_key(node: NodeSignature) -> Hashable:
    match node:
        case KernelNodeSignature():
            readable = [(i, entry.value) for i in _FIVE if (entry := node.attribute(i)) and entry.value is not None]
            return node.kern, node.func, node.block_dim, node.dynamic_shared_mem_bytes, *readable, _unique(node)
        case MemcpyNode():
            return "memcpy", node.source.memory_type, node.destination.memory_type
        case MemsetNode():
            return "memset", node.element_size_bytes
        case ChildGraphNode():
            return "child", described_key(node.graph)
        case _:
            return node.node_type


def _unique(node: KernelNodeSignature) -> object:
    """Return a stand-in for the node's own handle if it has a cluster whose preferred size cannot be read."""
    cluster = node.attribute(AttributeId.CLUSTER_DIMENSION)
    preferred = node.attribute(AttributeId.PREFERRED_CLUSTER_DIMENSION)
    has_cluster = cluster is not None and isinstance(cluster.value, ClusterDim) and cluster.value.dim is not None
    is_read = preferred is not None and preferred.value is not None
    return object() if has_cluster and not is_read else None
