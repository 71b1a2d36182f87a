"""CUPTI callbacks of one observation: when each is enabled, and how it is handled.

While a stream captures, each launch has two callbacks: CUPTI's resource callback reports the new node, the enclosing
driver API callback the attributes passed by the caller. Outside captures both are disabled and cost nothing. The other
observed calls (begin and end of captures, loads, destroys) are rare.
"""

import atexit
import os
from collections import deque
from collections.abc import Callable, Mapping
from threading import Lock, get_ident
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakMethod

from sigcontract.driver.observing import calls
from sigcontract.driver.observing.calls import Frame, GraphCalls, ModuleCalls, OnEntry, OnReturn
from sigcontract.driver.observing.cupti import CuptiApi, Domain, RawCallback, Resource
from sigcontract.driver.observing.launches import SCHEDULING_OFF, LaunchLedger
from sigcontract.driver.observing.structs import (
    CONFIG_STREAM,
    DATA_PARAMS,
    ENTER,
    LAUNCH_ATTRIBUTE_BYTES,
    MAX_LAUNCH_ATTRIBUTES,
    PLAIN_LAUNCH_STREAM,
    RESOURCE_DESCRIPTOR,
    ApiCall,
    context_of,
    graph_data_at,
    graph_event,
    launch_config_at,
    module_event,
    pointer,
    pointers_at,
    read_bytes,
    returned_call,
    uint,
    uints_at,
)
from sigcontract.errors import ObserveError
from sigcontract.model import (
    STREAM_PER_THREAD,
    AttributeId,
    KernelNodeSignature,
    Result,
)

if TYPE_CHECKING:
    from sigcontract.driver.observing.modules import ModuleLedger

__all__ = ["Observations", "in_forked_child"]

_Callback = tuple[Domain, int]
_MODULE_EVENTS = (Resource.MODULE_LOADED, Resource.MODULE_UNLOAD_STARTING, Resource.CONTEXT_DESTROY_STARTING)
_Handler = TypeVar("_Handler")

#: CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD: the only failure of cuStreamEndCapture after which the capture continues.
_WRONG_THREAD = int(Result.STREAM_CAPTURE_WRONG_THREAD)
#: Handles up to this one name default streams (CU_STREAM_PER_THREAD is 2), one per thread.
_LAST_NAMED_STREAM = STREAM_PER_THREAD
# Plain integers: IntEnum members compare several times slower.
_DRIVER_API, _RESOURCE, _NODE_CREATED = int(Domain.DRIVER_API), int(Domain.RESOURCE), int(Resource.GRAPHNODE_CREATED)
_KERNEL = KernelNodeSignature.node_type
_SCHEDULING = int(AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING)
#: Number of the newest callback problems to keep.
_PROBLEMS_KEPT = 100


class Observations:
    """Observed launches and modules of this process; pass it to `read_graph`.

    Created by `observe`. It keeps no graph, node or module alive, and drops its records when they end. Thread-safe;
    launches of concurrent captures are distinguished.

    Parameters
    ----------
    cupti
        The callback interface, not yet subscribed.
    modules
        Creates the module ledger, given whether it sees every load; None: ignore machine code.

    Raises
    ------
    ObserveError
        CUPTI is taken by another tool, or does not start.
    """

    def __init__(self, cupti: CuptiApi, modules: "Callable[[bool], ModuleLedger] | None" = None) -> None:
        self._cupti = cupti
        #: Whether observing began before cuInit, so that nothing was missed.
        self.complete = not cupti.driver_started()
        #: Problems in callbacks, newest last; each leaves a node or module unobserved.
        self.problems: deque[str] = deque(maxlen=_PROBLEMS_KEPT)
        #: Called with the CUgraph after each instantiation, on the calling thread.
        self.on_instantiated: list[Callable[[int], None]] = []
        self._launches = LaunchLedger()
        self._modules = modules(self.complete) if modules is not None else None
        self._graph_calls = GraphCalls(self._launches)
        #: By thread: the observed call in progress; the launch in progress, and the graph and node it created.
        self._frames: dict[int, Frame] = {}
        self._launching: dict[int, tuple[int, int] | None] = {}
        self._captures: set[tuple[int, int]] = set()
        #: Graphs whose capture has not delivered them. If it fails, the driver destroys them without a call.
        self._undelivered: set[int] = set()
        self._copying = 0
        #: Streams used by launches of current captures -> whether they have no attribute to pass on.
        self._plain_streams: dict[int, bool] = {}
        self._scheduling_set = False
        self._refused = cupti.driver_started() and cupti.streams_refuse(_SCHEDULING)
        self._lock = Lock()
        self._enabled: set[_Callback] = set()
        self._closed = False
        self._watch(cupti.driver_callbacks())
        cupti.subscribe(self._made_callback())
        try:
            for callback in self._always:
                cupti.enable(*callback, on=True)
        except ObserveError:
            cupti.unsubscribe()
            raise
        # A callback after the interpreter's end would crash the process, and libraries destroy graphs that late.
        atexit.register(self.close)
        in_forked_child(self._forked)

    # Queries of read_graph

    def attributes(self, node: int) -> Mapping[int, bytes] | None:
        """Return the attributes of the launch that created this CUgraphNode: id -> 64 bytes; None if unobserved.

        Raises
        ------
        ObserveError
            Observing has ended, so the handle may have been reused.
        """
        self._require_open()
        return self._launches.attributes(node)

    def code_sha256(self, func: int, kern: int) -> str | None:
        """Return the sha256 of the machine code of that CUfunction or CUkernel, or None if unknown.

        Raises
        ------
        ObserveError
            Observing has ended.
        """
        self._require_open()
        return self._modules.code_sha256(func, kern) if self._modules is not None else None

    def graph_id(self, graph: int) -> int | None:
        """Return the id of a CUgraph in profilers; None if CUPTI refuses.

        Raises
        ------
        ObserveError
            Observing has ended.
        """
        self._require_open()
        return self._cupti.graph_id(graph)

    @property
    def node_count(self) -> int:
        """Number of known live kernel nodes."""
        return len(self._launches)

    def close(self) -> None:
        """Stop observing and release CUPTI. Idempotent."""
        if not self._closed:
            self._closed = True
            self._cupti.unsubscribe()
            atexit.unregister(self.close)
            # CUPTI's callback keeps this object until the process ends, so drop what it holds.
            self._launches.clear()
            self._modules = None
            self._on_entry.clear()
            self._on_return.clear()
            self.on_instantiated.clear()

    def _require_open(self) -> None:
        if self._closed:
            raise ObserveError(
                "observing has ended, and handles may have been reused since; read graphs inside the `observe` block",
                code="observe_ended",
            )

    # Which callbacks are on

    def _watch(self, ids: Mapping[str, int]) -> None:
        """Resolve names of driver calls to callback ids, without those this CUPTI lacks."""
        on_entry: dict[str, OnEntry] = {**self._graph_calls.on_entry()}
        on_return: dict[str, OnReturn] = {**self._graph_calls.on_return()}
        on_return |= dict.fromkeys(calls.BEGIN_CAPTURE, self._capture_began)
        on_return |= dict.fromkeys(calls.SET_STREAM, self._stream_changed)
        on_return |= dict.fromkeys(calls.INSTANTIATING, self._instantiated)
        if self._modules is not None:
            module_calls = ModuleCalls(self._modules)
            on_entry |= module_calls.on_entry()
            on_return |= module_calls.on_return()
        self._on_entry = _by_id(on_entry, ids)
        self._on_return = _by_id(on_return, ids)
        self._launch_forms = _by_id(calls.LAUNCHES, ids)
        self._copies = {ids[name]: name for name in calls.COPYING if name in ids}
        self._ends_capture = {ids[name] for name in calls.END_CAPTURE if name in ids}
        rare = self._on_entry.keys() | self._on_return.keys() | self._ends_capture
        self._always: list[_Callback] = [(Domain.DRIVER_API, callback_id) for callback_id in sorted(rare)]
        if self._modules is not None and self._modules.sees_loads:
            self._always += [(Domain.RESOURCE, int(resource)) for resource in _MODULE_EVENTS]
        self._while_copying = {(Domain.RESOURCE, int(Resource.GRAPHNODE_CLONED))}
        self._while_capturing = {
            (Domain.RESOURCE, int(Resource.GRAPHNODE_CREATED)),
            *((Domain.DRIVER_API, callback_id) for callback_id in self._launch_forms),
        }

    def _switch(self, *, copying: int = 0) -> None:
        """Enable and disable callbacks for captures and copies in progress; `copying` adds to the latter's count."""
        with self._lock:
            self._copying += copying
            wanted: set[_Callback] = set()
            if self._captures:
                wanted |= self._while_capturing
            if self._copying:
                wanted |= self._while_copying
            for callback in wanted ^ self._enabled:
                self._cupti.enable(*callback, on=callback in wanted)
            self._enabled = wanted

    def _forked(self) -> None:
        """In a forked child: no other thread exists, and no call is in progress."""
        self._lock = Lock()
        self._frames.clear()
        self._launching.clear()

    # Callbacks

    def _made_callback(self) -> RawCallback:
        """Return CUPTI's callback. It handles launches itself, for speed: it runs inside each."""
        forms, launching, frames = self._launch_forms, self._launching, self._frames
        forget, launched = self._launches.forget, self._launched

        def callback(_userdata: int | None, domain: int, callback_id: int, data: int) -> None:
            try:
                if domain == _DRIVER_API and callback_id in forms:
                    if uints_at(data)[0] == ENTER:
                        launching[get_ident()] = None
                        return
                    made = launching.pop(get_ident(), None)
                    if made is not None:
                        launched(made, pointers_at(data + DATA_PARAMS)[0], forms[callback_id])
                elif domain == _RESOURCE and callback_id == _NODE_CREATED:
                    graph, node, _, node_type = graph_data_at(pointers_at(data + RESOURCE_DESCRIPTOR)[0])
                    if node_type == _KERNEL:
                        thread = get_ident()
                        if thread in launching:
                            launching[thread] = (graph, node)
                        elif thread not in frames:
                            forget(node)  # created by an unobserved call
                else:
                    self._rare(domain, callback_id, data)
            except Exception as error:  # noqa: BLE001  called from C: no exception may reach the user's launch
                self.problems.append(f"{type(error).__name__} in a callback: {error}")

        return callback

    def _rare(self, domain: int, callback_id: int, data: int) -> None:
        if domain == _RESOURCE:
            self._resource(callback_id, data)
        elif uint(data) == ENTER:
            self._entered(callback_id, data)
        else:
            self._returned(callback_id, data)

    def _entered(self, callback_id: int, data: int) -> None:
        frame = self._frames[get_ident()] = Frame(callback_id)
        handler = self._on_entry.get(callback_id)
        params = pointer(data + DATA_PARAMS)
        if handler is not None:
            handler(params)
        elif callback_id in self._copies and calls.adds_graph(self._copies[callback_id], params):
            frame.copies = True
            self._switch(copying=1)

    def _returned(self, callback_id: int, data: int) -> None:
        frame = self._frames.pop(get_ident(), None)
        if frame is None or frame.callback_id != callback_id:
            return  # the call began before its callback was enabled
        call = returned_call(data)
        if frame.copies:
            self._switch(copying=-1)
        if call.result != 0:
            for graph in frame.clones:  # the driver discarded them
                self._launches.graph_destroyed(graph)
        if callback_id in self._ends_capture:
            self._capture_ended(call)
        elif call.result == 0 and (handler := self._on_return.get(callback_id)) is not None:
            handler(call, frame)

    def _resource(self, callback_id: int, data: int) -> None:
        frame = self._frames.get(get_ident())
        if callback_id == Resource.GRAPHNODE_CLONED:
            # Instantiation copies nodes too, into the executable; those are never queried.
            if frame is not None and frame.callback_id in self._copies:
                self._graph_calls.node_cloned(graph_event(data), frame)
        else:
            self._module(callback_id, data, frame)

    def _module(self, callback_id: int, data: int, frame: Frame | None) -> None:
        if self._modules is None:
            return
        if callback_id == Resource.MODULE_LOADED:
            event = module_event(data)
            self._modules.loaded(event)
            if frame is not None:
                frame.modules.append(event.module_id)
        elif callback_id == Resource.MODULE_UNLOAD_STARTING:
            self._modules.unloading(module_event(data).module_id)
        else:
            self._modules.context_ending(context_of(data))

    def _launched(self, made: tuple[int, int], params: int, config: bool) -> None:  # noqa: FBT001  positional: faster
        if config:
            stream, attributes, count = launch_config_at(pointers_at(params)[0] + CONFIG_STREAM)
            if count > MAX_LAUNCH_ATTRIBUTES:
                self._launches.forget(made[1])
                self.problems.append("a launch has an impossible number of attributes; its node is unobserved")
                return
            carried = read_bytes(attributes, LAUNCH_ATTRIBUTE_BYTES * count)
        else:
            stream, carried = pointers_at(params + PLAIN_LAUNCH_STREAM)[0], b""
        plain = self._plain_streams.get(stream)
        if plain is None:
            plain = self._ask(stream)
        if plain:
            carried = SCHEDULING_OFF + carried  # first, so that the launch's own value takes precedence
        self._launches.made(made[0], made[1], carried)
        self._undelivered.add(made[0])

    def _ask(self, stream: int) -> bool:
        """Whether the stream is known to lack the attribute that launches inherit unobserved."""
        never = self._refused or (self.complete and not self._scheduling_set)
        if stream <= _LAST_NAMED_STREAM:
            return never
        value = self._cupti.stream_attribute(stream, _SCHEDULING)
        plain = self._plain_streams[stream] = never if value is None else not any(value[:4])
        return plain

    def _stream_changed(self, call: ApiCall, _frame: Frame) -> None:
        self._plain_streams.clear()
        self._scheduling_set = self._scheduling_set or uint(call.params + 8) == _SCHEDULING

    def _capture_began(self, call: ApiCall, _frame: Frame) -> None:
        self._captures.add(_stream_key(call.argument(0)))
        self._switch()

    def _capture_ended(self, call: ApiCall) -> None:
        if call.result == _WRONG_THREAD:
            return
        self._captures.discard(_stream_key(call.argument(0)))
        if call.result == 0:
            self._undelivered.discard(pointer(call.argument(1)))
        if not self._captures:
            self._switch()
            self._plain_streams.clear()
            undelivered, self._undelivered = self._undelivered, set()
            for graph in undelivered:
                self._launches.graph_destroyed(graph)

    def _instantiated(self, call: ApiCall, _frame: Frame) -> None:
        for listener in tuple(self.on_instantiated):  # a listener may remove itself
            listener(call.argument(1))


def _stream_key(stream: int) -> tuple[int, int]:
    return stream, get_ident() if stream <= _LAST_NAMED_STREAM else 0


def in_forked_child(method: Callable[[], None]) -> None:
    """Call a bound method in every forked child while its object lives, without keeping it alive."""
    reference = WeakMethod(method)

    def call() -> None:
        living = reference()
        if living is not None:
            living()

    os.register_at_fork(after_in_child=call)


def _by_id(handlers: Mapping[str, _Handler], ids: Mapping[str, int]) -> dict[int, _Handler]:
    return {ids[name]: handler for name, handler in handlers.items() if name in ids}
