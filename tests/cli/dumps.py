"""A small dump that has something of everything that the command line shows."""

from msgspec.structs import replace

from sigcontract.model.attributes import ClusterDim, LaunchAttribute
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dump import DeviceInfo, Environment, LabeledGraph, LibraryVersion, SignatureDump
from sigcontract.model.graph import ChildGraphNode, Dependency, GraphSignature, NodeSignature
from sigcontract.model.nodes import KernelNodeSignature, MemcpyNode, MemcpyOperand, MemsetNode, OpaqueNode
from tests.update import build

__all__ = ["DUMP", "chain", "kernel"]

GEMM = "_Z4gemmIfLi4EEvPKT_PS0_"
COOPERATIVE = LaunchAttribute(id=AttributeId.COOPERATIVE, state="value", origin="node", value=0)
UNREADABLE = LaunchAttribute(id=AttributeId.PREFERRED_CLUSTER_DIMENSION, state="unreadable", origin="node", value=None)


def kernel(name: str, kern: int, grid: int = 1, *attributes: LaunchAttribute) -> KernelNodeSignature:
    only = attributes or (COOPERATIVE, UNREADABLE)
    return build.kernel(name=name, kern=kern, func=0, context=1, grid=grid, block=128, only=only, function=None)


def edge(node: int, kind: int = 0) -> Dependency:
    return build.edge(node, from_port=kind, kind=kind)


def chain(*nodes: NodeSignature) -> GraphSignature:
    return build.graph(*nodes)


def _operand(memory_type: int, address: int) -> MemcpyOperand:
    return replace(build.operand(memory_type, address, pitch=64), height_rows=1, pointer=None)


def _layers(first_handle: int) -> GraphSignature:
    copy = MemcpyNode(
        source=_operand(1, 4096),
        destination=_operand(2, 8192),
        width_bytes=64,
        height=1,
        depth=1,
    )
    layer = (kernel(GEMM, first_handle, 8), kernel("norm", first_handle + 1), kernel("silu", first_handle + 2))
    return chain(copy, *layer * 24)


def _mixed() -> GraphSignature:
    cluster = LaunchAttribute(
        id=AttributeId.CLUSTER_DIMENSION, state="value", origin="launch", value=ClusterDim(x=2, y=1, z=1)
    )
    fill = MemsetNode(
        destination=8192, pointer=None, value=255, element_size_bytes=4, width=256, height=1, pitch_bytes=0
    )
    nodes = (
        kernel("scale", 90),
        kernel("scale", 91, 4, cluster),
        ChildGraphNode(graph=chain(fill, kernel("norm", 7))),
        OpaqueNode(type=77),
    )
    dependencies = ((), (edge(0, 1),), (), (edge(1), edge(2)))
    return GraphSignature(nodes=nodes, dependencies=dependencies)


DUMP = SignatureDump(
    environment=Environment(
        sigcontract_version="0.1.0",
        created_at="2026-12-01T02:00:00Z",
        hostname=None,
        process_id=None,
        rank=3,
        world_size=8,
        cuda_driver_version=13000,
        display_driver_version="580.159.04",
        devices=(DeviceInfo(ordinal=0, name="NVIDIA H200", compute_capability_major=9, compute_capability_minor=0),),
        libraries=(LibraryVersion(name="torch", version="2.11.0"), LibraryVersion(name="triton", version="3.6.0")),
    ),
    profile="nvidia-h200-cuda-13.0",
    complete=True,
    graphs=(
        LabeledGraph(label="decode/bs=1", graph=_layers(10)),
        LabeledGraph(label="decode/bs=2", graph=_layers(20)),
        LabeledGraph(label="mixed", graph=_mixed()),
    ),
    extensions={},
)
