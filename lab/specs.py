"""Descriptions of graphs, as plain values: what the builder builds and the generator invents and changes."""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "FUNCTIONS",
    "LIBRARY",
    "NAMES",
    "Alloc",
    "BatchMemOps",
    "Child",
    "Conditional",
    "Edge",
    "Empty",
    "EventRecord",
    "EventWait",
    "Free",
    "GraphSpec",
    "Host",
    "Kernel",
    "MemOp",
    "Memcpy",
    "Memset",
    "NodeSpec",
    "Shape",
]

Shape = tuple[int, int, int]

NAMES = ("rep", "rep2", "rep3", "repc", "reps")
#: What the name of a CUkernel ends with.
LIBRARY = "@lib"
#: ``rep``; ``rep@2``: its name, other code; ``rep@again``: the same image in another module; ``rep@lib``: a CUkernel.
FUNCTIONS = tuple(name + suffix for suffix in ("", "@2", "@again", LIBRARY) for name in NAMES)


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A reporting kernel. ``slot`` is where it reports; None leaves an attribute unset."""

    slot: int
    function: str = "rep"
    grid: Shape = (8, 1, 1)
    block: int = 32
    shared_bytes: int = 0
    value: int = 0
    cluster: Shape | None = None
    cooperative: bool = False
    priority: int | None = None
    carveout_percent: int | None = None
    sync_domain: int | None = None
    sync_domain_map: tuple[int, int] | None = None
    scheduling_policy: int | None = None
    window: tuple[int, float, int] | None = None  # bytes, hit ratio, CUaccessProperty on hit
    preferred_cluster: Shape | None = None  # set only where a captured launch carries it
    device_updatable: bool = False
    through_allocation: bool = False  # rep3 alone: pass the argument through the graph's own allocation


@dataclass(frozen=True, kw_only=True)
class Memset:
    """A memset of a slot's memory; in space ``alloc`` of the graph's own allocation, all of it."""

    slot: int
    space: str = "device"
    alternate: bool = False
    value: int = 0
    element_bytes: int = 1
    width: int = 64
    height: int = 1


@dataclass(frozen=True, kw_only=True)
class Memcpy:
    """A copy of constant bytes, or in space ``alloc`` of the graph's own allocation, into a slot's memory."""

    slot: int
    source: str = "device"
    source_alternate: bool = False
    target: str = "device"
    target_alternate: bool = False
    width: int = 64
    height: int = 1
    depth: int = 1
    unified: bool = False  # the target is named as CU_MEMORYTYPE_UNIFIED


@dataclass(frozen=True, kw_only=True)
class Host:
    """A host function that counts a semaphore up (sem_post) or down (sem_trywait)."""

    slot: int
    function: str = "sem_post"
    alternate: bool = False


@dataclass(frozen=True, kw_only=True)
class Empty:
    """A node that does nothing."""


@dataclass(frozen=True, kw_only=True)
class EventRecord:
    """A record of one of the rig's events."""

    event: int


@dataclass(frozen=True, kw_only=True)
class EventWait:
    """A wait for one of the rig's events."""

    event: int


@dataclass(frozen=True, kw_only=True)
class MemOp:
    """A write to a slot's memory, or a wait that a constant zero always satisfies."""

    kind: str  # "write32", "write64", "wait_geq", "wait_eq"
    slot: int
    alternate: bool = False
    value: int = 0


@dataclass(frozen=True, kw_only=True)
class BatchMemOps:
    """A batch of memory operations."""

    operations: tuple[MemOp, ...]


@dataclass(frozen=True, kw_only=True)
class Alloc:
    """An allocation of the graph's own, at most one in a graph."""

    size_bytes: int = 4096


@dataclass(frozen=True, kw_only=True)
class Free:
    """The free of the graph's allocation."""


@dataclass(frozen=True, kw_only=True)
class Child:
    """A child graph."""

    graph: "GraphSpec"


@dataclass(frozen=True, kw_only=True)
class Conditional:
    """A conditional node. A while loop has default 0: nothing in a body could end it."""

    kind: int  # CUgraphConditionalNodeType: 0 if, 1 while, 2 switch
    default: int
    bodies: tuple["GraphSpec", ...]


NodeSpec = (
    Kernel | Memset | Memcpy | Host | Empty | EventRecord | EventWait | BatchMemOps | Alloc | Free | Child | Conditional
)


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A dependency on a node; ``from_port`` 1 is programmatic, 2 launch order, both between kernels only."""

    node: int
    from_port: int = 0


@dataclass(frozen=True, kw_only=True)
class GraphSpec:
    """Nodes in creation order, and each one's dependencies in the order in which they are added."""

    nodes: tuple[NodeSpec, ...]
    dependencies: tuple[tuple[Edge, ...], ...]
    captured: bool = False

    def walk(self) -> Iterator[NodeSpec]:
        """Yield every node, inner graphs' included."""
        for node in self.nodes:
            yield node
            for inner in inner_graphs(node):
                yield from inner.walk()

    @property
    def single_instance(self) -> bool:
        """Whether the driver allows one exec of this graph at a time."""
        return any(
            isinstance(node, Alloc | Free | Conditional) or (isinstance(node, Kernel) and node.device_updatable)
            for node in self.walk()
        )


def inner_graphs(node: NodeSpec) -> tuple[GraphSpec, ...]:
    """Return the graphs that a node holds."""
    if isinstance(node, Child):
        return (node.graph,)
    if isinstance(node, Conditional):
        return node.bodies
    return ()
