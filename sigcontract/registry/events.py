"""Events of a registry, for a callback and the log."""

import logging
from collections.abc import Callable, Iterable
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from sigcontract.model import (
    Handle,
    Record,
    Size,
    Text,
    UInt32,
)
from sigcontract.registry.callbacks import raised_by

__all__ = [
    "DestroyFailed",
    "Event",
    "ExecEvicted",
    "ExecInstantiated",
    "ExecRebuilt",
    "FellBack",
    "GraphRegistered",
    "GraphsRegrouped",
    "HandleReused",
    "RegistryClosed",
    "StreamsSerialised",
    "UpdateRefused",
    "UpdateUnverified",
    "emit",
]

logger = logging.getLogger("sigcontract")


class Event(Record, frozen=True, kw_only=True, tag_field="event"):
    """Base of the events. ``str(event)`` is the line that is logged."""

    level: ClassVar[int] = logging.DEBUG


class GraphRegistered(Event, frozen=True, kw_only=True, tag="graph_registered"):
    """A graph was registered and has an executable, shared or its own."""

    label: Annotated[Text, Meta(description="The entry's label.")]
    group: Annotated[UInt32, Meta(description="Index of its group.")]
    shared: Annotated[bool, Meta(description="Whether it joined an existing executable.")]
    reason: Annotated[Text, Meta(description="Why.")]

    def __str__(self) -> str:
        return f"{self.label}: group {self.group}, {self.reason}"


class ExecInstantiated(Event, frozen=True, kw_only=True, tag="exec_instantiated"):
    """cuGraphInstantiate created an executable."""

    label: Annotated[Text, Meta(description="Label of the graph that was instantiated.")]
    nodes: Annotated[UInt32, Meta(description="Nodes, children's included.")]
    device_bytes: Annotated[
        Size | None, Meta(description="Drop in free device memory during the call; null: not measured.")
    ]

    def __str__(self) -> str:
        size = "" if self.device_bytes is None else f", {self.device_bytes} bytes of device memory"
        return f"{self.label}: instantiated, {self.nodes} nodes{size}"


class ExecEvicted(Event, frozen=True, kw_only=True, tag="exec_evicted"):
    """The least recently used executable was destroyed to stay within the bounds; its next replay instantiates it."""

    label: Annotated[Text, Meta(description="Label of the graph that it was first instantiated from.")]
    nodes: Annotated[UInt32, Meta(description="Nodes of that graph, children's included.")]

    def __str__(self) -> str:
        return f"{self.label}: executable of {self.nodes} nodes evicted, the next replay instantiates it again"


class UpdateUnverified(Event, frozen=True, kw_only=True, tag="update_unverified"):
    """cuGraphExecUpdate succeeded, and stand-in kernels did not confirm it. The graph gets its own executable."""

    level: ClassVar[int] = logging.WARNING

    label: Annotated[Text, Meta(description="Label of the graph to update to.")]
    doubt: Annotated[Text, Meta(description="What the stand-in kernels show, or why they could not be launched.")]
    when: Annotated[Literal["register", "replay"], Meta(description="The call that tried the update.")]

    def __str__(self) -> str:
        return (
            f"{self.label}: the driver accepted an update at {self.when} that stand-in kernels do not confirm "
            f"({self.doubt}); the graph has its own executable"
        )


class UpdateRefused(Event, frozen=True, kw_only=True, tag="update_refused"):
    """cuGraphExecUpdate refused an update that was predicted to be safe. The executable is unchanged."""

    level: ClassVar[int] = logging.INFO

    label: Annotated[Text, Meta(description="Label of the graph that was refused.")]
    result: Annotated[Text, Meta(description="CUgraphExecUpdateResult, as ERROR_TOPOLOGY_CHANGED.")]
    node: Annotated[Handle, Meta(description="CUgraphNode that the driver reported; 0 if none.")]
    from_node: Annotated[Handle, Meta(description="Its dependency that does not match; 0 if none.")]
    when: Annotated[Literal["register", "replay"], Meta(description="The call that tried the update.")]

    def __str__(self) -> str:
        return f"{self.label}: update refused at {self.when}, {self.result}; handled"


class FellBack(Event, frozen=True, kw_only=True, tag="fell_back"):
    """An update was refused at replay; the graph now has its own executable."""

    level: ClassVar[int] = logging.WARNING

    label: Annotated[Text, Meta(description="The entry's label.")]
    result: Annotated[Text, Meta(description="CUgraphExecUpdateResult of the refusal.")]

    def __str__(self) -> str:
        return (
            f"{self.label}: the driver refused an update at replay ({self.result}) that it accepted at register; "
            "the graph has its own executable from now on"
        )


class ExecRebuilt(Event, frozen=True, kw_only=True, tag="exec_rebuilt"):
    """An update failed, so the executable was destroyed and instantiated again, as CUDA's programming guide advises."""

    level: ClassVar[int] = logging.WARNING

    label: Annotated[Text, Meta(description="Label of the graph to update to.")]
    error: Annotated[Text, Meta(description="What failed.")]

    def __str__(self) -> str:
        return f"{self.label}: {self.error}; the executable was destroyed and instantiated again"


class DestroyFailed(Event, frozen=True, kw_only=True, tag="destroy_failed"):
    """cuGraphExecDestroy failed. It is not repeated: a leak is better than a double free."""

    level: ClassVar[int] = logging.WARNING

    graph_exec: Annotated[Handle, Meta(description="The CUgraphExec, which may still exist.")]
    error: Annotated[Text, Meta(description="What failed.")]

    def __str__(self) -> str:
        return f"executable {self.graph_exec:#x}: {self.error}; it is not destroyed again and may still hold memory"


class StreamsSerialised(Event, frozen=True, kw_only=True, tag="streams_serialised"):
    """One executable is launched on several streams: CUDA serialises its launches."""

    level: ClassVar[int] = logging.WARNING

    label: Annotated[Text, Meta(description="The entry that was replayed on another stream.")]
    members: Annotated[UInt32, Meta(description="Graphs that share the executable.")]
    streams: Annotated[tuple[Handle, ...], Meta(description="The first two streams.")]

    def __str__(self) -> str:
        first, second = self.streams
        return (
            f"{self.label}: {self.members} graphs share one executable and are replayed on streams {first:#x} and "
            f"{second:#x}; launches of one executable run one after another; use a registry per stream to overlap them"
        )


class HandleReused(Event, frozen=True, kw_only=True, tag="handle_reused"):
    """A function handle was reused for another function: graphs of the old one launch unloaded code."""

    level: ClassVar[int] = logging.WARNING

    label: Annotated[Text, Meta(description="Label of the graph with the new function.")]
    handle: Annotated[Handle, Meta(description="The CUkernel or CUfunction.")]
    before: Annotated[Text, Meta(description="Name of the function that it stood for.")]
    now: Annotated[Text, Meta(description="Name of the function that it stands for now.")]

    def __str__(self) -> str:
        return (
            f"{self.label}: handle {self.handle:#x} was {self.before} and is now {self.now}: a module was unloaded; "
            "do not replay graphs that were registered with the old function"
        )


class GraphsRegrouped(Event, frozen=True, kw_only=True, tag="graphs_regrouped"):
    """``seal()`` moved graphs to fewer executables under ``share-updatable``; lists the graphs of each."""

    level: ClassVar[int] = logging.INFO

    graphs: Annotated[UInt32, Meta(description="Graphs registered and not released.")]
    execs_before: Annotated[UInt32, Meta(description="Executables before.")]
    execs: Annotated[
        tuple[tuple[Text, ...], ...], Meta(description="Labels of the graphs of each remaining executable.")
    ]
    at_least: Annotated[UInt32, Meta(description="Lower bound: fewer executables are not proven safe.")]

    def __str__(self) -> str:
        count = len(self.execs)
        fewest = "the fewest" if count == self.at_least else f"at least {self.at_least} are needed"
        return f"sealed: {self.graphs} graphs, {self.execs_before} executables became {count} ({fewest})"


class RegistryClosed(Event, frozen=True, kw_only=True, tag="registry_closed"):
    """The registry was closed."""

    execs: Annotated[UInt32, Meta(description="Executables that it had.")]
    errors: Annotated[UInt32, Meta(description="How many of them could not be destroyed.")]

    def __str__(self) -> str:
        return f"registry closed: {self.execs} executables, {self.errors} could not be destroyed"


def emit(events: Iterable[Event], callback: Callable[[Event], None] | None) -> None:
    """Log the events, pass each to the callback, and raise the first exception that the callback raised, if any.

    Called with no lock held: log handlers and the callback are the caller's code.
    """
    reported = tuple(events)
    for event in reported:
        logger.log(event.level, "%s", event)
    if callback is None:
        return
    failures = [error for event in reported if (error := raised_by(callback, event))]
    if failures:
        raise failures[0]
