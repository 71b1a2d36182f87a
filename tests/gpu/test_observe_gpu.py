"""Observing real launches: attributes that no getter gives, who launched what, and what machine code it is."""

import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from cuda.bindings import driver as cuda

from examples.recording.calls import check, compile_source, open_device
from sigcontract.driver import read_graph
from sigcontract.driver.cuda.api import KernelLaunch
from sigcontract.driver.cuda.driver import CudaDriver, default_driver
from sigcontract.driver.measuring.verify import verify_update
from sigcontract.driver.observing.cupti import Cupti
from sigcontract.driver.observing.observations import Observations
from sigcontract.driver.observing.session import observe
from sigcontract.driver.reading.attribute_values import encode_attribute
from sigcontract.errors import DriverCallError, ObserveError
from sigcontract.model.attributes import ClusterDim
from sigcontract.model.cuda import AttributeId
from sigcontract.model.graph import ChildGraphNode
from sigcontract.model.nodes import KernelNodeSignature

pytestmark = pytest.mark.observes

SOURCE = r"""
extern "C" __global__ void put(unsigned *to, unsigned value) { if (!threadIdx.x) to[blockIdx.x] = value + ADD; }
"""
UNRELATED = r"""
extern "C" __global__ void unrelated(float *to) { to[threadIdx.x] *= 2.0f + ADD; }
"""
CLUSTER, PREFERRED = AttributeId.CLUSTER_DIMENSION, AttributeId.PREFERRED_CLUSTER_DIMENSION
TWO, FOUR = ClusterDim(x=2, y=1, z=1), ClusterDim(x=4, y=1, z=1)
NONE = ClusterDim(x=0, y=0, z=0)


@pytest.fixture(scope="module")
def driver() -> CudaDriver:
    open_device()
    return default_driver()


@pytest.fixture(scope="module")
def images() -> dict[str, bytes]:
    return {
        "one": compile_source(SOURCE, "sm_90", "-DADD=1"),
        "two": compile_source(SOURCE, "sm_90", "-DADD=2"),
        "one and another": compile_source(UNRELATED + SOURCE, "sm_90", "-DADD=1"),
        "ptx": compile_source(SOURCE, "compute_90", "-DADD=3"),
    }


@pytest.fixture
def seen() -> Iterator[Observations]:
    with observe(code="all") as observations:
        yield observations
        assert list(observations.problems) == []


class Bench:
    """A stream, memory, and launches of one function on it."""

    def __init__(self, api: CudaDriver, image: bytes) -> None:
        self.api = api
        self.module = api.module_load(image)
        self.function = api.module_function(self.module, "put")
        self.stream = api.stream_create()
        self.address = api.mem_alloc(256)

    def launch(self, function: int | None = None, **dims: ClusterDim) -> None:
        attributes = {AttributeId[name.upper()]: dim for name, dim in dims.items()}
        self.api.launch_kernel(
            KernelLaunch(
                function=function or self.function,
                grid_dim=(8, 1, 1),
                block_dim=(32, 1, 1),
                arguments=(self.address.to_bytes(8, "little"), (7).to_bytes(4, "little")),
                attributes={number: encode_attribute(number, dim) for number, dim in attributes.items()},
            ),
            self.stream,
        )

    def capture(self, *launches: dict[str, ClusterDim], function: int | None = None) -> int:
        self.api.begin_capture(self.stream)
        for attributes in launches:
            self.launch(function, **attributes)
        return self.api.end_capture(self.stream)


@pytest.fixture
def bench(driver: CudaDriver, images: dict[str, bytes]) -> Bench:
    return Bench(driver, images["one"])


def preferred(graph: int, seen: Observations) -> list[Any]:
    """Return state, origin and value of the preferred cluster of every kernel node."""
    entries = [node.attribute(PREFERRED) for node in read_graph(graph, observations=seen).kernel_nodes]
    return [(entry.state, entry.origin, entry.value) for entry in entries if entry is not None]


def test_a_preferred_cluster_that_no_getter_gives_is_read_at_the_launch(seen: Observations, bench: Bench) -> None:
    graph = bench.capture({"cluster_dimension": TWO, "preferred_cluster_dimension": FOUR})
    assert preferred(graph, seen) == [("value", "launch", FOUR)]
    (node,) = read_graph(graph).kernel_nodes
    unseen = node.attribute(PREFERRED)
    assert unseen is not None
    assert unseen.state == "unreadable"


def test_a_launch_that_did_not_carry_the_attribute_is_known_not_to_have_it(seen: Observations, bench: Bench) -> None:
    graph = bench.capture({}, {"cluster_dimension": TWO})
    assert preferred(graph, seen) == [("value", "launch", NONE)] * 2


def test_what_a_launch_carried_is_what_the_getters_give(seen: Observations, bench: Bench) -> None:
    graph = bench.capture({"cluster_dimension": FOUR})
    (handle,) = bench.api.graph_nodes(graph)
    carried = seen.attributes(handle)
    assert carried is not None
    (column,) = bench.api.kernel_attributes([handle], [CLUSTER])
    assert column.results == [0]
    assert carried[CLUSTER][:12] == column.values[:12]


def test_of_an_attribute_given_twice_the_last_one_counts(seen: Observations, bench: Bench) -> None:
    config = cuda.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = 8, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = 32, 1, 1
    config.hStream = cuda.CUstream(bench.stream)
    twice = []
    for width in (2, 4):
        attribute = cuda.CUlaunchAttribute()
        attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        value = cuda.CUlaunchAttributeValue()
        value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = width, 1, 1
        attribute.value = value
        twice.append(attribute)
    config.attrs = twice
    config.numAttrs = 2
    bench.api.begin_capture(bench.stream)
    check(
        cuda.cuLaunchKernelEx(
            config, cuda.CUfunction(bench.function), ((bench.address, 7), (ctypes.c_void_p, ctypes.c_uint)), 0
        )
    )
    graph = bench.api.end_capture(bench.stream)
    (handle,) = bench.api.graph_nodes(graph)
    carried = seen.attributes(handle)
    assert carried is not None
    (column,) = bench.api.kernel_attributes([handle], [CLUSTER])
    assert carried[CLUSTER][:12] == column.values[:12]


def test_nodes_added_by_hand_start_bare_and_take_what_is_set(seen: Observations, bench: Bench) -> None:
    graph = bench.api.graph_create()
    launch = KernelLaunch(bench.function, (8, 1, 1), (32, 1, 1), (bytes(8), bytes(4)))
    first = bench.api.add_kernel_node(graph, launch)
    second = bench.api.add_kernel_node(graph, launch, [first])
    bench.api.set_kernel_attribute(first, CLUSTER, encode_attribute(CLUSTER, TWO))
    # This driver takes the preferred cluster at a launch alone; a refusal must not be taken for a value.
    with pytest.raises(DriverCallError):
        bench.api.set_kernel_attribute(first, PREFERRED, encode_attribute(PREFERRED, FOUR))
    assert preferred(graph, seen) == [("value", "launch", NONE)] * 2
    assert width(first, seen) == 2
    check(cuda.cuGraphKernelNodeCopyAttributes(cuda.CUgraphNode(second), cuda.CUgraphNode(first)))
    assert width(second, seen) == 2


def width(node: int, seen: Observations) -> int:
    carried = seen.attributes(node)
    assert carried is not None
    return int.from_bytes(carried[CLUSTER][:4], "little")


def test_a_stream_that_passes_nothing_on_leaves_no_attribute_unknown(seen: Observations, bench: Bench) -> None:
    (node,) = read_graph(bench.capture({}), observations=seen).kernel_nodes
    unknown = [entry.name for entry in node.attributes if entry.state == "unreadable"]
    assert unknown in (["synchronization_policy"], ["synchronization_policy", "nvlink_util_centric_scheduling"])
    refuses = Cupti().streams_refuse(AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING)
    assert refuses is ("nvlink_util_centric_scheduling" not in unknown)


def test_an_update_that_is_accepted_and_not_carried_out_is_seen_by_the_kernel(seen: Observations, bench: Bench) -> None:
    two, four = (read_graph(bench.capture({"cluster_dimension": dim}), observations=seen) for dim in (TWO, FOUR))
    (difference,) = verify_update(two, four).differences
    assert (difference.fresh.cluster_dim, difference.updated.cluster_dim) == ((4, 1, 1), (2, 1, 1))
    assert verify_update(two, two).carried_out


def test_clones_and_child_graphs_keep_what_their_originals_were_launched_with(seen: Observations, bench: Bench) -> None:
    original = bench.capture({"cluster_dimension": TWO, "preferred_cluster_dimension": FOUR}, {})
    clone = int(check(cuda.cuGraphClone(cuda.CUgraph(original))))
    assert preferred(clone, seen) == preferred(original, seen)
    parent = bench.api.graph_create()
    check(cuda.cuGraphAddChildGraphNode(cuda.CUgraph(parent), None, 0, cuda.CUgraph(original)))
    (child,) = read_graph(parent, observations=seen).nodes
    assert isinstance(child, ChildGraphNode)
    assert [node.attribute_value(PREFERRED) for node in child.graph.kernel_nodes] == [FOUR, NONE]


def test_destroyed_nodes_are_forgotten_and_instantiation_leaves_nothing_behind(
    seen: Observations, bench: Bench
) -> None:
    before = seen.node_count
    for _ in range(5):
        graph = bench.capture({"cluster_dimension": TWO}, {})
        parent = bench.api.graph_create()
        check(cuda.cuGraphAddChildGraphNode(cuda.CUgraph(parent), None, 0, cuda.CUgraph(graph)))
        executable = bench.api.graph_instantiate(parent)
        assert seen.node_count == before + 4
        bench.api.graph_exec_destroy(executable)
        bench.api.graph_destroy(graph)
        bench.api.graph_destroy(parent)
        assert seen.node_count == before


def test_a_capture_that_fails_leaves_nothing_behind(seen: Observations, bench: Bench) -> None:
    before = seen.node_count
    bench.api.begin_capture(bench.stream)
    bench.launch()
    assert int(cuda.cuStreamSynchronize(cuda.CUstream(bench.stream))[0]) != 0
    assert int(cuda.cuStreamEndCapture(cuda.CUstream(bench.stream))[0]) != 0
    assert seen.node_count == before
    assert preferred(bench.capture({}), seen) == [("value", "launch", NONE)]


def test_two_threads_that_capture_at_once_are_distinguished(
    seen: Observations, driver: CudaDriver, images: dict[str, bytes]
) -> None:
    shapes = {1: TWO, 2: FOUR, 3: ClusterDim(x=8, y=1, z=1)}
    benches = {number: Bench(driver, images["one"]) for number in shapes}
    graphs: dict[int, int] = {}
    ready = threading.Barrier(len(shapes))
    context = check(cuda.cuCtxGetCurrent())

    def work(number: int) -> None:
        check(cuda.cuCtxSetCurrent(context))
        ready.wait()
        for _ in range(20):
            graphs[number] = benches[number].capture(
                *[{"cluster_dimension": TWO, "preferred_cluster_dimension": shapes[number]}] * 50
            )

    threads = [threading.Thread(target=work, args=(number,)) for number in shapes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    for number, dim in shapes.items():
        assert preferred(graphs[number], seen) == [("value", "launch", dim)] * 50


def code_of(graph: int, seen: Observations) -> str | None:
    (node,) = read_graph(graph, observations=seen).kernel_nodes
    assert isinstance(node, KernelNodeSignature)
    assert node.function is not None
    return node.function.code_sha256


def code_in_module(image: bytes, seen: Observations, bench: Bench) -> str | None:
    function = bench.api.module_function(bench.api.module_load(image), "put")
    return code_of(bench.capture({}, function=function), seen)


def code_in_library(image: bytes, seen: Observations, bench: Bench) -> str | None:
    library = check(cuda.cuLibraryLoadData(image, None, None, 0, None, None, 0))
    kernel = int(check(cuda.cuLibraryGetKernel(library, b"put")))
    return code_of(bench.capture({}, function=kernel), seen)


def test_machine_code_distinguishes_kernels_of_one_name_and_equates_equal_ones(
    seen: Observations, bench: Bench, images: dict[str, bytes]
) -> None:
    one = code_in_module(images["one"], seen, bench)
    assert one is not None
    assert code_in_module(images["one"], seen, bench) == one
    assert code_in_module(images["one and another"], seen, bench) == one
    assert code_in_library(images["one"], seen, bench) == one
    two = code_in_module(images["two"], seen, bench)
    assert two not in (None, one)
    assert code_in_library(images["two"], seen, bench) == two
    compiled = code_in_module(images["ptx"], seen, bench)
    assert compiled not in (None, one, two)


def test_images_that_a_program_loads_need_no_watching_of_loads(bench: Bench, images: dict[str, bytes]) -> None:
    with observe() as seen:
        one = code_in_module(images["one"], seen, bench)
        assert one is not None
        assert code_in_library(images["one"], seen, bench) == one
        assert code_in_module(images["two"], seen, bench) not in (None, one)
        assert code_in_module(images["ptx"], seen, bench) is None


def test_a_function_from_before_observing_has_unknown_code(bench: Bench, images: dict[str, bytes]) -> None:
    library = check(cuda.cuLibraryLoadData(images["ptx"], None, None, 0, None, None, 0))
    kernel = int(check(cuda.cuLibraryGetKernel(library, b"put")))
    with observe(code="all") as seen:
        assert code_of(bench.capture({}, function=kernel), seen) is None
        assert code_of(bench.capture({}), seen) is None
        assert code_in_module(images["ptx"], seen, bench) is not None


def test_a_graph_has_the_number_that_profilers_show(bench: Bench, seen: Observations) -> None:
    first, second = bench.capture({}), bench.capture({})
    numbers = [seen.graph_id(graph) for graph in (first, second, first)]
    assert None not in numbers
    assert numbers[0] == numbers[2] != numbers[1]


def test_cupti_has_one_subscriber(seen: Observations) -> None:
    with pytest.raises(ObserveError) as refused:
        Observations(Cupti())
    assert refused.value.code == "cupti_taken"
    with observe() as again:
        assert again is seen


def test_observing_ends_and_begins_again(bench: Bench) -> None:
    with observe() as first:
        graph = bench.capture({})
    with pytest.raises(ObserveError) as ended:
        read_graph(graph, observations=first)
    assert ended.value.code == "observe_ended"
    with observe() as second:
        assert preferred(graph, second) == [("unreadable", "node", None)]
        assert preferred(bench.capture({}), second) == [("value", "launch", NONE)]
