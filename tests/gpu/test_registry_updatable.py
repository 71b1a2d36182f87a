"""share-updatable on a device: whatever order graphs run in, with other work in between and with none."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from examples.recording.calls import CallError
from lab.build import BuiltGraph
from lab.rig import Rig
from lab.specs import GraphSpec, Kernel
from sigcontract.registry import GraphEntry, GraphExecRegistry
from tests.gpu.test_registry_gpu import _chain, _family, _fresh, _graphs, _replayed, _replayed_at_once, _report

#: Clusters of which kernels differ, each with functions that may have it and grids that hold it.
CLUSTERS = ((2, 1, 1), (4, 1, 1), (8, 1, 1), (2, 2, 1))
FUNCTIONS = ("rep", "rep2", "rep@2", "rep@lib")


@pytest.fixture(scope="module")
def quiet_rig() -> Rig:
    """Return a device on which nothing runs between two launches: reports are in host memory."""
    return Rig(quiet=True)


def _of_clusters(random: Random, nodes: int) -> GraphSpec:
    kernels = [
        Kernel(
            slot=slot,
            function=random.choice(FUNCTIONS),
            cluster=random.choice(CLUSTERS),
            grid=(random.choice((8, 16, 24, 32)), 2, 1),
            block=random.choice((32, 64, 128)),
            shared_bytes=random.choice((0, 0, 256)),
            value=random.randrange(100),
        )
        for slot in range(nodes)
    ]
    return _chain(*kernels)


def _of_cooperative_functions(random: Random, nodes: int) -> GraphSpec:
    graph = _of_clusters(random, nodes)
    kernels = (replace(node, cooperative=True, cluster=None) for node in graph.nodes if isinstance(node, Kernel))
    return _chain(*kernels)


@contextmanager
def _usable(rig: Rig, specs: Sequence[GraphSpec]) -> Iterator[list[tuple[BuiltGraph, GraphSpec, dict[str, Any]]]]:
    """Build graphs and launch each alone, before anything else; those that no executable launches are left out."""
    with _graphs(rig, specs) as built:
        found = []
        for graph, spec in zip(built, specs, strict=True):
            try:
                found.append((graph, spec, _fresh(rig, graph, spec)))
            except CallError:
                rig.recover()
        yield found


@pytest.mark.parametrize("make", [_of_clusters, _of_cooperative_functions], ids=["clusters", "cooperative"])
@pytest.mark.parametrize("work", ["none", "other work"])
@pytest.mark.parametrize("seed", range(60))
def test_a_random_walk_launches_what_fresh_executables_launch(
    rig: Rig, quiet_rig: Rig, seed: int, work: str, make: Any
) -> None:
    random = Random(f"updatable {seed}")  # noqa: S311  a test's repeatable choice, no secret
    chosen_rig = quiet_rig if work == "none" else rig
    specs = [make(random, random.choice((1, 1, 2, 3))) for _ in range(3)]
    specs = [spec for base in specs for spec in (base, *(make(random, len(base.nodes)) for _ in range(3)))]
    with _usable(chosen_rig, specs) as usable, GraphExecRegistry(policy="share-updatable") as registry:
        entries = [registry.register(graph.handle) for graph, _, _ in usable]
        for _ in range(random.randrange(2 * len(entries))):
            _check(chosen_rig, random, usable, entries)
        before = registry.stats()
        registry.seal()
        for _ in range(12 * len(entries)):
            _check(chosen_rig, random, usable, entries)
        after = registry.stats()
        assert (after.fallbacks, after.refusals) == (0, {})
        assert after.execs <= before.execs


def _check(
    rig: Rig,
    random: Random,
    usable: Sequence[tuple[BuiltGraph, GraphSpec, dict[str, Any]]],
    entries: Sequence[GraphEntry],
) -> None:
    index = random.randrange(len(entries))
    _, spec, expected = usable[index]
    assert _replayed(rig, entries[index], spec) == expected, f"{entries[index]}: {entries[index].reason}"


def test_the_walks_do_share_more(quiet_rig: Rig) -> None:
    """They prove nothing where nothing is put together."""
    before = after = 0
    for seed in range(20):
        random = Random(f"more {seed}")  # noqa: S311  as above
        specs = [_of_clusters(random, 1) for _ in range(8)]
        with _usable(quiet_rig, specs) as usable, GraphExecRegistry(policy="share-updatable") as registry:
            for graph, _, _ in usable:
                registry.register(graph.handle)
            before += registry.stats().execs
            registry.seal()
            after += registry.stats().execs
    assert after < before


@pytest.mark.parametrize("seed", range(40))
def test_a_random_family_of_every_node_is_launched_right(rig: Rig, seed: int) -> None:
    """As the walks under the other policies, sealed in the middle."""
    random = Random(f"updatable family {seed}")  # noqa: S311  as above
    with _usable(rig, _family(random)) as usable, GraphExecRegistry(policy="share-updatable") as registry:
        entries = [registry.register(graph.handle) for graph, _, _ in usable]
        for _ in range(2 * len(entries)):
            _check(rig, random, usable, entries)
        registry.seal()
        for _ in range(4 * len(entries)):
            _check(rig, random, usable, entries)


def test_eight_threads_on_two_streams_launch_exactly_what_they_asked_for(rig: Rig) -> None:
    """Graphs of two clusters on one executable; each counts its launches, clusters and grids in its own slot."""
    kernels = [
        Kernel(slot=slot, value=slot, function="rep", cluster=(2, 1, 1), grid=(8 * slot + 8, 1, 1)) for slot in range(4)
    ] + [
        Kernel(slot=slot, value=slot, function="rep2", cluster=(4, 1, 1), grid=(8 * slot + 8, 1, 1))
        for slot in range(4, 8)
    ]

    with (
        _graphs(rig, [_chain(kernel) for kernel in kernels]) as built,
        GraphExecRegistry(policy="share-updatable") as registry,
    ):
        entries = [registry.register(graph.handle) for graph in built]
        assert registry.stats().execs == 2
        with _replayed_at_once(rig, entries):
            registry.seal()
        seen = rig._fetch(("device",))
        assert (registry.stats().execs, registry.stats().launches) == (1, 2000)
        for slot, kernel in enumerate(kernels):
            report = _report(seen, slot)
            assert kernel.cluster is not None
            assert (report["launches"], report["cluster_x"], report["grid_x"]) == (
                250,
                kernel.cluster[0],
                kernel.grid[0],
            )
