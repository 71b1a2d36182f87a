"""One row per node: what ``show`` prints of it, children of child graphs and conditional bodies included."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from sigcontract.model.attributes import AttributeValue, ClusterDim, LaunchAttribute, RawValue
from sigcontract.model.dims import Dim3
from sigcontract.model.graph import ChildGraphNode, ConditionalNode, Dependency, GraphSignature, NodeSignature
from sigcontract.model.nodes import (
    KernelNodeSignature,
    MemAllocNode,
    MemcpyNode,
    MemcpyOperand,
    MemsetNode,
    OpaqueNode,
)
from sigcontract.model.record import Record

__all__ = ["FunctionNumbers", "NodeRow", "attribute_text", "is_set", "rows"]

_MEMORY = {1: "host", 2: "device", 3: "array", 4: "unified"}
_CONDITIONAL = {0: "if", 1: "while", 2: "switch"}


class NodeRow(NamedTuple):
    """What is shown of one node. Rows that show the same fold into one, wherever they lie."""

    #: As ``nodes[3].graph.nodes[0]``.
    path: str
    #: How many graphs it lies inside of.
    depth: int
    #: The record's tag: ``kernel``, ``memcpy``.
    type: str
    #: The kernel's name as the driver gives it, or what else tells a person what the node does.
    subject: str
    #: ``#2`` where one name stands for several functions of the dump, else empty.
    function: str
    grid: str
    block: str
    #: Dynamic shared memory in bytes.
    shared: str
    #: What it depends on, empty for the node before it and for the first node.
    after: str
    attributes: tuple[LaunchAttribute, ...]
    #: sha256 of the function's machine code, empty where it was not observed.
    code: str

    @property
    def shown(self) -> tuple[object, ...]:
        """All but the place: the key by which rows fold."""
        return self[1:]


class FunctionNumbers:
    """Numbers the functions that share a name, over the whole dump: names are not identities."""

    def __init__(self, graphs: Sequence[GraphSignature]) -> None:
        self._functions: dict[str, dict[int, int]] = {}
        for graph in {id(graph): graph for graph in graphs}.values():  # many labels may be of one graph
            for _, node in graph.walk():
                if isinstance(node, KernelNodeSignature):
                    functions = self._functions.setdefault(node.name, {})
                    functions.setdefault(node.func or node.kern, len(functions) + 1)

    def mark(self, node: KernelNodeSignature) -> str:
        """Return ``#2`` for the second function of that name, the empty text where the name has one function."""
        functions = self._functions[node.name]
        return f"#{functions[node.func or node.kern]}" if len(functions) > 1 else ""


def rows(graph: GraphSignature, functions: FunctionNumbers, path: str = "", depth: int = 0) -> Iterator[NodeRow]:
    """Yield a row for every node in the driver's order; those inside of a node follow it."""
    for index, (node, dependencies) in enumerate(zip(graph.nodes, graph.dependencies, strict=True)):
        place = f"{path}nodes[{index}]"
        kernel = node if isinstance(node, KernelNodeSignature) else None
        yield NodeRow(
            path=place,
            depth=depth,
            type=str(node.__struct_config__.tag),
            subject=kernel.name if kernel else _subject(node),
            function=functions.mark(kernel) if kernel else "",
            grid=str(kernel.grid_dim) if kernel else "",
            block=str(kernel.block_dim) if kernel else "",
            shared=str(kernel.dynamic_shared_mem_bytes) if kernel else "",
            after=_after(index, dependencies),
            attributes=kernel.attributes if kernel else (),
            code=(kernel.function.code_sha256 or "") if kernel and kernel.function else "",
        )
        if isinstance(node, ChildGraphNode):
            yield from rows(node.graph, functions, f"{place}.graph.", depth + 1)
        elif isinstance(node, ConditionalNode):
            for branch, body in enumerate(node.bodies or ()):
                if body is not None:
                    yield from rows(body, functions, f"{place}.bodies[{branch}].", depth + 1)


def attribute_text(attribute: LaunchAttribute) -> str:
    """Return ``name=value``, or ``name unreadable``; a value seen at the launch itself says so."""
    if attribute.value is None:
        return f"{attribute.name} {attribute.state}"
    seen = " (launch)" if attribute.origin == "launch" else ""
    return f"{attribute.name}={_value_text(attribute.value)}{seen}"


def is_set(attribute: LaunchAttribute) -> bool:
    """Say whether an attribute is known to differ from all zeros, which is what most are."""
    value = attribute.value
    return any(msgspec.structs.astuple(value)) if isinstance(value, Record) else bool(value)


def _value_text(value: AttributeValue) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, ClusterDim):
        return str(Dim3(x=value.x, y=value.y, z=value.z)) if value.dim else "none"
    if isinstance(value, RawValue):
        return f"0x{value.hex}"
    return _fields_text(value)


def _fields_text(record: Record) -> str:
    return ",".join(f"{name}:{value}" for name, value in msgspec.structs.asdict(record).items())


def _after(index: int, dependencies: tuple[Dependency, ...]) -> str:
    """Return dependencies as distances, so that equal layers read equal wherever they lie."""
    chained = (Dependency(node=index - 1, from_port=0, to_port=0, type=0),) if index else ()
    if dependencies == chained:
        return ""
    return ",".join(_edge(index, dependency) for dependency in dependencies) or "nothing"


def _edge(index: int, dependency: Dependency) -> str:
    distance = f"{dependency.node - index:+d}"
    if dependency.type == 1:
        return f"{distance} programmatic"
    if (dependency.from_port, dependency.to_port, dependency.type) != (0, 0, 0):
        return f"{distance} ports {dependency.from_port}:{dependency.to_port} type {dependency.type}"
    return distance


def _subject(node: NodeSignature) -> str:  # noqa: PLR0911  one per kind of node
    match node:
        case MemcpyNode():
            extent = " x ".join(str(size) for size in (node.width_bytes, node.height, node.depth) if size != 1)
            return f"{_operand(node.source)} -> {_operand(node.destination)}, {extent or '1'} B"
        case MemsetNode():
            lines = f" x {node.height} rows" if node.height > 1 else ""
            return f"{node.width} x {node.element_size_bytes} B{lines} = {node.value:#x}"
        case ChildGraphNode():
            return f"{len(node.graph.nodes)} nodes"
        case ConditionalNode():
            return _conditional(node)
        case MemAllocNode():
            return f"{node.size_bytes} B on device {node.location_id}"
        case OpaqueNode():
            return f"CUgraphNodeType {node.type}, no record for it here"
        case _:
            return ""


def _operand(operand: MemcpyOperand) -> str:
    return _MEMORY.get(operand.memory_type, f"memory type {operand.memory_type}")


def _conditional(node: ConditionalNode) -> str:
    if node.kind is None or node.bodies is None:
        return "unreadable before CUDA 13.2"
    hidden = sum(body is None for body in node.bodies)
    unreadable = f", {hidden} unreadable" if hidden else ""
    return f"{_CONDITIONAL.get(node.kind, node.kind)}, {len(node.bodies)} bodies{unreadable}"
