"""How alike two graphs are, by what their nodes keep when they change."""

from sigcontract.model import KernelNodeSignature, NodeSignature

__all__ = ["similarity_key"]


def similarity_key(node: NodeSignature) -> tuple[int, str]:
    """Return what a node keeps when it changes: its CUgraphNodeType, and a kernel's name."""
    return node.node_type, node.name if isinstance(node, KernelNodeSignature) else ""
