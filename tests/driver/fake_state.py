"""What the fake driver keeps: functions, nodes, graphs, executables."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "KERNEL",
    "NO_CLUSTER",
    "FakeEdge",
    "FakeExec",
    "FakeFunction",
    "FakeGraph",
    "FakeLaunch",
    "FakeMemory",
    "FakeNode",
    "FakeRun",
]

KERNEL = 0  # CUgraphNodeType
NO_CLUSTER = (0, 0, 0)
#: What mappings of cuMemAlloc are multiples of, as measured.
_MAPPING_BYTES = 2 << 20
_CLUSTER_DIMENSION, _COOPERATIVE, _PRIORITY, _CARVEOUT = 4, 2, 8, 14
_PREFERRED_CLUSTER_DIMENSION, _DEVICE_UPDATABLE, _NVLINK_UTIL_CENTRIC_SCHEDULING = 11, 13, 16


@dataclass(eq=False)
class FakeFunction:
    """A loaded function. ``code`` tells two functions of one name apart, as their machine code would."""

    name: bytes
    code: str
    module: int
    parameters: tuple[tuple[int, int], ...] = ()
    attributes: dict[int, int] = field(default_factory=dict)
    required_cluster: tuple[int, int, int] = NO_CLUSTER
    handle: int = 0
    kern: int = 0
    run: "Callable[[FakeLaunch], None] | None" = None


@dataclass(frozen=True)
class FakeMemory:
    """What cuPointerGetAttributes answers for an allocation: memory of cuMemAlloc unless said otherwise."""

    memory_type: int = 2  # CUmemorytype
    device: int = 0
    managed: bool = False
    pool: int = 0
    #: Whether the driver gives the range of the allocation; all drivers measured do.
    has_range: bool = True
    #: Of a reservation: offset and size of each part that is mapped, in bytes. None: memory of one allocation.
    mapped: tuple[tuple[int, int], ...] | None = None

    def mapping(self, start: int, size: int, address: int) -> tuple[int, int] | None:
        """Return base and size of the mapping around an address of this memory; None if it is not mapped."""
        parts = ((0, size + -size % _MAPPING_BYTES),) if self.mapped is None else self.mapped
        return next(((start + at, length) for at, length in parts if start + at <= address < start + at + length), None)


@dataclass(eq=False)
class FakeEdge:
    """A dependency of a node."""

    node: "FakeNode"
    data: tuple[int, int, int] = (0, 0, 0)  # from_port, to_port, type


@dataclass(eq=False)
class FakeNode:
    """A node of a graph or of an executable."""

    handle: int
    type: int
    dependencies: list[FakeEdge] = field(default_factory=list)
    #: What the node was made with: bytes of its struct, or single values; compared as a whole.
    params: dict[str, Any] = field(default_factory=dict)
    children: list["FakeGraph"] = field(default_factory=list)
    function: FakeFunction | None = None
    attributes: dict[int, bytes] = field(default_factory=dict)
    #: Whether the device knows preferred clusters (compute capability 10.0).
    preferred_clusters: bool = False
    #: Memory that the driver owns and getters point into.
    memory: list[Any] = field(default_factory=list)
    #: The list of a packed parameter buffer, where the node was made with one instead of kernelParams.
    extra: Any = None
    #: Of a node in an executable, what it launches; may be older than what it holds.
    runs_function: FakeFunction | None = None
    stored_cluster: tuple[int, int, int] = NO_CLUSTER
    fixed_cluster: tuple[int, int, int] | None = None
    runs_carveout: int = 0
    #: The last launch.
    ran: "FakeRun | None" = None

    def integer(self, attribute_id: int) -> int:
        """Return an attribute that is a signed integer."""
        return int.from_bytes(self.attributes.get(attribute_id, b"")[:4], "little", signed=True)

    @property
    def runs_cluster(self) -> tuple[int, int, int]:
        return self.stored_cluster if self.fixed_cluster is None else self.fixed_cluster

    @property
    def cooperative(self) -> bool:
        return self.integer(_COOPERATIVE) != 0

    @property
    def priority(self) -> int:
        return self.integer(_PRIORITY)

    @property
    def nvlink(self) -> int:
        return self.integer(_NVLINK_UTIL_CENTRIC_SCHEDULING)

    @property
    def device_updatable(self) -> bool:
        return self.integer(_DEVICE_UPDATABLE) != 0

    @property
    def carveout(self) -> int:
        return self.integer(_CARVEOUT)

    @property
    def cluster(self) -> tuple[int, int, int]:
        """The effective cluster: the preferred one where the device knows such, what was compiled in, the attribute."""
        preferred = self._dim(_PREFERRED_CLUSTER_DIMENSION) if self.preferred_clusters else NO_CLUSTER
        if preferred != NO_CLUSTER:
            return preferred
        compiled = self.function.required_cluster if self.function is not None else NO_CLUSTER
        return compiled if compiled != NO_CLUSTER else self._dim(_CLUSTER_DIMENSION)

    def _dim(self, attribute_id: int) -> tuple[int, int, int]:
        value = self.attributes.get(attribute_id, bytes(12))
        x, y, z = (int.from_bytes(value[at : at + 4], "little") for at in (0, 4, 8))
        return x, y, z


@dataclass(frozen=True)
class FakeRun:
    """What a node of an executable ran when it was launched."""

    params: Mapping[str, Any]
    cluster: tuple[int, int, int]
    function: FakeFunction | None

    def is_like(self, node: FakeNode) -> bool:
        """Whether a node has the launch dimensions of this run."""
        return all(self.params[name] == node.params[name] for name in ("grid", "block", "shared"))


@dataclass(eq=False)
class FakeGraph:
    """A graph. A child's or a body's belongs to its node."""

    handle: int
    nodes: list[FakeNode] = field(default_factory=list)
    owned: bool = False

    def walk(self) -> Iterator[FakeNode]:
        """Yield every node, children and bodies included."""
        for node in self.nodes:
            yield node
            for child in node.children:
                yield from child.walk()

    def copy(self, new_handle: Callable[[], int]) -> "FakeGraph":
        """Return a copy that shares functions, as cuGraphClone and instantiation make one."""
        twins: dict[int, FakeNode] = {}
        for node in self.nodes:
            twins[node.handle] = FakeNode(
                handle=new_handle(),
                type=node.type,
                params=dict(node.params),
                children=[child.copy(new_handle) for child in node.children],
                function=node.function,
                attributes=dict(node.attributes),
                preferred_clusters=node.preferred_clusters,
                memory=node.memory,
                extra=node.extra,
                runs_function=node.function,
                stored_cluster=node.cluster,
                runs_carveout=node.carveout,
            )
        for node in self.nodes:  # which may depend on one that is listed later
            twins[node.handle].dependencies = [
                FakeEdge(twins[edge.node.handle], edge.data) for edge in node.dependencies
            ]
        return FakeGraph(new_handle(), list(twins.values()), owned=True)


@dataclass(eq=False)
class FakeExec:
    """An executable: the graph that it holds, and whether that was ever uploaded or launched."""

    handle: int
    graph: FakeGraph
    source: int
    flags: int


@dataclass(frozen=True)
class FakeLaunch:
    """What one kernel was launched with: the truth that a kernel sees, not what the graph says."""

    exec: int
    name: str
    function: int
    code: str
    grid_dim: tuple[int, int, int]
    block_dim: tuple[int, int, int]
    dynamic_shared_mem_bytes: int
    cluster_dim: tuple[int, int, int]
    arguments: tuple[bytes, ...]
    carveout: int = 0
    attributes: Mapping[int, bytes] = field(default_factory=dict)
