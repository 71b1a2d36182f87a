"""The registry on a device: what shares, what must not, and that no replay ever launches anything else."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from threading import Thread
from typing import Any

import pytest
from cuda.bindings import driver

from examples.recording.calls import CallError, check
from lab.build import BuiltGraph
from lab.capture import build, destroy
from lab.generate import random_graph
from lab.memory import spaces_of
from lab.mutate import mutate
from lab.oracle import update
from lab.rig import Rig
from lab.specs import Alloc, Edge, EventRecord, Free, GraphSpec, Kernel, Memset, NodeSpec
from sigcontract.errors import DriverCallError, RegistryError
from sigcontract.registry import GraphEntry, GraphExecRegistry
from sigcontract.registry.events import Event, StreamsSerialised

FIELDS = ("launches", "code", "cluster_x", "cluster_y", "cluster_z", "grid_x")


def _chain(*nodes: NodeSpec, captured: bool = False) -> GraphSpec:
    dependencies = tuple((Edge(node=index - 1),) if index else () for index in range(len(nodes)))
    return GraphSpec(nodes=nodes, dependencies=dependencies, captured=captured)


@contextmanager
def _graphs(rig: Rig, specs: Sequence[GraphSpec]) -> Iterator[list[BuiltGraph]]:
    built: list[BuiltGraph] = []
    try:
        built.extend(build(rig, spec) for spec in specs)
        yield built
    finally:
        for graph in built:
            destroy(graph)


@contextmanager
def _registered(rig: Rig, specs: Sequence[GraphSpec], registry: GraphExecRegistry) -> Iterator[list[GraphEntry]]:
    with _graphs(rig, specs) as built, registry:
        yield [registry.register(graph.handle, f"graph {index}") for index, graph in enumerate(built)]


def _report(seen: dict[str, Any], slot: int) -> dict[str, int]:
    words = memoryview(seen["reports"]).cast("I")
    return dict(zip(FIELDS, words[16 * slot : 16 * slot + len(FIELDS)], strict=True))


def _launched_alone(rig: Rig, graph_exec: Any) -> dict[str, int]:
    """Launch and return slot 0's report, with no work of the device before it and only a copy after it."""
    stream = check(driver.cuStreamCreate(1))
    check(driver.cuGraphLaunch(graph_exec, stream))
    check(driver.cuStreamSynchronize(stream))
    check(driver.cuStreamDestroy(stream))
    words = (ctypes.c_uint32 * len(FIELDS))()
    check(driver.cuMemcpyDtoH(ctypes.addressof(words), rig.report(0), ctypes.sizeof(words)))
    return dict(zip(FIELDS, words, strict=True))


def _replayed(rig: Rig, entry: GraphEntry, spec: GraphSpec) -> dict[str, Any]:
    """Replay on memory in a known state and return what was left there, as `Rig.launch` does for an executable."""
    spaces, events = spaces_of(spec.walk()), _records(spec)
    rig._reset(spaces)
    if events:
        for event in (*rig.events, rig._mark):
            check(driver.cuEventRecord(event, rig.stream))
    entry.replay(rig.stream)
    seen = rig._fetch(spaces)
    if events:
        seen["events"] = tuple(rig._recorded_since(event) for event in rig.events)
    return seen


def _fresh(rig: Rig, graph: BuiltGraph, spec: GraphSpec) -> dict[str, Any]:
    graph_exec = check(driver.cuGraphInstantiate(graph.handle, 0))
    try:
        return rig.launch(graph_exec, spaces_of(spec.walk()), events=_records(spec))
    finally:
        check(driver.cuGraphExecDestroy(graph_exec))


def _records(spec: GraphSpec) -> bool:
    return any(isinstance(node, EventRecord) for node in spec.walk())


def _execs(rig: Rig, policy: str, *nodes: Kernel) -> int:
    """Return how many executables three-node graphs of each kernel need, each replayed and checked."""
    specs = [_chain(node, replace(node, slot=node.slot + 1), replace(node, slot=node.slot + 2)) for node in nodes]
    with _graphs(rig, specs) as built, GraphExecRegistry(policy=policy) as registry:
        entries = []
        for graph, spec in zip(built, specs, strict=True):
            entries.append(registry.register(graph.handle))
            assert _replayed(rig, entries[-1], spec) == _fresh(rig, graph, spec)
        for entry, graph, spec in zip(entries, built, specs, strict=True):
            assert _replayed(rig, entry, spec) == _fresh(rig, graph, spec)
        return registry.stats().execs


PLAIN = Kernel(slot=0)


@pytest.mark.parametrize("policy", ["exact", "share", "share-functions", "share-updatable"])
def test_the_same_kernel_twice_needs_one_executable(rig: Rig, policy: str) -> None:
    assert _execs(rig, policy, PLAIN, PLAIN) == 1


def test_three_grid_sizes_share_one_executable(rig: Rig) -> None:
    kernels = [replace(PLAIN, grid=(width, 1, 1)) for width in (8, 16, 24)]
    assert _execs(rig, "share", *kernels) == 1
    assert _execs(rig, "exact", *kernels) == 3


@pytest.mark.parametrize("other", ["rep@again", "rep@2", "rep@lib"])
def test_one_name_from_two_modules_is_two_executables(rig: Rig, other: str) -> None:
    """Also where the image is the same: equal names, dims, attributes and function facts, other handles."""
    assert _execs(rig, "share", PLAIN, replace(PLAIN, function=other)) == 2


def test_clusters_of_none_two_and_four_are_three_executables(rig: Rig) -> None:
    kernels = [replace(PLAIN, cluster=cluster) for cluster in (None, (2, 1, 1), (4, 1, 1))]
    assert _execs(rig, "share", *kernels) == 3
    assert _execs(rig, "share-functions", *kernels) == 3


def test_cooperative_kernels_of_two_functions_are_two_executables(rig: Rig) -> None:
    kernels = [replace(PLAIN, function=function, cooperative=True) for function in ("rep", "rep2")]
    assert _execs(rig, "share-functions", *kernels) == 2


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [
        (replace(PLAIN, cluster=(2, 1, 1)), replace(PLAIN, cluster=(4, 1, 1)), "cluster_x"),
        (replace(PLAIN, cooperative=True), replace(PLAIN, cooperative=True, function="rep2"), "code"),
    ],
    ids=["cluster", "cooperative function"],
)
def test_demonstration_the_driver_reports_success_and_launches_the_old_value(
    rig: Rig, first: Kernel, second: Kernel, field: str
) -> None:
    """Why success is not believed: an update forced after a launch is accepted and not carried out.

    Nothing else may run between the two launches: after a fill on the device a cooperative node takes its new function.
    """
    specs = [_chain(first), _chain(second)]
    with _graphs(rig, specs) as (held, candidate):
        graph_exec = check(driver.cuGraphInstantiate(held.handle, 0))
        try:
            before = _launched_alone(rig, graph_exec)
            answer = update(graph_exec, candidate)
            after = _launched_alone(rig, graph_exec)
        finally:
            check(driver.cuGraphExecDestroy(graph_exec))
        fresh = _report(_fresh(rig, candidate, specs[1]), 0)
    assert answer.result == "SUCCESS"
    assert after[field] == before[field]
    assert after[field] != fresh[field]


def _sibling(random: Random, spec: GraphSpec) -> GraphSpec:
    """Return the graph with what an update carries changed: dims, shared memory, arguments, fills."""
    nodes = tuple(_varied(random, node) for node in spec.nodes)
    return replace(spec, nodes=nodes)


def _varied(random: Random, node: NodeSpec) -> NodeSpec:
    if isinstance(node, Kernel):
        width = random.choice((8, 16, 24)) if node.grid[1:] == (1, 1) and node.cluster in {None, (1, 1, 1)} else 0
        grid = (width, 1, 1) if width else node.grid
        return replace(node, value=random.randrange(100), grid=grid, block=random.choice((32, 64, 128)))
    if isinstance(node, Memset) and node.height == 1:
        return replace(node, value=random.randrange(200), width=random.choice((16, 32, 64)))
    return node


def _family(random: Random) -> list[GraphSpec]:
    base = random_graph(random)
    while base.single_instance:
        base = random_graph(random)
    family = [base]
    while len(family) < 7:
        parent = random.choice(family)
        child = _sibling(random, parent) if random.random() < 0.6 else mutate(random, parent)
        if not child.single_instance:
            family.append(child)
    return family


@pytest.mark.parametrize("options", [{}, {"max_execs": 2}, {"verify": "first-use"}], ids=["", "bounded", "verified"])
@pytest.mark.parametrize("policy", ["share", "share-functions"])
@pytest.mark.parametrize("seed", range(60))
def test_a_random_walk_of_replays_launches_what_fresh_executables_launch(
    rig: Rig, seed: int, policy: str, options: dict[str, Any]
) -> None:
    random = Random(f"registry {seed}")  # noqa: S311  a test's repeatable choice, no secret
    specs = _family(random)
    with _graphs(rig, specs) as built, GraphExecRegistry(policy=policy, **options) as registry:
        usable: list[tuple[BuiltGraph, GraphSpec, GraphEntry]] = []
        for graph, spec in zip(built, specs, strict=True):
            try:
                _fresh(rig, graph, spec)
            except CallError:  # a graph that no executable launches: a cluster that the grid does not hold
                rig.recover()
                continue
            usable.append((graph, spec, registry.register(graph.handle)))
            for _ in range(random.randrange(3)):
                _check_one(rig, random, usable)
        for _ in range(3 * len(usable)):
            _check_one(rig, random, usable)
        stats = registry.stats()
        assert stats.fallbacks == 0
        assert stats.refusals == {}
        assert stats.execs <= options.get("max_execs", len(specs))


def _check_one(rig: Rig, random: Random, usable: list[tuple[BuiltGraph, GraphSpec, GraphEntry]]) -> None:
    graph, spec, entry = random.choice(usable)
    assert _replayed(rig, entry, spec) == _fresh(rig, graph, spec), f"{entry}: {entry.reason}"


def test_a_churn_of_338_shapes_stays_within_the_bound(rig: Rig) -> None:
    """Each shape is an executable of its own under this policy, and is instantiated again at almost each replay."""
    specs = [_chain(replace(PLAIN, grid=(width, 1, 1))) for width in range(1, 339)]
    registry = GraphExecRegistry(policy="exact", max_execs=8)
    with _registered(rig, specs, registry) as entries, _graphs(rig, specs) as built:
        for index in (7 * turn % 338 for turn in range(2 * 338)):
            assert _replayed(rig, entries[index], specs[index]) == _fresh(rig, built[index], specs[index])
        stats = registry.stats()
        assert (stats.execs, stats.instantiations - stats.evictions) == (8, 8)


def test_this_driver_carries_updates_out_as_stand_ins_confirm(rig: Rig) -> None:
    specs = [_chain(replace(PLAIN, grid=(width, 1, 1)), replace(PLAIN, slot=1)) for width in (8, 16, 24)]
    registry = GraphExecRegistry(verify="first-use")
    with _registered(rig, specs, registry) as entries, _graphs(rig, specs) as built:
        for entry, spec, graph in zip(entries * 2, specs * 2, built * 2, strict=True):
            assert _replayed(rig, entry, spec) == _fresh(rig, graph, spec)
        assert (registry.stats().execs, registry.stats().unverified) == (1, 0)


def test_random_families_do_share(rig: Rig) -> None:
    """The walks above prove nothing where nothing shares."""
    graphs = execs = 0
    for seed in range(20):
        random = Random(f"siblings {seed}")  # noqa: S311  as above
        base = random_graph(random)
        while base.single_instance or any(not isinstance(node, Kernel) for node in base.nodes):
            base = random_graph(random)
        with _registered(rig, [base] + [_sibling(random, base) for _ in range(4)], GraphExecRegistry()) as entries:
            graphs += len(entries)
            execs += sum(entry.reason.code != "shares" for entry in entries)
    assert (graphs, execs) == (100, 20)


def test_a_thousand_alternating_replays_launch_each_graph_five_hundred_times(rig: Rig) -> None:
    specs = [_chain(Kernel(slot=slot, value=slot)) for slot in (0, 1)]
    registry = GraphExecRegistry()
    with _registered(rig, specs, registry) as entries:
        rig._reset(("device",))
        for turn in range(1000):
            entries[turn % 2].replay(rig.stream)
        seen = rig._fetch(("device",))
        stats = registry.stats()
    assert [_report(seen, slot)["launches"] for slot in (0, 1)] == [500, 500]
    assert (stats.execs, stats.launches, stats.repoints) == (1, 1000, 1000)


@contextmanager
def _replayed_at_once(rig: Rig, entries: Sequence[GraphEntry]) -> Iterator[None]:
    """Replay every entry 250 times, each in its own thread, on two streams; the body runs meanwhile."""
    streams = [check(driver.cuStreamCreate(1)) for _ in range(2)]
    failures: list[Exception] = []

    def replay(entry: GraphEntry, stream: Any) -> None:
        try:
            check(driver.cuCtxSetCurrent(rig.context))
            for _ in range(250):
                entry.replay(stream)
        except (DriverCallError, RegistryError) as error:
            failures.append(error)

    rig._reset(("device",))
    check(driver.cuStreamSynchronize(rig.stream))
    threads = [Thread(target=replay, args=(entry, streams[index % 2])) for index, entry in enumerate(entries)]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()
    for stream in streams:
        check(driver.cuStreamSynchronize(stream))
        check(driver.cuStreamDestroy(stream))
    assert failures == []


def test_eight_threads_on_two_streams_launch_exactly_what_they_asked_for(rig: Rig) -> None:
    """Each graph counts its launches in its own slot, so that one wrong launch shows in two counts."""
    events: list[Event] = []
    registry = GraphExecRegistry(on_event=events.append)
    specs = [_chain(Kernel(slot=slot, value=slot)) for slot in range(8)]
    with _registered(rig, specs, registry) as entries:
        with _replayed_at_once(rig, entries):
            pass
        seen = rig._fetch(("device",))
        assert [_report(seen, slot)["launches"] for slot in range(8)] == [250] * 8
        assert (registry.stats().execs, registry.stats().launches) == (1, 2000)
    assert sum(isinstance(event, StreamsSerialised) for event in events) == 1


def test_a_graph_that_allocates_has_its_own_executable_and_is_never_probed(rig: Rig) -> None:
    specs = [_chain(Alloc(), Free()), _chain(Alloc(size_bytes=8192), Free())]
    registry = GraphExecRegistry()
    with _registered(rig, specs, registry) as entries:
        assert [entry.reason.code for entry in entries] == ["single-exec", "single-exec"]
        for entry in entries:
            entry.replay(rig.stream)
        check(driver.cuStreamSynchronize(rig.stream))
        assert (registry.stats().execs, registry.stats().updates) == (2, 0)


def test_a_replay_on_a_capturing_stream_is_an_error_and_the_registry_goes_on(rig: Rig) -> None:
    spec = _chain(PLAIN)
    with _registered(rig, [spec], GraphExecRegistry()) as (entry,), _graphs(rig, [spec]) as (graph,):
        capturing = check(driver.cuStreamCreate(1))
        check(driver.cuStreamBeginCapture(capturing, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
        try:
            with pytest.raises(DriverCallError) as caught:
                entry.replay(capturing)
        finally:
            driver.cuStreamEndCapture(capturing)  # answers that the capture was invalidated
            check(driver.cuStreamDestroy(capturing))
        assert caught.value.result == "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
        assert _replayed(rig, entry, spec) == _fresh(rig, graph, spec)
