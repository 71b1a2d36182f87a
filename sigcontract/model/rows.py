"""Nodes as flat rows, for data frames."""

from typing import Final

from sigcontract.model.attributes import ClusterDim
from sigcontract.model.cuda import AttributeId
from sigcontract.model.graph import NodeSignature
from sigcontract.model.nodes import KernelNodeSignature

__all__ = ["Row", "node_row"]

Row = dict[str, str | int | None]

_OF_KERNEL: Final = ("name", "kern", "func", "context", "dynamic_shared_mem_bytes")
_OF_FUNCTION: Final = ("registers", "code_sha256")
_DIMS: Final = ("grid", "block", "cluster")


def node_row(node: NodeSignature) -> Row:
    """Return a node as a row: the same keys for every node, None for those its type lacks.

    The keys are those of `SignatureDump.rows`, without ``label`` and ``path``.
    """
    row: Row = {"type": str(node.__struct_config__.tag)}
    kernel = node if isinstance(node, KernelNodeSignature) else None
    row |= {name: getattr(kernel, name, None) for name in _OF_KERNEL}
    cluster = None if kernel is None else kernel.attribute(AttributeId.CLUSTER_DIMENSION)
    dims = (
        None if kernel is None else kernel.grid_dim,
        None if kernel is None else kernel.block_dim,
        None if cluster is None or not isinstance(cluster.value, ClusterDim) else cluster.value,
    )
    row |= {f"{kind}_{axis}": getattr(dim, axis, None) for kind, dim in zip(_DIMS, dims, strict=True) for axis in "xyz"}
    function = None if kernel is None else kernel.function
    return row | {name: getattr(function, name, None) for name in _OF_FUNCTION}
