"""Kernels that cannot be launched as recorded: a sign of an edited or corrupt dump."""

from collections.abc import Iterator
from typing import NamedTuple

from sigcontract.model import AttributeId, ClusterDim, Dim3, GraphSignature, KernelNodeSignature

__all__ = ["Unlaunchable", "unlaunchable"]


class Unlaunchable(NamedTuple):
    """A kernel whose grid is not a multiple of its cluster.

    Attributes
    ----------
    path
        Path of the node.
    grid, cluster
        Blocks of the grid, and of a cluster.
    """

    path: str
    grid: Dim3
    cluster: Dim3


def unlaunchable(graph: GraphSignature) -> Iterator[Unlaunchable]:
    """Yield the kernels whose grid is not a multiple of their cluster.

    The cluster is the compiled one (``__cluster_dims__``), else the attribute. The grid must be a multiple of it (CUDA
    programming guide, thread block clusters).
    """
    for path, node in graph.walk():
        cluster = _cluster(node) if isinstance(node, KernelNodeSignature) else None
        if cluster is None or not isinstance(node, KernelNodeSignature):
            continue
        pairs = ((getattr(node.grid_dim, axis), getattr(cluster, axis)) for axis in ("x", "y", "z"))
        if any(blocks % size for blocks, size in pairs):
            yield Unlaunchable(path, node.grid_dim, cluster)


def _cluster(node: KernelNodeSignature) -> Dim3 | None:
    required = None if node.function is None else node.function.required_cluster_dim
    if required is None or required == Dim3(x=0, y=0, z=0):
        entry = node.attribute(AttributeId.CLUSTER_DIMENSION)
        required = entry.value.dim if entry is not None and isinstance(entry.value, ClusterDim) else None
    return None if required is None or 0 in (required.x, required.y, required.z) else required
