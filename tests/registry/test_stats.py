"""What is counted, at every moment."""

from tests.registry.rig import Rig, closed


def test_a_graph_without_nodes_can_be_counted() -> None:
    rig = Rig()
    instantiate = rig.driver.graph_instantiate

    def takes_memory(graph: int, flags: int = 0) -> int:
        rig.fake.free_bytes -= 65_536
        return instantiate(graph, flags)

    rig.driver.graph_instantiate = takes_memory  # type: ignore[method-assign]  # what a driver may do
    with closed(rig.registry(), rig) as registry:
        registry.register(rig.driver.graph_create())
        assert (registry.stats().device_bytes, registry.stats().bytes_saved_measured) == (65_536, None)


def test_launches_are_counted_once_while_executables_go() -> None:
    rig = Rig()
    counted: list[int] = []
    destroy = rig.driver.graph_exec_destroy

    def watched(graph_exec: int) -> None:
        counted.append(registry.stats().launches)
        destroy(graph_exec)

    rig.driver.graph_exec_destroy = watched  # type: ignore[method-assign]  # looks at the moment in between
    with closed(rig.registry(), rig) as registry:
        entries = [registry.register(rig.graph(1, cluster=cluster)) for cluster in (0, 2, 4)]
        for entry in entries:
            entry.replay()
        entries[0].release()
    assert counted == [3, 3, 3]
