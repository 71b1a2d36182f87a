"""The graphs that a person's experiments build (`lab`): what is described is what is built, on the fake driver."""

from random import Random

import pytest

from lab.build import BuiltGraph, add_all, attributes_of, node_paths
from lab.generate import random_graph
from lab.memory import SPACE_BYTES, SPACES, Space
from lab.mutate import mutate
from lab.specs import (
    FUNCTIONS,
    LIBRARY,
    Alloc,
    BatchMemOps,
    Child,
    Conditional,
    Edge,
    Empty,
    EventRecord,
    EventWait,
    Free,
    GraphSpec,
    Host,
    Kernel,
    Memcpy,
    Memset,
    NodeSpec,
)
from sigcontract.driver import read_graph
from sigcontract.driver.reading.attribute_values import encode_attribute
from sigcontract.model.graph import ChildGraphNode, ConditionalNode, GraphSignature, NodeSignature
from sigcontract.model.nodes import (
    BatchMemOpNode,
    EmptyNode,
    EventRecordNode,
    EventWaitNode,
    HostNode,
    KernelNodeSignature,
    MemAllocNode,
    MemcpyNode,
    MemFreeNode,
    MemsetNode,
)
from tests.driver.build import GraphBuilder
from tests.driver.fake import FakeDriver, ptx

#: What nodes of which nothing more is compared are read as.
SIGNATURES: dict[type[NodeSpec], type[NodeSignature]] = {
    Host: HostNode,
    Empty: EmptyNode,
    EventWait: EventWaitNode,
    Alloc: MemAllocNode,
    Free: MemFreeNode,
    Conditional: ConditionalNode,
}


class FakeGround:
    """What `lab.rig.Rig` is on a device."""

    def __init__(self) -> None:
        self.fake = FakeDriver()
        self.driver = self.fake.driver()
        self.spaces = {name: Space(name, self.driver.mem_alloc(SPACE_BYTES)) for name in SPACES}
        self.functions = {name: self._function(name) for name in FUNCTIONS}
        self.host_functions = {"sem_post": 0x10, "sem_trywait": 0x20}
        self.events = [self.driver.event_create() for _ in range(4)]
        self.arrays = [0x1000, 0x2000]

    def _function(self, name: str) -> int:
        image = ptx(name.partition("@")[0], parameters=(8, 4, 8), code=name)
        if name.endswith(LIBRARY):
            builder = GraphBuilder(self.driver)
            return builder.library_kernel(builder.load_library(image), name.removesuffix(LIBRARY))
        return self.driver.module_function(self.driver.module_load(image), name.partition("@")[0])

    def report(self, slot: int) -> int:
        return 0x9000 + 64 * slot

    def semaphore(self, slot: int, *, alternate: bool) -> int:
        return 0xA000 + 64 * slot + 32 * alternate


@pytest.fixture(scope="module")
def ground() -> FakeGround:
    return FakeGround()


def built(ground: FakeGround, spec: GraphSpec) -> BuiltGraph:
    graph = BuiltGraph(GraphBuilder(ground.driver))
    add_all(ground, spec, graph)
    return graph


def check_graph(ground: FakeGround, spec: GraphSpec, found: GraphSignature) -> None:
    assert len(found.nodes) == len(spec.nodes)
    for node, signature in zip(spec.nodes, found.nodes, strict=True):
        check_node(ground, node, signature)
    assert [
        tuple(Edge(node=edge.node, from_port=edge.from_port) for edge in edges) for edges in found.dependencies
    ] == list(spec.dependencies)


def check_node(ground: FakeGround, node: NodeSpec, found: NodeSignature) -> None:
    match node, found:
        case Kernel(), KernelNodeSignature():
            handle = found.kern if node.function.endswith(LIBRARY) else found.func
            assert handle == ground.functions[node.function]
            assert (found.grid_dim.x, found.grid_dim.y, found.grid_dim.z) == node.grid
            assert (found.block_dim.x, found.dynamic_shared_mem_bytes) == (node.block, node.shared_bytes)
            for number, raw in attributes_of(ground, node).items():
                value = found.attribute_value(number)
                assert value is not None
                assert encode_attribute(number, value)[:16] == raw[:16]
        case Memset(), MemsetNode():
            assert (found.value, found.height) == (node.value, node.height)
        case Memcpy(), MemcpyNode():
            assert (found.width_bytes, found.height, found.depth) == (node.width, node.height, node.depth)
        case EventRecord(), EventRecordNode():
            assert found.event == ground.events[node.event]
        case BatchMemOps(), BatchMemOpNode():
            assert len(found.operations) == len(node.operations)
        case Child(), ChildGraphNode():
            check_graph(ground, node.graph, found.graph)
        case _:
            assert isinstance(found, SIGNATURES[type(node)])


@pytest.mark.parametrize("seed", range(8))
def test_a_random_graph_and_its_changes_are_built_as_described(ground: FakeGround, seed: int) -> None:
    random = Random(f"described {seed}")  # noqa: S311  a test's repeatable choice, no secret
    spec = random_graph(random)
    for _ in range(8):
        graph = built(ground, spec)
        check_graph(ground, spec, read_graph(graph.handle, driver=ground.driver))
        for node, handle in zip(spec.nodes, graph.nodes, strict=True):
            if isinstance(node, Conditional):  # this driver gives no bodies
                for body, inner in zip(node.bodies, graph.bodies[handle], strict=True):
                    check_graph(ground, body, read_graph(inner, driver=ground.driver))
        graph.builder.destroy()
        spec = mutate(random, spec)


def test_a_graph_of_one_seed_is_always_the_same() -> None:
    first, again = (random_graph(Random("walk")) for _ in range(2))  # noqa: S311  as above
    assert first == again
    assert random_graph(Random("another")) != first  # noqa: S311


@pytest.mark.parametrize("call", ["cuGraphAddKernelNode", "cuGraphKernelNodeSetAttribute", "cuGraphAddDependencies"])
def test_a_graph_that_the_driver_refuses_is_a_call_error_and_gone(call: str) -> None:
    capture = pytest.importorskip("lab.capture", reason="needs cuda-bindings", exc_type=ImportError)
    ground = FakeGround()
    graphs = len(ground.fake.graphs)
    ground.fake.fail(call, 1)
    kernels = tuple(Kernel(slot=slot, cluster=(2, 1, 1)) for slot in range(2))
    with pytest.raises(capture.CallError) as caught:
        capture.build(ground, GraphSpec(nodes=kernels, dependencies=((), (Edge(node=0),))))
    assert caught.value.result == "CUDA_ERROR_INVALID_VALUE"
    assert len(ground.fake.graphs) == graphs


def test_every_node_has_its_path_in_the_signature(ground: FakeGround) -> None:
    inner = GraphSpec(nodes=(Kernel(slot=1), Memset(slot=2)), dependencies=((), (Edge(node=0),)))
    branch = Conditional(kind=0, default=1, bodies=(inner,))
    spec = GraphSpec(nodes=(Child(graph=inner), branch), dependencies=((), ()))
    assert sorted(node_paths(built(ground, spec)).values()) == [
        "nodes[0]",
        "nodes[0].graph.nodes[0]",
        "nodes[0].graph.nodes[1]",
        "nodes[1]",
        "nodes[1].bodies[0].nodes[0]",
        "nodes[1].bodies[0].nodes[1]",
    ]


def test_a_graph_that_allocates_uses_what_it_allocated(ground: FakeGround) -> None:
    nodes = (Alloc(), Memset(slot=0, space="alloc", value=7), Memcpy(slot=1, source="alloc"), Free())
    edges = ((), *((Edge(node=index),) for index in range(3)))
    spec = GraphSpec(nodes=nodes, dependencies=edges)
    graph = built(ground, spec)
    _, fill, copy, free = read_graph(graph.handle, driver=ground.driver).nodes
    assert isinstance(fill, MemsetNode)
    assert isinstance(copy, MemcpyNode)
    assert graph.allocation
    assert (fill.destination, copy.source.address) == (graph.allocation, graph.allocation)
    assert isinstance(free, MemFreeNode)
    assert free.address == graph.allocation
