"""Many threads and streams on one registry."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from sigcontract.errors import RegistryError
from sigcontract.registry.events import Event, StreamsSerialised
from tests.driver.build import GraphBuilder
from tests.registry.rig import Capture, Rig, closed

THREADS = 8
#: How long a thread is waited for before its test fails.
WAIT_SECONDS = 60


def test_eight_threads_launch_exactly_what_they_asked_for() -> None:
    """One executable, eight graphs: an update of one thread must not come between update and launch of another."""
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        entries = [registry.register(rig.graph(value, nodes=1)) for value in range(THREADS)]
        barrier = Barrier(THREADS)

        def replay(index: int) -> None:
            barrier.wait()
            for _ in range(40):
                entries[index].replay(index % 2)

        rig.ran()
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(replay, range(THREADS)))
        assert Counter(rig.ran()) == dict.fromkeys(range(THREADS), 40)
        assert (rig.execs(), registry.stats().launches) == (1, 40 * THREADS)


def test_threads_that_register_at_once_share_as_one_would() -> None:
    rig = Rig()
    with closed(rig.registry(), rig) as registry:
        graphs = [rig.graph(value, nodes=1, cluster=2 * (value % 2)) for value in range(24)]
        with ThreadPoolExecutor(THREADS) as pool:
            entries = list(pool.map(registry.register, graphs))
        assert (rig.execs(), registry.stats().graphs) == (2, 24)
        assert [rig.replayed(entry.replay) for entry in entries] == [{value} for value in range(24)]


class Watched(Capture):
    """A capture whose own methods run code of its user's, which may wait for a lock of theirs."""

    def __init__(self, builder: GraphBuilder, held: Callable[[], list[bool]]) -> None:
        super().__init__(builder)
        self._held = held
        self.found: list[bool] = []

    def raw_cuda_graph(self) -> int:
        self.found += self._held()
        return super().raw_cuda_graph()

    def reset(self) -> None:
        self.found += self._held()
        super().reset()


def test_no_lock_is_held_while_the_owner_of_a_graph_is_called() -> None:
    rig = Rig()
    registry = rig.registry()

    def held() -> list[bool]:
        execs = [shared for group in registry._placement.groups.values() for shared in group.execs]
        return [lock.locked() for lock in (registry._lifecycle._lock, *(shared._lock for shared in execs))]

    captures = [Watched(rig.builder(value), held) for value in (1, 2)]
    entries = [registry.register(capture) for capture in captures]
    for entry in (*entries, *entries):
        entry.replay(0)
    entries[0].reset()
    registry.close(reset=True)
    assert (set(captures[0].found), set(captures[1].found)) == ({False}, {False})
    assert [capture.resets for capture in captures] == [1, 1]


def test_closing_while_others_replay_ends_in_order() -> None:
    rig = Rig()
    registry = rig.registry()
    entries = [registry.register(rig.graph(value, nodes=1)) for value in range(THREADS)]
    barrier = Barrier(THREADS + 1)

    def replay(index: int) -> str:
        barrier.wait()
        try:
            for _ in range(10_000):
                entries[index].replay()
        except RegistryError as error:
            return error.code
        return "never closed"

    with ThreadPoolExecutor(THREADS) as pool:
        running = [pool.submit(replay, index) for index in range(THREADS)]
        barrier.wait()
        registry.close()
        assert {future.result() for future in running} == {"closed"}
    assert (rig.execs(), rig.fake.misuse) == (0, [])


def test_a_shared_executable_on_two_streams_is_warned_of_once() -> None:
    rig = Rig()
    events: list[Event] = []
    with closed(rig.registry(on_event=events.append), rig) as registry:
        first, second = (registry.register(rig.graph(value), f"graph {value}") for value in (1, 2))
        for stream in (0x10, 0x10, 0x20, 0x30, 0x10):
            first.replay(stream)
            second.replay(stream)
        (warning,) = (event for event in events if isinstance(event, StreamsSerialised))
        assert str(warning) == (
            "graph 1: 2 graphs share one executable and are replayed on streams 0x10 and 0x20; launches of one "
            "executable run one after another; use a registry per stream to overlap them"
        )


def test_a_graph_alone_on_two_streams_is_as_with_plain_replay_and_not_warned_of() -> None:
    rig = Rig()
    events: list[Event] = []
    with closed(rig.registry(on_event=events.append), rig) as registry:
        entry = registry.register(rig.graph(1))
        entry.replay(0x10)
        entry.replay(0x20)
    assert not any(isinstance(event, StreamsSerialised) for event in events)


def test_a_registry_that_is_being_closed_is_not_sealed_but_closed() -> None:
    rig = Rig()
    registry = rig.registry()
    registry.register(rig.graph(1))
    destroying, sealing = threading.Event(), threading.Event()
    destroy, lock = rig.driver.graph_exec_destroy, registry._lifecycle._lock

    def slow(graph_exec: int) -> None:
        destroying.set()
        assert sealing.wait(WAIT_SECONDS)
        destroy(graph_exec)

    class Asked:
        """The registry's lock, which says that someone is about to wait for it."""

        def __enter__(self) -> None:
            sealing.set()
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            lock.release()

    closing = threading.Thread(target=registry.close)
    rig.driver.graph_exec_destroy = slow  # type: ignore[method-assign]  # gives the other thread its chance
    closing.start()
    assert destroying.wait(WAIT_SECONDS)
    registry._lifecycle._lock = Asked()  # type: ignore[assignment]
    registry.seal()
    assert (registry.closed, rig.execs()) == (True, 0), "it waited for the other thread"
    closing.join(WAIT_SECONDS)
