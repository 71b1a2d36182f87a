"""Changes of edges as text: each edge by its source node and, unless default, its type."""

from sigcontract.compare.aligned import AlignedGraphs
from sigcontract.compare.edges import EdgeChange
from sigcontract.model import (
    Dependency,
)

__all__ = ["with_ends"]

#: Most edges of a node listed in full; beyond, only those that differ.
_LISTED = 8


def with_ends(edge: EdgeChange, aligned: AlignedGraphs) -> EdgeChange:
    """Return a change of edges with both sides as text: source nodes and, unless default, types."""
    if edge.rule == "edge.data":
        return edge
    if edge.field and isinstance(edge.old, int):
        return edge._replace(old=aligned.recorded(edge.old))
    befores, afters = aligned.old.dependencies[edge.old_index], aligned.new.dependencies[edge.new_index]
    olds = [_edge_text(aligned.recorded(item.node), item) for item in befores]
    news = [_edge_text(item.node, item) for item in afters]
    if max(len(olds), len(news)) > _LISTED:
        partner = aligned.partner
        kept = {partner(item.node) for item in befores} & {item.node for item in afters}
        if len(kept) < max(len(olds), len(news)):
            olds = _own_edges(olds, [partner(item.node) in kept for item in befores])
            news = _own_edges(news, [item.node in kept for item in afters])
    return edge._replace(old=", ".join(olds) or "none", new=", ".join(news) or "none")


def _own_edges(texts: list[str], common: list[bool]) -> list[str]:
    """Return the first edges of one side only, and the number of others."""
    own = [text for text, shared in zip(texts, common, strict=True) if not shared]
    listed = own[:_LISTED]
    others = len(texts) - len(listed)
    return [*listed, f"{others} others"] if others else listed


def _edge_text(source: int, edge: Dependency) -> str:
    if (edge.from_port, edge.to_port, edge.type) == (0, 0, 0):
        return f"{source}"
    kind = {(1, 0, 1): "programmatic", (2, 0, 1): "programmatic launch order"}.get(
        (edge.from_port, edge.to_port, edge.type)
    )
    return f"{source} {kind or f'type {edge.type} ports {edge.from_port}:{edge.to_port}'}"
