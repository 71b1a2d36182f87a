"""Random graphs, and changes of one or several of their fields, nodes, edges and orders. Seeded, so repeatable."""

from dataclasses import replace
from random import Random
from typing import Any

from tests.gpu.kernels import FUNCTIONS
from tests.gpu.rig import HOST_SPACES, SLOTS, SPACES
from tests.gpu.specs import (
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

__all__ = ["mutate", "random_graph"]

_MAX_NODES = 14
_DEVICE_SPACES = tuple(name for name in SPACES if name not in HOST_SPACES)
_CLUSTERS: tuple[Shape | None, ...] = (None, None, (1, 1, 1), (2, 1, 1), (4, 1, 1), (8, 1, 1), (1, 2, 1), (2, 2, 1))
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


class _Slots:
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
    slots = _Slots(random, set())
    count = random.choice((1, 1, 2, 3, random.randint(2, 6), random.randint(4, _MAX_NODES)))
    nodes = [_random_node(random, slots, depth=0) for _ in range(count)]
    rare = random.random()
    if rare < 0.03:
        nodes.append(_random_conditional(random, slots))
    elif rare < 0.06:
        return _with_allocation(random, slots, _connect(random, nodes))
    elif rare < 0.07:
        nodes.append(replace(_random_kernel(random, slots), device_updatable=True))
    spec = _connect(random, nodes)
    return replace(spec, captured=random.random() < 0.3)


def _with_allocation(random: Random, slots: _Slots, spec: GraphSpec) -> GraphSpec:
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
    if _plain_kernel(nodes[source]) and _plain_kernel(nodes[target]) and random.random() < 0.12:
        port = random.choice((1, 1, 2))
    return Edge(node=source, from_port=port)


def _plain_kernel(node: NodeSpec) -> bool:
    return isinstance(node, Kernel) and not node.cooperative


def _random_node(random: Random, slots: _Slots, *, depth: int) -> NodeSpec:
    kind = random.choices(tuple(_WEIGHTS), tuple(_WEIGHTS.values()))[0]
    if kind == "child" and (depth >= 2 or slots.left < 24):
        kind = "kernel"
    return _random_node_of(random, slots, kind, depth=depth)


def _random_node_of(random: Random, slots: _Slots, kind: str, *, depth: int) -> NodeSpec:  # noqa: PLR0911  one case per kind
    match kind:
        case "memset":
            return _random_memset(random, slots.take())
        case "memcpy":
            return _random_memcpy(random, slots.take())
        case "empty":
            return Empty()
        case "event_record":
            return EventRecord(event=random.randrange(4))
        case "event_wait":
            return EventWait(event=random.randrange(4))
        case "host":
            return Host(slot=slots.take(), function=random.choice(("sem_post", "sem_trywait")))
        case "batch":
            return BatchMemOps(operations=tuple(_random_mem_op(random, slots) for _ in range(random.randint(1, 3))))
        case "child":
            inner = [_random_node(random, slots, depth=depth + 1) for _ in range(random.randint(1, 4))]
            return Child(graph=_connect(random, inner))
        case _:
            return _random_kernel(random, slots)


def _random_kernel(random: Random, slots: _Slots) -> Kernel:
    cooperative = random.random() < 0.1
    cluster = random.choice(_CLUSTERS)
    kernel = Kernel(
        slot=slots.take(),
        function=random.choice(FUNCTIONS) if random.random() < 0.6 else "rep",
        grid=_grid(random, cluster),
        block=random.choice((32, 64, 128)),
        shared_bytes=random.choice((0, 0, 1024, 8192)),
        value=random.randrange(4),
        cluster=cluster,
        cooperative=cooperative,
    )
    for change in random.sample(_QUIET, random.choice((0, 0, 0, 1, 2))):
        kernel = replace(kernel, **_quiet_change(random, change))
    return _settled(kernel)


def _settled(kernel: Kernel) -> Kernel:
    """Leave out clusters that contradict each other: such a node cannot be instantiated."""
    if kernel.function.startswith("repc") and kernel.cluster not in {None, (2, 1, 1)}:
        kernel = replace(kernel, cluster=None)
    if kernel.preferred_cluster is not None and kernel.cluster not in {(1, 1, 1), (2, 1, 1), (4, 1, 1)}:
        kernel = replace(kernel, preferred_cluster=None)
    return kernel


#: Attributes whose effect a kernel cannot see.
_QUIET = (
    "priority",
    "carveout_percent",
    "sync_domain",
    "sync_domain_map",
    "scheduling_policy",
    "window",
    "preferred_cluster",
)


def _quiet_change(random: Random, name: str) -> dict[str, Any]:
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


def _grid(random: Random, cluster: Shape | None) -> Shape:
    if cluster is not None and cluster[1] > 1:
        return random.choice(_GRIDS[3:])
    return random.choice(_GRIDS if random.random() < 0.4 else _GRIDS[:2])


def _random_memset(random: Random, slot: int) -> Memset:
    element = random.choice((1, 2, 4))
    return Memset(
        slot=slot,
        space=random.choice(_DEVICE_SPACES) if random.random() < 0.4 else "device",
        value=random.randrange(200),
        element_bytes=element,
        width=random.choice((16, 32, 64)),
        height=random.choice((1, 1, 1, 2, 4)),
    )


def _random_memcpy(random: Random, slot: int) -> Memcpy:
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


def _random_mem_op(random: Random, slots: _Slots) -> MemOp:
    kind = random.choice(("write32", "write32", "write64", "wait_geq", "wait_eq"))
    return MemOp(kind=kind, slot=slots.take(), value=random.randrange(1000))


def _random_conditional(random: Random, slots: _Slots) -> Conditional:
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


def _random_kernel_or_memset(random: Random, slots: _Slots) -> NodeSpec:
    if random.random() < 0.8:
        return replace(_random_kernel(random, slots), cooperative=False)
    return _random_memset(random, slots.take())


def mutate(random: Random, spec: GraphSpec) -> GraphSpec:
    """Return the graph with nothing, one thing or several things changed."""
    for _ in range(random.choice((0, 1, 1, 1, 1, 2, 3))):
        changed = _mutate_once(random, spec)
        if _slots_are_distinct(changed):
            spec = changed
    if random.random() < 0.05:
        spec = replace(spec, captured=not spec.captured)
    return _within_capture(spec)


def _within_capture(spec: GraphSpec) -> GraphSpec:
    """Give up capturing where a node depends on one that comes after it."""
    forward = any(edge.node >= place for place, edges in enumerate(spec.dependencies) for edge in edges)
    return replace(spec, captured=False) if forward else spec


def _mutate_once(random: Random, spec: GraphSpec) -> GraphSpec:
    change = random.choices(
        (_change_field, _change_values, _replace_node, _add_node, _remove_node, _change_edges, _reorder, _swap),
        (60, 6, 5, 4, 4, 8, 4, 4),
    )[0]
    return change(random, spec)


def _used(spec: GraphSpec) -> set[int]:
    used = {node.slot for node in spec.walk() if hasattr(node, "slot")}
    for node in spec.walk():
        if isinstance(node, BatchMemOps):
            used |= {operation.slot for operation in node.operations}
    return used


def _change_field(random: Random, spec: GraphSpec) -> GraphSpec:
    place = random.randrange(len(spec.nodes))
    return _with_node(spec, place, _changed(random, spec.nodes[place], _Slots(random, _used(spec))))


def _with_node(spec: GraphSpec, place: int, node: NodeSpec) -> GraphSpec:
    nodes = (*spec.nodes[:place], node, *spec.nodes[place + 1 :])
    return _plain_edges(replace(spec, nodes=nodes))


def _plain_edges(spec: GraphSpec) -> GraphSpec:
    """Make an edge plain where it does not join two kernels that may carry a programmatic one."""
    dependencies = tuple(
        tuple(
            edge
            if edge.from_port == 0 or (_plain_kernel(spec.nodes[edge.node]) and _plain_kernel(node))
            else Edge(node=edge.node)
            for edge in edges
        )
        for node, edges in zip(spec.nodes, spec.dependencies, strict=True)
    )
    return replace(spec, dependencies=dependencies)


def _changed(random: Random, node: NodeSpec, slots: _Slots) -> NodeSpec:  # noqa: PLR0911  one case per kind
    match node:
        case Kernel():
            return _changed_kernel(random, node)
        case Memset():
            other = _random_memset(random, node.slot)
            name = (
                "value"
                if node.space == "alloc"
                else random.choice(("space", "value", "element_bytes", "width", "height"))
            )
            return random.choice(
                (replace(node, alternate=not node.alternate), replace(node, **{name: getattr(other, name)}))
            )
        case Memcpy():
            return _changed_memcpy(random, node)
        case Host():
            return random.choice(
                (
                    replace(node, alternate=not node.alternate),
                    replace(node, function="sem_post" if node.function == "sem_trywait" else "sem_trywait"),
                )
            )
        case EventRecord() | EventWait():
            return replace(node, event=random.randrange(4))
        case BatchMemOps():
            return _changed_batch(random, node, slots)
        case Alloc():
            return replace(node, size_bytes=node.size_bytes * 2)
        case Child():
            return _changed_child(random, node)
        case Conditional():
            return _changed_conditional(random, node)
        case _:
            return node


def _changed_child(random: Random, node: Child) -> Child:
    """Change a child graph, but for device-updatable nodes inside: the driver crashes on them (580.159.04)."""
    graph = replace(_mutate_once(random, node.graph), captured=False)
    if any(isinstance(inner, Kernel) and inner.device_updatable for inner in graph.walk()):
        return node
    return Child(graph=graph)


def _changed_kernel(random: Random, node: Kernel) -> Kernel:
    return _settled(_with_changed_field(random, node))


def _with_changed_field(random: Random, node: Kernel) -> Kernel:  # noqa: PLR0911  one case per field
    name = random.choice(
        (
            "function",
            "function",
            "grid",
            "block",
            "shared_bytes",
            "value",
            "value",
            "cluster",
            "cluster",
            "cooperative",
            "device_updatable",
            *_QUIET,
        )
    )
    match name:
        case "function":
            return replace(node, function=random.choice(FUNCTIONS))
        case "grid":
            return replace(node, grid=_grid(random, node.cluster))
        case "block":
            return replace(node, block=random.choice((32, 64, 128)))
        case "shared_bytes":
            return replace(node, shared_bytes=random.choice((0, 1024, 8192)))
        case "value":
            return replace(node, value=random.randrange(4))
        case "cluster":
            cluster = random.choice(_CLUSTERS)
            return replace(node, cluster=cluster, grid=node.grid if node.grid[1] > 1 else _grid(random, cluster))
        case "cooperative":
            return replace(node, cooperative=not node.cooperative)
        case "device_updatable":
            return replace(node, device_updatable=random.random() < 0.2)
        case _:
            return replace(node, **_quiet_change(random, name))


def _changed_memcpy(random: Random, node: Memcpy) -> Memcpy:
    other = _random_memcpy(random, node.slot)
    changed = random.choice(
        (
            replace(node, source_alternate=not node.source_alternate),
            replace(node, target_alternate=not node.target_alternate),
            replace(node, source=other.source),
            replace(node, target=other.target),
            replace(node, width=other.width),
            replace(node, height=other.height, depth=other.depth),
            replace(node, unified=not node.unified),
        )
    )
    return replace(changed, depth=1) if changed.source == "array" else changed


def _changed_batch(random: Random, node: BatchMemOps, slots: _Slots) -> BatchMemOps:
    place = random.randrange(len(node.operations))
    operation = node.operations[place]
    choice = random.randrange(4)
    if choice == 0:
        return BatchMemOps(operations=(*node.operations, _random_mem_op(random, slots)))
    if choice == 1:
        operation = replace(operation, alternate=not operation.alternate)
    elif choice == 2:
        operation = replace(operation, value=random.randrange(1000))
    else:
        operation = replace(_random_mem_op(random, slots), slot=operation.slot)
    return BatchMemOps(operations=(*node.operations[:place], operation, *node.operations[place + 1 :]))


def _changed_conditional(random: Random, node: Conditional) -> Conditional:
    if node.kind != 1 and random.random() < 0.3:
        return replace(node, default=1 - node.default)
    place = random.randrange(len(node.bodies))
    body = node.bodies[place]
    inner = random.randrange(len(body.nodes))
    changed = body.nodes[inner]
    if isinstance(changed, Kernel):
        changed = replace(_changed_kernel(random, changed), cooperative=False, device_updatable=False)
    elif isinstance(changed, Memset):
        changed = replace(changed, value=changed.value + 1)
    return replace(node, bodies=(*node.bodies[:place], _with_node(body, inner, changed), *node.bodies[place + 1 :]))


def _change_values(random: Random, spec: GraphSpec) -> GraphSpec:
    """Change every kernel's argument, as another batch does."""
    shift = random.randint(1, 3)
    nodes = tuple(replace(node, value=node.value + shift) if isinstance(node, Kernel) else node for node in spec.nodes)
    return replace(spec, nodes=nodes)


def _fixed_place(spec: GraphSpec, place: int) -> bool:
    """Whether node and edges must stay: an allocation, what uses it and its free need each other, in that order."""
    node = spec.nodes[place]
    return isinstance(node, Alloc | Free) or "alloc" in {getattr(node, "space", None), getattr(node, "source", None)}


def _replace_node(random: Random, spec: GraphSpec) -> GraphSpec:
    place = random.randrange(len(spec.nodes))
    if _fixed_place(spec, place):
        return spec
    return _with_node(spec, place, _random_node(random, _Slots(random, _used(spec)), depth=1))


def _add_node(random: Random, spec: GraphSpec) -> GraphSpec:
    count = len(spec.nodes)
    node = _random_node(random, _Slots(random, _used(spec)), depth=1)
    sources = random.sample(range(count), min(count, random.randint(0, 2)))
    return replace(
        spec,
        nodes=(*spec.nodes, node),
        dependencies=(*spec.dependencies, tuple(Edge(node=source) for source in sources)),
    )


def _remove_node(random: Random, spec: GraphSpec) -> GraphSpec:
    place = random.randrange(len(spec.nodes))
    if len(spec.nodes) == 1 or _fixed_place(spec, place):
        return spec
    keep = [index for index in range(len(spec.nodes)) if index != place]
    return _renumbered(spec, keep)


def _renumbered(spec: GraphSpec, order: list[int]) -> GraphSpec:
    """Return the nodes of ``order``, in that order, with the edges between them."""
    place_of = {old: new for new, old in enumerate(order)}
    return replace(
        spec,
        nodes=tuple(spec.nodes[old] for old in order),
        dependencies=tuple(
            tuple(replace(edge, node=place_of[edge.node]) for edge in spec.dependencies[old] if edge.node in place_of)
            for old in order
        ),
    )


def _change_edges(random: Random, spec: GraphSpec) -> GraphSpec:
    place = random.randrange(len(spec.nodes))
    edges = list(spec.dependencies[place])
    choice = random.choice(("add", "drop", "shuffle", "shuffle", "port", "port"))
    earlier = [other for other in range(place) if other not in {edge.node for edge in edges}]
    if any(edge.node >= target for target, others in enumerate(spec.dependencies) for edge in others):
        earlier = []  # with an edge that leads forward, another one could close a circle
    if choice == "add" and earlier:
        edges.insert(random.randint(0, len(edges)), Edge(node=random.choice(earlier)))
    elif choice == "drop" and edges and not _fixed_place(spec, place):
        edges.pop(random.randrange(len(edges)))
    elif choice == "shuffle":
        random.shuffle(edges)
    elif choice == "port" and edges:
        which = random.randrange(len(edges))
        edges[which] = replace(edges[which], from_port=random.choice((0, 1, 2)))
    dependencies = (*spec.dependencies[:place], tuple(edges), *spec.dependencies[place + 1 :])
    return _plain_edges(replace(spec, dependencies=dependencies))


def _reorder(random: Random, spec: GraphSpec) -> GraphSpec:
    """Create the nodes in another order; an edge may then lead to a node created later."""
    order = list(range(len(spec.nodes)))
    random.shuffle(order)
    order.sort(key=lambda place: not isinstance(spec.nodes[place], Alloc))  # its address must be known to what uses it
    return _renumbered(spec, order)


def _swap(random: Random, spec: GraphSpec) -> GraphSpec:
    """Exchange what two nodes do, their edges staying where they are."""
    first, second = random.randrange(len(spec.nodes)), random.randrange(len(spec.nodes))
    if _fixed_place(spec, first) or _fixed_place(spec, second):
        return spec
    nodes = list(spec.nodes)
    nodes[first], nodes[second] = nodes[second], nodes[first]
    return _plain_edges(replace(spec, nodes=tuple(nodes)))


def _slots_are_distinct(spec: GraphSpec) -> bool:
    """Whether no two nodes write to one slot, which a comparison of memory needs."""
    slots: list[int] = []
    for node in spec.walk():
        if isinstance(node, BatchMemOps):
            slots += [operation.slot for operation in node.operations]
        elif hasattr(node, "slot"):
            slots.append(node.slot)
    return len(slots) == len(set(slots))
