"""One row per node: what ``show`` prints of it, children of child graphs and conditional bodies included."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from sigcontract.model import (
    AttributeValue,
    BatchMemOpNode,
    ChildGraphNode,
    ClusterDim,
    ConditionalNode,
    Dependency,
    DependencyType,
    Dim3,
    EmptyNode,
    EventRecordNode,
    EventWaitNode,
    ExtSemasSignalNode,
    ExtSemasWaitNode,
    FunctionFacts,
    GraphSignature,
    HostNode,
    KernelNodeSignature,
    LaunchAttribute,
    MemAllocNode,
    MemcpyNode,
    MemcpyOperand,
    MemFreeNode,
    MemOp,
    MemsetNode,
    NodeSignature,
    OpaqueNode,
    RawValue,
    Record,
    inner_graphs,
)
from sigcontract.report.alike import family
from sigcontract.report.content import ContentNumbers
from sigcontract.report.cuda_words import CONDITIONAL, LOCATION, MEMORY, OPERATION, value_word
from sigcontract.report.phrases import counted

__all__ = ["FunctionNumbers", "NodeRow", "attribute_text", "is_set", "rows"]

#: cudaGraphKernelNodePortLaunchCompletion.
_LAUNCH_ORDER = 2
#: Operations of a batch that are written out.
_OPERATIONS = 3


class NodeRow(NamedTuple):
    """What is shown of one node. Rows that show the same fold into one, wherever they lie."""

    #: As ``nodes[3].graph.nodes[0]``.
    path: str
    #: How many graphs it lies inside of.
    depth: int
    #: The record's tag: ``kernel``, ``memcpy``.
    type: str
    #: The kernel's name as the driver gives it, or a description of what the node does.
    subject: str
    #: ``#2`` where one name stands for several functions of the dump, else empty.
    function: str
    grid: str
    block: str
    #: Dynamic shared memory in bytes.
    shared: str
    #: What it depends on, empty for the node before it and for the first node.
    after: str
    #: The same number for the same launch attributes, over all rows of one `FunctionNumbers`.
    attribute_set: int
    #: sha256 of the function's machine code, empty where it was not observed.
    code: str
    #: The same number for the same facts of a function.
    fact_set: int
    attributes: tuple[LaunchAttribute, ...]
    #: Facts of the function, None where they were not recorded.
    facts: FunctionFacts | None
    #: A line for each argument of a kernel, or operand; empty where arguments are not shown.
    arguments: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[object, ...]:
        """What is equal for rows that show the same: all but the path, records by their numbers."""
        return *self[1:12], self.arguments

    @property
    def alike(self) -> tuple[object, ...]:
        """What rows at one position in two layers have in common: of a kernel family, launch and attributes."""
        name = family(self.subject) if self.type == "kernel" else self.subject
        return name, *self[1:3], *self[4:10], self.arguments


class FunctionNumbers:
    """Numbers the functions that share a name, over the whole dump: names are not identities.

    Attributes
    ----------
    records
        Numbers the attributes and facts of kernel nodes.
    """

    def __init__(self, graphs: Sequence[GraphSignature]) -> None:
        self.records = ContentNumbers()
        self._functions: dict[str, dict[bytes, int]] = {}
        for graph in {id(graph): graph for graph in graphs}.values():  # many labels may be of one graph
            for _, node in graph.walk():
                if isinstance(node, KernelNodeSignature):
                    functions = self._functions.setdefault(node.name, {})
                    functions.setdefault(_function_key(node), len(functions) + 1)

    def mark(self, node: KernelNodeSignature) -> str:
        """Return ``#2`` for the second function of that name, the empty text where the name has one function."""
        functions = self._functions[node.name]
        return f"#{functions[_function_key(node)]}" if len(functions) > 1 else ""


def _function_key(node: KernelNodeSignature) -> bytes:
    return b"%d" % (node.func or node.kern)


def rows(
    graph: GraphSignature,
    functions: FunctionNumbers,
    path: str = "",
    depth: int = 0,
    arguments: Callable[[str], Iterable[str]] | None = None,
) -> Iterator[NodeRow]:
    """Yield a row for every node in the driver's order; those inside of a node follow it.

    ``arguments`` gives the lines on a node's arguments, by its path.
    """
    allocated = {b"%d" % node.address: at for at, node in enumerate(graph.nodes) if isinstance(node, MemAllocNode)}
    for index, (node, dependencies) in enumerate(zip(graph.nodes, graph.dependencies, strict=True)):
        here = f"{path}nodes[{index}]"
        kernel = node if isinstance(node, KernelNodeSignature) else None
        yield NodeRow(
            path=here,
            depth=depth,
            type=str(node.__struct_config__.tag),
            subject=kernel.name if kernel else _subject(node, index, allocated),
            function=functions.mark(kernel) if kernel else "",
            grid=str(kernel.grid_dim) if kernel else "",
            block=str(kernel.block_dim) if kernel else "",
            shared=str(kernel.dynamic_shared_mem_bytes) if kernel else "",
            after=_after(index, dependencies),
            attribute_set=functions.records.of(kernel.attributes if kernel else ()),
            code=(kernel.function.code_sha256 or "") if kernel and kernel.function else "",
            fact_set=functions.records.of(kernel.function if kernel else None),
            attributes=kernel.attributes if kernel else (),
            facts=kernel.function if kernel else None,
            arguments=() if arguments is None else tuple(arguments(here)),
        )
        for at, inner in inner_graphs(node):
            if inner is not None:
                yield from rows(inner, functions, f"{here}{at}", depth + 1, arguments)


def attribute_text(attribute: LaunchAttribute) -> str:
    """Return ``name=value``, or ``name unreadable``; a value observed at the launch is marked."""
    if attribute.value is None:
        return f"{attribute.name} {attribute.state}"
    seen = " (launch)" if attribute.origin == "launch" else ""
    return f"{attribute.name}={_value_text(attribute.name, attribute.value)}{seen}"


def is_set(attribute: LaunchAttribute) -> bool:
    """Say whether an attribute is known to differ from all zeros, which is what most are."""
    value = attribute.value
    return any(msgspec.structs.astuple(value)) if isinstance(value, Record) else bool(value)


def _value_text(name: str, value: AttributeValue) -> str:
    if isinstance(value, int):
        return str(value_word(name, value))
    if isinstance(value, ClusterDim):
        return str(Dim3(x=value.x, y=value.y, z=value.z)) if value.dim else "none"
    if isinstance(value, RawValue):
        return f"0x{value.hex}"
    return _fields_text(value)


def _fields_text(record: Record) -> str:
    fields = msgspec.structs.asdict(record).items()
    return ",".join(f"{name}:{value_word(name, value)}" for name, value in fields)


def _after(index: int, dependencies: tuple[Dependency, ...]) -> str:
    """Return dependencies as distances, so that equal layers read equal wherever they lie."""
    chained = (Dependency(node=index - 1, from_port=0, to_port=0, type=0),) if index else ()
    if dependencies == chained:
        return ""
    return ",".join(_edge(index, dependency) for dependency in dependencies) or "nothing"


def _edge(index: int, dependency: Dependency) -> str:
    distance = f"{dependency.node - index:+d}"
    if dependency.type == DependencyType.PROGRAMMATIC:
        return f"{distance} programmatic{' launch order' if dependency.from_port == _LAUNCH_ORDER else ''}"
    if (dependency.from_port, dependency.to_port, dependency.type) != (0, 0, 0):
        return f"{distance} ports {dependency.from_port}:{dependency.to_port} type {dependency.type}"
    return distance


def _subject(node: NodeSignature, index: int, allocated: Mapping[bytes, int]) -> str:  # noqa: C901, PLR0911, PLR0912  one per kind of node
    match node:
        case MemcpyNode():
            extent = " x ".join(str(size) for size in (node.width_bytes, node.height, node.depth) if size != 1)
            return f"{_operand(node.source)} -> {_operand(node.destination)}, {extent or '1'} B"
        case MemsetNode():
            lines = f" x {node.height} rows" if node.height > 1 else ""
            return f"{node.width} x {node.element_size_bytes} B{lines} = {node.value:#x}"
        case ChildGraphNode():
            return counted(len(node.graph.nodes), "node")
        case ConditionalNode():
            return _conditional(node)
        case MemAllocNode():
            return f"{node.size_bytes} B on {LOCATION.get(node.location_type, 'location')} {node.location_id}"
        case MemFreeNode():
            # As a distance, so that equal layers read equal wherever they lie.
            at = allocated.get(b"%d" % node.address)
            return f"frees {node.address:#x}" if at is None else f"frees the allocation of node {at - index:+d}"
        case BatchMemOpNode():
            more = f" and {len(node.operations) - _OPERATIONS} more" if len(node.operations) > _OPERATIONS else ""
            return f"{'; '.join(map(_operation, node.operations[:_OPERATIONS])) or 'no operations'}{more}"
        case HostNode():
            return f"function {node.function_address:#x}"
        case EventRecordNode() | EventWaitNode():
            return f"event {node.event:#x}"
        case ExtSemasSignalNode() | ExtSemasWaitNode():
            return counted(node.count, "semaphore")
        case OpaqueNode():
            return f"CUgraphNodeType {node.type}, without a record"
        case EmptyNode():
            return "no work"
        case KernelNodeSignature():
            return node.name


def _operand(operand: MemcpyOperand) -> str:
    return MEMORY.get(operand.memory_type, f"memory type {operand.memory_type}")


def _operation(operation: MemOp) -> str:
    name = OPERATION.get(operation.operation, f"operation {operation.operation}")
    if not operation.address:
        return name
    # A wait compares as its flags say: CUstreamWaitValue_flags.
    compares = {0: ">=", 1: "==", 2: "&", 3: "nor"}.get(operation.flags & 3, "")
    sign = compares if name.startswith("wait") else "="
    return f"{name} [{operation.address:#x}] {sign} {int(operation.value, 16):#x}"


def _conditional(node: ConditionalNode) -> str:
    if node.kind is None or node.bodies is None:
        return "unreadable before CUDA 13.2"
    hidden = sum(body is None for body in node.bodies)
    unreadable = f", {hidden} unreadable" if hidden else ""
    bodies = "1 body" if len(node.bodies) == 1 else f"{len(node.bodies)} bodies"
    return f"{CONDITIONAL.get(node.kind, node.kind)}, {bodies}{unreadable}"
