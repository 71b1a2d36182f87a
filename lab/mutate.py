"""Changes of random graphs: of one or several of their fields, nodes, edges and orders. Seeded, so repeatable."""

from dataclasses import replace
from random import Random

from lab.generate import (
    CLUSTERS,
    QUIET,
    Slots,
    is_plain_kernel,
    quiet_change,
    random_grid,
    random_mem_op,
    random_memcpy,
    random_memset,
    random_node,
    settled,
)
from lab.specs import (
    FUNCTIONS,
    Alloc,
    BatchMemOps,
    Child,
    Conditional,
    Edge,
    EventRecord,
    EventWait,
    Free,
    GraphSpec,
    Host,
    Kernel,
    Memcpy,
    Memset,
    NodeSpec,
)

__all__ = ["mutate"]


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
    return _with_node(spec, place, _changed(random, spec.nodes[place], Slots(random, _used(spec))))


def _with_node(spec: GraphSpec, place: int, node: NodeSpec) -> GraphSpec:
    nodes = (*spec.nodes[:place], node, *spec.nodes[place + 1 :])
    return _plain_edges(replace(spec, nodes=nodes))


def _plain_edges(spec: GraphSpec) -> GraphSpec:
    """Make an edge plain where it does not join two kernels that may carry a programmatic one."""
    dependencies = tuple(
        tuple(
            edge
            if edge.from_port == 0 or (is_plain_kernel(spec.nodes[edge.node]) and is_plain_kernel(node))
            else Edge(node=edge.node)
            for edge in edges
        )
        for node, edges in zip(spec.nodes, spec.dependencies, strict=True)
    )
    return replace(spec, dependencies=dependencies)


def _changed(random: Random, node: NodeSpec, slots: Slots) -> NodeSpec:  # noqa: PLR0911  one case per kind
    match node:
        case Kernel():
            return _changed_kernel(random, node)
        case Memset():
            other = random_memset(random, node.slot)
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
    return settled(_with_changed_field(random, node))


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
            *QUIET,
        )
    )
    match name:
        case "function":
            return replace(node, function=random.choice(FUNCTIONS))
        case "grid":
            return replace(node, grid=random_grid(random, node.cluster))
        case "block":
            return replace(node, block=random.choice((32, 64, 128)))
        case "shared_bytes":
            return replace(node, shared_bytes=random.choice((0, 1024, 8192)))
        case "value":
            return replace(node, value=random.randrange(4))
        case "cluster":
            cluster = random.choice(CLUSTERS)
            return replace(node, cluster=cluster, grid=node.grid if node.grid[1] > 1 else random_grid(random, cluster))
        case "cooperative":
            return replace(node, cooperative=not node.cooperative)
        case "device_updatable":
            return replace(node, device_updatable=random.random() < 0.2)
        case _:
            return replace(node, **quiet_change(random, name))


def _changed_memcpy(random: Random, node: Memcpy) -> Memcpy:
    other = random_memcpy(random, node.slot)
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


def _changed_batch(random: Random, node: BatchMemOps, slots: Slots) -> BatchMemOps:
    place = random.randrange(len(node.operations))
    operation = node.operations[place]
    choice = random.randrange(4)
    if choice == 0:
        return BatchMemOps(operations=(*node.operations, random_mem_op(random, slots)))
    if choice == 1:
        operation = replace(operation, alternate=not operation.alternate)
    elif choice == 2:
        operation = replace(operation, value=random.randrange(1000))
    else:
        operation = replace(random_mem_op(random, slots), slot=operation.slot)
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
    return _with_node(spec, place, random_node(random, Slots(random, _used(spec)), depth=1))


def _add_node(random: Random, spec: GraphSpec) -> GraphSpec:
    count = len(spec.nodes)
    node = random_node(random, Slots(random, _used(spec)), depth=1)
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
