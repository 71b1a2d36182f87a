"""One executable: what it holds, what it held at its first launch, and the lock over update and launch."""

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final

from sigcontract.compare.predict import judged_update
from sigcontract.driver.api import UpdateOutcome
from sigcontract.errors import DriverCallError, DriverError
from sigcontract.model.findings import UpdatePrediction, UpdateResult
from sigcontract.registry.events import (
    DestroyFailed,
    Event,
    ExecInstantiated,
    ExecRebuilt,
    StreamsSerialised,
    UpdateRefused,
)
from sigcontract.registry.exec_pool import ExecPool
from sigcontract.registry.registered_graph import RegisteredGraph

if TYPE_CHECKING:
    from sigcontract.compare.differences import NodeJudge
    from sigcontract.model.graph import GraphSignature

__all__ = ["RETIRED", "Counts", "Judgement", "SharedExec"]

#: Answer of an executable that was destroyed. No CUgraphExecUpdateResult is negative.
RETIRED: Final = UpdateOutcome(-1, 0, 0)


@dataclass(slots=True)
class Counts:
    """What an executable did; kept by the registry when the executable is destroyed."""

    launches: int = 0
    updates: int = 0
    repoints: int = 0
    rebuilds: int = 0
    refusals: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Counts") -> None:
        """Add the counts of another executable."""
        self.launches += other.launches
        self.updates += other.updates
        self.repoints += other.repoints
        self.rebuilds += other.rebuilds
        self.refusals.update(dict(other.refusals))  # a copy: another thread may be counting


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a graph may share an executable: the prediction and, if that is safe, the driver's answer."""

    prediction: UpdatePrediction
    outcome: UpdateOutcome | None = None
    error: DriverCallError | None = None
    unbuilt: bool = False  # no executable to try it on: instantiating it again failed

    @property
    def joined(self) -> bool:
        """Whether prediction and driver both allow it; neither alone is trusted."""
        return self.outcome is not None and self.outcome.result == UpdateResult.SUCCESS


class SharedExec:
    """One CUgraphExec and the state that decides whether launching it launches the right graph.

    An update applies to later launches only (CUDA programming guide), so the lock is held over update and launch, not
    until the launch has finished.

    Attributes
    ----------
    first
        The graph that it was first instantiated from.
    members
        The registered graphs that replay through it, as keys. Changed under the registry's lock only.
    held
        The graph that it holds; None if unknown (an update was interrupted) or not instantiated.
    fixed
        The signature that it held at its first launch, whose attributes can stay stale.
    """

    __slots__ = (
        "_driver",
        "_held_signature",
        "_launch",
        "_lock",
        "_pool",
        "_retired",
        "_stream",
        "_warned",
        "counts",
        "first",
        "fixed",
        "handle",
        "held",
        "members",
    )

    def __init__(self, pool: ExecPool, first: RegisteredGraph, events: list[Event]) -> None:
        self._driver = pool.driver
        self._launch = pool.driver.graph_launch
        self._pool = pool
        self._lock = Lock()
        self._retired = False
        self._stream: int | None = None
        self._warned = False
        self.counts = Counts()
        self.first: Final = first
        self.members: Final[dict[object, None]] = {}
        self.fixed: GraphSignature | None = None
        self.handle = 0
        self.held: RegisteredGraph | None = None
        self._held_signature = first.signature
        self._build(first, events)

    def run(self, graph: RegisteredGraph, stream: int, events: list[Event]) -> UpdateOutcome | None:
        """Launch a graph, after an update if the executable holds another one.

        Returns
        -------
        UpdateOutcome or None
            None if launched. Else the driver's refusal, or `RETIRED`, and nothing was launched.

        Raises
        ------
        DriverCallError
            The launch failed, or the executable could not be instantiated again after a failed update.
        RegistryError
            The graph was released by another thread (``released``).
        """
        with self._lock:
            if self._retired:
                return RETIRED
            graph.check_kept()
            if self.held is not graph:
                outcome = self._point_at(graph, events, replay=True)
                if outcome.result:
                    return outcome
            if self.fixed is None:
                self.fixed = graph.signature
            self._launch(self.handle, stream)
            self.counts.launches += 1
            if stream != self._stream:
                self._note_stream(graph, stream, events)
            return None

    def admit(self, graph: RegisteredGraph, judge: "NodeJudge", events: list[Event]) -> Judgement:
        """Predict an update to a graph and, if it is safe, try it. Afterwards the executable may hold that graph."""
        with self._lock:
            prediction = judged_update(self._held_signature, graph.signature, judge, self.fixed)
            if not (prediction.verdict.safe and prediction.result is UpdateResult.SUCCESS):
                return Judgement(prediction)
            if not self.handle:
                return Judgement(prediction, unbuilt=True)
            before = self.held
            try:
                return Judgement(prediction, self._point_at(graph, events, replay=False))
            except DriverCallError as error:
                if before is None:
                    self._discard(events)  # the next replay instantiates it again
                else:
                    self._rebuild(before, error, graph.label, events)
                return Judgement(prediction, error=error)

    def forget(self, graph: RegisteredGraph) -> tuple[object, ...]:
        """Drop a graph, between two updates. The signature of what the executable holds stays known.

        Returns what `RegisteredGraph.drop` returns.
        """
        with self._lock:
            if self.held is graph:
                self.held = None
            return graph.drop()

    def stop(self) -> None:
        """End launches; the counts are final."""
        with self._lock:
            self._retired = True

    def destroy(self, events: list[Event]) -> DriverError | None:
        """Destroy the executable, after `stop`, and return the error, if any."""
        with self._lock:
            return self._discard(events)

    def _point_at(self, graph: RegisteredGraph, events: list[Event], *, replay: bool) -> UpdateOutcome:
        """Make the executable hold a graph. Raises only if `replay` is false or instantiating it again fails."""
        if not self.handle:
            self._build(graph, events)
            return UpdateOutcome(UpdateResult.SUCCESS, 0, 0)
        # Unknown until the answer is stored, also if an interrupt comes in between.
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
        self.held = graph
        self._held_signature = graph.signature
        self.counts.updates += 1
        self.counts.repoints += replay
        return outcome

    def _build(self, graph: RegisteredGraph, events: list[Event]) -> None:
        self.handle, taken = self._pool.instantiate(graph.handle, graph.node_count)
        self.held = graph
        self._held_signature = graph.signature
        self.fixed = None
        events.append(ExecInstantiated(label=graph.label, nodes=graph.node_count, device_bytes=taken))

    def _rebuild(self, graph: RegisteredGraph, error: DriverCallError, label: str, events: list[Event]) -> None:
        """Instantiate the executable again from a graph: after a failed update its content is unknown."""
        self._discard(events)
        self._build(graph, events)
        self.counts.rebuilds += 1
        events.append(ExecRebuilt(label=label, error=str(error)))

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
