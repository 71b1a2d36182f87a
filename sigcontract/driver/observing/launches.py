"""What each living kernel node was launched with. No CUPTI and no driver here: only the bookkeeping."""

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

#: The CUlaunchAttribute that a launch would carry to say what is known of it: no NVLink-centric scheduling. It is the
#: one attribute without a getter that a stream may pass on (cuda.h: valid for streams), so that its absence from a
#: launch says nothing. cuda.h: 0 is disabled.
SCHEDULING_OFF = _ATTRIBUTE.pack(AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING, bytes(ATTRIBUTE_VALUE_BYTES))

#: Arrays of ended nodes that may stay until they are swept out.
_SPARE_ARRAYS = 256


class LaunchLedger:
    """Launch attributes by node, for nodes that are known to live.

    A node's number may come back as another node once it is destroyed, so every end of a node must be told; what is
    not understood is forgotten, never kept.
    """

    def __init__(self) -> None:
        #: CUgraphNode -> its CUgraph, and the CUlaunchAttribute array of its launch.
        self._nodes: dict[int, tuple[int, bytes]] = {}
        #: CUgraph -> every node put into it. May name nodes that went elsewhere since: the owner above decides.
        self._members: dict[int, list[int]] = {}
        #: CUgraphNode that owns graphs (child graph, conditional) -> those graphs.
        self._inner: dict[int, tuple[int, ...]] = {}
        #: CUgraph -> graphs inside of it whose node is not told apart (copied together with it).
        self._enclosed: dict[int, tuple[int, ...]] = {}
        #: One copy of each distinct array, and what it says.
        self._interned: dict[bytes, bytes] = {}
        self._decoded: dict[bytes, dict[int, bytes]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def clear(self) -> None:
        """Forget everything."""
        for table in (self._nodes, self._members, self._inner, self._enclosed, self._interned, self._decoded):
            table.clear()

    def made(self, graph: int, node: int, carried: bytes) -> None:
        """Take note of a new kernel node and the CUlaunchAttribute array that it was made with."""
        self._nodes[node] = (graph, self._interned.setdefault(carried, carried))
        members = self._members.get(graph)
        if members is None:
            self._members[graph] = [node]
        else:
            members.append(node)

    def cloned(self, graph: int, node: int, original: int) -> None:
        """Take note of a copy of a node, in another graph."""
        entry = self._nodes.get(original)
        if entry is None:
            self.forget(node)
        else:
            self.made(graph, node, entry[1])

    def owns(self, graph: int, node: int, inner: Iterable[int]) -> None:
        """Take note of a node that holds graphs: they end with it."""
        self._inner[node] = tuple(inner)
        self._members.setdefault(graph, []).append(node)

    def encloses(self, graph: int, inner: Iterable[int]) -> None:
        """Take note of graphs that came into being inside of a graph and end with it."""
        self._enclosed[graph] = (*self._enclosed.get(graph, ()), *inner)

    def set_attribute(self, node: int, attribute_id: int, value: bytes) -> None:
        """Take note of cuGraphKernelNodeSetAttribute."""
        entry = self._nodes.get(node)
        if entry is not None:
            carried = entry[1] + _ATTRIBUTE.pack(attribute_id, value)
            self._nodes[node] = (entry[0], self._interned.setdefault(carried, carried))

    def copied(self, destination: int, source: int) -> None:
        """Take note of cuGraphKernelNodeCopyAttributes."""
        entry, given = self._nodes.get(destination), self._nodes.get(source)
        if entry is None or given is None:
            self.forget(destination)
        else:
            self._nodes[destination] = (entry[0], given[1])

    def forget(self, node: int) -> None:
        """Drop what is known of a node: it is destroyed, or was made in a way that is not understood."""
        self._nodes.pop(node, None)
        for graph in self._inner.pop(node, ()):
            self.graph_destroyed(graph)

    def graph_destroyed(self, graph: int) -> None:
        """Drop every node of a graph, and of the graphs inside of it."""
        for node in self._members.pop(graph, ()):
            entry = self._nodes.get(node)
            if entry is None or entry[0] == graph:
                self.forget(node)
        for inner in self._enclosed.pop(graph, ()):
            self.graph_destroyed(inner)
        if len(self._interned) > len(self._nodes) + _SPARE_ARRAYS:
            self._interned = {carried: carried for _, carried in self._nodes.values()}
            self._decoded = {carried: said for carried, said in self._decoded.items() if carried in self._interned}

    def attributes(self, node: int) -> dict[int, bytes] | None:
        """Return id -> 64 bytes of what a node was launched with, or None where that is not known.

        Where a launch gave an id twice, the last one counts. Bytes of the value that the id does not use are zero.
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
