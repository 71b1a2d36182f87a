"""Observing, on callbacks as CUPTI makes them."""

import ctypes
import threading
import weakref
from struct import pack

import pytest

from sigcontract.driver.observing import structs as observe_structs
from sigcontract.driver.observing.cupti import Domain, Resource
from sigcontract.driver.observing.modules import ModuleLedger
from sigcontract.driver.observing.observations import Observations
from sigcontract.driver.observing.session import observable_attributes
from sigcontract.errors import ObserveError
from sigcontract.model.cuda import AttributeId
from sigcontract.profiles import shipped_profile
from tests.driver.fake_cupti import FakeCupti, FakeProgram, attribute

CLUSTER = attribute(4, 2, 1, 1)
PREFERRED = attribute(11, 4, 1, 1)
DIM_2 = pack("<3I", 2, 1, 1).ljust(64, b"\0")
DIM_4 = pack("<3I", 4, 1, 1).ljust(64, b"\0")
SCHEDULING = AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING
OFF = {SCHEDULING: bytes(64)}
WRONG_THREAD, INVALIDATED = 908, 901


@pytest.fixture
def cupti() -> FakeCupti:
    return FakeCupti(started=True)


@pytest.fixture
def seen(cupti: FakeCupti) -> Observations:
    return Observations(cupti)


@pytest.fixture
def program(cupti: FakeCupti, seen: Observations) -> FakeProgram:
    assert seen.node_count == 0
    return FakeProgram(cupti)


def test_a_captured_launch_is_known_by_its_node(seen: Observations, program: FakeProgram) -> None:
    _, (plain, clustered) = program.capture([], [CLUSTER, PREFERRED])
    assert seen.attributes(plain) == {}
    assert seen.attributes(clustered) == {4: DIM_2, 11: DIM_4}
    assert seen.attributes(0xDEAD) is None


def test_a_launch_without_a_config_carries_nothing(seen: Observations, program: FakeProgram) -> None:
    program.begin(1)
    node = program.launch(1, name="cuLaunchKernel")
    program.end(1)
    assert seen.attributes(node) == {}


def test_what_a_caller_left_in_the_rest_of_the_union_is_not_recorded(seen: Observations, program: FakeProgram) -> None:
    _, (node,) = program.capture([attribute(4, 2, 1, 1, noise=0xAB), attribute(0, 9)])
    assert seen.attributes(node) == {4: DIM_2}


def test_of_an_attribute_given_twice_the_last_one_counts(seen: Observations, program: FakeProgram) -> None:
    _, (node,) = program.capture([CLUSTER, attribute(4, 4, 1, 1)])
    assert seen.attributes(node) == {4: DIM_4}


def test_an_unknown_attribute_keeps_all_its_bytes(seen: Observations, program: FakeProgram) -> None:
    _, (node,) = program.capture([attribute(15, 7, noise=0xAB)])
    carried = seen.attributes(node)
    assert carried is not None
    assert carried[15] == pack("<I", 7).ljust(64, b"\xab")


def test_outside_of_captures_launches_call_nothing_back(cupti: FakeCupti, program: FakeProgram) -> None:
    program.launch(1, CLUSTER)
    assert cupti.calls == 0
    program.capture([CLUSTER])
    after = cupti.calls
    program.launch(1, CLUSTER)
    assert cupti.calls == after
    assert (Domain.RESOURCE, Resource.GRAPHNODE_CREATED) not in cupti.enabled


def test_a_captured_launch_costs_three_callbacks(cupti: FakeCupti, program: FakeProgram) -> None:
    program.begin(1)
    before = cupti.calls
    program.launch(1, CLUSTER)
    assert cupti.calls == before + 3


def test_callbacks_stay_on_until_the_last_capture_ends(cupti: FakeCupti, seen: Observations) -> None:
    program = FakeProgram(cupti)
    program.begin(1)
    program.begin(2)
    program.end(1)
    node = program.launch(2, PREFERRED)
    assert seen.attributes(node) == {11: DIM_4}
    program.end(2)
    assert (Domain.DRIVER_API, cupti.ids["cuLaunchKernelEx"]) not in cupti.enabled


def test_nodes_added_by_hand_take_what_is_set_and_copied(seen: Observations, program: FakeProgram) -> None:
    first, second = program.add(0x9), program.add(0x9)
    assert seen.attributes(first) == OFF
    program.set_attribute(first, PREFERRED)
    program.set_attribute(first, CLUSTER, result=1)
    assert seen.attributes(first) == OFF | {11: DIM_4}
    program.cupti.api("cuGraphKernelNodeCopyAttributes", second, first)
    assert seen.attributes(second) == OFF | {11: DIM_4}
    program.cupti.api("cuGraphKernelNodeCopyAttributes", second, 0xDEAD)
    assert seen.attributes(second) is None


def test_clones_and_child_graphs_know_what_their_originals_carried(seen: Observations, program: FakeProgram) -> None:
    graph, _ = program.capture([PREFERRED], [])
    _, copies = program.clone(graph)
    _, inner = program.add_child(0x9, graph)
    for nodes in (copies, inner):
        assert [seen.attributes(node) for node in nodes] == [{11: DIM_4}, {}]


@pytest.mark.parametrize("moved", [False, True])
def test_a_child_graph_may_be_added_by_the_general_call(seen: Observations, program: FakeProgram, moved: bool) -> None:
    graph, nodes = program.capture([PREFERRED])
    params = ctypes.create_string_buffer(pack("<IIIIQI", 4, 0, 0, 0, graph, int(moved)), 64)
    node, inner = next(program.handles), next(program.handles)
    copies: list[int] = [] if moved else [0]

    def inside() -> None:
        if not moved:
            copies[:] = program.copy_into(inner, graph)

    arguments = (program.out(node), 0x9, 0, 0, 0, ctypes.addressof(params))
    program.cupti.api("cuGraphAddNode_v2", *arguments, inside=inside)
    assert seen.attributes((copies or nodes)[0]) == {11: DIM_4}
    program.destroy(0x9)
    assert seen.attributes((copies or nodes)[0]) is None


def test_bodies_of_conditionals_end_with_them(seen: Observations, program: FakeProgram) -> None:
    bodies = (ctypes.c_uint64 * 2)(0xB1, 0xB2)
    params = ctypes.create_string_buffer(pack("<IIIIQIIQ", 13, 0, 0, 0, 0x55, 0, 2, ctypes.addressof(bodies)), 64)
    program.cupti.api("cuGraphAddNode_v2", program.out(0x70), 0x9, 0, 0, 0, ctypes.addressof(params))
    inside = program.add(0xB2)
    assert seen.attributes(inside) == OFF
    program.cupti.api("cuGraphDestroyNode", 0x70)
    assert seen.attributes(inside) is None


@pytest.mark.parametrize("call", ["cuGraphAddNode_v2", "cuGraphAddNode_v3"])
def test_a_kernel_node_may_be_added_by_the_general_call(seen: Observations, program: FakeProgram, call: str) -> None:
    params = ctypes.create_string_buffer(64)
    program.cupti.api(call, program.out(0x70), 0x9, 0, 0, 0, ctypes.addressof(params))
    assert seen.attributes(0x70) == OFF


def test_nodes_of_a_graph_that_is_captured_into_again_are_not_known(seen: Observations, program: FakeProgram) -> None:
    graph, (node,) = program.capture([PREFERRED])
    program.cupti.api("cuStreamBeginRecaptureToGraph", 1, 2, graph, 0, 0)
    program.launch(1, CLUSTER)
    program.cupti.api("cuStreamEndCapture", 1, program.out(graph))
    assert seen.attributes(node) is None


def test_a_copy_that_fails_leaves_nothing_behind(seen: Observations, program: FakeProgram) -> None:
    graph, _ = program.capture([PREFERRED])
    before = seen.node_count
    program.cupti.api(
        "cuGraphClone", program.out(0), graph, result=2, inside=lambda: program.copy_into(0x5, graph) and None
    )
    assert seen.node_count == before


def test_destroyed_graphs_take_their_nodes_and_inner_graphs_along(seen: Observations, program: FakeProgram) -> None:
    graph, _ = program.capture([CLUSTER], [PREFERRED])
    program.add_child(0x9, graph)
    clone, _ = program.clone(0x9)
    assert seen.node_count == 4
    program.destroy(graph)
    program.destroy(0x9)
    program.destroy(clone)
    assert seen.node_count == 0


def test_the_number_of_a_destroyed_node_is_another_node(seen: Observations, program: FakeProgram) -> None:
    graph, (node,) = program.capture([PREFERRED])
    program.cupti.api("cuGraphDestroyNode", node)
    assert seen.attributes(node) is None
    program.add(0x9, node=node)
    assert seen.attributes(node) == OFF
    program.destroy(graph)
    assert seen.attributes(node) == OFF, "the first owner's end is not the second one's"


def test_a_node_from_a_call_that_is_not_watched_is_unknown(cupti: FakeCupti, seen: Observations) -> None:
    program = FakeProgram(cupti)
    program.begin(1)
    node = program.launch(1, PREFERRED)
    cupti.graph(Resource.GRAPHNODE_CREATED, graph=program.capturing[1], node=node)
    assert seen.attributes(node) is None


def test_a_failed_capture_leaves_nothing_behind(seen: Observations, program: FakeProgram) -> None:
    program.begin(1)
    program.launch(1, CLUSTER)
    program.end(1, result=INVALIDATED)
    assert seen.node_count == 0


def test_a_capture_goes_on_when_the_wrong_thread_ends_it(seen: Observations, program: FakeProgram) -> None:
    program.begin(1)
    graph = program.capturing[1]
    program.end(1, result=WRONG_THREAD)
    program.capturing[1] = graph
    node = program.launch(1, PREFERRED)
    assert seen.attributes(node) == {11: DIM_4}


def test_instantiation_calls_its_listeners_and_keeps_no_nodes(seen: Observations, program: FakeProgram) -> None:
    instantiated: list[int] = []
    seen.on_instantiated.append(instantiated.append)
    graph, _ = program.capture([CLUSTER])
    program.instantiate(graph, result=2)
    program.begin(1)  # with captures going on elsewhere, callbacks of nodes are on
    inner = program.instantiate(graph)
    assert instantiated == [graph]
    assert [seen.attributes(node) for node in inner] == [None]


def test_threads_that_launch_at_once_are_distinguished(cupti: FakeCupti, seen: Observations) -> None:
    program = FakeProgram(cupti)
    inside_first, second_done = threading.Event(), threading.Event()
    program.begin(1)
    program.begin(2)
    first = next(program.handles)

    def launch_slowly() -> None:
        def inside() -> None:
            cupti.graph(Resource.GRAPHNODE_CREATED, graph=program.capturing[1], node=first)
            inside_first.set()
            assert second_done.wait(60)

        cupti.api("cuLaunchKernel", 0xF, 0, 0, 0, 0, 0x77, inside=inside)

    thread = threading.Thread(target=launch_slowly)
    thread.start()
    assert inside_first.wait(60)
    second = program.launch(2, PREFERRED)
    second_done.set()
    thread.join(60)
    assert not thread.is_alive()
    assert seen.attributes(first) == {}
    assert seen.attributes(second) == {11: DIM_4}


def test_an_impossible_count_of_attributes_is_a_problem_and_no_value(seen: Observations, program: FakeProgram) -> None:
    _, (node,) = program.capture([CLUSTER] * 65)
    assert seen.attributes(node) is None
    assert list(seen.problems) == [
        "a launch has an impossible number of attributes; its node is unobserved",
    ]


def test_an_error_in_a_callback_stays_inside(seen: Observations, program: FakeProgram) -> None:
    def fail(_graph: int) -> None:
        raise ZeroDivisionError("of the listener")

    seen.on_instantiated.append(fail)
    program.instantiate(program.capture([])[0])
    assert list(seen.problems) == ["ZeroDivisionError in a callback: of the listener"]


@pytest.mark.parametrize(
    ("value", "started", "known"),
    [(0, True, True), (1, True, False), (None, True, False), (None, False, True), (1, False, False)],
)
def test_what_a_stream_may_pass_on_is_known_where_the_stream_does_not_have_it(
    value: int | None, started: bool, known: bool
) -> None:
    cupti = FakeCupti(started=started)
    seen = Observations(cupti)
    program = FakeProgram(cupti)
    if value is not None:
        cupti.streams[0x77] = value
    for name in ("cuLaunchKernelEx", "cuLaunchKernel"):
        program.begin(0x77)
        node = program.launch(0x77, name=name)
        program.end(0x77)
        assert seen.attributes(node) == (OFF if known else {})


def test_where_no_stream_can_have_it_no_launch_has_it_unseen() -> None:
    cupti = FakeCupti(started=True, refuses=True)
    seen = Observations(cupti)
    _, (node,) = FakeProgram(cupti).capture([])
    assert seen.attributes(node) == OFF


def test_a_stream_is_asked_once_a_capture_and_again_after_a_change(cupti: FakeCupti, seen: Observations) -> None:
    program = FakeProgram(cupti)
    cupti.streams[0x77] = 0
    program.capture([], [], [])
    assert cupti.asked == 1
    program.begin(0x77)
    before = program.launch(0x77)
    cupti.streams[0x77] = 1
    cupti.api("cuStreamSetAttribute", 0x77, int(SCHEDULING), 0)
    after = program.launch(0x77)
    assert cupti.asked == 3
    assert (seen.attributes(before), seen.attributes(after)) == (OFF, {})


def test_a_launch_that_carries_it_itself_is_believed(cupti: FakeCupti, seen: Observations) -> None:
    program = FakeProgram(cupti)
    cupti.streams[0x77] = 0
    _, (node,) = program.capture([attribute(SCHEDULING, 1)])
    assert seen.attributes(node) == {SCHEDULING: pack("<I", 1).ljust(64, b"\0")}


def test_once_a_stream_had_it_default_streams_are_not_trusted() -> None:
    cupti = FakeCupti(started=False)
    seen = Observations(cupti)
    program = FakeProgram(cupti)
    _, (node,) = program.capture([], stream=2)
    cupti.api("cuStreamSetAttribute", 0x5, int(SCHEDULING), 0)
    _, (later,) = program.capture([], stream=2)
    assert (seen.attributes(node), seen.attributes(later)) == (OFF, {})
    assert cupti.asked == 0, "2 names a stream of the thread; the driver would be asked about another thread's"


def test_observing_that_has_ended_answers_nothing(cupti: FakeCupti, seen: Observations, program: FakeProgram) -> None:
    _, (node,) = program.capture([])
    seen.close()
    seen.close()
    assert cupti.callback is None
    assert seen.node_count == 0
    with pytest.raises(ObserveError) as ended:
        seen.attributes(node)
    assert str(ended.value) == (
        "observing has ended, and handles may have been reused since; read graphs inside the `observe` block"
    )
    assert ended.value.code == "observe_ended"
    with pytest.raises(ObserveError):
        seen.graph_id(1)
    with pytest.raises(ObserveError):
        seen.code_sha256(1, 0)


def test_observing_that_has_ended_keeps_no_code_alive(cupti: FakeCupti) -> None:
    made: list[weakref.ref[ModuleLedger]] = []

    def modules(complete: bool) -> ModuleLedger:
        ledger = ModuleLedger(complete=complete, sees_loads=True)
        made.append(weakref.ref(ledger))
        return ledger

    seen = Observations(cupti, modules)
    (ledger,) = made
    assert ledger() is not None
    seen.close()
    assert ledger() is None


def test_every_address_that_a_process_may_have_can_be_read() -> None:
    assert len(observe_structs._MEMORY) >= 2**52, "AArch64 puts libraries right under 2**48, or 2**52 if asked"


def test_a_subscription_that_another_tool_holds_is_an_error() -> None:
    with pytest.raises(ObserveError) as refused:
        Observations(FakeCupti(taken=True))
    assert refused.value.code == "cupti_taken"


def test_memory_of_ended_launches_is_given_back(seen: Observations, program: FakeProgram) -> None:
    for number in range(600):
        graph, _ = program.capture([attribute(15, number)])
        assert seen.attributes(program.nodes[graph][0][0]) is not None
        program.destroy(graph)
    assert len(seen._launches._interned) <= 257
    assert len(seen._launches._decoded) <= 257


def test_attributes_that_only_observation_shows_are_those_that_no_getter_gives() -> None:
    assert observable_attributes(shipped_profile("nvidia-h200-cuda-13.0")) == (6, 7, 11, 12, 16, 17, 18)
    assert AttributeId.SYNCHRONIZATION_POLICY not in observable_attributes()
    assert AttributeId.CLUSTER_DIMENSION in observable_attributes()
