"""Launch attributes of each live kernel node. Bookkeeping only, without CUPTI or driver calls."""

from collections.abc import Iterable
from struct import Struct

from sigcontract.driver.cuda import (
    ATTRIBUTE_VALUE_BYTES,
)
from sigcontract.driver.reading import (
    used_bytes,
)
from sigcontract.model import (
    AttributeId,
)

__all__ = ["SCHEDULING_OFF", "LaunchLedger"]

_ATTRIBUTE = Struct(f"<I4x{ATTRIBUTE_VALUE_BYTES}s")

#: A CUlaunchAttribute that disables NVLink-centric scheduling (cuda.h: 0 is disabled). It is the only attribute without
#: a getter that launches may inherit from a stream (cuda.h: valid for streams), so its absence from a launch proves
#: nothing.
SCHEDULING_OFF = _ATTRIBUTE.pack(AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING, bytes(ATTRIBUTE_VALUE_BYTES))

#: Arrays of destroyed nodes allowed before they are removed.
_SPARE_ARRAYS = 256


class LaunchLedger:
    """Launch attributes by node, for nodes known to be alive.

    CUDA reuses node handles, so the end of every node must be reported; unclear cases are dropped, never kept.
    """

    def __init__(self) -> None:
        #: CUgraphNode -> its CUgraph and the CUlaunchAttribute array of its launch.
        self._nodes: dict[int, tuple[int, bytes]] = {}
        #: CUgraph -> every node added to it. Handles may have been reused elsewhere: `_nodes` decides.
        self._members: dict[int, list[int]] = {}
        #: CUgraphNode that owns graphs (child graph, conditional) -> those graphs.
        self._inner: dict[int, tuple[int, ...]] = {}
        #: CUgraph -> nested graphs whose owning node is unknown (cloned together with it).
        self._enclosed: dict[int, tuple[int, ...]] = {}
        #: One copy of each distinct array, and its decoded form.
        self._interned: dict[bytes, bytes] = {}
        self._decoded: dict[bytes, dict[int, bytes]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def clear(self) -> None:
        """Forget everything."""
        for table in (self._nodes, self._members, self._inner, self._enclosed, self._interned, self._decoded):
            table.clear()

    def made(self, graph: int, node: int, carried: bytes) -> None:
        """Record a new kernel node and the CUlaunchAttribute array of its launch."""
        self._nodes[node] = (graph, self._interned.setdefault(carried, carried))
        members = self._members.get(graph)
        if members is None:
            self._members[graph] = [node]
        else:
            members.append(node)

    def cloned(self, graph: int, node: int, original: int) -> None:
        """Record a copy of a node in another graph."""
        entry = self._nodes.get(original)
        if entry is None:
            self.forget(node)
        else:
            self.made(graph, node, entry[1])

    def owns(self, graph: int, node: int, inner: Iterable[int]) -> None:
        """Record a node that owns graphs, which end with it."""
        self._inner[node] = tuple(inner)
        self._members.setdefault(graph, []).append(node)

    def encloses(self, graph: int, inner: Iterable[int]) -> None:
        """Record graphs created inside a graph, which end with it."""
        self._enclosed[graph] = (*self._enclosed.get(graph, ()), *inner)

    def set_attribute(self, node: int, attribute_id: int, value: bytes) -> None:
        """Record cuGraphKernelNodeSetAttribute."""
        entry = self._nodes.get(node)
        if entry is not None:
            carried = entry[1] + _ATTRIBUTE.pack(attribute_id, value)
            self._nodes[node] = (entry[0], self._interned.setdefault(carried, carried))

    def copied(self, destination: int, source: int) -> None:
        """Record cuGraphKernelNodeCopyAttributes."""
        entry, given = self._nodes.get(destination), self._nodes.get(source)
        if entry is None or given is None:
            self.forget(destination)
        else:
            self._nodes[destination] = (entry[0], given[1])

    def forget(self, node: int) -> None:
        """Drop a node that was destroyed, or created in an unknown way."""
        self._nodes.pop(node, None)
        for graph in self._inner.pop(node, ()):
            self.graph_destroyed(graph)

    def graph_destroyed(self, graph: int) -> None:
        """Drop every node of a graph and its nested graphs."""
        for node in self._members.pop(graph, ()):
            entry = self._nodes.get(node)
            if entry is None or entry[0] == graph:
                self.forget(node)
        for inner in self._enclosed.pop(graph, ()):
            self.graph_destroyed(inner)
        if len(self._interned) > len(self._nodes) + _SPARE_ARRAYS:
            self._interned = {carried: carried for _, carried in self._nodes.values()}
            self._decoded = {carried: entry for carried, entry in self._decoded.items() if carried in self._interned}

    def attributes(self, node: int) -> dict[int, bytes] | None:
        """Return a node's launch attributes, id -> 64 bytes; None if unknown.

        The last of a repeated id counts. Unused bytes of a value are zero.
        """
        entry = self._nodes.get(node)
        if entry is None:
            return None
        decoded = self._decoded.get(entry[1])
        if decoded is None:
            decoded = self._decoded[entry[1]] = _decode(entry[1])
        return decoded


def _decode(carried: bytes) -> dict[int, bytes]:
    attributes = {}
    for attribute_id, value in _ATTRIBUTE.iter_unpack(carried):
        if attribute_id != AttributeId.IGNORE:
            attributes[attribute_id] = value[: used_bytes(attribute_id)].ljust(ATTRIBUTE_VALUE_BYTES, b"\0")
    return attributes
