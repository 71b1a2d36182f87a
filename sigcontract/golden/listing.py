"""A graph as text, one node per line, for the review of a golden file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from sigcontract.model import (
    Dependency,
    DependencyType,
    GraphSignature,
    KernelNodeSignature,
    LaunchAttribute,
    NodeSignature,
    graph_fields,
    inner_graphs,
)

__all__ = ["listing_of"]

#: Longest kernel name and fields of another node, in characters. The document's tables have them in full.
_MOST_NAME: Final = 160
_MOST_FIELDS: Final = 300
#: Most nodes listed in one golden: the size of extensions is bounded.
_MOST_NODES: Final = 20_000


def listing_of(graph: GraphSignature) -> list[str]:
    """Return one line per node, in the driver's order; nodes of nested graphs follow, indented.

    Lines have no index and dependencies are distances, so an inserted node changes one line.
    """
    nodes = sum(1 for _ in graph.walk())
    if nodes > _MOST_NODES:
        return [f"{nodes} nodes, too many to list; see the tables of this document"]
    return list(_lines(graph, ""))


def _lines(graph: GraphSignature, indent: str) -> Iterator[str]:
    for index, (node, dependencies) in enumerate(zip(graph.nodes, graph.dependencies, strict=True)):
        yield f"{indent}{_node(node)}{_after(index, dependencies)}"
        for at, inner in inner_graphs(node):
            yield f"{indent}  {at.strip('.')}:{' unreadable' if inner is None else ''}"
            if inner is not None:
                yield from _lines(inner, f"{indent}    ")


def _node(node: NodeSignature) -> str:
    if isinstance(node, KernelNodeSignature):
        return _kernel(node)
    without = graph_fields(type(node))
    fields = {name: getattr(node, name) for name in sorted(node.__struct_fields__) if name not in without}
    return f"{node.__struct_config__.tag} {_cut(_flat(fields), _MOST_FIELDS)}".rstrip()


def _kernel(node: KernelNodeSignature) -> str:
    parts = [
        f"kernel {_cut(node.name, _MOST_NAME)}",
        f"grid {node.grid_dim}",
        f"block {node.block_dim}",
        f"shared {node.dynamic_shared_mem_bytes}",
        # Numbered by first use: several functions may share a name.
        f"function {node.func or node.kern or 'unknown'}",
    ]
    code = None if node.function is None else node.function.code_sha256
    parts += [f"code {code[:12]}"] if code else []
    parts += [text for attribute in node.attributes if (text := _attribute(attribute))]
    return ", ".join(parts)


def _attribute(attribute: LaunchAttribute) -> str:
    """Return an attribute as text; empty if its value is zero, as most are."""
    value = attribute.value
    if isinstance(value, int):
        return f"{attribute.name} {value}" if value else ""
    fields = _flat({attribute.name: value})
    return fields if attribute.state == "value" else ""


def _after(index: int, dependencies: Sequence[Dependency]) -> str:
    """Return the dependencies; empty for the previous node alone, and for a first node without any."""
    if not dependencies:
        return ", after nothing" if index else ""
    edges = [_edge(index, dependency) for dependency in dependencies]
    return "" if edges == ["-1"] else f", after {' '.join(edges)}"


def _edge(index: int, edge: Dependency) -> str:
    distance = f"{edge.node - index:+d}"
    if (edge.from_port, edge.to_port, edge.type) == (0, 0, DependencyType.DEFAULT):
        return distance
    kind = "programmatic" if edge.type == DependencyType.PROGRAMMATIC else f"type {edge.type}"
    return f"{distance} ({kind}, ports {edge.from_port} {edge.to_port})"


def _flat(value: Mapping[str, object]) -> str:
    """Return ``name.field=value`` of every nonzero, nonempty value; null if unknown."""
    return " ".join(_pairs(msgspec.to_builtins(value, order="sorted"), ""))


def _pairs(value: object, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in value.items():
            if name != "type" or not path:  # the tag of a nested record
                yield from _pairs(part, f"{path}.{name}" if path else name)
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _pairs(part, f"{path}[{index}]")
    elif value is None or value:
        yield f"{path}={'null' if value is None else value}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most * 3 // 4]}…{text[-(most // 4 - 1) :]}"
