"""Dumps around graphs, for the tests of diff, groups and reports."""

from typing import Any

from msgspec.structs import replace

from sigcontract.model.attributes import LaunchAttribute
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dump import DeviceInfo, Environment, LabeledGraph, SignatureDump
from sigcontract.model.findings import DumpDiff, Finding
from sigcontract.model.graph import ChildGraphNode, ConditionalNode, GraphSignature, NodeSignature
from sigcontract.model.nodes import KernelNodeSignature
from tests.update import build

__all__ = ["again", "dump", "environment", "kernel", "kinds", "of_another_process", "only", "without_code"]


def environment(**changed: Any) -> Environment:
    """Return the environment of one run, with some facts changed."""
    run = Environment(
        sigcontract_version="0.1.0",
        created_at="2026-12-01T00:00:00Z",
        hostname="node-a",
        process_id=1000,
        rank=None,
        world_size=None,
        cuda_driver_version=13000,
        display_driver_version="580.159.04",
        devices=(DeviceInfo(ordinal=0, name="NVIDIA H200", compute_capability_major=9, compute_capability_minor=0),),
        libraries=(),
    )
    return replace(run, **changed)


def kernel(*changed: LaunchAttribute, **parts: Any) -> KernelNodeSignature:
    """Return a kernel node of the measured driver of which every value that matters there is known."""
    return build.kernel(build.value(AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING, 0, observed=True), *changed, **parts)


def dump(*graphs: GraphSignature, **changed: Any) -> SignatureDump:
    """Return a dump of graphs labelled g0, g1, …; keywords change its environment."""
    return SignatureDump(
        environment=environment(**changed),
        profile=None,
        complete=True,
        graphs=tuple(LabeledGraph(label=f"g{index}", graph=graph) for index, graph in enumerate(graphs)),
        extensions={},
    )


def again(*graphs: GraphSignature) -> SignatureDump:
    """Return a dump of a second run."""
    return dump(*graphs, process_id=2, created_at="2026-12-02T00:00:00Z")


def of_another_process(graph: GraphSignature) -> GraphSignature:
    """Return the graph with other numbers for its functions, the same for the same."""

    def moved(node: NodeSignature) -> NodeSignature:
        match node:
            case KernelNodeSignature():
                return replace(node, func=node.func and node.func + 0x5000, kern=node.kern and node.kern + 0x7000)
            case ChildGraphNode():
                return ChildGraphNode(graph=of_another_process(node.graph))
            case ConditionalNode():
                return replace(node, bodies=node.bodies and tuple(b and of_another_process(b) for b in node.bodies))
            case _:
                return node

    return GraphSignature(nodes=tuple(map(moved, graph.nodes)), dependencies=graph.dependencies)


def without_code(node: KernelNodeSignature) -> KernelNodeSignature:
    """Return a kernel whose machine code was not observed."""
    return replace(node, function=node.function and replace(node.function, code_sha256=None))


def only(diff: DumpDiff) -> Finding:
    """Return the one finding that there is."""
    (finding,) = diff.findings
    return finding


def kinds(diff: DumpDiff) -> list[tuple[str, str, int]]:
    """Return rule, path and count of every finding."""
    return [(finding.rule, finding.path, finding.count) for finding in diff.findings]
