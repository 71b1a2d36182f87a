"""One executable, what it holds, what it held when it first ran, and the lock around update and launch."""

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final

from sigcontract.driver import (
    DriverApi,
    UpdateOutcome,
)
from sigcontract.errors import DriverCallError, DriverError
from sigcontract.model import (
    UpdatePrediction,
    UpdateResult,
)
from sigcontract.registry.events import (
    DestroyFailed,
    Event,
    ExecInstantiated,
    ExecRebuilt,
    StreamsSerialised,
    UpdateRefused,
)
from sigcontract.registry.lifetimes import ExecTable
from sigcontract.registry.sources import SourceGraph
from sigcontract.update import (
    judged_update,
)

if TYPE_CHECKING:
    from sigcontract.model import (
        GraphSignature,
    )
    from sigcontract.update import (
        NodeJudge,
    )

__all__ = ["RETIRED", "Counts", "Judgement", "SharedExec"]

#: Answer of an executable that is gone. No CUgraphExecUpdateResult is negative.
RETIRED: Final = UpdateOutcome(-1, 0, 0)


@dataclass(slots=True)
class Counts:
    """What an executable did; added up by the registry when the executable goes."""

    launches: int = 0
    updates: int = 0
    repoints: int = 0
    rebuilds: int = 0
    refusals: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Counts") -> None:
        """Add what another executable did."""
        self.launches += other.launches
        self.updates += other.updates
        self.repoints += other.repoints
        self.rebuilds += other.rebuilds
        self.refusals.update(dict(other.refusals))  # a copy: another thread may be counting


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a graph may share an executable: what was predicted and, where that is safe, what the driver said."""

    prediction: UpdatePrediction
    outcome: UpdateOutcome | None = None
    error: DriverCallError | None = None
    unbuilt: bool = False  # there is no executable to try it on, since one failed to be made anew

    @property
    def joined(self) -> bool:
        """Both say yes. The driver alone is not believed, nor is the prediction."""
        return self.outcome is not None and self.outcome.result == UpdateResult.SUCCESS


class SharedExec:
    """One CUgraphExec and the state that decides whether launching it launches the right graph.

    An update applies to later launches only (CUDA programming guide), so the lock is held over update and launch,
    never until the launch has run.

    Attributes
    ----------
    first
        The graph that it was made from at first: what members are compared with.
    members
        Graphs that replay through it. Changed under the registry's lock only.
    held
        The graph that it holds; None: not known, an update was interrupted or it is not built.
    fixed
        The signature that it held when it was first launched, which is what attributes can be stale from.
    """

    __slots__ = (
        "_driver",
        "_held_signature",
        "_launch",
        "_lock",
        "_retired",
        "_stream",
        "_table",
        "_warned",
        "counts",
        "first",
        "fixed",
        "handle",
        "held",
        "members",
    )

    def __init__(self, driver: DriverApi, table: ExecTable, first: SourceGraph, events: list[Event]) -> None:
        self._driver = driver
        self._launch = driver.graph_launch
        self._table = table
        self._lock = Lock()
        self._retired = False
        self._stream: int | None = None
        self._warned = False
        self.counts = Counts()
        self.first: Final = first
        self.members = 1
        self.fixed: GraphSignature | None = None
        self.handle = 0
        self.held: SourceGraph | None = None
        self._held_signature = first.signature
        self._build(first, events)

    def run(self, source: SourceGraph, stream: int, events: list[Event]) -> UpdateOutcome | None:
        """Launch that graph: update the executable where it holds another one.

        Returns
        -------
        UpdateOutcome or None
            None: launched. Else the driver's refusal, or `RETIRED`; nothing was launched.

        Raises
        ------
        DriverCallError
            The launch failed, or the executable could not be made again after a failed update.
        RegistryError
            The graph was released by another thread (``released``).
        """
        with self._lock:
            if self._retired:
                return RETIRED
            source.check_kept()
            if self.held is not source:
                outcome = self._point_at(source, events, replay=True)
                if outcome.result:
                    return outcome
            if self.fixed is None:
                self.fixed = source.signature
            self._launch(self.handle, stream)
            self.counts.launches += 1
            if stream != self._stream:
                self._note_stream(source, stream, events)
            return None

    def admit(self, source: SourceGraph, judge: "NodeJudge", events: list[Event]) -> Judgement:
        """Predict an update to that graph and, where it is safe, try it. Afterwards the executable may hold it."""
        with self._lock:
            prediction = judged_update(self._held_signature, source.signature, judge, self.fixed)
            if not (prediction.verdict.safe and prediction.result is UpdateResult.SUCCESS):
                return Judgement(prediction)
            if not self.handle:
                return Judgement(prediction, unbuilt=True)
            before = self.held
            try:
                return Judgement(prediction, self._point_at(source, events, replay=False))
            except DriverCallError as error:
                if before is None:
                    self._discard(events)  # the next replay makes it anew
                else:
                    self._rebuild(before, error, source.label, events)
                return Judgement(prediction, error=error)

    def forget(self, source: SourceGraph) -> tuple[object, ...]:
        """Let go of a graph, between two updates. What the executable holds stays known by its signature.

        Returns what held the graph, as `SourceGraph.drop` does.
        """
        with self._lock:
            if self.held is source:
                self.held = None
            return source.drop()

    def stop(self) -> None:
        """Launch no more: what it counted is final."""
        with self._lock:
            self._retired = True

    def destroy(self, events: list[Event]) -> DriverError | None:
        """Destroy the executable, after `stop`, and return what went wrong."""
        with self._lock:
            return self._discard(events)

    def _point_at(self, source: SourceGraph, events: list[Event], *, replay: bool) -> UpdateOutcome:
        """Make the executable hold that graph. Raises only where `replay` is false or a rebuild fails."""
        if not self.handle:
            self._build(source, events)
            return UpdateOutcome(UpdateResult.SUCCESS, 0, 0)
        # Unknown until the answer is stored: an interrupt in between must not leave a wrong belief behind.
        before, self.held = self.held, None
        try:
            outcome = self._driver.graph_exec_update(self.handle, source.handle)
        except DriverCallError as error:
            if not replay:
                raise
            self._rebuild(source, error, source.label, events)
            return UpdateOutcome(UpdateResult.SUCCESS, 0, 0)
        if outcome.result:
            self.held = before  # a refusal leaves the executable as it was (measured, 30,454 of 30,454)
            name = UpdateResult.name_of(outcome.result)
            self.counts.refusals[name] += 1
            events.append(
                UpdateRefused(
                    label=source.label,
                    result=name,
                    node=outcome.node,
                    from_node=outcome.from_node,
                    when="replay" if replay else "register",
                )
            )
            return outcome
        self.held = source
        self._held_signature = source.signature
        self.counts.updates += 1
        self.counts.repoints += replay
        return outcome

    def _build(self, source: SourceGraph, events: list[Event]) -> None:
        self.handle, taken = self._table.instantiate(source.handle, source.node_count)
        self.held = source
        self._held_signature = source.signature
        self.fixed = None
        events.append(ExecInstantiated(label=source.label, nodes=source.node_count, device_bytes=taken))

    def _rebuild(self, source: SourceGraph, error: DriverCallError, label: str, events: list[Event]) -> None:
        """Make the executable anew from that graph: after a failed update nobody knows what it holds."""
        self._discard(events)
        self._build(source, events)
        self.counts.rebuilds += 1
        events.append(ExecRebuilt(label=label, error=str(error)))

    def _discard(self, events: list[Event]) -> DriverError | None:
        handle, self.handle, self.held = self.handle, 0, None
        if not handle:
            return None
        error = self._table.destroy(handle)
        if error is not None:
            events.append(DestroyFailed(graph_exec=handle, error=str(error)))
        return error

    def _note_stream(self, source: SourceGraph, stream: int, events: list[Event]) -> None:
        if self._stream is None:
            self._stream = stream
        elif self.members > 1 and not self._warned:
            self._warned = True
            events.append(StreamsSerialised(label=source.label, members=self.members, streams=(self._stream, stream)))
