"""The calls of `CudaDriver`, on the fake driver and on a real one."""

import pytest

from sigcontract.driver.cuda import driver as bindings
from sigcontract.driver.cuda.api import BuildApi, KernelLaunch, UpdateOutcome
from sigcontract.driver.cuda.driver import CudaDriver, default_driver
from sigcontract.errors import DriverCallError
from sigcontract.model.attributes import ClusterDim
from tests.driver.build import GraphBuilder
from tests.driver.conftest import Workshop
from tests.driver.fake import FakeDriver

POINTER = bytes(8)


def test_the_real_driver_satisfies_the_protocol(driver: CudaDriver) -> None:
    api: BuildApi = driver  # the type checker compares every signature
    assert api.driver_version() >= 12030


def test_a_device_has_name_and_compute_capability(driver: CudaDriver) -> None:
    assert driver.device_count() >= 1
    assert driver.device_name(0)
    assert driver.compute_capability(0) >= (7, 0)


def test_memory_is_free_up_to_the_total(driver: CudaDriver) -> None:
    free, total = driver.mem_get_info()
    assert 0 < free <= total


def test_bytes_copied_in_come_out(workshop: Workshop) -> None:
    address = workshop.memory(16)
    workshop.driver.copy_to_device(address, b"0123456789abcdef")
    assert workshop.driver.copy_from_device(address + 4, 8) == b"456789ab"


def test_an_update_that_is_taken_is_result_zero(workshop: Workshop) -> None:
    function = workshop.function()
    held, candidate = workshop.graph(), workshop.graph()
    held.kernel(function, arguments=(POINTER,))
    candidate.kernel(function, grid=(16, 1, 1), arguments=(POINTER,))
    launched = workshop.instantiate(held.graph)
    assert workshop.driver.graph_exec_update(launched, candidate.graph) == UpdateOutcome(0, 0, 0)


def test_a_refused_update_names_result_node_and_dependency(workshop: Workshop) -> None:
    """The dependencies of the last node are listed in another order, so a node is paired with two."""
    held, candidate = workshop.graph(), workshop.graph()
    for graph, order in ((held, (0, 1)), (candidate, (1, 0))):
        first = [graph.empty(), graph.empty()]
        joins = [graph.empty(after=first), graph.empty(after=[first[index] for index in order])]
        graph.empty(after=joins)
    launched = workshop.instantiate(held.graph)
    nodes = workshop.driver.graph_nodes(candidate.graph)
    outcome = workshop.driver.graph_exec_update(launched, candidate.graph)
    assert outcome == UpdateOutcome(2, nodes[3], nodes[1])


def test_a_refused_update_leaves_the_executable_usable(workshop: Workshop) -> None:
    stream = workshop.stream()
    held, candidate = workshop.graph(), workshop.graph()
    held.kernel(workshop.function(), arguments=(POINTER,))
    launched = workshop.instantiate(held.graph)
    assert workshop.driver.graph_exec_update(launched, candidate.graph) == UpdateOutcome(2, 0, 0)
    workshop.driver.graph_launch(launched, stream)
    workshop.driver.stream_synchronize(stream)
    assert workshop.driver.graph_exec_update(launched, held.graph) == UpdateOutcome(0, 0, 0)


def test_a_graph_with_an_allocation_has_one_executable_at_a_time(workshop: Workshop) -> None:
    graph = workshop.graph()
    node, address = graph.alloc(64)
    graph.free(address, after=[node])
    workshop.instantiate(graph.graph)
    with pytest.raises(DriverCallError) as caught:
        workshop.driver.graph_instantiate(graph.graph)
    assert (caught.value.function, caught.value.result) == ("cuGraphInstantiateWithFlags", "CUDA_ERROR_NOT_SUPPORTED")


def test_an_update_that_fails_for_another_reason_is_an_error(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    launched = driver.graph_instantiate(graph.graph)
    for result in (1, 910):  # 910 without a reason is no refusal
        fake.fail("cuGraphExecUpdate", result)
        with pytest.raises(DriverCallError):
            driver.graph_exec_update(launched, graph.graph)


def test_a_launch_outside_a_capture_runs_at_once(fake: FakeDriver) -> None:
    workshop_driver = fake.driver()
    module = workshop_driver.module_load(b".visible .entry one(.param .b64 p) { ret; }")
    launch = KernelLaunch(workshop_driver.module_function(module, "one"), (2, 1, 1), (32, 1, 1), (b"abcdefgh",), 8)
    workshop_driver.launch_kernel(launch, 0)
    (ran,) = fake.launches
    assert (ran.name, ran.grid_dim, ran.dynamic_shared_mem_bytes) == ("one", (2, 1, 1), 8)
    assert ran.arguments == (b"abcdefgh",)


def test_a_driver_without_param_info_leaves_parameters_unknown() -> None:
    fake = FakeDriver(missing=frozenset({"cuFuncGetParamInfo"}))
    assert fake.driver().function_parameters(1) is None


def test_parameters_that_the_driver_refuses_are_unknown(fake: FakeDriver) -> None:
    driver = fake.driver()
    fake.fail("cuFuncGetParamInfo", 913)
    assert driver.function_parameters(1) is None
    assert driver.function_attribute(1, 4) is None


def test_a_getter_that_fails_on_one_of_many_nodes_is_an_error(fake: FakeDriver) -> None:
    driver = fake.driver()
    graph = GraphBuilder(driver)
    nodes = [graph.empty() for _ in range(3)]
    assert driver.node_dependencies(nodes[0]) == ([], b"")
    fake.fail("cuGraphNodeGetType", 400, after=1)
    with pytest.raises(DriverCallError, match="cuGraphNodeGetType failed with CUDA_ERROR_INVALID_HANDLE"):
        driver.node_types(nodes)


def test_the_default_driver_is_made_once(monkeypatch: pytest.MonkeyPatch, fake: FakeDriver) -> None:
    monkeypatch.setattr(bindings, "resolve_with_bindings", lambda: fake.resolve)
    default_driver.cache_clear()
    try:
        assert default_driver() is default_driver()
    finally:
        default_driver.cache_clear()
    assert fake.calls["cuInit"] == 1


def test_a_cluster_is_taken_by_the_node_it_is_set_on(workshop: Workshop) -> None:
    graph = workshop.graph()
    graph.kernel(workshop.function(), arguments=(POINTER,), attributes={4: ClusterDim(x=2, y=1, z=1)})
    nodes = workshop.driver.graph_nodes(graph.graph)
    cluster, serialization = workshop.driver.kernel_attributes(nodes, [4, 6])
    assert cluster.values == bytes((2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0)).ljust(64, b"\0")
    assert (cluster.results, serialization.results) == ([0], [1])
