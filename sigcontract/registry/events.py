"""What a registry of executables tells: typed events, for a callback and for the log."""

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
from sigcontract.registry.user_code import raised_by

__all__ = [
    "DestroyFailed",
    "Event",
    "ExecInstantiated",
    "ExecRebuilt",
    "FellBack",
    "GraphRegistered",
    "HandleReused",
    "RegistryClosed",
    "StreamsSerialised",
    "UpdateRefused",
    "emit",
]

logger = logging.getLogger("sigcontract")


class Event(Record, frozen=True, kw_only=True, tag_field="event"):
    """Root of the events. ``str(event)`` is the line that is logged."""

    level: ClassVar[int] = logging.DEBUG


class GraphRegistered(Event, frozen=True, kw_only=True, tag="graph_registered"):
    """A graph has its executable: one that others use too, or its own."""

    label: Annotated[Text, Meta(description="The entry's label.")]
    group: Annotated[UInt32, Meta(description="Index of its group.")]
    shared: Annotated[bool, Meta(description="Whether it joined an executable that was there.")]
    reason: Annotated[Text, Meta(description="Why.")]

    def __str__(self) -> str:
        return f"{self.label}: group {self.group}, {self.reason}"


class ExecInstantiated(Event, frozen=True, kw_only=True, tag="exec_instantiated"):
    """cuGraphInstantiate made an executable."""

    label: Annotated[Text, Meta(description="Label of the graph that it was made from.")]
    nodes: Annotated[UInt32, Meta(description="Nodes, children's included.")]
    device_bytes: Annotated[
        Size | None, Meta(description="Device memory that was free before and not after; null: not measured.")
    ]

    def __str__(self) -> str:
        size = "" if self.device_bytes is None else f", {self.device_bytes} bytes of device memory"
        return f"{self.label}: instantiated, {self.nodes} nodes{size}"


class UpdateRefused(Event, frozen=True, kw_only=True, tag="update_refused"):
    """cuGraphExecUpdate refused a graph that the prediction called safe. The executable is as it was."""

    level: ClassVar[int] = logging.INFO

    label: Annotated[Text, Meta(description="Label of the graph that was refused.")]
    result: Annotated[Text, Meta(description="CUgraphExecUpdateResult, as ERROR_TOPOLOGY_CHANGED.")]
    node: Annotated[Handle, Meta(description="CUgraphNode where the driver stopped, 0: none.")]
    from_node: Annotated[Handle, Meta(description="Its dependency that does not match, 0: none.")]
    when: Annotated[Literal["register", "replay"], Meta(description="The call that tried the update.")]

    def __str__(self) -> str:
        return f"{self.label}: update refused at {self.when}, {self.result}, expected and handled"


class FellBack(Event, frozen=True, kw_only=True, tag="fell_back"):
    """A graph that shared an executable was refused at replay and has its own from now on."""

    level: ClassVar[int] = logging.WARNING

    label: Annotated[Text, Meta(description="The entry's label.")]
    result: Annotated[Text, Meta(description="CUgraphExecUpdateResult of the refusal.")]

    def __str__(self) -> str:
        return (
            f"{self.label}: the driver refused at replay ({self.result}) what it accepted at register; "
            "the graph is launched through an executable of its own from now on"
        )


class ExecRebuilt(Event, frozen=True, kw_only=True, tag="exec_rebuilt"):
    """An update failed outright, so the executable was destroyed and made again, as CUDA's guide advises."""

    level: ClassVar[int] = logging.WARNING

    label: Annotated[Text, Meta(description="Label of the graph that the update was from.")]
    error: Annotated[Text, Meta(description="What failed.")]

    def __str__(self) -> str:
        return f"{self.label}: {self.error}; the executable was destroyed and made again"


class DestroyFailed(Event, frozen=True, kw_only=True, tag="destroy_failed"):
    """cuGraphExecDestroy failed. It is not tried again: a leak is better than a double free."""

    level: ClassVar[int] = logging.WARNING

    graph_exec: Annotated[Handle, Meta(description="The CUgraphExec that may still be there.")]
    error: Annotated[Text, Meta(description="What failed.")]

    def __str__(self) -> str:
        return f"executable {self.graph_exec:#x}: {self.error}; it is not tried again and may still hold memory"


class StreamsSerialised(Event, frozen=True, kw_only=True, tag="streams_serialised"):
    """One executable is launched on several streams: CUDA runs its launches one after another."""

    level: ClassVar[int] = logging.WARNING

    label: Annotated[Text, Meta(description="The entry that was replayed on another stream.")]
    members: Annotated[UInt32, Meta(description="Graphs that share the executable.")]
    streams: Annotated[tuple[Handle, ...], Meta(description="The first two streams.")]

    def __str__(self) -> str:
        first, second = self.streams
        return (
            f"{self.label}: {self.members} graphs share one executable and are replayed on streams {first:#x} and "
            f"{second:#x}; launches of one executable run one after another, use a registry per stream to overlap them"
        )


class HandleReused(Event, frozen=True, kw_only=True, tag="handle_reused"):
    """A function handle came back as another function: graphs that hold the old one launch unloaded code."""

    level: ClassVar[int] = logging.WARNING

    label: Annotated[Text, Meta(description="Label of the graph with the new function.")]
    handle: Annotated[Handle, Meta(description="The CUkernel or CUfunction.")]
    before: Annotated[Text, Meta(description="The name of the function that it was.")]
    now: Annotated[Text, Meta(description="The name of the function that it is.")]

    def __str__(self) -> str:
        return (
            f"{self.label}: handle {self.handle:#x} was {self.before} and is {self.now} now, so a module was unloaded; "
            "graphs that were registered with the old function must not be replayed"
        )


class RegistryClosed(Event, frozen=True, kw_only=True, tag="registry_closed"):
    """The registry destroyed what it held."""

    execs: Annotated[UInt32, Meta(description="Executables that were there.")]
    errors: Annotated[UInt32, Meta(description="How many of them failed to be destroyed.")]

    def __str__(self) -> str:
        return f"registry closed: {self.execs} executables, {self.errors} failed to be destroyed"


def emit(events: Iterable[Event], callback: Callable[[Event], None] | None) -> None:
    """Log the events, hand each to the callback, and raise the first thing that the callback raised, if any.

    Never called with a lock held: both run user code.
    """
    told = tuple(events)
    for event in told:
        logger.log(event.level, "%s", event)
    if callback is None:
        return
    failures = [error for event in told if (error := raised_by(callback, event))]
    if failures:
        raise failures[0]
