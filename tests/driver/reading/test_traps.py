"""What cuda-python trips over, by the names of the traps: none can bite, whatever release of it is installed.

Sources: https://github.com/NVIDIA/cuda-python/issues/1804 and the release notes of 12.9.7 and 13.3.0 for the edge
data; the other traps were reproduced with the releases from 12.8.0 to 13.5.0.
"""

from collections.abc import Sequence

import pytest

from sigcontract.driver.cuda.driver import CudaDriver
from sigcontract.driver.cuda.functions import FUNCTIONS
from sigcontract.driver.cuda.handles import graph_handle
from sigcontract.driver.reading.attribute_values import decode_attribute
from sigcontract.driver.reading.graph import read_graph
from sigcontract.errors import DriverUnavailableError
from sigcontract.model.attributes import ClusterDim
from sigcontract.model.dims import Dim3
from sigcontract.model.graph import Dependency
from sigcontract.model.nodes import OpaqueNode
from tests.driver.build import GraphBuilder
from tests.driver.conftest import Workshop
from tests.driver.fake import FakeDriver

POINTER = bytes(8)


def test_edge_data_use_after_free(workshop: Workshop) -> None:
    """The driver writes edge data into memory of ours, which lives until it is decoded."""
    function = workshop.function()
    graph = workshop.graph()
    first = graph.kernel(function, arguments=(POINTER,))
    for _ in range(64):
        graph.kernel(function, arguments=(POINTER,), after=[(first, 1, 1)])
    dependencies = read_graph(graph.graph, driver=workshop.driver).dependencies
    assert set(dependencies[1:]) == {(Dependency(node=0, from_port=1, to_port=0, type=1),)}


def test_four_and_five_tuple_edges_and_lossy_query(workshop: Workshop) -> None:
    """The form with edge data is asked for by its version, so the plain form never answers LOSSY_QUERY."""
    assert FUNCTIONS["cuGraphGetEdges"].cuda_version == FUNCTIONS["cuGraphNodeGetDependencies"].cuda_version == 12030
    function = workshop.function()
    graph = workshop.graph()
    one, two = (graph.kernel(function, arguments=(POINTER,)) for _ in range(2))
    graph.kernel(function, arguments=(POINTER,), after=[(one, 1, 1), (two, 1, 1)])
    edges = workshop.driver.graph_edges(graph.graph)
    assert edges.data == bytes((1, 0, 1, 0, 0, 0, 0, 0)) * 2
    assert sorted(edges.from_nodes) == sorted((one, two))


def test_reject_reason_is_lost(workshop: Workshop) -> None:
    """Where cuGraphExecUpdate refuses, cuda-python gives ``(err, None)``; the C call fills the info."""
    held, candidate = workshop.graph(), workshop.graph()
    held.empty()
    candidate.kernel(workshop.function(), arguments=(POINTER,))
    outcome = workshop.driver.graph_exec_update(workshop.instantiate(held.graph), candidate.graph)
    assert outcome == (3, workshop.driver.graph_nodes(candidate.graph)[0], 0)


def test_getters_return_none_on_error(fake: FakeDriver) -> None:
    """A refused attribute is an entry that says so, never a value that was left in the buffer."""
    driver = fake.driver()
    module = driver.module_load(b".visible .entry one(.param .b64 p) { ret; }")
    graph = GraphBuilder(driver)
    node = graph.kernel(driver.module_function(module, "one"), arguments=(POINTER,))
    columns = driver.kernel_attributes([node], [9, 11, 8])
    assert [column.results for column in columns] == [[0], [1], [0]]
    assert columns[0].values[:2] == bytes((0, 1))
    assert columns[1].values == bytes(64)


def test_raw_int_attribute_id(workshop: Workshop) -> None:
    """Ids are plain ints, also those newer than the installed bindings."""
    graph = workshop.graph()
    node = graph.kernel(workshop.function(), arguments=(POINTER,))
    ((_values, (result,)),) = workshop.driver.kernel_attributes([node], [1000])
    assert result != 0


def test_unknown_node_type_raises_inside_the_bindings(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    fake.add_node(graph.graph, 18)
    assert read_graph(graph.graph, driver=driver).nodes == (OpaqueNode(type=18),)


def test_handle_equality_is_identity() -> None:
    """Handles are compared as ints from the moment they come in."""
    driver = pytest.importorskip("cuda.bindings.driver")
    assert graph_handle(driver.CUgraph(5)) == graph_handle(driver.CUgraph(5)) == 5


def test_sub_struct_of_a_freed_value() -> None:
    """A decoded value owns its numbers: the 64 bytes may go."""
    value = decode_attribute(4, b"\4\0\0\0\5\0\0\0\6\0\0\0".ljust(64, b"\0"))
    assert value == ClusterDim(x=4, y=5, z=6)


def test_enum_value_that_the_bindings_do_not_know() -> None:
    """``syncPolicy`` 0 raises in the bindings; here an enum's value is an int."""
    assert decode_attribute(3, bytes(64)) == 0
    assert decode_attribute(5, (77).to_bytes(4, "little").ljust(64, b"\0")) == 77


def test_reserved_fields_were_removed_from_edge_data(workshop: Workshop) -> None:
    graph = workshop.graph()
    graph.empty(after=[graph.empty()])
    dependencies = read_graph(graph.graph, driver=workshop.driver).dependencies
    assert dependencies == ((), (Dependency(node=0, from_port=0, to_port=0, type=0),))


def test_function_missing_in_the_driver() -> None:
    """One typed error, not an AttributeError of the bindings and not a RuntimeError of the driver."""
    fake = FakeDriver(missing=frozenset({"cuGraphLaunch"}))
    driver = fake.driver()
    with pytest.raises(DriverUnavailableError, match=r"this driver lacks cuGraphLaunch of CUDA 10\.0"):
        driver.graph_launch(1, 0)


def test_runtime_driver_and_int_handles_are_interchangeable(fake: FakeDriver) -> None:
    bindings = pytest.importorskip("cuda.bindings.driver")
    runtime = pytest.importorskip("cuda.bindings.runtime")
    driver = fake.driver()
    graph = GraphBuilder(driver)
    graph.empty()
    forms = (graph.graph, bindings.CUgraph(graph.graph), runtime.cudaGraph_t(graph.graph))
    assert len({read_graph(form, driver=driver) for form in forms}) == 1


def test_a_node_that_names_a_kernel_alone_is_asked_through_its_function(fake: FakeDriver) -> None:
    """What the getter fills in is not documented: a node may name a CUkernel and no CUfunction."""
    driver = fake.driver()
    graph = GraphBuilder(driver)
    library = graph.load_library(b".visible .entry one(.param .b64 p) { ret; }")
    kern = graph.library_kernel(library, "one")
    graph.kernel(fake.kernels[kern].handle, arguments=(POINTER,))

    class KernelAlone(CudaDriver):
        def kernel_params(self, nodes: Sequence[int]) -> bytes:
            return bytes(8) + super().kernel_params(nodes)[8:]  # no func

    (node,) = read_graph(graph.graph, driver=KernelAlone(fake.resolve)).kernel_nodes
    assert (node.func, node.name) == (0, "one")
    assert node.function is not None
    assert node.function.required_cluster_dim == Dim3(x=0, y=0, z=0)
    fake.fail("cuKernelGetFunction", 400)
    (node,) = read_graph(graph.graph, driver=KernelAlone(fake.resolve)).kernel_nodes
    assert node.function is not None
    assert (node.function.registers, node.function.parameters, node.function.required_cluster_dim) == (None, None, None)
