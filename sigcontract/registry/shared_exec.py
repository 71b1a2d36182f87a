"""One executable: the graph it holds, the one of its first launch, and the lock over update and launch."""

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal

from sigcontract.driver import (
    UpdateOutcome,
)
from sigcontract.errors import DriverCallError, DriverError
from sigcontract.model import (
    EXEC_BYTES_PER_NODE,
    UpdatePrediction,
    UpdateResult,
)
from sigcontract.registry.events import (
    DestroyFailed,
    Event,
    ExecEvicted,
    ExecInstantiated,
    ExecRebuilt,
    StreamsSerialised,
    UpdateRefused,
    UpdateUnverified,
)
from sigcontract.registry.exec_pool import ExecPool
from sigcontract.registry.registered_graph import RegisteredGraph
from sigcontract.update import (
    ExecState,
    judged_update,
)

if TYPE_CHECKING:
    from sigcontract.model import (
        GraphSignature,
    )
    from sigcontract.update import (
        NodeJudge,
    )

__all__ = ["RETIRED", "UNVERIFIED", "Counts", "Judgement", "SharedExec"]

#: Result of a destroyed executable. No CUgraphExecUpdateResult is negative.
RETIRED: Final = UpdateOutcome(-1, 0, 0)
#: Result of an update that the driver accepted and stand-in kernels did not confirm.
UNVERIFIED: Final = UpdateOutcome(-2, 0, 0)


@dataclass(slots=True)
class Counts:
    """Counts of an executable; the registry keeps them after its destruction."""

    launches: int = 0
    updates: int = 0
    repoints: int = 0
    rebuilds: int = 0
    evictions: int = 0
    unverified: int = 0
    refusals: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Counts") -> None:
        """Add the counts of another executable."""
        self.launches += other.launches
        self.updates += other.updates
        self.repoints += other.repoints
        self.rebuilds += other.rebuilds
        self.evictions += other.evictions
        self.unverified += other.unverified
        self.refusals.update(dict(other.refusals))  # a copy: another thread may be counting


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a graph may share an executable: the prediction and, if safe, the driver's result."""

    prediction: UpdatePrediction
    outcome: UpdateOutcome | None = None
    error: DriverCallError | None = None
    untried: bool = False  # evicted; the driver decides at the next replay
    unbuilt: bool = False  # nothing to try it on: instantiating it again failed

    @property
    def joined(self) -> bool:
        """Whether both prediction and driver allow it."""
        return self.untried or (self.outcome is not None and self.outcome.result == UpdateResult.SUCCESS)


class SharedExec:
    """One CUgraphExec and the state that decides whether launching it launches the right graph.

    An update applies to later launches only (CUDA programming guide), so the lock is held over update and launch, not
    until the launch has finished.

    Attributes
    ----------
    first
        The graph it was first instantiated from.
    members
        The registered graphs that replay through it, as keys. Changed under the registry's lock only.
    held
        The graph it holds; None if unknown (an update was interrupted) or not instantiated.
    fixed
        The signature of its first launch, whose attributes can stay stale.
    has_left
        Whether a graph left its members (released, or moved to another executable). That graph is part of the
        executable's history, and a thread may still be about to replay it: no graph of another group may join.
    cost_bytes
        Expected device memory, in bytes.
    """

    __slots__ = (
        "_bounds",
        "_driver",
        "_held_signature",
        "_is_evicted",
        "_launch",
        "_limited",
        "_lock",
        "_pool",
        "_ran",
        "_retired",
        "_state",
        "_stream",
        "_verified",
        "_verify",
        "_warned",
        "cost_bytes",
        "counts",
        "first",
        "fixed",
        "handle",
        "has_left",
        "held",
        "members",
    )

    def __init__(self, pool: ExecPool, first: RegisteredGraph, events: list[Event], *, is_pinned: bool = False) -> None:
        self._driver = pool.driver
        self._launch = pool.driver.graph_launch
        self._pool = pool
        self._bounds = pool.bounds
        self._verify = pool.verify
        self._verified: dict[RegisteredGraph, None] = {}
        self._is_evicted = False
        self._lock = Lock()
        self._retired = False
        self._stream: int | None = None
        self._warned = False
        self.counts = Counts()
        self.first: Final = first
        self.members: Final[dict[object, None]] = {}
        self.fixed: GraphSignature | None = None
        self.has_left = False
        #: Its state at the last admission, and the signature of the last launch since.
        self._state: ExecState | None = None
        self._ran: GraphSignature | None = None
        self.handle = 0
        self.held: RegisteredGraph | None = None
        self._held_signature = first.signature
        self.cost_bytes: Final = first.node_count * EXEC_BYTES_PER_NODE
        #: Never evict a pinned one: CUDA may not allow instantiating it again.
        self._limited = self._bounds.limited and not is_pinned
        if not self._limited:
            self._build(first, events)
            return
        try:
            self._bounds.reserve(self.cost_bytes, events)
            self._build(first, events)
            self._bounds.use(self)
        finally:
            self._bounds.give_back()

    def run(self, graph: RegisteredGraph, stream: int, events: list[Event]) -> UpdateOutcome | None:
        """Launch a graph, updating the executable first if it holds another.

        Returns
        -------
        UpdateOutcome or None
            None if launched; else the driver's refusal, or `RETIRED`.

        Raises
        ------
        DriverCallError
            The launch failed, or the executable could not be instantiated again after a failed update.
        RegistryError
            The graph was released by another thread (``released``).
        """
        limited, reserved = self._limited, False
        try:
            while True:
                with self._lock:
                    if self._retired:
                        return RETIRED
                    graph.check_kept()
                    if self.handle or reserved or not limited:
                        if self.held is not graph:
                            outcome = self._point_at(graph, events, replay=True)
                            if outcome.result:
                                return outcome
                        if limited:
                            self._bounds.use(self)
                        if self.fixed is None:
                            self.fixed = graph.signature
                        self._ran = graph.signature
                        self._launch(self.handle, stream)
                        self.counts.launches += 1
                        if stream != self._stream:
                            self._note_stream(graph, stream, events)
                        return None
                # Evicted. Make room with the lock released; another thread may instantiate it meanwhile.
                self._bounds.reserve(self.cost_bytes, events)
                reserved = True
        finally:
            if limited:
                self._bounds.give_back()

    def admit(self, graph: RegisteredGraph, judge: "NodeJudge", events: list[Event]) -> Judgement:
        """Predict an update to a graph and, if safe, try it. The executable may then hold that graph."""
        with self._lock:
            state = self._state_now(judge)
            prediction = judged_update(state.held, graph.signature, judge, state)
            if not (prediction.verdict.safe and prediction.result is UpdateResult.SUCCESS):
                return Judgement(prediction)
            if not self.handle:
                return Judgement(prediction, untried=self._is_evicted, unbuilt=not self._is_evicted)
            before = self.held
            try:
                outcome = self._point_at(graph, events, replay=False)
                if not outcome.result:
                    self._state = state.judged_updated(graph.signature, judge)
                return Judgement(prediction, outcome)
            except DriverCallError as error:
                if before is None:
                    self._let_go(events)  # the next replay instantiates it again
                else:
                    self._rebuild(before, error, graph.label, events)
                return Judgement(prediction, error=error)

    def forget(self, graph: RegisteredGraph) -> tuple[object, ...]:
        """Drop a graph, between two updates. The held signature stays known.

        Returns what `RegisteredGraph.drop` returns.
        """
        with self._lock:
            if self.held is graph:
                self.held = None
            self._verified.pop(graph, None)
            return graph.drop()

    def stop(self) -> None:
        """End launches; the counts are final."""
        with self._lock:
            self._retired = True

    def destroy(self, events: list[Event]) -> DriverError | None:
        """Destroy the executable, after `stop`, and return the error, if any."""
        with self._lock:
            return self._let_go(events)

    def evict(self, events: list[Event]) -> None:
        """Destroy the executable; the next replay instantiates it again."""
        with self._lock:
            if self.handle:
                self._let_go(events)
                self._is_evicted = True
                self.counts.evictions += 1
                events.append(ExecEvicted(label=self.first.label, nodes=self.first.node_count))

    def _state_now(self, judge: "NodeJudge") -> ExecState:
        """Return its state, given its history.

        Between two admissions it only switches between graphs of one group, whose updates are all safe. So the last
        launch and the held graph represent everything in between.
        """
        state = self._state or ExecState.judged(self._held_signature if self.fixed is None else self.fixed, judge)
        if self._ran is not None:
            if state.held is not self._ran:
                state = state.judged_updated(self._ran, judge)
            state = state.used()
            self._ran = None
        if state.held is not self._held_signature:
            state = state.judged_updated(self._held_signature, judge)
        self._state = state
        return state

    def _point_at(self, graph: RegisteredGraph, events: list[Event], *, replay: bool) -> UpdateOutcome:
        """Update the executable to a graph. Raises only if `replay` is false or instantiating it again fails."""
        if not self.handle:
            self._build(graph, events)
            return UpdateOutcome(UpdateResult.SUCCESS, 0, 0)
        # Unknown until the result is stored, even after an interrupt.
        before, self.held = self.held, None
        try:
            outcome = self._driver.graph_exec_update(self.handle, graph.handle)
        except DriverCallError as error:
            if not replay:
                raise
            self._rebuild(graph, error, graph.label, events)
            return UpdateOutcome(UpdateResult.SUCCESS, 0, 0)
        if outcome.result:
            self.held = before  # a refusal leaves the executable unchanged (measured, 30,454 of 30,454)
            name = UpdateResult.name_of(outcome.result)
            self.counts.refusals[name] += 1
            events.append(
                UpdateRefused(
                    label=graph.label,
                    result=name,
                    node=outcome.node,
                    from_node=outcome.from_node,
                    when="replay" if replay else "register",
                )
            )
            return outcome
        if self._verify is not None and graph not in self._verified:
            doubt = self._verify(self.fixed or self._held_signature, graph.signature)
            if doubt is not None:
                self.counts.unverified += 1
                when: Literal["register", "replay"] = "replay" if replay else "register"
                events.append(UpdateUnverified(label=graph.label, doubt=doubt, when=when))
                self._let_go(events)  # its content is unknown; the next replay instantiates it again
                self._is_evicted = True
                return UNVERIFIED
            self._verified[graph] = None
        self.held = graph
        self._held_signature = graph.signature
        self.counts.updates += 1
        self.counts.repoints += replay
        return outcome

    def _build(self, graph: RegisteredGraph, events: list[Event]) -> None:
        self.handle, taken = self._pool.instantiate(graph.handle, graph.node_count)
        self.held = graph
        self._held_signature = graph.signature
        self._is_evicted = False
        self.fixed = self._state = self._ran = None
        events.append(ExecInstantiated(label=graph.label, nodes=graph.node_count, device_bytes=taken))

    def _rebuild(self, graph: RegisteredGraph, error: DriverCallError, label: str, events: list[Event]) -> None:
        """Instantiate the executable again from a graph: after a failed update its content is unknown."""
        self._discard(events)  # but keep its room
        try:
            self._build(graph, events)
        except DriverCallError:
            self._bounds.leave(self)
            raise
        self.counts.rebuilds += 1
        events.append(ExecRebuilt(label=label, error=str(error)))

    def _let_go(self, events: list[Event]) -> DriverError | None:
        """Destroy the executable and return its room."""
        error = self._discard(events)
        self._bounds.leave(self)
        return error

    def _discard(self, events: list[Event]) -> DriverError | None:
        handle, self.handle, self.held = self.handle, 0, None
        if not handle:
            return None
        error = self._pool.destroy(handle)
        if error is not None:
            events.append(DestroyFailed(graph_exec=handle, error=str(error)))
        return error

    def _note_stream(self, graph: RegisteredGraph, stream: int, events: list[Event]) -> None:
        if self._stream is None:
            self._stream = stream
        elif len(self.members) > 1 and not self._warned:
            self._warned = True
            events.append(
                StreamsSerialised(label=graph.label, members=len(self.members), streams=(self._stream, stream))
            )
