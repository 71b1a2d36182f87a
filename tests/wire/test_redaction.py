"""A redacted graph has the shape of its arguments and none of their values."""

from msgspec import structs

from sigcontract.model.arguments import Allocation, ArgumentPointer, KernelArgument, PointerTarget
from sigcontract.model.graph import ChildGraphNode, GraphSignature
from sigcontract.model.nodes import KernelNodeSignature
from sigcontract.wire.arguments import redacted_graph
from tests.update.build import graph, kernel

TARGET = PointerTarget(
    allocation=Allocation(address=0x7000, size_bytes=64, memory_type=2, device_ordinal=0, managed=False, pooled=False),
    offset_bytes=8,
    block=None,
)
ARGUMENTS = (
    KernelArgument(
        offset_bytes=0,
        size_bytes=8,
        value="00" * 8,
        pointers=(ArgumentPointer(offset_bytes=0, address=0x7008, target=TARGET),),
    ),
    KernelArgument(offset_bytes=8, size_bytes=4, value="2a000000", pointers=()),
)


def with_arguments(signature: GraphSignature) -> GraphSignature:
    nodes = tuple(structs.replace(node, arguments=ARGUMENTS) for node in signature.kernel_nodes)
    return structs.replace(signature, nodes=nodes)


def test_values_and_addresses_go_and_the_rest_stays() -> None:
    (node,) = redacted_graph(with_arguments(graph(kernel()))).kernel_nodes
    assert node.arguments == (
        KernelArgument(
            offset_bytes=0,
            size_bytes=8,
            value=None,
            pointers=(ArgumentPointer(offset_bytes=0, address=0, target=TARGET),),
        ),
        KernelArgument(offset_bytes=8, size_bytes=4, value=None, pointers=()),
    )
    assert structs.replace(node, arguments=None) == kernel()


def test_graphs_inside_are_redacted_too() -> None:
    outer = graph(ChildGraphNode(graph=with_arguments(graph(kernel()))))
    (child,) = redacted_graph(outer).nodes
    assert isinstance(child, ChildGraphNode)
    (node,) = child.graph.kernel_nodes
    assert node.arguments is not None
    assert [argument.value for argument in node.arguments] == [None, None]


def test_a_graph_without_arguments_stays_as_it_is_and_equal_nodes_stay_one() -> None:
    plain = graph(kernel(), kernel())
    assert redacted_graph(plain) == plain
    node = structs.replace(kernel(), arguments=ARGUMENTS)
    both = redacted_graph(graph(node, node)).nodes
    assert isinstance(both[0], KernelNodeSignature)
    assert both[0] is both[1]
