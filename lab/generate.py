"""Random graphs. Seeded, so repeatable."""

from dataclasses import replace
from random import Random
from typing import Any

from lab.memory import HOST_SPACES, SLOTS, SPACES
from lab.specs import (
    FUNCTIONS,
    Alloc,
    BatchMemOps,
    Child,
    Conditional,
    Edge,
    Empty,
    EventRecord,
    EventWait,
    Free,
    GraphSpec,
    Host,
    Kernel,
    Memcpy,
    MemOp,
    Memset,
    NodeSpec,
    Shape,
)

__all__ = [
    "CLUSTERS",
    "QUIET",
    "Slots",
    "is_plain_kernel",
    "quiet_change",
    "random_graph",
    "random_grid",
    "random_mem_op",
    "random_memcpy",
    "random_memset",
    "random_node",
    "settled",
]

_MAX_NODES = 14
_DEVICE_SPACES = tuple(name for name in SPACES if name not in HOST_SPACES)
CLUSTERS: tuple[Shape | None, ...] = (None, None, (1, 1, 1), (2, 1, 1), (4, 1, 1), (8, 1, 1), (1, 2, 1), (2, 2, 1))
_GRIDS: tuple[Shape, ...] = ((8, 1, 1), (16, 1, 1), (24, 1, 1), (8, 2, 1), (16, 2, 1), (8, 2, 2))
_WEIGHTS = {
    "kernel": 60,
    "memset": 9,
    "memcpy": 10,
    "empty": 4,
    "event_record": 3,
    "event_wait": 3,
    "host": 4,
    "batch": 3,
    "child": 4,
}


class Slots:
    """Hands out slots, each once in a graph, so that no two nodes write the same memory."""

    def __init__(self, random: Random, used: set[int]) -> None:
        self._free = [slot for slot in range(SLOTS) if slot not in used]
        random.shuffle(self._free)

    def take(self) -> int:
        return self._free.pop()

    @property
    def left(self) -> int:
        return len(self._free)


def random_graph(random: Random) -> GraphSpec:
    """Return a graph of up to 14 nodes, with forks, joins and, now and then, what allows one exec at a time."""
    slots = Slots(random, set())
    count = random.choice((1, 1, 2, 3, random.randint(2, 6), random.randint(4, _MAX_NODES)))
    nodes = [random_node(random, slots, depth=0) for _ in range(count)]
    rare = random.random()
    if rare < 0.03:
        nodes.append(_random_conditional(random, slots))
    elif rare < 0.06:
        return _with_allocation(random, slots, _connect(random, nodes))
    elif rare < 0.07:
        nodes.append(replace(_random_kernel(random, slots), device_updatable=True))
    spec = _connect(random, nodes)
    return replace(spec, captured=random.random() < 0.3)


def _with_allocation(random: Random, slots: Slots, spec: GraphSpec) -> GraphSpec:
    """Add an allocation, a fill of it, a copy from it and its free, one after the other."""
    count = len(spec.nodes)
    chain = (
        Alloc(size_bytes=random.choice((4096, 65536))),
        Memset(slot=slots.take(), space="alloc", value=random.randrange(200)),
        Memcpy(slot=slots.take(), source="alloc"),
        Free(),
    )
    edges = ((), *((Edge(node=count + place),) for place in range(len(chain) - 1)))
    captured = random.random() < 0.3
    return GraphSpec(nodes=(*spec.nodes, *chain), dependencies=(*spec.dependencies, *edges), captured=captured)


def _connect(random: Random, nodes: list[NodeSpec]) -> GraphSpec:
    dependencies: list[tuple[Edge, ...]] = []
    chain = random.random() < 0.3
    for index in range(len(nodes)):
        if chain:
            chosen = [index - 1] if index else []
        else:
            chosen = random.sample(range(index), min(index, random.choice((0, 1, 1, 1, 2, 3))))
        dependencies.append(tuple(_edge(random, nodes, place, index) for place in chosen))
    return GraphSpec(nodes=tuple(nodes), dependencies=tuple(dependencies))


def _edge(random: Random, nodes: list[NodeSpec], source: int, target: int) -> Edge:
    port = 0
    if is_plain_kernel(nodes[source]) and is_plain_kernel(nodes[target]) and random.random() < 0.12:
        port = random.choice((1, 1, 2))
    return Edge(node=source, from_port=port)


def is_plain_kernel(node: NodeSpec) -> bool:
    return isinstance(node, Kernel) and not node.cooperative


def random_node(random: Random, slots: Slots, *, depth: int) -> NodeSpec:
    kind = random.choices(tuple(_WEIGHTS), tuple(_WEIGHTS.values()))[0]
    if kind == "child" and (depth >= 2 or slots.left < 24):
        kind = "kernel"
    return _random_node_of(random, slots, kind, depth=depth)


def _random_node_of(random: Random, slots: Slots, kind: str, *, depth: int) -> NodeSpec:  # noqa: PLR0911  one case per kind
    match kind:
        case "memset":
            return random_memset(random, slots.take())
        case "memcpy":
            return random_memcpy(random, slots.take())
        case "empty":
            return Empty()
        case "event_record":
            return EventRecord(event=random.randrange(4))
        case "event_wait":
            return EventWait(event=random.randrange(4))
        case "host":
            return Host(slot=slots.take(), function=random.choice(("sem_post", "sem_trywait")))
        case "batch":
            return BatchMemOps(operations=tuple(random_mem_op(random, slots) for _ in range(random.randint(1, 3))))
        case "child":
            inner = [random_node(random, slots, depth=depth + 1) for _ in range(random.randint(1, 4))]
            return Child(graph=_connect(random, inner))
        case _:
            return _random_kernel(random, slots)


def _random_kernel(random: Random, slots: Slots) -> Kernel:
    cooperative = random.random() < 0.1
    cluster = random.choice(CLUSTERS)
    kernel = Kernel(
        slot=slots.take(),
        function=random.choice(FUNCTIONS) if random.random() < 0.6 else "rep",
        grid=random_grid(random, cluster),
        block=random.choice((32, 64, 128)),
        shared_bytes=random.choice((0, 0, 1024, 8192)),
        value=random.randrange(4),
        cluster=cluster,
        cooperative=cooperative,
    )
    for change in random.sample(QUIET, random.choice((0, 0, 0, 1, 2))):
        kernel = replace(kernel, **quiet_change(random, change))
    return settled(kernel)


def settled(kernel: Kernel) -> Kernel:
    """Leave out clusters that contradict each other: such a node cannot be instantiated."""
    if kernel.function.startswith("repc") and kernel.cluster not in {None, (2, 1, 1)}:
        kernel = replace(kernel, cluster=None)
    if kernel.preferred_cluster is not None and kernel.cluster not in {(1, 1, 1), (2, 1, 1), (4, 1, 1)}:
        kernel = replace(kernel, preferred_cluster=None)
    return kernel


#: Attributes whose effect a kernel cannot see.
QUIET = (
    "priority",
    "carveout_percent",
    "sync_domain",
    "sync_domain_map",
    "scheduling_policy",
    "window",
    "preferred_cluster",
)


def quiet_change(random: Random, name: str) -> dict[str, Any]:
    choices: dict[str, tuple[object, ...]] = {
        "priority": (None, 0, -1, -2),
        "carveout_percent": (None, 0, 25, 50, 100),
        "sync_domain": (None, 0, 1),
        "sync_domain_map": (None, (0, 1), (1, 0), (2, 3)),
        "scheduling_policy": (None, 0, 1, 2),
        "window": (None, (4096, 0.5, 2), (8192, 1.0, 1), (4096, 0.25, 0)),
        "preferred_cluster": (None, (4, 1, 1), (8, 1, 1)),
    }
    return {name: random.choice(choices[name])}


def random_grid(random: Random, cluster: Shape | None) -> Shape:
    if cluster is not None and cluster[1] > 1:
        return random.choice(_GRIDS[3:])
    return random.choice(_GRIDS if random.random() < 0.4 else _GRIDS[:2])


def random_memset(random: Random, slot: int) -> Memset:
    element = random.choice((1, 2, 4))
    return Memset(
        slot=slot,
        space=random.choice(_DEVICE_SPACES) if random.random() < 0.4 else "device",
        value=random.randrange(200),
        element_bytes=element,
        width=random.choice((16, 32, 64)),
        height=random.choice((1, 1, 1, 2, 4)),
    )


def random_memcpy(random: Random, slot: int) -> Memcpy:
    source = random.choice((*SPACES, "array")) if random.random() < 0.5 else "device"
    target = random.choice(SPACES) if random.random() < 0.5 else "device"
    height = random.choice((1, 1, 1, 2, 4))
    return Memcpy(
        slot=slot,
        source=source,
        target=target,
        width=random.choice((16, 32, 64)),
        height=height,
        depth=2 if height == 2 and source != "array" and random.random() < 0.3 else 1,
        unified=random.random() < 0.05,
    )


def random_mem_op(random: Random, slots: Slots) -> MemOp:
    kind = random.choice(("write32", "write32", "write64", "wait_geq", "wait_eq"))
    return MemOp(kind=kind, slot=slots.take(), value=random.randrange(1000))


def _random_conditional(random: Random, slots: Slots) -> Conditional:
    kind = random.choice((0, 0, 1, 2))
    bodies = random.randint(2, 3) if kind == 2 else 1 + (kind == 0 and random.random() < 0.3)
    return Conditional(
        kind=kind,
        default=0 if kind == 1 else random.randrange(2),
        bodies=tuple(
            _connect(random, [_random_kernel_or_memset(random, slots) for _ in range(random.randint(1, 3))])
            for _ in range(bodies)
        ),
    )


def _random_kernel_or_memset(random: Random, slots: Slots) -> NodeSpec:
    if random.random() < 0.8:
        return replace(_random_kernel(random, slots), cooperative=False)
    return random_memset(random, slots.take())
