"""Executables shared, and kept apart, on the fake driver: it keeps stale what the measured one keeps stale."""

from struct import pack
from typing import Any

import pytest

from sigcontract.errors import DriverCallError, DriverUnavailableError, GraphReadError, RegistryError, UsageError
from sigcontract.model.cuda import AttributeId
from sigcontract.model.findings import Verdict
from sigcontract.registry import GraphExecRegistry
from tests.driver.fake import FakeDriver
from tests.registry.rig import PROFILE, Accepting, Refusing, Rig, closed


def test_graphs_that_differ_in_arguments_and_grid_share_one_executable() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entries = [registry.register(rig.graph(value, grid=grid)) for value, grid in ((1, 8), (2, 16), (3, 24))]
        assert [entry.reason.code for entry in entries] == ["first", "shares", "shares"]
        for _ in range(2):
            for value, entry in enumerate(entries, 1):
                assert rig.replayed(entry.replay) == {value}
        assert rig.execs() == 1
        assert {entry.group.index for entry in entries} == {0}
        assert entries[0].shares_with == (entries[1], entries[2])
        assert entries[0].group.members == tuple(entries)
        assert (entries[0].group.representative, entries[0].group.execs, len(entries[0].group)) == (entries[0], 1, 3)


def test_the_sentence_of_a_reason_says_who_is_shared_with_and_on_whose_word() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        registry.register(rig.graph(1), "decode/bs=1")
        entry = registry.register(rig.graph(1), "decode/bs=2")
        assert str(entry.reason) == "shares the executable of decode/bs=1: predicted identical, accepted by the driver"


def test_a_replay_updates_only_where_the_executable_holds_another_graph() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        first, second = registry.register(rig.graph(1)), registry.register(rig.graph(2))
        updates = rig.fake.calls["cuGraphExecUpdate"]
        assert updates == 1, "the probe of the second"
        second.replay()
        second.replay()
        assert rig.fake.calls["cuGraphExecUpdate"] == updates, "after the probe the executable holds the second"
        first.replay()
        first.replay()
        assert rig.fake.calls["cuGraphExecUpdate"] == updates + 1


def test_namesakes_from_two_modules_never_share() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        first = registry.register(rig.graph(1))
        second = registry.register(rig.graph(1, function=rig.namesake))
        assert first.signature.kernel_nodes[0].name == second.signature.kernel_nodes[0].name
        assert first.group is not second.group
        assert rig.execs() == 2
        assert registry.why_not(first, second)
        first.replay()
        second.replay()
        assert {launch.code for launch in rig.fake.launches[-2:]} == {"// two ret; "}


@pytest.mark.parametrize("policy", ["share", "share-functions"])
def test_clusters_of_none_two_and_four_are_three_executables(policy: str) -> None:
    rig = Rig()
    with closed(rig.registry(policy=policy), rig) as registry:
        entries = [registry.register(rig.graph(cluster, cluster=cluster)) for cluster in (0, 2, 4)]
        assert rig.execs() == 3
        for _ in range(2):
            for entry in entries:
                entry.replay()
        assert [launch.cluster_dim[0] for launch in rig.fake.launches[-6::2]] == [0, 2, 4]


def test_functions_of_plain_nodes_may_differ_under_the_wider_policy_only() -> None:
    for policy, execs in (("exact", 2), ("share", 2), ("share-functions", 1)):
        rig = Rig()
        with closed(rig.registry(policy=policy), rig) as registry:
            entries = [registry.register(rig.graph(value, function=rig.other if value else None)) for value in (0, 1)]
            assert rig.execs() == execs, policy
            for entry in entries * 2:
                entry.replay()
            assert [launch.name for launch in rig.fake.launches[::2]] == ["step", "other"] * 2


def test_functions_of_cooperative_nodes_never_share() -> None:
    rig = Rig()
    with closed(rig.registry(policy="share-functions"), rig) as registry:
        for function in (rig.step, rig.other):
            registry.register(rig.graph(1, function=function, cooperative=True)).replay()
        assert rig.execs() == 2
        assert [launch.name for launch in rig.fake.launches[::2]] == ["step", "other"]


def test_exact_shares_only_what_is_equal_in_every_recorded_field() -> None:
    rig = Rig()
    with closed(rig.registry(policy="exact"), rig) as registry:
        entries = [registry.register(rig.graph(value, grid=grid)) for value, grid in ((1, 8), (2, 8), (3, 16))]
        assert [entry.group.index for entry in entries] == [0, 0, 1]


@pytest.mark.parametrize("change", [{"cluster": 2}, {"function": "other", "cooperative": True}])
def test_a_driver_that_accepts_everything_is_not_believed(change: dict[str, Any]) -> None:
    rig = Rig(Accepting())
    base = {"cooperative": change.get("cooperative", False)}
    if change.get("function"):
        change = {**change, "function": rig.other}
    with closed(rig.registry(policy="share-functions"), rig) as registry:
        first, second = registry.register(rig.graph(1, **base)), registry.register(rig.graph(2, **change))
        for entry in (first, second, first):
            entry.replay()
        assert rig.execs() == 2
        assert rig.fake.calls["cuGraphExecUpdate"] == 0
        assert rig.ran() == [1, 1, 2, 2, 1, 1]


def test_a_refusal_at_register_gives_an_executable_of_its_own_and_the_reason() -> None:
    rig = Rig(Refusing())
    with closed(rig.registry(), rig) as registry:
        first = registry.register(rig.graph(1), "one")
        rig.fake.refusing = True  # type: ignore[attr-defined]  # of this fake
        second = registry.register(rig.graph(2), "two")
        rig.fake.refusing = False  # type: ignore[attr-defined]  # of this fake
        assert second.reason.code == "refused"
        node = rig.fake.graphs[second._member.graph.handle].nodes[-1].handle
        assert str(second.reason) == (
            f"the driver refused an update of the executable of one: ERROR_TOPOLOGY_CHANGED at node {node:#x}"
        )
        assert (first.group, first.group.execs) == (second.group, 2)
        assert [rig.replayed(entry.replay) for entry in (first, second, first)] == [{1}, {2}, {1}]
        third = registry.register(rig.graph(3))
        assert third.shares_with == (second,), "the newest executable of the group is tried first"
        stats = registry.stats()
        assert (stats.refusals, stats.fallbacks, stats.execs) == ({"ERROR_TOPOLOGY_CHANGED": 1}, 0, 2)


def test_a_driver_that_refuses_everything_costs_a_bounded_number_of_tries() -> None:
    rig = Rig(Refusing())
    rig.fake.refusing = True  # type: ignore[attr-defined]  # of this fake
    with closed(rig.registry(), rig) as registry:
        tries = []
        for value in range(12):
            before = rig.fake.calls["cuGraphExecUpdate"]
            registry.register(rig.graph(value))
            tries.append(rig.fake.calls["cuGraphExecUpdate"] - before)
        assert tries == [0, 1, 2, 3, *[4] * 8]
        assert rig.execs() == 12


def test_a_refusal_at_replay_falls_back_and_the_launch_is_not_lost() -> None:
    rig = Rig(Refusing())
    with closed(rig.registry(), rig) as registry:
        first, second = registry.register(rig.graph(1), "one"), registry.register(rig.graph(2), "two")
        second.replay()
        rig.fake.refusing = True  # type: ignore[attr-defined]  # of this fake
        assert rig.replayed(first.replay) == {1}
        assert first.reason.code == "fallback"
        assert [rig.replayed(entry.replay) for entry in (first, second, first)] == [{1}, {2}, {1}]
        assert (rig.execs(), registry.stats().fallbacks, first.shares_with) == (2, 1, ())


def test_a_refusal_of_a_lone_graph_leaves_one_executable_not_two() -> None:
    rig = Rig(Refusing())
    with closed(rig.registry(), rig) as registry:
        first, second = registry.register(rig.graph(1)), registry.register(rig.graph(2))
        first.release()
        second.replay()
        third = registry.register(rig.graph(3))
        second.release()
        rig.fake.refusing = True  # type: ignore[attr-defined]  # of this fake
        fourth = registry.register(rig.graph(4))
        third.replay()
        assert (rig.execs(), registry.stats().graphs) == (2, 2)
        assert rig.replayed(fourth.replay) == {4}


def test_what_the_profile_cannot_decide_gets_its_own_executable_and_names_the_attribute() -> None:
    rig = Rig()
    rig.newer_device()
    unknown = GraphExecRegistry(rig.driver, profile=rig.unknown_profile())
    with closed(unknown, rig) as registry:
        entries = [registry.register(rig.graph(1)) for _ in range(2)]
        assert [entry.reason.code for entry in entries] == ["undetermined", "undetermined"]
        assert all(entry.reason.findings for entry in entries)
        assert all(finding.verdict is Verdict.UNDETERMINED for finding in entries[0].reason.findings)
        assert rig.execs() == 2
        assert [rig.replayed(entry.replay) for entry in entries] == [{1}, {1}]


class Seen:
    """Launches that were observed, each with these attributes."""

    def __init__(self) -> None:
        self.carried: dict[int, bytes] = {AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING: bytes(64)}

    def attributes(self, _node: int) -> dict[int, bytes]:
        return self.carried

    def code_sha256(self, _func: int, _kern: int) -> None:
        return None


def test_what_was_seen_at_the_launches_decides_where_the_nodes_do_not_tell() -> None:
    rig, seen = Rig(), Seen()
    rig.newer_device()
    with closed(rig.registry(profile=rig.unknown_profile(), observations=seen), rig) as registry:
        entries = [registry.register(rig.graph(value)) for value in (1, 2)]
        seen.carried |= {AttributeId.PREFERRED_CLUSTER_DIMENSION: pack("<3I52x", 4, 1, 1)}
        entries.append(registry.register(rig.graph(3)))
        assert [entry.reason.code for entry in entries] == ["first", "shares", "first"], entries[1].reason
        assert rig.execs() == 2
        assert [rig.replayed(entry.replay) for entry in entries] == [{1}, {2}, {3}]


def test_what_the_profile_cannot_decide_is_an_error_where_that_was_asked_for() -> None:
    rig = Rig()
    rig.newer_device()
    with closed(rig.registry(profile=rig.unknown_profile(), on_undetermined="raise"), rig) as registry:
        with pytest.raises(RegistryError, match="nothing was registered") as caught:
            registry.register(rig.graph(1))
        assert caught.value.code == "undetermined"
        assert (registry.stats().graphs, rig.execs()) == (0, 0)


def test_graphs_with_an_allocation_are_neither_shared_nor_probed() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entries = []
        for _ in range(2):
            builder = rig.builder(1)
            builder.alloc(4096)
            entries.append(registry.register(builder.graph))
        assert [str(entry.reason) for entry in entries] == [
            "nodes[2] is an allocation node: CUDA allows such a graph one executable, so it is not shared"
        ] * 2
        assert (rig.execs(), rig.fake.calls["cuGraphExecUpdate"]) == (2, 0)
        assert [rig.replayed(entry.replay) for entry in entries] == [{1}, {1}]


def test_a_graph_that_may_be_instantiated_once_and_was_is_a_typed_error() -> None:
    rig = Rig()
    builder = rig.builder(1)
    builder.alloc(4096)
    held = rig.driver.graph_instantiate(builder.graph)
    registry = rig.registry()
    with pytest.raises(DriverCallError, match="CUDA_ERROR_NOT_SUPPORTED"):
        registry.register(builder.graph)
    rig.driver.graph_exec_destroy(held)
    with closed(registry, rig):
        assert registry.register(builder.graph).reason.code == "single-exec"


def test_a_graph_of_a_node_type_without_a_record_has_its_own_executable() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        for _ in range(2):
            builder = rig.builder(1)
            rig.fake.add_node(builder.graph, 99)
            assert registry.register(builder.graph).reason.code == "undetermined"
        assert rig.execs() == 2


def test_priority_keeps_graphs_apart_where_executables_are_made_to_heed_it() -> None:
    for flags, execs in ((0, 1), (8, 2)):
        rig = Rig()
        with closed(rig.registry(flags=flags), rig) as registry:
            for priority in (0, -1):
                registry.register(rig.graph(1, priority=priority))
            assert rig.execs() == execs


def test_the_count_of_everything() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entries = [registry.register(rig.graph(value)) for value in (1, 2)]
        registry.register(rig.graph(3, cluster=2))
        for entry in entries * 3:
            entry.replay()
        stats = registry.stats()
        assert (stats.graphs, stats.groups, stats.execs, stats.instantiations) == (3, 2, 2, 2)
        assert (stats.launches, stats.updates, stats.repoints, stats.rebuilds) == (6, 7, 6, 0)
        assert (stats.refusals, stats.fallbacks) == ({}, 0)
        assert stats.bytes_saved_estimate == 2 * 10_240
        assert (stats.device_bytes, stats.bytes_saved_measured) == (0, None)
    after = registry.stats()
    assert (after.graphs, after.groups, after.execs, after.launches) == (0, 0, 0, 6)


def test_bytes_saved_are_measured_where_the_device_shows_them() -> None:
    rig = Rig(Measured())
    with closed(rig.registry(), rig) as registry:
        for value in range(4):
            registry.register(rig.graph(value))
        stats = registry.stats()
        assert (stats.device_bytes, stats.bytes_saved_measured) == (1 << 20, 3 << 20)


class Measured(FakeDriver):
    """A driver whose executables take a MiB each."""

    def _instantiate(self, out: int, graph: int, flags: int) -> int:
        self.free_bytes -= 1 << 20
        return super()._instantiate(out, graph, flags) or 0


def test_the_report_is_of_records_and_needs_no_driver() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        for value, cluster in ((1, 0), (2, 0), (3, 2)):
            registry.register(rig.graph(value, cluster=cluster), f"cluster {cluster}, {value}")
        calls = sum(rig.fake.calls.values())
        report = registry.report()
        assert sum(rig.fake.calls.values()) == calls
        assert [(group.label, group.size) for group in report.groups] == [("cluster 0, 1", 2), ("cluster 2, 3", 1)]
        assert report.nearest[0].findings


def test_what_is_no_graph_is_refused_by_the_reader() -> None:
    rig = Rig()
    with rig.registry() as registry:
        for what in (0, None, "graph", 0x1234):
            with pytest.raises(GraphReadError):
                registry.register(what)
        assert registry.stats().graphs == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "portable"}, "executables cannot be shared under policy 'portable'; use one of exact, share, "),
        ({"on_undetermined": "hope"}, "on_undetermined is 'own-exec' or 'raise', not 'hope'"),
        ({"flags": 4}, "instantiation flags 0x4 are not supported; use 1, 8 or both"),
    ],
)
def test_options_that_do_not_exist_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        GraphExecRegistry(Rig().driver, profile=PROFILE, **options)


def test_without_a_context_the_error_says_so_and_the_registry_goes_on() -> None:
    rig = Rig()
    graph = rig.graph(1)
    with closed(rig.registry(), rig) as registry:
        entry = registry.register(graph)
        contexts, rig.fake.contexts = rig.fake.contexts, []
        with pytest.raises(DriverUnavailableError, match="needs a CUDA context"):
            entry.replay()
        rig.fake.contexts = contexts
        assert rig.replayed(entry.replay) == {1}
