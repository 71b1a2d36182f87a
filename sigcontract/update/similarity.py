"""The key by which similar nodes are matched."""

from sigcontract.model import KernelNodeSignature, NodeSignature

__all__ = ["similarity_key"]


def similarity_key(node: NodeSignature) -> tuple[int, str]:
    """Return what a changed node keeps: its CUgraphNodeType, and a kernel's name."""
    return node.node_type, node.name if isinstance(node, KernelNodeSignature) else ""
